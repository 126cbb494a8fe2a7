import os
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal, ncx2, norm
from sklearn.datasets import load_breast_cancer, load_wine

from mercer.datasets import PROBLEMS, load, log_ratio, names, real, ringnorm, threenorm, twonorm

DRAW = {"twonorm": twonorm, "threenorm": threenorm, "ringnorm": ringnorm}


# The synthetic problems


def means_and_scales(problem, D):
    """Each problem as Breiman describes it: the means and the standard deviation of class +1 and class −1."""
    ones, alternating = np.ones(D), (-1.0) ** np.arange(D)
    a = 2 / np.sqrt(D)
    return {
        "twonorm": (([a * ones], 1), ([-a * ones], 1)),
        "threenorm": (([a * ones, -a * ones], 1), ([a * alternating], 1)),
        "ringnorm": (([0 * ones], 2), ([ones / np.sqrt(D)], 1)),
    }[problem]


def density(x, means, scale):
    covariance = scale**2 * np.eye(len(x))
    return np.mean([multivariate_normal.pdf(x, mean, covariance) for mean in means])


def exact_bayes_error(problem, D):
    if problem == "twonorm":  # two unit normals whose means are 4 apart
        return norm.cdf(-2)
    if problem == "ringnorm":  # class −1 is chosen inside the ball |x − 4m/3|² < r, m its mean, |m| = 1
        r = 4 / 3 * (D * np.log(4) + 1 / 3)
        return (ncx2.sf(r, D, 1 / 9) + ncx2.cdf(r / 4, D, 4 / 9)) / 2
    # threenorm: for even D all means lie in a plane, at (2, 0), (−2, 0) and (0, 2); integrate over it
    u, v = np.meshgrid(grid := np.linspace(-9, 9, 1801), grid)
    positive = (norm.pdf(u - 2) + norm.pdf(u + 2)) / 2 * norm.pdf(v)
    negative = norm.pdf(u) * norm.pdf(v - 2)
    return np.minimum(positive, negative).sum() * (grid[1] - grid[0]) ** 2 / 2


@pytest.mark.parametrize("problem", PROBLEMS)
def test_log_ratio_is_the_logarithm_of_two_densities(problem, rng):
    X = rng.normal(size=(6, 5))
    positive, negative = means_and_scales(problem, 5)
    expected = [np.log(density(x, *positive) / density(x, *negative)) for x in X]
    assert_allclose(log_ratio(problem, X), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("D", [2, 20])
def test_the_sign_of_log_ratio_has_the_bayes_error(problem, D):
    n = 40_000
    X, y = DRAW[problem](n, D, random_state=0)
    expected = exact_bayes_error(problem, D)
    standard_error = np.sqrt(expected * (1 - expected) / n)
    assert abs(np.mean(y * log_ratio(problem, X) < 0) - expected) < 4 * standard_error


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_classes_have_breimans_moments(problem):
    D, n = 4, 60_000
    X, y = DRAW[problem](n, D, random_state=1)
    assert abs(y.mean()) < 4 / np.sqrt(n)
    for label, (means, scale) in zip((1, -1), means_and_scales(problem, D), strict=True):
        rows, centre = X[y == label], np.mean(means, axis=0)
        covariance = scale**2 * np.eye(D) + np.mean([np.outer(m - centre, m - centre) for m in means], axis=0)
        tolerance = 6 * covariance.max() / np.sqrt(len(rows))
        assert_allclose(rows.mean(axis=0), centre, atol=tolerance)
        assert_allclose(np.cov(rows.T), covariance, atol=2 * tolerance)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_label_noise_flips_exactly_that_share_and_nothing_else(problem):
    X, y = DRAW[problem](205, random_state=3)
    X_noisy, y_noisy = DRAW[problem](205, label_noise=0.1, random_state=3)
    assert_array_equal(X, X_noisy)
    assert np.sum(y != y_noisy) == round(20.5)
    assert set(y_noisy) == {-1, 1}
    assert y_noisy.dtype.kind == "i"


def test_label_noise_falls_on_both_classes_at_random():
    y = twonorm(1000, random_state=0)[1]
    flipped = np.flatnonzero(y != twonorm(1000, label_noise=0.2, random_state=0)[1])
    assert abs(y[flipped].mean()) < 4 / np.sqrt(len(flipped))
    assert abs(flipped.mean() - 499.5) < 4 * 1000 / np.sqrt(12 * len(flipped))


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_same_seed_gives_the_same_rows(problem):
    first, again = (DRAW[problem](50, 3, random_state=seed) for seed in (7, np.random.RandomState(7)))
    assert_array_equal(first[0], again[0])
    assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[0], DRAW[problem](50, 3, random_state=8)[0])


@pytest.mark.parametrize("arguments", [{"n_samples": 0}, {"n_features": 0}, {"label_noise": 1.5}])
def test_impossible_arguments_are_refused(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        ringnorm(**arguments)


def test_an_unknown_problem_is_answered_with_the_known_ones(rng):
    with pytest.raises(ValueError, match="twonorm, threenorm, ringnorm"):
        log_ratio("fournorm", rng.normal(size=(2, 2)))


# The real sets


def labels(name):
    return np.repeat(np.arange(len(real._FORMS[name].counts)), list(real._FORMS[name].counts.values()))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def openml(monkeypatch):
    """Put a frame in the place of OpenML's answer; the ids that were asked for are kept."""
    monkeypatch.delenv("MERCER_DATA", raising=False)
    answer = SimpleNamespace(data=None, target=None, asked=[])

    def fetch(*, data_id, as_frame, parser):
        answer.asked.append(data_id)
        return answer

    monkeypatch.setattr(real, "fetch_openml", fetch)
    return answer


@pytest.mark.parametrize(("name", "loader"), [("wdbc", load_breast_cancer), ("wine", load_wine)])
def test_sets_that_scikit_learn_ships_come_from_there(name, loader, openml):
    found, shipped = load(name), loader()
    assert_array_equal(found.X, shipped.data)
    assert_array_equal(found.y, shipped.target)
    assert found.feature_names == tuple(shipped.feature_names)
    assert not openml.asked


def test_a_file_in_the_folder_comes_first(folder, openml, monkeypatch, rng):
    monkeypatch.setenv("MERCER_DATA", str(folder))
    X, y = rng.normal(size=(178, 13)).astype(np.float32), rng.permutation(labels("wine"))
    np.savez(folder / "wine.npz", X=X, y=y, target_names=["1", "2", "3"], vintage=np.arange(178))
    found = load("wine")
    assert_array_equal(found.X, X)
    assert_array_equal(found.y, y)
    assert found.X.dtype == np.float64
    assert found.target_names == ("1", "2", "3")
    assert list(found.extras) == ["vintage"]
    assert "wine.npz" in found.source


def test_a_set_with_a_customary_split_is_its_training_part_and_then_its_test_part(folder, rng):
    train = np.repeat(np.arange(10), real._FORMS["usps"].train_counts)
    total = list(real._FORMS["usps"].counts.values())
    test = np.repeat(np.arange(10), np.subtract(total, real._FORMS["usps"].train_counts))
    arrays = {"X_train": rng.integers(2, size=(7291, 256)), "X_test": np.full((2007, 256), 5)}
    np.savez(folder / "usps.npz", **arrays, y_train=train, y_test=test)
    found = load("usps")
    assert found.n_train == 7291
    assert_array_equal(found.X[: found.n_train], arrays["X_train"])
    assert_array_equal(found.X[found.n_train :], arrays["X_test"])
    assert_array_equal(found.y, np.concatenate([train, test]))
    np.savez(folder / "usps.npz", **arrays, y_train=np.sort(found.y)[:7291], y_test=np.sort(found.y)[7291:])
    with pytest.raises(ValueError, match=r"class counts .* in the training part"):
        load("usps")


def test_labels_that_a_file_counts_from_one_are_counted_from_zero(folder):
    np.savez(folder / "yaleb.npz", X=np.zeros((2414, 1024), dtype=np.uint8), y=labels("yaleb") + 1)
    found = load("yaleb")
    assert_array_equal(found.y, labels("yaleb"))
    assert found.target_names[found.y[0]] == "1"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda X, y: {"X": X[:, 1:], "y": y}, "shape"),
        (lambda X, y: {"X": X[1:], "y": y[1:]}, "shape"),
        (lambda X, y: {"X": X, "y": y[1:]}, "shape"),
        (lambda X, y: {"X": X, "y": 1 - y}, "class counts"),
        (lambda X, y: {"X": np.where(X[0, 0] == X, np.nan, X), "y": y}, "not finite"),
        (lambda X, y: {"X": X}, "lacks the array 'y'"),
    ],
)
def test_a_file_of_the_wrong_form_is_refused(damage, message, folder, rng):
    np.savez(folder / "heart.npz", **damage(rng.normal(size=(270, 13)), labels("heart")))
    with pytest.raises(ValueError, match=message):
        load("heart")


def test_numbers_from_openml_are_taken_over_whether_nominal_or_not(openml, rng):
    X = rng.integers(1, 4, size=(690, 14))
    openml.data = pd.DataFrame(X, columns=[f"A{d + 1}" for d in range(14)])
    openml.data = openml.data.astype({"A1": str, "A4": str}).astype({"A1": "category", "A4": "category"})
    openml.data = openml.data.astype({"A2": "Int64"})
    openml.target = pd.Series(labels("australian").astype(str), dtype="category")
    found = load("australian")
    assert_array_equal(found.X, X)
    assert_array_equal(found.y, labels("australian"))
    assert found.feature_names[0] == "A1"
    assert openml.asked == [40981]


def test_openmls_votes_become_minus_one_zero_and_one(openml, rng):
    answers = rng.choice(["y", "n", "?"], size=(435, 16))
    openml.data = pd.DataFrame(answers).replace("?", np.nan).astype("category")
    openml.target = pd.Series(np.array(["democrat", "republican"])[labels("votes84")])
    expected = np.select([answers == "y", answers == "n"], [1, -1], 0)
    assert_array_equal(load("votes84").X, expected)


def test_openmls_rows_with_missing_values_are_left_out(openml, rng):
    X, y = rng.normal(size=(699, 9)), np.append(labels("breast-w"), rng.integers(2, size=16))
    X[683:, 5] = np.nan
    order = rng.permutation(699)
    openml.data = pd.DataFrame(X[order])
    openml.target = pd.Series(np.array(["benign", "malignant"])[y[order]])
    found = load("breast-w")
    kept = order[order < 683]
    assert_array_equal(found.X, X[kept])
    assert_array_equal(found.y, y[kept])


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("sonar", ["Mine", "Rock"]),
        ("pima", ["tested_negative", "tested_positive"]),
        ("heart", ["absent", "present"]),
    ],
)
def test_openmls_names_of_the_classes_are_translated(name, theirs, openml, rng):
    y = rng.permutation(labels(name))
    openml.data = pd.DataFrame(rng.normal(size=(len(y), real._FORMS[name].n_features)))
    openml.target = pd.Series(np.array(theirs)[y], dtype="category")
    assert_array_equal(load(name).y, y)


def test_an_answer_of_the_wrong_form_from_openml_is_refused(openml, rng):
    openml.data = pd.DataFrame(rng.normal(size=(303, 13)))
    openml.target = pd.Series(["absent"] * 303)
    with pytest.raises(ValueError, match=r"heart.*OpenML.*\(303, 13\), expected \(270, 13\)"):
        load("heart")
    openml.data, openml.target = openml.data[:270], pd.Series(["absent"] * 150 + ["maybe"] * 120)
    with pytest.raises(ValueError, match=r"class counts \(150, 0\)"):
        load("heart")


@pytest.mark.parametrize("error", [OSError("no route"), ImportError("no pandas")])
def test_without_network_or_pandas_the_error_says_where_to_put_the_file(error, monkeypatch):
    def fetch(**_):
        raise error

    monkeypatch.delenv("MERCER_DATA", raising=False)
    monkeypatch.setattr(real, "fetch_openml", fetch)
    with pytest.raises(OSError, match=r"MERCER_DATA .* folder that holds heart\.npz"):
        load("heart")


@pytest.mark.parametrize("name", ["german", "colon", "lymphoma", "soybean-small", "yaleb"])
def test_a_set_that_only_the_folder_has_is_not_asked_of_openml(name, openml):
    with pytest.raises(FileNotFoundError, match=rf"MERCER_DATA .* folder that holds {name}\.npz"):
        load(name)
    assert not openml.asked


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match=", ".join(names())):
        load("iris")


@pytest.mark.skipif("MERCER_DATA" not in os.environ, reason="MERCER_DATA names no folder")
@pytest.mark.parametrize("name", names())
def test_every_set_in_the_folder_has_its_known_form(name):
    found = load(name)
    assert len(found.X) == len(found.y)
    assert found.feature_names == () or len(found.feature_names) == found.X.shape[1]
