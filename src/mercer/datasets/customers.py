"""Generated customers of whom some are in a table twice, with typing errors: for matching records."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

FIRST = [
    "Ada", "Bo", "Carl", "Dora", "Emil", "Frida", "Georg", "Hanna", "Ivan", "Julia", "Karl", "Lena",
    "Max", "Nora", "Otto", "Paula", "Quinn", "Rosa", "Sven", "Tina", "Ute", "Vera", "Willi", "Xenia",
    "Yves", "Zoe",
]  # fmt: skip
STARTS = [
    "Mey", "Schu", "Fisch", "Web", "Wag", "Beck", "Hoff", "Schae", "Koch", "Bau", "Rich", "Klei", "Wol",
    "Neu", "Schwa", "Zimm", "Brau", "Krue", "Hart", "Lan", "Wern", "Krau", "Leh", "Maie", "Koeh",
]  # fmt: skip
ENDS = [
    "er", "mann", "ner", "ke", "sen", "stein", "bach", "berg", "feld", "hardt", "lein", "ling", "burg",
    "rich", "ter",
]  # fmt: skip
PLACES = [
    "Aachen", "Berlin", "Bremen", "Dresden", "Erfurt", "Essen", "Halle", "Hamburg", "Jena", "Kiel",
    "Leipzig", "Mainz", "Potsdam", "Rostock", "Ulm", "Wismar",
]  # fmt: skip
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ERRORS = {
    "first": 0.2,
    "last": 0.4,
    "zip": 0.15,
    "phone": 0.3,
    "year": 0.1,
    "place": 0.1,
}  # of a twin's cells
GAPS = 0.04  # of all cells


class Customers(NamedTuple):
    """A table of customers, and who each of them is."""

    table: Any  # a DataFrame
    person: NDArray[np.int64]


def customers(n_persons: int = 500, n_twins: int = 240, *, random_state: Any = None) -> Customers:
    """Generate a table of customers in random order, some of whom occur twice.

    Of those, the second record has typing errors (a letter or digit that is wrong, missing, doubled or
    swapped with the next) in some cells; 4 % of all cells are empty.

    Parameters
    ----------
    n_persons : int, default=500
        How many customers there are.
    n_twins : int, default=240
        How many of them have two records.
    random_state : int, RandomState instance or None, default=None
        Random seed.

    Examples
    --------
    >>> from mercer.datasets import customers
    >>> table, person = customers(random_state=0)
    >>> table.shape
    (740, 6)
    """
    rng = check_random_state(random_state)
    people = [_person(rng) for _ in range(n_persons)]
    twins = [
        {
            name: _misspelt(cell, rng) if rng.rand() < ERRORS[name] else cell
            for name, cell in people[k].items()
        }
        for k in range(n_twins)
    ]
    person = np.concatenate([np.arange(n_persons), np.arange(n_twins)])
    order = rng.permutation(len(person))
    import pandas as pd  # only where a table is made

    table = pd.DataFrame([*people, *twins]).iloc[order].reset_index(drop=True)
    return Customers(table.mask(rng.rand(*table.shape) < GAPS), person[order])


def _person(rng: np.random.RandomState) -> dict[str, str]:
    place = rng.randint(len(PLACES))
    return {
        "first": FIRST[rng.randint(len(FIRST))],
        "last": STARTS[rng.randint(len(STARTS))] + ENDS[rng.randint(len(ENDS))],
        "zip": f"{10000 + 4000 * place + rng.randint(400)}",
        "phone": f"0{rng.randint(100, 999)} {rng.randint(10**5, 10**6)}",
        "year": str(rng.randint(1940, 2005)),
        "place": PLACES[place],
    }


def _misspelt(cell: str, rng: np.random.RandomState) -> str:
    """Return a cell with one typing error."""
    k = rng.randint(1, len(cell))
    kind = rng.randint(4) if cell.isalpha() else rng.choice([0, 3])
    if kind == 0:
        letter = LETTERS[rng.randint(26)] if cell[k].isalpha() else str(rng.randint(10))
        return cell[:k] + letter + cell[k + 1 :]
    if kind == 1:
        return cell[:k] + cell[k + 1 :]
    if kind == 2:
        return cell[:k] + cell[k] + cell[k:]
    return cell[: k - 1] + cell[k] + cell[k - 1] + cell[k + 1 :]
