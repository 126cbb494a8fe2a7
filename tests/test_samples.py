"""Sparse matrices work in every estimator, and a table gets a sentence that says what to do."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.preprocessing import OneHotEncoder

from mercer import KernelSearchCV, KernelSVC, PerceptronSVC, StumpSVC, Superkernel
from mercer.samples import check_rows
from registry import ESTIMATORS

KINDS = np.random.default_rng(0).choice(list("abc"), size=(40, 3))
Y = np.where(KINDS[:, 0] == "a", "yes", "no")


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_what_an_encoder_leaves_sparse_works_as_if_it_were_dense(estimator):
    if getattr(estimator, "kernel", None) == "precomputed" or isinstance(estimator, KernelSearchCV):
        return  # the first takes a kernel matrix, the second is tested below
    X = OneHotEncoder().fit_transform(KINDS)
    assert sparse.issparse(X)
    use = "decision_function" if is_classifier(estimator) else "transform"
    estimator = clone(estimator)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    found = getattr(clone(estimator).fit(X, Y), use)(X)
    assert_array_equal(found, getattr(clone(estimator).fit(X.toarray(), Y), use)(X.toarray()))


def test_a_sparse_matrix_too_large_to_be_dense_is_refused_before_it_is_made():
    X = sparse.csr_matrix((10**7, 10**7))
    with pytest.raises(MemoryError, match=r"10000000 samples and 10000000 features.*TruncatedSVD"):
        StumpSVC().fit(X, np.arange(10**7) % 2)


@pytest.mark.parametrize("estimator", [StumpSVC(), PerceptronSVC(), KernelSVC(), Superkernel()], ids=str)
@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"city": ["Rome", "Bonn"] * 10, "size": np.arange(20.0)}),
        pd.DataFrame({"city": pd.Categorical(["Rome", "Bonn"] * 10), "size": np.arange(20.0)}),
        pd.DataFrame({"size": [np.nan, *np.arange(19.0)]}),
        pd.DataFrame({"size": pd.array([None, *range(19)], dtype="Int64")}),
        np.array([["a"], ["b"]] * 10),
    ],
    ids=["texts", "categories", "gaps", "pandas gaps", "array of texts"],
)
def test_texts_and_gaps_get_a_sentence_that_names_the_encoder(estimator, table):
    with pytest.raises(ValueError, match=r"takes numbers alone\. .* put mercer\.TableEncoder before it"):
        clone(estimator).fit(table, np.arange(20) % 2)


def test_other_mistakes_keep_the_words_of_scikit_learn():
    with pytest.raises(ValueError, match="infinity"):
        check_rows(StumpSVC(), np.array([[np.inf], [1.0]]))
    with pytest.raises(ValueError, match="Expected 2D array"):
        check_rows(StumpSVC(), np.arange(3.0))
