"""What Superkernel may be fitted to: pairs, unlabelled rows, degenerate data; what it refuses."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.model_selection import GridSearchCV, cross_val_score

from mercer import KernelSVC, Pairs, Superkernel
from mercer.kernels import Stump
from mercer.solvers.cholesky import NotPositiveSemiDefiniteError
from mercer.superkernels import (
    ARD,
    Alignment,
    Explicit,
    GaussianHarmonic,
    Harmonic,
    Posterior,
    PowerSeries,
    Risk,
    SquaredRisk,
    Widths,
)
from stand_ins import ProgressBar, Stop

LIST = Explicit([RBF(0.3), RBF(1.0), RBF(3.0), DotProduct()], normalize=False)


def some_data(m=40, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(m) % 2)
    X = rng.normal(size=(m, 3))
    X[:, 0] += 2.5 * y
    return X, y


# pairs


def some_pairs():
    return np.array([[0, 1], [2, 5], [7, 3]]), np.array([[0, 2], [4, 9]])


def test_from_pairs_the_kernel_s_values_are_fitted_to_one_and_minus_one():
    X, _ = some_data()
    similar, dissimilar = some_pairs()
    penalty = 1e-3
    learner = Superkernel(LIST, quality=Alignment(), penalty=penalty).fit(X, pairs=Pairs(similar, dissimilar))
    pairs = [*similar, *dissimilar]
    Z = np.array([[k(X[[i]], X[[j]])[0, 0] for i, j in pairs] for k in LIST.kernels])
    Z, t = Z - Z.mean(axis=1, keepdims=True), np.array([1, 1, 1, -1, -1]) - 0.2
    # the same by least squares with the penalty as more rows
    rows = np.vstack([Z.T / np.sqrt(5), np.sqrt(penalty) * np.eye(4)])
    beta, rest = nnls(rows, np.concatenate([t / np.sqrt(5), np.zeros(4)]))
    assert_allclose(learner.beta_, beta, atol=1e-8)
    assert learner.objective_[-1] == pytest.approx(rest**2 / 2)
    assert not hasattr(learner, "classes_")


def test_where_dissimilar_samples_are_nearer_by_all_kernels_each_is_similar_to_itself_at_least():
    X = np.array([[0.0], [1.0], [3.0], [4.2], [7.0], [8.3]])
    similar, dissimilar = [[0, 2], [1, 4], [3, 5]], [[0, 1], [2, 3], [4, 5]]
    penalty = 1e-3
    kernels = [RBF(0.5), RBF(1.0), RBF(2.0)]
    learner = Superkernel(Explicit(kernels, normalize=False), quality=Alignment(), penalty=penalty)
    learner.fit(X, pairs=Pairs(similar, dissimilar))
    themselves = [[i, i] for i in range(6)]
    Z = np.array([[k(X[[i]], X[[j]])[0, 0] for i, j in themselves + similar + dissimilar] for k in kernels])
    t = np.repeat([1.0, -1.0], [9, 3])
    for values in Z:  # of the pairs alone, each kernel is worse than none
        assert values[6:] @ (t[6:] - t[6:].mean()) < 0
    Z, t = Z - Z.mean(axis=1, keepdims=True), t - t.mean()
    rows = np.vstack([Z.T / np.sqrt(12), np.sqrt(penalty) * np.eye(3)])
    beta, _ = nnls(rows, np.concatenate([t / np.sqrt(12), np.zeros(3)]))
    assert beta.max() > 0.1
    assert_allclose(learner.beta_, beta, atol=1e-8)


def test_dissimilar_pairs_are_guessed_if_there_are_none():
    X, y = some_data()
    rows = np.flatnonzero(y == 0)
    similar = np.column_stack([rows[:-1], rows[1:]])
    learner = Superkernel(quality=Alignment(), random_state=0).fit(X, pairs=Pairs(similar, []))
    assert np.any(learner.beta_ > 0)
    again = Superkernel(quality=Alignment(), random_state=0).fit(X, pairs=(similar, []))
    assert_array_equal(again.beta_, learner.beta_)


@pytest.mark.parametrize("quality", [None, Risk(), Posterior()], ids=str)
def test_a_risk_needs_labels(quality):
    X, _ = some_data()
    message = r"learns from labels, not from pairs: set quality=Alignment\(\)"
    with pytest.raises(ValueError, match=message):
        Superkernel(quality=quality).fit(X, pairs=Pairs(*some_pairs()))


def test_what_a_quality_cannot_learn_from_is_said_with_one_that_can():
    X, y = some_data()
    for quality in (Risk(), Posterior()):
        message = r"learns from labels, not from numbers: set quality=SquaredRisk\(\)"
        with pytest.raises(ValueError, match=message):
            Superkernel(quality=quality).fit(X, target=y)
    with pytest.raises(ValueError, match=r"learns from numbers, not from labels: set quality=Risk\(\)"):
        Superkernel(quality=SquaredRisk()).fit(X, y)
    with pytest.raises(ValueError, match="the target is constant"):
        Superkernel().fit(X, target=np.full(len(X), 3.0))


def test_dissimilar_pairs_alone_say_too_little():
    X, _ = some_data()
    with pytest.raises(ValueError, match="no similar pairs: list some"):
        Superkernel(quality=Alignment()).fit(X, pairs=Pairs([], some_pairs()[1]))


# unlabelled rows


@pytest.mark.parametrize("superkernel", [Harmonic(RBF(1.0), 0.95), ARD(Harmonic(RBF(1.0), 0.95))], ids=str)
def test_unlabelled_rows_are_more_pairs_to_expand_in(superkernel):
    X, y = some_data(m=12)
    X = 0.1 * X
    unlabelled = 3.0 * np.random.default_rng(1).normal(size=(20, 3))
    alone = Superkernel(superkernel, tol=1e-6, random_state=0).fit(X, y)
    helped = Superkernel(superkernel, tol=1e-6, random_state=0).fit(X, y, unlabelled=unlabelled)
    assert len(helped.beta_) > len(alone.beta_)
    assert helped.objective_[-1] <= alone.objective_[-1] * (1 + 1e-5)  # a larger space has no higher minimum


def test_lists_of_kernels_have_no_use_for_unlabelled_rows():
    X, y = some_data()
    alone, helped = Superkernel().fit(X, y), Superkernel().fit(X, y, unlabelled=5.0 * X)
    assert_array_equal(alone.beta_, helped.beta_)


# degenerate data works, or says why not


@pytest.mark.parametrize("superkernel", [None, GaussianHarmonic(), LIST, ARD(GaussianHarmonic())], ids=str)
def test_duplicates_constant_columns_and_two_rows(superkernel):
    X, y = some_data()
    for rows, labels in [
        (np.repeat(X, 2, axis=0), np.repeat(y, 2)),
        (np.repeat(X, 2, axis=0), np.tile([0, 1], len(X))),  # each row in both classes
        (np.column_stack([X, np.full(40, 3.0), np.zeros(40)]), y),
        (np.array([[0.0, 1.0], [1.0, 0.5]]), [0, 1]),
        (np.arange(60.0).reshape(2, 30), [1, 0]),
    ]:
        learner = Superkernel(superkernel).fit(rows, labels)
        assert np.all(np.isfinite(learner.beta_))
        assert learner.gap_ <= 1e-4


@pytest.mark.parametrize("superkernel", [None, GaussianHarmonic(), LIST, ARD(GaussianHarmonic(1.0))], ids=str)
def test_rows_that_are_all_the_same_teach_nothing(superkernel):
    with pytest.raises(ValueError, match="constant"):
        Superkernel(superkernel).fit(np.ones((10, 2)), np.arange(10) % 2)


def test_more_kernels_than_rows():
    X, y = some_data(m=20)
    superkernel = Widths(feature_widths=tuple(np.geomspace(0.1, 10, 40)))
    for quality in (Risk(), Alignment()):
        learner = Superkernel(superkernel, quality=quality).fit(X, y)
        assert len(learner.beta_) == 126
        assert learner.gap_ <= 1e-4


def test_features_that_say_nothing_get_little_of_the_weight():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 20))
    y = X[:, 3] + X[:, 7] > 0
    learner = Superkernel(Widths((), feature_widths=(1.0,)), penalty=1e4).fit(X, y)
    said, unsaid = learner.beta_[[3, 7]], np.delete(learner.beta_, [3, 7])
    assert said.min() > 2 * unsaid.max()


@pytest.mark.parametrize("penalty", [1e-12, 1e6, 1e12])
def test_extreme_penalties_give_kernels_of_extreme_scales(penalty):
    X, y = some_data()
    learner = Superkernel(penalty=penalty).fit(X, y)
    assert learner.gap_ <= 1e-4
    assert np.any(learner.beta_ > 0)


def test_where_the_best_kernel_is_none_that_of_variance_one_is_returned_with_a_warning():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    with pytest.warns(
        UserWarning, match=r"by Posterior\(\) no kernel .* better than noise.*quality=Risk\(\)"
    ):
        learner = Superkernel(quality=Posterior()).fit(X, y)
    K = learner.kernel_(X)
    assert np.trace(K) / 30 - K.mean() == pytest.approx(1.0)
    assert Superkernel(quality=Risk()).fit(X, y).beta_.any()


def test_where_a_solver_finds_that_kernels_are_none_it_is_said_what_to_do(monkeypatch):
    def refuse(*args, **kwargs):
        raise NotPositiveSemiDefiniteError(0.25)

    X, y = some_data()
    monkeypatch.setattr(Risk, "minimize", refuse)
    with pytest.raises(
        ValueError, match=r"not positive semi-definite on these rows \(.* 0.2 .*Stump.spanning"
    ):
        Superkernel().fit(X, y)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"superkernel": RBF()}, TypeError, r"give Explicit\(\[k1, k2"),
        ({"superkernel": "widths"}, TypeError, "one of mercer.superkernels or None"),
        ({"superkernel": Harmonic(DotProduct())}, ValueError, r"values in \[0, 1\]"),
        ({"superkernel": GaussianHarmonic(decay=1.5)}, ValueError, r"decay must be in \(0, 1\)"),
        ({"superkernel": Explicit([Stump()])}, ValueError, "not positive semi-definite"),
        ({"superkernel": PowerSeries(3.0 * RBF(), "log")}, ValueError, "smaller scale"),
        ({"quality": "alignment"}, TypeError, r"Write .* Alignment\(\).* in mercer.superkernels"),
        ({"quality": Risk}, TypeError, r"Write quality=Risk\(C=100.0\)"),
        ({"quality": Risk(solver="newton")}, ValueError, "solver must be one of 'planes', 'alternation'"),
        ({"quality": Risk(C=0.0)}, ValueError, "C must be positive"),
        ({"quality": Risk(C="1")}, TypeError, "C must be a number"),
        ({"quality": Risk(C=1e200)}, ValueError, "C must be between"),
        ({"quality": Posterior(noise=0)}, ValueError, "noise must be positive"),
        ({"penalty": -1.0}, ValueError, "penalty must be positive"),
        ({"penalty": np.inf}, ValueError, "penalty must be positive and finite"),
        ({"rank_tol": 0.0}, ValueError, "rank_tol must be positive"),
        ({"max_rank": 0}, ValueError, "max_rank must be at least 1"),
        ({"tol": np.nan}, ValueError, "tol must be positive"),
        ({"max_iter": 1.5}, TypeError, "max_iter must be a whole number"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said(params, error, message):
    X, y = some_data()
    with pytest.raises(error, match=message):
        Superkernel(**params).fit(X, y)


def test_one_class_and_no_labels_are_refused():
    X, y = some_data()
    with pytest.raises(ValueError, match="one class: 0"):
        Superkernel().fit(X, 0 * y)
    with pytest.raises(ValueError, match="requires y"):
        Superkernel().fit(X)
    with pytest.raises(NotFittedError):
        Superkernel().transform(X)


# stopping


def test_too_few_steps_are_warned_of():
    X, y = some_data()
    with pytest.warns(
        ConvergenceWarning, match="after 2 iterations at a relative gap of .* increase max_iter"
    ):
        learner = Superkernel(max_iter=2).fit(X, y)
    assert learner.n_iter_ == 2
    assert learner.gap_ > 1e-4


@pytest.mark.parametrize("quality", [None, Risk(solver="alternation"), Posterior(), Alignment()], ids=str)
def test_a_callback_stops_the_search_and_what_is_done_is_kept(quality):
    X, y = some_data()
    whole = Superkernel(quality=quality, tol=1e-7).fit(X, y)
    n_steps = 1 if whole.n_iter_ < 3 else 3
    stop = Stop(n_steps, "step")
    learner = Superkernel(quality=quality, tol=1e-7).set_callbacks(stop).fit(X, y)
    assert stop.seen == learner.n_iter_ == n_steps
    assert whole.n_iter_ > n_steps or quality == Alignment()
    assert_allclose(learner.objective_, whole.objective_[:n_steps])
    assert learner.transform(X).shape[0] == len(X)


def test_a_progress_bar_changes_nothing():
    X, y = some_data()
    learner = Superkernel().set_callbacks(ProgressBar()).fit(X, y)
    assert_array_equal(learner.beta_, Superkernel().fit(X, y).beta_)


# in scikit-learn's tools


def test_in_a_search_over_penalties_of_the_whole():
    X, y = some_data(m=60)
    search = GridSearchCV(KernelSVC(Superkernel()), {"learner__penalty": [1.0, 1e3, 1e5]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.75
    assert cross_val_score(search.best_estimator_, X, y, cv=3).mean() == pytest.approx(search.best_score_)


def test_the_c_of_the_risk_is_a_parameter_to_search_over():
    X, y = some_data(m=60)
    model = KernelSVC(Superkernel(quality=Risk()))
    search = GridSearchCV(model, {"learner__quality__C": [1.0, 10.0]}, cv=3).fit(X, y)
    assert search.best_estimator_.learner_.svm_C == search.best_params_["learner__quality__C"]
    assert model.learner.quality == Risk(C=100.0)  # values are cloned, not changed


def test_the_same_seed_gives_the_same_kernel():
    X, y = some_data(m=200)
    superkernel = ARD(GaussianHarmonic(1.0))
    one, other = (Superkernel(superkernel, random_state=3).fit(X, y) for _ in range(2))
    assert one.kernel_ == other.kernel_
