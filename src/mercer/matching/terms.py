"""Texts as weighted terms (TF-IDF): unit vectors whose inner product is the cosine of two texts."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize

from mercer._typing import Array
from mercer.matching.cells import Texts

WIDTH = 2**20  # of the hashed terms: of 20 000 different ones, one in fifty shares its place
MOST_WEIGHTS = 100_000  # terms whose weight is kept; rarer ones count as new
ANALYZERS: dict[str, dict[str, Any]] = {
    "letters": {"analyzer": "char_wb", "ngram_range": (2, 3)},
    "digits": {"analyzer": "char", "ngram_range": (1, 3)},
    "words": {"analyzer": "word", "token_pattern": r"(?u)\b\w+\b"},
}


class Terms(NamedTuple):
    """What terms weigh, by how many of the training cells have them.

    Terms have hashed numbers, so that a new one has a place too: it weighs what a term does that none has.
    """

    what: str  # a key of `ANALYZERS`
    places: NDArray[np.int64]  # ascending
    weights: Array
    of_new: float

    @classmethod
    def of(cls, texts: Texts, what: str) -> Self:
        """Weigh terms by log((1 + n) / (1 + n_t)) + 1, for n texts of which n_t have the term t."""
        counts = _count(texts, what)
        frequency = np.bincount(counts.indices, minlength=WIDTH)
        places = np.flatnonzero(frequency)
        if len(places) > MOST_WEIGHTS:
            places = np.sort(places[np.argsort(-frequency[places], kind="stable")[:MOST_WEIGHTS]])
        n = 1.0 + int(np.sum(np.diff(counts.indptr) > 0))
        return cls(what, places, np.log(n / (1.0 + frequency[places])) + 1.0, float(np.log(n)) + 1.0)

    def transform(self, texts: Texts) -> csr_array:
        """Return a row of unit length for each text, of zeros for an empty one."""
        counts = _count(texts, self.what)
        weights = np.full(WIDTH, self.of_new)
        weights[self.places] = self.weights
        counts.data = (1.0 + np.log(counts.data)) * weights[counts.indices]
        rows = csr_array(normalize(counts, copy=False))
        rows.sort_indices()
        return rows


def _count(texts: Texts, what: str) -> csr_array:
    vectorizer = HashingVectorizer(
        n_features=WIDTH, alternate_sign=False, norm=None, lowercase=False, **ANALYZERS[what]
    )
    return csr_array(vectorizer.transform(texts))
