"""BoostedKernel against Fig. 1 of [CKS02] written slowly, and against what must not matter."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    WhiteKernel,
)
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer import BoostedKernel, KernelSVC, Pairs
from mercer.kernels import Projected
from mercer.losses import LOSSES, Loss
from reference import PAIR_LOSSES, boost, score, signs
from stand_ins import Function, ProgressBar, Stop

EACH_LOSS = pytest.mark.parametrize("loss", ["log", "exp"])
EACH_BASE = pytest.mark.parametrize("base", [None, RBF(0.8)], ids=["linear", "rbf"])


def some_data(n_rows=40, n_features=4, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    y = rng.permutation(np.arange(n_rows) % n_classes)
    X[:, :2] += 1.5 * np.column_stack([np.cos(2 * np.pi * y / n_classes), np.sin(2 * np.pi * y / n_classes)])
    return X, y


def assert_same_kernel(found, expected, X, rtol=1e-8):
    K = expected(X)
    assert_allclose(found(X), K, atol=rtol * np.abs(K).max())


# what the paper says


@EACH_LOSS
@pytest.mark.parametrize("step", ["normalized", "literal"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("transductive", [False, True])
@pytest.mark.parametrize("kind", ["linear", "rbf"])
def test_it_is_figure_1_with_dense_eigenvectors(loss, step, n_classes, transductive, kind):
    # in thirty columns, the Gram matrix of eighteen rows is well-conditioned; rows of length about one, as
    # otherwise the literal step makes exponents in which rounding errors explode
    X, y = some_data(18, 4 if kind == "rbf" else 30, n_classes)
    new, _ = some_data(11, X.shape[1], n_classes, seed=1)
    X, new = (X, new) if kind == "rbf" else (X / 6, new / 6)
    base = RBF(0.8) if kind == "rbf" else DotProduct(0.0)
    spanning = new if transductive else X
    options = {"loss": loss, "n_rounds": 6, "n_directions": n_classes - 1}
    learner = BoostedKernel(None if kind == "linear" else base, step=step, balance=False, **options)
    learner.fit(X, y, unlabelled=new if transductive else None)
    coef, alphas, losses = boost(
        base(X, spanning), base(spanning), signs(y), normalize=step == "normalized", **options
    )
    assert_same_kernel(learner.kernel_, Projected(coef, base, spanning), np.vstack([X, new]))
    assert_allclose(learner.alphas_, alphas, rtol=1e-7)
    first = PAIR_LOSSES[loss](0.0)
    assert_allclose(learner.losses_, [first, *losses], rtol=1e-8)


@EACH_LOSS
@EACH_BASE
def test_balanced_classes_weigh_the_pairs_of_round_one(base, loss):
    X, y = some_data(20, 4, 4)
    X = np.hstack([X, np.random.default_rng(2).normal(size=(20, 30))]) if base is None else X
    S = signs(y)
    half = S.size / 2
    D_0 = np.where(S > 0, half / np.sum(S > 0), half / np.sum(S < 0))
    kappa = base or DotProduct(0.0)
    learner = BoostedKernel(base, loss=loss, n_rounds=5, step="normalized").fit(X, y)
    coef, alphas, _ = boost(kappa(X), kappa(X), S, 5, loss=loss, D_0=D_0, n_directions=3)
    assert_same_kernel(learner.kernel_, Projected(coef, kappa, X), X)
    assert_allclose(learner.alphas_, alphas, rtol=1e-7)


def test_no_direction_has_a_higher_score_than_the_first():
    X, y = some_data(9, 3)
    learner = BoostedKernel(RBF(), n_rounds=1).fit(X, y)
    K, rng = RBF()(X), np.random.default_rng(0)
    D = np.full((9, 9), 0.5)  # of LogLoss at 0
    v = learner.kernel_.coef[:, 0] / np.sqrt(learner.alphas_[0])
    assert_allclose(v @ K @ v, 1.0)
    best = score(D, signs(y), K, v)
    for other in [*rng.normal(size=(8, 9)), *(v + 0.05 * rng.normal(size=(8, 9)))]:
        assert score(D, signs(y), K, other / np.sqrt(other @ K @ other)) < best


@EACH_LOSS
def test_the_step_minimises_its_bound_on_the_pairs(loss):
    X, y = some_data(30)
    learner = BoostedKernel(loss=loss, n_rounds=1).fit(X, y)
    K = learner.kernel_(X)
    K_t = K / np.abs(K).max()
    alpha = np.abs(K).max()  # of the normalized kernel
    gain = signs(y) * K_t

    def bound(a):
        return np.sum(np.where(gain > 0, gain * np.exp(-a), -gain * np.exp(a)))

    for nearby in (alpha - 1e-3, alpha + 1e-3, alpha / 2, 2 * alpha):
        assert bound(nearby) > bound(alpha)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(2, 5),
    loss=st.sampled_from(["log", "exp"]),
    base=st.sampled_from([None, RBF(0.5), RBF(5.0), DotProduct(1.0)]),
    max_pairs=st.sampled_from([None, 2, 60]),
    balance=st.sampled_from(["auto", True, False]),
    n_directions=st.sampled_from([None, 1, 4]),
    transductive=st.booleans(),
    as_pairs=st.booleans(),
)
def test_the_loss_falls_every_round(
    seed, n_classes, loss, base, max_pairs, balance, n_directions, transductive, as_pairs
):
    rng = np.random.default_rng(seed)
    n = rng.integers(n_classes + 1, 25)
    X = rng.normal(size=(n, rng.integers(1, 6))) * 10.0 ** rng.integers(-3, 4)
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    known = {"pairs": Pairs.from_labels(y)} if as_pairs else {"y": y}
    learner = BoostedKernel(
        base, loss=loss, n_rounds=8, balance=balance, n_directions=n_directions, max_pairs=max_pairs
    ).set_params(random_state=seed)
    try:
        learner.fit(X, **known, unlabelled=X[:3] if transductive else None)
    except ConvergenceWarning as nothing:
        assert "no direction has a positive score" in str(nothing)  # noqa: PT017
        return
    assert np.all(np.diff(learner.losses_) < 0)
    assert np.all(learner.alphas_ > 0)
    K = learner.kernel_(X)
    assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-10 * np.abs(K).max()
    if max_pairs is None and not as_pairs:
        S = signs(y)
        half = S.size / 2
        balanced = n_classes > 2 if balance == "auto" else balance
        D_0 = np.where(S > 0, half / np.sum(S > 0), half / np.sum(S < 0)) if balanced else np.ones(S.shape)
        assert_allclose(np.average(PAIR_LOSSES[loss](S * K), weights=D_0), learner.losses_[-1], rtol=1e-6)


# what it is


@EACH_BASE
def test_its_features_reproduce_its_kernel(base):
    X, y = some_data(30, n_classes=3)
    new, _ = some_data(9, seed=1)
    learner = BoostedKernel(base, n_rounds=5).fit(X, y)
    features = learner.transform(new)
    assert features.shape == (9, learner.n_directions_.sum())
    assert_allclose(features @ learner.transform(X).T, learner.kernel_(new, X), rtol=1e-12, atol=1e-14)
    K = learner.kernel_(np.vstack([X, new]))
    assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-12 * np.abs(K).max()


def test_without_a_base_no_rows_are_kept():
    X, y = some_data(30)
    kernel = BoostedKernel(n_rounds=5).fit(X, y).kernel_
    assert kernel.landmarks is None
    assert kernel.base is None
    assert kernel.coef.shape == (4, 5)


@EACH_BASE
@pytest.mark.parametrize("transductive", [False, True])
def test_the_kernel_after_some_rounds_is_that_of_fewer_rounds_and_costs_nothing(base, transductive):
    X, y = some_data(30, n_classes=3)
    unlabelled = X[:8] if transductive else None
    whole = BoostedKernel(base, n_rounds=5).fit(X, y, unlabelled=unlabelled)
    kernels = list(whole.staged_kernels())
    assert len(kernels) == 5
    assert kernels[-1] == whole.kernel_
    for t, staged in enumerate(kernels, 1):
        fewer = BoostedKernel(base, n_rounds=t).fit(X, y, unlabelled=unlabelled)
        assert whole.kernel_after(t) == staged
        assert staged.coef.shape == fewer.kernel_.coef.shape
        assert_allclose(staged.coef, fewer.kernel_.coef, rtol=1e-9, atol=1e-12)
        assert np.shares_memory(staged.coef, whole.kernel_.coef)
        assert staged.landmarks is whole.kernel_.landmarks
        assert_allclose(fewer.losses_, whole.losses_[: t + 1], rtol=1e-12)
    assert_array_equal(whole.kernel_after(0)(X), np.zeros((30, 30)))


def test_there_is_no_kernel_after_more_rounds_than_were_made():
    X, y = some_data()
    learner = BoostedKernel(n_rounds=2).fit(X, y)
    with pytest.raises(ValueError, match="n_rounds must be at most 2, the number of rounds of the fit"):
        learner.kernel_after(3)
    with pytest.raises(ValueError, match="at least 0"):
        learner.kernel_after(-1)
    with pytest.raises(NotFittedError):
        BoostedKernel().kernel_after(1)
    with pytest.raises(NotFittedError):
        BoostedKernel().staged_kernels()


# what must not matter


@pytest.mark.parametrize("n_unlabelled", [None, 3, 12])
@EACH_LOSS
def test_the_inner_product_as_base_gives_the_same_as_none(loss, n_unlabelled):
    X, y = some_data(40, 5)
    unlabelled = None if n_unlabelled is None else np.random.default_rng(3).normal(size=(n_unlabelled, 5))
    one, other = (
        BoostedKernel(base, loss=loss, n_rounds=8).fit(X, y, unlabelled=unlabelled)
        for base in (None, DotProduct(0.0))
    )
    assert_same_kernel(one.kernel_, other.kernel_, X)
    assert_allclose(one.alphas_, other.alphas_, rtol=1e-7)


@EACH_BASE
def test_rows_that_are_labelled_already_span_no_more_as_unlabelled_ones(base):
    X, y = some_data(15, 4)
    more = np.vstack([X, np.random.default_rng(3).normal(size=(5, 4))])
    alone = BoostedKernel(base, n_rounds=5).fit(X, y)
    assert_same_kernel(
        BoostedKernel(base, n_rounds=5).fit(X, y, unlabelled=more).kernel_, alone.kernel_, more, 1e-7
    )


@EACH_BASE
@EACH_LOSS
@pytest.mark.parametrize(("n_classes", "n_directions"), [(2, 1), (4, 3)])
def test_pairs_of_labels_are_the_labels_in_any_order(base, loss, n_classes, n_directions):
    X, y = some_data(24, 4, n_classes)
    y[0] = y[1]  # classes of unequal sizes
    rng = np.random.default_rng(0)
    similar, dissimilar = Pairs.from_labels(y)
    own = np.column_stack([np.arange(24), np.arange(24)])
    shuffled = (
        rng.permuted(rng.permutation(np.vstack([pairs, pairs[:7]])), axis=1)
        for pairs in (np.vstack([similar, own]), dissimilar)
    )
    learner = BoostedKernel(base, loss=loss, n_rounds=6, n_directions=n_directions)
    expected = clone(learner).fit(X, y)
    by_default = clone(learner).set_params(n_directions=None).fit(X, y)
    assert by_default.kernel_ == expected.kernel_
    for pairs in (Pairs(similar, dissimilar), Pairs(*shuffled)):
        found = clone(learner).fit(X, pairs=pairs)
        assert_same_kernel(found.kernel_, expected.kernel_, X)
        assert_allclose(found.losses_, expected.losses_, rtol=1e-9)


@EACH_BASE
def test_rows_in_no_pair_do_not_matter(base):
    X, y = some_data(20)
    chosen = np.array([1, 2, 4, 5, 7, 8, 9, 12, 13, 16, 18, 19])
    among = Pairs.from_labels(y[chosen])
    pairs = Pairs(chosen[among.similar], chosen[among.dissimilar])
    lone = Pairs([*pairs.similar, (15, 15)], pairs.dissimilar)  # says nothing of row 15
    few = BoostedKernel(base, n_rounds=4).fit(X[chosen], pairs=among)
    for given_pairs in (pairs, lone):
        learner = BoostedKernel(base, n_rounds=4).fit(X, pairs=given_pairs)
        assert_same_kernel(learner.kernel_, few.kernel_, X, 1e-10)
        if base is not None:
            assert_array_equal(learner.kernel_.landmarks, X[chosen])


@EACH_BASE
@EACH_LOSS
def test_neither_the_order_of_rows_nor_the_names_of_classes_matter(base, loss):
    X, y = some_data(30, 4, 3)
    order = np.random.default_rng(0).permutation(30)
    learner = BoostedKernel(base, loss=loss, n_rounds=6)
    expected = clone(learner).fit(X, y)
    names = np.array(["maybe", "yes", "no"])
    for rows, labels in ((X[order], y[order]), (X, names[y]), (X, 2 - y)):
        found = clone(learner).fit(rows, labels)
        assert_same_kernel(found.kernel_, expected.kernel_, X, rtol=1e-7)  # rounding, through six rounds
    assert_array_equal(clone(learner).fit(X, names[y]).classes_, ["maybe", "no", "yes"])


@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1e30])
@EACH_LOSS
def test_the_scale_of_the_rows_changes_the_alphas_alone(scale, loss):
    X, y = some_data(30, 4, 3)
    learner = BoostedKernel(loss=loss, n_rounds=6)
    plain, scaled = clone(learner).fit(X, y), clone(learner).fit(scale * X, y)
    assert_allclose(scaled.kernel_(scale * X), plain.kernel_(X), atol=1e-8 * plain.kernel_(X).max())
    assert_allclose(scaled.alphas_ * scale**2, plain.alphas_, rtol=1e-7)
    assert_allclose(scaled.losses_, plain.losses_, rtol=1e-9)


@pytest.mark.parametrize("base", [RBF(), RBF(1e-20), DotProduct(0.0), DotProduct(1.0)], ids=str)
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_a_base_kernel_may_be_as_good_as_constant_or_as_the_identity(base, scale):
    X, y = some_data(20, 3)
    y[0] = y[1]
    learner = BoostedKernel(base, n_rounds=4)
    try:
        learner.fit(scale * X, y)
    except ConvergenceWarning:
        assert np.ptp(base(scale * X)) == 0.0  # nothing tells the rows apart
    assert np.all(np.isfinite(learner.kernel_(scale * X)))


@EACH_BASE
def test_the_same_seed_gives_the_same_kernel(base):
    X, y = some_data()
    fits = [BoostedKernel(base, n_rounds=4, max_pairs=50, random_state=s).fit(X, y) for s in (0, 0, 1)]
    assert fits[0].kernel_ == fits[1].kernel_
    assert fits[0].kernel_ != fits[2].kernel_
    exact = [BoostedKernel(base, n_rounds=4, random_state=s).fit(X, y).kernel_ for s in (0, 1)]
    assert exact[0] == exact[1]


def test_a_sample_of_the_pairs_comes_near_to_all_of_them():
    X, y = some_data(60, 4)
    exact = BoostedKernel(n_rounds=3).fit(X, y).kernel_(X)
    errors = [
        np.abs(BoostedKernel(n_rounds=3, max_pairs=n, random_state=0).fit(X, y).kernel_(X) - exact).max()
        for n in (20, 1800)
    ]
    assert errors[1] < 0.5 * errors[0]
    assert errors[1] < 0.2 * np.abs(exact).max()


@EACH_BASE
def test_arrays_may_be_read_only_strided_or_of_single_precision(base):
    X, y = some_data(30)
    X = X.astype(np.float32).astype(np.float64)
    expected = BoostedKernel(base, n_rounds=4).fit(X, y, unlabelled=X[:9])
    frozen = X.copy()
    frozen.flags.writeable = y.flags.writeable = False
    strided = np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2]
    for rows in (frozen, strided, np.asfortranarray(X), X.astype(np.float32), X.tolist()):
        found = BoostedKernel(base, n_rounds=4).fit(rows, y, unlabelled=np.asarray(rows)[:9])
        assert_same_kernel(found.kernel_, expected.kernel_, X, 1e-10)
        assert_allclose(found.transform(rows), expected.transform(X), atol=1e-9)


@EACH_BASE
def test_rows_that_are_changed_later_do_not_change_the_kernel(base):
    X, y = some_data(20)
    Z = X.copy()
    learner = BoostedKernel(base, n_rounds=3).fit(Z, y, unlabelled=Z)
    expected = learner.kernel_(X)
    Z[:] = 0.0
    assert_array_equal(learner.kernel_(X), expected)


# in scikit-learn


def test_a_grid_searches_the_base_kernel_too():
    X, y = some_data(60)
    pipeline = make_pipeline(StandardScaler(), BoostedKernel(RBF()), SVC(kernel="linear"))
    grid = {"boostedkernel__base__length_scale": [0.1, 2.0], "boostedkernel__n_rounds": [1, 3]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    found = search.best_estimator_[1]
    assert found.kernel_.base.length_scale == search.best_params_["boostedkernel__base__length_scale"]
    assert found.n_rounds_ == search.best_params_["boostedkernel__n_rounds"]


def test_a_pipeline_hands_on_the_unlabelled_rows():
    X, y = some_data()
    unlabelled, _ = some_data(8, seed=1)
    expected = BoostedKernel(n_rounds=3).fit(X, y, unlabelled=unlabelled)
    pipeline = make_pipeline(BoostedKernel(n_rounds=3), SVC(kernel="linear"))
    pipeline.fit(X, y, boostedkernel__unlabelled=unlabelled)
    assert pipeline[0].kernel_ == expected.kernel_
    with config_context(enable_metadata_routing=True):
        routed = BoostedKernel(n_rounds=3).set_fit_request(unlabelled=True)
        pipeline = make_pipeline(routed, SVC(kernel="linear")).fit(X, y, unlabelled=unlabelled)
    assert pipeline[0].kernel_ == expected.kernel_


def test_a_pipeline_hands_on_pairs_instead_of_labels():
    X, y = some_data()
    pairs = Pairs.from_labels(y)
    expected = BoostedKernel(n_rounds=3).fit(X, pairs=pairs).transform(X)
    pipeline = make_pipeline(StandardScaler(with_mean=False, with_std=False), BoostedKernel(n_rounds=3))
    assert_array_equal(pipeline.fit_transform(X, boostedkernel__pairs=pairs), expected)
    with config_context(enable_metadata_routing=True):
        routed = BoostedKernel(n_rounds=3).set_fit_request(pairs=True)
        assert_array_equal(make_pipeline(routed).fit_transform(X, pairs=pairs), expected)


def test_an_svm_learns_its_kernel_inside():
    X, y = some_data(60)
    unlabelled, _ = some_data(9, seed=1)
    model = KernelSVC(BoostedKernel(RBF(), n_rounds=5), C=10.0).fit(X, y, unlabelled=unlabelled)
    learner = BoostedKernel(RBF(), n_rounds=5).fit(X, y, unlabelled=unlabelled)
    assert model.kernel_ == learner.kernel_
    rival = SVC(kernel=learner.kernel_, C=10.0, tol=1e-6).fit(X, y)
    assert_allclose(model.decision_function(X), rival.decision_function(X), atol=1e-2)
    assert cross_val_score(KernelSVC(BoostedKernel(n_rounds=5)), X, y, cv=3).mean() > 0.8
    grid = {"learner__n_rounds": [1, 4], "learner__loss": ["log", "exp"], "C": [0.1, 1.0]}
    search = GridSearchCV(KernelSVC(BoostedKernel()), grid, cv=3).fit(X, y)
    assert search.best_estimator_.learner_.n_rounds_ == search.best_params_["learner__n_rounds"]


def test_features_have_names():
    X, y = some_data()
    learner = BoostedKernel(n_rounds=3).set_output(transform="pandas").fit(X, y)
    names = ["boostedkernel0", "boostedkernel1", "boostedkernel2"]
    assert list(learner.get_feature_names_out()) == names
    assert list(learner.transform(X).columns) == names


def test_progress_is_shown_and_a_callback_may_stop_it(capsys):
    X, y = some_data()
    BoostedKernel(n_rounds=3).set_callbacks(ProgressBar()).fit(X, y)
    assert "BoostedKernel" in capsys.readouterr().out
    stop = Stop(3, "round")
    learner = BoostedKernel(n_rounds=10).set_callbacks(stop).fit(X, y)
    assert stop.seen == learner.n_rounds_ == len(learner.alphas_) == 3
    assert learner.kernel_ == BoostedKernel(n_rounds=3).fit(X, y).kernel_
    assert learner.transform(X).shape == (40, 3)


# data and parameters that are not as they should be


def test_rows_of_two_classes_that_coincide_stay_alike_and_the_others_are_told_apart():
    X, y = some_data(30)
    X, y = np.vstack([X, X[:4]]), np.append(y, 1 - y[:4])
    K = BoostedKernel(RBF(), n_rounds=5).fit(X, y).kernel_(X)
    assert_allclose(K[:4], K[30:], atol=1e-12 * np.abs(K).max())
    assert np.mean((K > 0) == (signs(y) > 0)) > 0.7


def test_constant_columns_and_more_columns_than_rows_do_no_harm():
    X, y = some_data(10, 3)
    wide = np.hstack([X, np.zeros((10, 20))])
    narrow, padded = BoostedKernel(n_rounds=4).fit(X, y), BoostedKernel(n_rounds=4).fit(wide, y)
    assert_allclose(padded.kernel_(wide), narrow.kernel_(X), atol=1e-9)
    assert_allclose(padded.kernel_.coef[3:], 0.0, atol=1e-15)
    constant = np.hstack([X, np.ones((10, 1))])
    assert_same_kernel(
        BoostedKernel(n_rounds=4).fit(constant, y).kernel_,
        BoostedKernel(DotProduct(0.0), n_rounds=4).fit(constant, y).kernel_,
        constant,
    )


@pytest.mark.parametrize("base", [None, RBF(), ConstantKernel(2.0)], ids=str)
@pytest.mark.parametrize("transductive", [False, True])
def test_where_nothing_can_be_learned_the_kernel_is_zero_and_it_says_so(base, transductive):
    X, y = np.ones((6, 2)), [0, 1, 0, 1, 0, 1]
    unlabelled = X[:2] if transductive else None
    learner = BoostedKernel(base)
    with pytest.warns(ConvergenceWarning, match="no direction has a positive score") as caught:
        learner.fit(X, y, unlabelled=unlabelled)
    assert caught[0].filename == __file__
    assert learner.n_rounds_ == 0
    assert_allclose(learner.losses_, [np.log(2)])
    assert learner.transform(X).shape == (6, 0)
    assert_array_equal(learner.kernel_(X), np.zeros((6, 6)))
    assert list(learner.staged_kernels()) == []
    assert len(learner.get_feature_names_out()) == 0


@pytest.mark.parametrize("method", ["gram", "features", "auto"])
def test_an_svm_with_a_kernel_of_zero_takes_the_larger_class(method):
    y = np.array([0, 0, 1, 1, 1, 0, 1])
    with pytest.warns(ConvergenceWarning, match="no direction"):
        model = KernelSVC(BoostedKernel(), method=method).fit(np.zeros((7, 2)), y)
    assert_array_equal(model.predict(np.eye(2)), [1, 1])


@pytest.mark.parametrize("base", [None, DotProduct(0.0), RBF()], ids=str)
def test_unlabelled_rows_that_have_nothing_to_do_with_the_others_span_nothing(base):
    X, y = some_data(20, 3)
    X[:, 2] = 0.0
    orthogonal, far = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0]]), np.full((2, 3), 1e6)
    for rows in (far,) if isinstance(base, RBF) else (orthogonal, 0.0 * orthogonal):
        with pytest.warns(ConvergenceWarning, match="no direction"):
            learner = BoostedKernel(base).fit(X, y, unlabelled=rows)
        assert learner.transform(X).shape == (20, 0)


@pytest.mark.parametrize(
    "function",
    [np.negative, lambda t: np.tanh(3 * t - 1), lambda t: -np.exp(-t)],
    ids=["negative", "sigmoid", "minus exp"],
)
@pytest.mark.parametrize("scale", [1e-10, 1.0])
def test_a_base_kernel_that_is_not_psd_is_refused(function, scale):
    X, y = some_data()

    def scaled(t):
        return scale * function(t)

    for unlabelled in (None, X[:15]):
        with pytest.raises(ValueError, match=r"the base kernel is not positive .* such as RBF"):
            BoostedKernel(Function(scaled)).fit(X, y, unlabelled=unlabelled)
    with pytest.raises(ValueError, match="the base kernel is not positive semi-definite"):
        BoostedKernel(Function(scaled)).fit(X, pairs=Pairs.from_labels(y))


def squared_hinge(m):
    short = max(1.0 - m, 0.0)
    return short**2, 0.0, 2.0 * short


def steep_log(m):
    """log(1 + exp(−3 m))"""
    e = np.exp(-abs(3.0 * m))
    return max(-3.0 * m, 0.0), e, 3.0 * (e if m > 0 else 1.0) / (1.0 + e)


OTHER_LOSSES = {
    "squared hinge": (squared_hinge, lambda m: np.maximum(1 - m, 0) ** 2),
    "steep log": (steep_log, lambda m: np.logaddexp(0, -3 * m)),
}


@pytest.mark.parametrize("max_pairs", [None, 200], ids=["all pairs", "some pairs"])
@pytest.mark.parametrize("name", OTHER_LOSSES)
def test_a_loss_of_ones_own_is_minimised(name, max_pairs):
    X, y = some_data(40)
    y[::4] = 1 - y[::4]  # so that no kernel has the loss zero
    terms, formula = OTHER_LOSSES[name]
    learner = BoostedKernel(
        loss=Loss(name, terms), n_rounds=8, step="search", max_pairs=max_pairs, random_state=0
    ).fit(X, y)
    assert np.all(np.diff(learner.losses_) < 0)
    S = np.where(y[:, None] == y, 1.0, -1.0)
    if max_pairs is None:
        mean_losses = [formula(S * kernel(X)).mean() for kernel in learner.staged_kernels()]
        assert_allclose(learner.losses_[1:], mean_losses, rtol=1e-9)
        best = clone(learner).set_params(n_rounds=50).fit(X, y)
        for other in LOSSES:  # each minimises its own loss: none does better at this one
            rival = BoostedKernel(loss=other, n_rounds=50, step="search").fit(X, y)
            assert best.losses_[-1] < formula(S * rival.kernel_(X)).mean()


def test_a_base_kernel_that_is_not_finite_is_refused():
    X, y = some_data()

    def only_of_other_rows(t):
        return np.exp(-((t - t.T) ** 2)) if t.shape[0] == t.shape[1] else t * np.nan

    for base, unlabelled in [
        (Function(lambda t: t * np.nan), None),
        (Function(lambda t: t * np.nan), X[:5]),
        (Function(only_of_other_rows), X[:5]),
    ]:
        with pytest.raises(ValueError, match=r"the base kernel .* not finite"):
            BoostedKernel(base).fit(X, y, unlabelled=unlabelled)


def test_a_literal_step_that_runs_away_says_what_to_do():
    X, y = some_data(40)
    with pytest.raises(ValueError, match=r"the loss overflows in round \d+: .*Use step='normalized'"):
        BoostedKernel(step="literal", loss="exp").fit(1e3 * X, y)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"base": "rbf"}, TypeError, "base must be a scikit-learn kernel or None, got 'rbf'"),
        ({"base": RBF}, TypeError, "base must be a scikit-learn kernel"),
        ({"loss": "hinge"}, ValueError, "loss must be one of 'log', 'exp', got 'hinge'"),
        ({"n_rounds": 0}, ValueError, "n_rounds must be at least 1"),
        ({"n_rounds": 2.0}, TypeError, "n_rounds must be a whole number"),
        ({"n_directions": 0}, ValueError, "n_directions must be at least 1"),
        ({"balance": "yes"}, ValueError, "balance must be one of 'auto', True, False"),
        ({"step": 0.1}, ValueError, "step must be one of 'auto', 'normalized', 'search', 'literal'"),
        ({"max_pairs": 1}, ValueError, "max_pairs must be at least 2"),
        ({"max_pairs": "all"}, TypeError, "max_pairs must be a whole number"),
        ({"random_state": "zero"}, ValueError, "seed"),
    ],
    ids=str,
)
def test_wrong_parameters_are_refused_with_a_reason(params, error, message):
    with pytest.raises(error, match=message):
        BoostedKernel(**params).fit(*some_data())


def test_pairs_that_say_nothing_are_refused_with_a_reason():
    X, _ = some_data()
    with pytest.raises(ValueError, match=r"all pairs are similar.*give dissimilar pairs as well"):
        BoostedKernel().fit(X, pairs=Pairs([(0, 1), (2, 3)]))
    learner = BoostedKernel(n_rounds=3).fit(X, pairs=Pairs(dissimilar=[(0, 1), (2, 3)]))
    assert np.all(np.diff(learner.losses_) < 0)


@pytest.mark.parametrize("unlabelled", [None, np.tile(np.eye(4), (40, 1))], ids=["alone", "unlabelled"])
def test_a_base_kernel_that_does_not_fit_into_memory_is_refused(have_memory, unlabelled):
    X, y = some_data(210)
    have_memory(1_000_000)  # two matrices fit, three do not
    with pytest.raises(MemoryError, match=r"210 rows.*Lower max_rows"):
        BoostedKernel(RBF()).fit(X, y, unlabelled=unlabelled)
    assert BoostedKernel(n_rounds=1).fit(X, y).n_rounds_ == 1


def test_pairs_come_before_labels_and_the_svm_gets_the_labels(rng):
    X, y = rng.normal(size=(30, 3)), np.repeat(["a", "b", "c"], 10)
    pairs = Pairs(similar=[(0, 1), (5, 6)], dissimilar=[(1, 12), (5, 25)])
    both = BoostedKernel(n_rounds=2).fit(X, y, pairs=pairs)
    assert both.kernel_ == BoostedKernel(n_rounds=2).fit(X, pairs=pairs).kernel_
    assert not hasattr(both, "classes_")
    svm = KernelSVC(BoostedKernel(n_rounds=2)).fit(X, y, pairs=pairs)
    assert svm.kernel_ == both.kernel_
    assert list(svm.classes_) == ["a", "b", "c"]


def test_more_pairs_than_fit_into_memory_are_refused_before_any_is_made(have_memory):
    y = np.arange(251) % 2
    X = y[:, None] - 0.5
    have_memory(1_000_000)
    with pytest.raises(MemoryError, match=r"251 rows needs .*Lower max_rows, or list fewer pairs"):
        BoostedKernel().fit(X, y)
    BoostedKernel(max_pairs=100, random_state=0).fit(X, y)
    BoostedKernel(n_rounds=1, max_rows=200, random_state=0).fit(X, y)


def test_more_directions_than_one_are_searched_for_their_step():
    X, y = some_data(40, 4, 4)
    chosen = BoostedKernel(RBF(), n_rounds=3).fit(X, y)
    assert chosen.kernel_ == BoostedKernel(RBF(), n_rounds=3, step="search").fit(X, y).kernel_
    alone = BoostedKernel(RBF(), n_rounds=3, n_directions=1).fit(X, y)
    assert (
        alone.kernel_ == BoostedKernel(RBF(), n_rounds=3, n_directions=1, step="normalized").fit(X, y).kernel_
    )


@pytest.mark.parametrize("seed", range(12))
@EACH_LOSS
def test_columns_of_very_different_scales_do_not_stop_it(seed, loss):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, 3)) * [1e3, 1e-2, 1e-3], rng.integers(0, 3, 20)
    learner = BoostedKernel(loss=loss).fit(X, y)
    assert np.all(np.diff(learner.losses_) < 0)
    assert np.all(learner.alphas_ > 0)


def test_noise_on_the_diagonal_of_a_base_kernel_is_not_taken_for_a_feature():
    X, y = some_data(20, 3)
    learner = BoostedKernel(RBF() + WhiteKernel(0.5), n_rounds=5).fit(X, y)
    assert_same_kernel(learner.kernel_, BoostedKernel(RBF(), n_rounds=5).fit(X, y).kernel_, X)
    margin = signs(y) * learner.kernel_(X)
    assert_allclose(learner.losses_[-1], PAIR_LOSSES["log"](margin).mean(), rtol=1e-9)


def test_an_unlabelled_frame_has_the_columns_of_the_rows():
    X, y = some_data(20, 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    with pytest.raises(ValueError, match="feature names"):
        BoostedKernel().fit(frame, y, unlabelled=frame[["c", "b", "a"]])


def test_a_loss_that_grows_is_warned_of():
    rng = np.random.default_rng(0)
    X, y = 1e3 * rng.normal(size=(30, 3)), rng.integers(0, 2, 30)
    with pytest.warns(ConvergenceWarning, match=r"the loss grew .* Use step='normalized'"):
        BoostedKernel(step="literal", n_rounds=3).fit(X, y)


def test_rows_whose_squares_are_lost_are_refused():
    X, y = some_data(20, 3)
    for scale in (1e155, 1e-160):
        with pytest.raises(ValueError, match="scale them"):
            BoostedKernel().fit(scale * X, y)


def test_a_kernel_that_gives_more_than_a_number_a_pair_is_refused():
    X, y = some_data(20, 3)
    with pytest.raises(ValueError, match="not one number per pair"):
        BoostedKernel(CompoundKernel([RBF(), RBF(2.0)])).fit(X, y)


def test_balance_may_come_from_an_array():
    X, y = some_data(20, 3)
    assert BoostedKernel(balance=np.True_).fit(X, y).kernel_ == BoostedKernel(balance=True).fit(X, y).kernel_
