"""IdealizedKernel against the formulas of [KT03] written slowly, and against what must not matter."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct
from sklearn.metrics import pair_confusion_matrix
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer import IdealizedKernel, KernelSVC, Pairs
from mercer.solvers.idealized import Differences, PairProblem, solve_pair_qp
from reference import (
    alignment,
    ideal_kernel,
    idealization_dual,
    idealization_loss,
    idealization_matrix,
    idealized_kernel,
    idealized_squared_distance,
    nearest_pairs,
)
from stand_ins import Function, ProgressBar, Stop

EACH_BASE = pytest.mark.parametrize("base", [None, RBF(2.0)], ids=["linear", "rbf"])
EACH_PSD = pytest.mark.parametrize("psd", ["exact", "clip"])
PENALTIES = {"C_similar": 1e5, "C_dissimilar": 1e6, "nu": 0.2}  # at which γ is positive for the data below


def some_data(n_rows=40, n_features=4, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    y = rng.permutation(np.arange(n_rows) % n_classes)
    X[:, :2] += 2.0 * np.column_stack([np.cos(2 * np.pi * y / n_classes), np.sin(2 * np.pi * y / n_classes)])
    return X, y


def learn(base=None, **params):
    return IdealizedKernel(base, **{**PENALTIES, **params})


def assert_same_kernel(found, expected, X, rtol=1e-4):
    K = expected(X)
    assert_allclose(found(X), K, atol=rtol * np.abs(K).max())


def gram(base, X, Y=None):
    return (base or DotProduct(0.0))(X, Y)


def joint_coordinates(base, X, new):
    """Coordinates of old and new rows whose inner products are the base kernel, by eigenvectors."""
    values, V = np.linalg.eigh(gram(base, np.vstack([X, new])))
    Z = V * np.sqrt(np.maximum(values, 0.0))
    return Z[: len(X)], Z[len(X) :]


def positive_part(M):
    values, V = np.linalg.eigh(M)
    return (V * np.maximum(values, 0.0)) @ V.T


def scale_of(learner, X):
    """The root mean squared distance of the pairs: penalties are given in this unit."""
    return np.sqrt(np.mean(np.sum((X[learner.pairs_[:, 0]] - X[learner.pairs_[:, 1]]) ** 2, axis=1)))


# what the paper says


@EACH_BASE
def test_the_kernel_and_its_distance_are_the_sums_of_section_3_3(base):
    X, y = some_data(16, 3)
    new, _ = some_data(7, 3, seed=1)
    pairs = Pairs(dissimilar=Pairs.from_labels(y).dissimilar)  # a sum without minus signs is PSD
    learner = learn(base, psd="clip", n_neighbors=None, tol=1e-9).fit(X, pairs=pairs)
    sums = (learner.pairs_, learner.dissimilar_, learner.pair_weights_)
    assert learner.clipped_ < 1e-9
    old_and_new = np.vstack([X[:4], new])
    K = gram(base, old_and_new, X)
    expected = [[idealized_kernel(a, b, *sums) for b in K] for a in K]
    assert_allclose(learner.kernel_(old_and_new), expected, atol=1e-5 * np.max(expected))
    expected = [[idealized_squared_distance(a, b, *sums) for b in K] for a in K]
    found = learner.kernel_.squared_distance(old_and_new, old_and_new)
    assert_allclose(found, expected, atol=1e-5 * np.max(expected))


@EACH_BASE
@EACH_PSD
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_kernel_is_the_psd_part_of_equation_11(base, psd, n_classes):
    n_features = 12 if base is None else 3
    X, y = some_data(24, n_features, n_classes)
    new, _ = some_data(9, n_features, n_classes, seed=1)
    learner = learn(base, psd=psd, tol=1e-7).fit(X, y)
    old, fresh = joint_coordinates(base, X, new)
    M = idealization_matrix(old, learner.pairs_, learner.dissimilar_, learner.pair_weights_)
    values = np.linalg.eigvalsh(M)
    assert values[0] < -1e-3 * values[-1]  # the paper's matrix is not a kernel
    Z = np.vstack([old, fresh])
    expected = Z @ positive_part(M) @ Z.T
    found = learner.kernel_(np.vstack([X, new]))
    assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())
    if psd == "clip":
        assert_allclose(learner.clipped_, -values[values < 0].sum() / np.abs(values).sum(), rtol=1e-3)
    else:
        assert learner.clipped_ == 0.0


@EACH_PSD
def test_the_objective_is_the_primal_in_units_of_the_mean_squared_distance(psd):
    X, y = some_data(24, 3, 3)
    X *= 7.0
    learner = learn(psd=psd, tol=1e-7).fit(X, y)
    scale = scale_of(learner, X)
    pairs = (X / scale, learner.pairs_, learner.dissimilar_)
    alpha = learner.pair_weights_ * scale**2
    G = learner.kernel_.coef @ learner.kernel_.coef.T
    penalties = (learner.C_similar, learner.C_dissimilar, learner.nu)
    if psd == "clip":  # the objective is that of the QP, before its matrix is clipped
        assert_allclose(learner.objective_ - learner.gap_, idealization_dual(*pairs, alpha), rtol=1e-5)
        M = idealization_matrix(*pairs, alpha)
        assert_allclose(
            learner.objective_, idealization_loss(*pairs, M, learner.gamma_ / scale**2, *penalties), rtol=1e-3
        )
        assert_allclose(G, positive_part(M), atol=1e-3 * np.abs(G).max())
    else:
        loss = idealization_loss(*pairs, G, learner.gamma_ / scale**2, *penalties)
        assert_allclose(learner.objective_, loss, rtol=1e-9)
    assert 0 <= learner.gap_ <= 1e-6 * abs(learner.objective_)


def test_the_exact_solution_is_better_than_the_clipped_one():
    X, y = some_data(40, 12, 3)
    found, best = {}, {}
    for psd in ("exact", "clip"):
        learner = learn(psd=psd).fit(X, y)
        D = learner.dissimilar_
        G = learner.kernel_.coef @ learner.kernel_.coef.T
        U = (X[learner.pairs_[:, 0]] - X[learner.pairs_[:, 1]]) / scale_of(learner, X)
        gain = np.einsum("pa,ab,pb->p", U, G - np.eye(12), U)
        similar = learner.C_similar * np.mean(np.maximum(gain[~D], 0.0))
        best[psd] = min(
            np.sum(G**2) / 2
            + similar
            + learner.C_dissimilar * (np.mean(np.maximum(gamma - gain[D], 0.0)) - learner.nu * gamma)
            for gamma in np.maximum(gain[D], 0.0)
        )
        found[psd] = learner.objective_
    assert found["clip"] < found["exact"]  # that of the QP is below, as it asks for less
    assert_allclose(best["exact"], found["exact"])
    assert best["exact"] < best["clip"]


@EACH_BASE
def test_idealizing_raises_the_alignment_as_proposition_1_says(base):
    X, y = some_data(24, 3, 3)
    K_star = ideal_kernel(y)
    gamma = learn(base).fit(X, y).gamma_
    assert gamma > 0
    for K in (gram(base, X), gram(base, X) - 0.1):
        for more in (0.01, 1.0, gamma):
            assert more > -np.sum(K * K_star) / np.sum(K_star)
            assert alignment(K + more / 2 * K_star, K_star) > alignment(K, K_star)


@EACH_BASE
def test_similar_pairs_stay_and_dissimilar_ones_move_apart_by_gamma_as_equation_7_asks(base):
    X, y = some_data(40, 3)
    learner = learn(base).fit(X, y)
    K = gram(base, X)
    before = np.diag(K)[:, None] + np.diag(K) - 2 * K
    gain = (learner.kernel_.squared_distance(X, X) - before)[tuple(learner.pairs_.T)]
    slack = 1e-3 * np.abs(gain).max()
    unlike = learner.dissimilar_
    error = (learner.pairs_[:, None] == learner.error_pairs_).all(axis=2).any(axis=1)
    support = (learner.pairs_[:, None] == learner.support_pairs_).all(axis=2).any(axis=1)
    assert learner.gamma_ > 0
    # Proposition 2
    assert np.all(gain[unlike & ~error] >= learner.gamma_ - slack)
    assert np.all(gain[unlike & error] <= learner.gamma_ + slack)
    assert np.all(gain[~unlike & ~error] <= slack)
    assert np.all(gain[~unlike & error] >= -slack)
    assert_allclose(gain[unlike & support & ~error], learner.gamma_, atol=slack)
    # Proposition 3
    assert np.mean(error[unlike]) <= learner.nu <= np.mean(support[unlike])


@EACH_BASE
@EACH_PSD
def test_support_pairs_have_weights_and_error_pairs_the_largest(base, psd):
    X, y = some_data(30, 3)
    learner = learn(base, psd=psd, tol=1e-8).fit(X, y)
    weighted = (learner.pairs_[:, None] == learner.support_pairs_).all(axis=2).any(axis=1)
    assert 0 < len(learner.error_pairs_) < len(learner.support_pairs_) < len(learner.pairs_)
    Z, _ = joint_coordinates(base, X, X[:1])
    bound = np.where(
        learner.dissimilar_,
        learner.C_dissimilar / np.sum(learner.dissimilar_),
        learner.C_similar / np.sum(~learner.dissimilar_),
    )
    share = learner.pair_weights_ * scale_of(learner, Z) ** 2 / bound
    assert np.all(share[~weighted] < 0.02)
    full = (learner.pairs_[:, None] == learner.error_pairs_).all(axis=2).any(axis=1)
    assert_allclose(share[full], 1.0, atol=0.02)
    assert np.all(share[~full] < 1.0)


@pytest.mark.parametrize("n_neighbors", [2, 5])
@EACH_BASE
def test_it_learns_from_near_pairs_in_the_feature_space(base, n_neighbors):
    X, y = some_data(30, 3, 3)
    learner = learn(base, n_neighbors=n_neighbors).fit(X, y)
    Z, _ = joint_coordinates(base, X, X[:1])
    everything = Pairs.from_labels(y)
    distances = np.concatenate(
        [np.linalg.norm(Z[i] - Z[j], axis=1) for i, j in (kind.T for kind in everything)]
    )
    for unlike, kind in enumerate(everything):
        expected = nearest_pairs(
            Z, [tuple(map(int, pair)) for pair in kind], n_neighbors, np.median(distances)
        )
        found = {tuple(map(int, pair)) for pair in learner.pairs_[learner.dissimilar_ == bool(unlike)]}
        assert found == expected


@EACH_BASE
@EACH_PSD
@pytest.mark.parametrize("known", ["labels", "pairs", "similar"])
def test_the_gram_matrix_of_new_rows_is_positive_semi_definite(base, psd, known):
    X, y = some_data(30, 4, 3)
    new = 3.0 * np.random.default_rng(1).normal(size=(50, 4))
    learner = learn(base, psd=psd, random_state=0)
    pairs = Pairs.from_labels(y)
    if known == "labels":
        learner.fit(X, y)
    else:
        learner.fit(X, pairs=pairs if known == "pairs" else Pairs(pairs.similar[::9]))
    K = learner.kernel_(np.vstack([X, new]))
    assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] >= -1e-10 * np.trace(K)
    features = learner.transform(new)
    assert_allclose(features @ features.T, learner.kernel_(new), rtol=1e-12, atol=1e-12 * np.trace(K))
    D = learner.kernel_.squared_distance(new, new)
    assert_allclose(D, np.sum((features[:, None] - features) ** 2, axis=2), atol=1e-9 * D.max())


# what must not matter


@EACH_PSD
def test_the_inner_product_as_base_gives_the_same_as_none(psd):
    X, y = some_data(30, 4, 3)
    one, other = (learn(base, psd=psd).fit(X, y) for base in (None, DotProduct(0.0)))
    new, _ = some_data(9, seed=1)
    assert_same_kernel(one.kernel_, other.kernel_, np.vstack([X, new]))
    assert_allclose(one.gamma_, other.gamma_, rtol=1e-4)
    assert_allclose(one.objective_, other.objective_, rtol=1e-6)
    assert_array_equal(one.pairs_, other.pairs_)


@EACH_PSD
def test_more_columns_than_rows_give_what_the_whole_problem_gives(psd):
    X, y = some_data(9, 25)
    new, _ = some_data(6, 25, seed=1)
    learner = learn(psd=psd, n_neighbors=2).fit(X, y)
    scale = scale_of(learner, X)
    problem = PairProblem(
        Differences(X / scale, *learner.pairs_.T),
        learner.dissimilar_,
        learner.C_similar,
        learner.C_dissimilar,
        learner.nu,
        psd == "exact",
    )
    whole = solve_pair_qp(problem)
    rows = np.vstack([X, new])
    expected = rows @ positive_part(whole.G) @ rows.T
    assert_allclose(learner.kernel_(rows), expected, atol=1e-3 * np.abs(expected).max())
    assert_allclose(learner.gamma_, whole.gamma * scale**2, rtol=1e-3)
    assert learner.kernel_.coef.shape[0] == 25
    assert learner.kernel_.coef.shape[1] <= 9


@EACH_BASE
def test_a_low_rank_is_a_fit_to_the_leading_directions(base):
    X, y = some_data(30, 6)
    X *= [3.0, 3.0, 2.0, 1.0, 0.5, 0.2]
    X -= np.median(X, axis=0)  # as is done with the plain inner product
    Z, _ = joint_coordinates(base, X, X[:0])
    leading = Z[:, -2:]
    low = learn(base, max_rank=2).fit(X, y)
    assert_allclose(
        low.kernel_(X), learn().fit(leading, y).kernel_(leading), atol=1e-3 * low.kernel_(X).max()
    )
    assert low.transform(X).shape[1] <= 2


@EACH_PSD
@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1e3, 1e30])
def test_the_scale_of_the_rows_scales_gamma_alone(scale, psd):
    X, y = some_data(30, 4, 3)
    plain, scaled = learn(psd=psd).fit(X, y), learn(psd=psd).fit(scale * X, y)
    G, expected = (one.kernel_.coef @ one.kernel_.coef.T for one in (scaled, plain))
    assert_allclose(G, expected, atol=1e-4 * np.abs(expected).max())
    assert_allclose(scaled.gamma_, plain.gamma_ * scale**2, rtol=1e-4)
    assert_allclose(
        scaled.pair_weights_ * scale**2, plain.pair_weights_, atol=1e-3 * plain.pair_weights_.max()
    )
    assert_allclose(scaled.objective_, plain.objective_, rtol=1e-6)
    assert_array_equal(scaled.pairs_, plain.pairs_)


@pytest.mark.parametrize("shift", [1e2, 1e6, -1e9])
def test_where_the_origin_is_does_not_matter(shift):
    X, y = some_data(30, 4, 3)
    X = np.round(X, 4)  # so that little is lost by adding a large number
    plain, shifted = learn().fit(X, y), learn().fit(X + shift, y)
    G, expected = (one.kernel_.coef @ one.kernel_.coef.T for one in (shifted, plain))
    assert_allclose(G, expected, atol=1e-3 * np.abs(expected).max())
    assert_allclose(shifted.gamma_, plain.gamma_, rtol=1e-3)


@EACH_BASE
def test_neither_the_order_of_rows_nor_the_names_of_classes_matter(base):
    X, y = some_data(30, 4, 3)
    order = np.random.default_rng(0).permutation(30)
    expected = learn(base).fit(X, y)
    names = np.array(["maybe", "yes", "no"])
    for rows, labels in ((X[order], y[order]), (X, names[y]), (X, 2 - y)):
        found = learn(base).fit(rows, labels)
        assert_same_kernel(found.kernel_, expected.kernel_, X)
        assert_allclose(found.gamma_, expected.gamma_, rtol=1e-4)
    assert_array_equal(learn(base).fit(X, names[y]).classes_, ["maybe", "no", "yes"])


@EACH_BASE
def test_pairs_of_labels_are_the_labels_in_any_order(base):
    X, y = some_data(24, 4, 3)
    similar, dissimilar = Pairs.from_labels(y)
    rng = np.random.default_rng(0)
    shuffled = Pairs(*(rng.permuted(np.vstack([kind, kind[:7]]), axis=1) for kind in (similar, dissimilar)))
    expected = learn(base).fit(X, y)
    for pairs in (Pairs(similar, dissimilar), shuffled):
        found = learn(base, radius="median").fit(X, pairs=pairs)
        assert_array_equal(found.pairs_, expected.pairs_)
        assert found.kernel_ == expected.kernel_
        assert not hasattr(found, "classes_")


def test_a_number_as_radius_is_a_distance():
    X, y = some_data(30, 3)
    distances = [np.linalg.norm(X[i] - X[j]) for i in range(30) for j in range(i)]
    by_name, by_number = (
        learn(radius=radius).fit(X, y) for radius in ("median", float(np.median(distances)))
    )
    assert_array_equal(by_name.pairs_, by_number.pairs_)
    everything = learn(n_neighbors=None, radius=None).fit(X, y)
    assert len(everything.pairs_) == 30 * 29 // 2


@EACH_BASE
def test_unlabelled_rows_add_nothing_to_what_labels_say(base):
    X, y = some_data(20, 3)
    unlabelled = 10.0 * some_data(9, 3, seed=1)[0]  # so far apart that the median of all distances differs
    alone, more = learn(base).fit(X, y), learn(base).fit(X, y, unlabelled=unlabelled)
    assert_array_equal(more.pairs_, alone.pairs_)
    assert_same_kernel(more.kernel_, alone.kernel_, np.vstack([X, unlabelled]))
    assert_allclose(more.gamma_, alone.gamma_, rtol=1e-4)


@EACH_BASE
def test_arrays_may_be_read_only_strided_or_of_single_precision(base):
    X, y = some_data(30)
    X = X.astype(np.float32).astype(np.float64)
    expected = learn(base).fit(X, y)
    frozen = X.copy()
    frozen.flags.writeable = y.flags.writeable = False
    strided = np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2]
    for rows in (frozen, strided, np.asfortranarray(X), X.astype(np.float32), X.tolist()):
        found = learn(base).fit(rows, y)
        assert_same_kernel(found.kernel_, expected.kernel_, X, 1e-6)
        assert found.transform(rows).shape == expected.transform(X).shape


@EACH_BASE
def test_rows_that_are_changed_later_do_not_change_the_kernel(base):
    X, y = some_data(20)
    Z = X.copy()
    learner = learn(base).fit(Z, y)
    expected = learner.kernel_(X)
    Z[:] = 0.0
    assert_array_equal(learner.kernel_(X), expected)


# similar pairs alone


@EACH_BASE
def test_similar_pairs_alone_are_enough_and_the_seed_decides_the_guesses(base):
    X, y = some_data(40, 4)
    similar = Pairs.from_labels(y).similar[::11]
    fits = [learn(base, random_state=seed).fit(X, pairs=Pairs(similar)) for seed in (0, 0, 1)]
    assert fits[0].kernel_ == fits[1].kernel_
    assert fits[0].kernel_ != fits[2].kernel_
    guessed = fits[0].pairs_[fits[0].dissimilar_]
    assert 40 < len(guessed) <= 5 * 40
    listed = {tuple(map(int, pair)) for pair in np.sort(similar, axis=1)}
    assert {tuple(map(int, pair)) for pair in fits[0].pairs_[~fits[0].dissimilar_]} <= listed
    assert not listed & {tuple(map(int, pair)) for pair in guessed}


def test_guesses_reach_unlabelled_rows_and_those_are_numbered_after_the_others():
    X, y = some_data(20, 4)
    unlabelled, _ = some_data(15, 4, seed=1)
    learner = learn(random_state=0).fit(
        X, pairs=Pairs(Pairs.from_labels(y).similar[::5]), unlabelled=unlabelled
    )
    assert 20 <= learner.pairs_.max() < 35
    assert learner.pairs_[~learner.dissimilar_].max() < 20
    assert len(learner.pairs_[learner.dissimilar_]) <= 5 * 35


def test_all_rows_connected_is_no_obstacle_if_there_are_others():
    X, _ = some_data(10, 3)
    chain = Pairs(np.column_stack([np.arange(9), np.arange(1, 10)]))
    with pytest.raises(ValueError, match="connect all rows, so none can be dissimilar: list fewer"):
        learn().fit(X, pairs=chain)
    learner = learn(random_state=0).fit(X, pairs=chain, unlabelled=some_data(10, 3, seed=1)[0])
    assert np.all(learner.pairs_[learner.dissimilar_].max(axis=1) >= 10)


# in scikit-learn


def test_nearest_neighbours_and_k_means_do_better_with_its_features():
    X, y = some_data(90, 2, 3)
    rng = np.random.default_rng(1)
    X = np.hstack([X, 5.0 * rng.normal(size=(90, 4))])  # columns that say nothing, but loudly
    nearest = KNeighborsClassifier(1)
    plain = cross_val_score(nearest, X, y, cv=3).mean()
    learned = cross_val_score(make_pipeline(learn(), nearest), X, y, cv=3).mean()
    assert learned > plain + 0.1
    means = KMeans(3, n_init=10, random_state=0)
    pairs = Pairs(Pairs.from_labels(y).similar[::20], Pairs.from_labels(y).dissimilar[::20])
    pipeline = make_pipeline(StandardScaler(), learn(), means).fit(X, idealizedkernel__pairs=pairs)

    def accuracy(found):  # footnote 9
        (together, _), (_, apart) = pair_confusion_matrix(y, found)
        return (together + apart) / (90 * 89)

    assert accuracy(pipeline[-1].labels_) > accuracy(clone(means).fit(X).labels_) + 0.1


def test_a_grid_searches_penalties_and_the_base_kernel():
    X, y = some_data(60)
    pipeline = make_pipeline(StandardScaler(), learn(RBF()), KNeighborsClassifier(3))
    grid = {"idealizedkernel__base__length_scale": [0.5, 3.0], "idealizedkernel__C_similar": [1.0, 1e3]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    found = search.best_estimator_[1]
    assert found.kernel_.base.length_scale == search.best_params_["idealizedkernel__base__length_scale"]


def test_a_pipeline_hands_on_pairs_instead_of_labels():
    X, y = some_data()
    pairs = Pairs.from_labels(y)
    expected = learn().fit(X, pairs=pairs).transform(X)
    with config_context(enable_metadata_routing=True):
        routed = learn().set_fit_request(pairs=True)
        assert_array_equal(make_pipeline(routed).fit_transform(X, pairs=pairs), expected)


def test_an_svm_learns_its_kernel_inside():
    X, y = some_data(60)
    model = KernelSVC(learn(RBF(2.0)), C=0.01).fit(X, y)
    learner = learn(RBF(2.0)).fit(X, y)
    assert model.kernel_ == learner.kernel_
    rival = SVC(kernel=learner.kernel_, C=0.01).fit(X, y)
    assert np.mean(model.predict(X) == rival.predict(X)) > 0.95
    assert cross_val_score(KernelSVC(learn(), C=0.01), X, y, cv=3).mean() > 0.8


def test_features_have_names():
    X, y = some_data()
    learner = learn().set_output(transform="pandas").fit(X, y)
    names = [f"idealizedkernel{k}" for k in range(learner.kernel_.coef.shape[1])]
    assert list(learner.get_feature_names_out()) == names
    assert list(learner.transform(X).columns) == names


def test_it_must_be_fitted_first():
    with pytest.raises(NotFittedError):
        IdealizedKernel().transform(some_data()[0])


def test_progress_is_shown_and_a_callback_may_stop_it(capsys):
    X, y = some_data()
    learn().set_callbacks(ProgressBar()).fit(X, y)
    assert "IdealizedKernel" in capsys.readouterr().out
    stop = Stop(3, "newton step")
    with pytest.warns(ConvergenceWarning, match=r"stopped after 3 iterations at .* \(tol=1e-06\)$"):
        learner = learn(C_similar=1.0).set_callbacks(stop).fit(X, y)
    assert stop.seen == learner.n_iter_ == 3
    with pytest.warns(ConvergenceWarning, match="increase max_iter or tol"):
        capped = learn(C_similar=1.0, max_iter=3).fit(X, y)
    assert learner.kernel_ == capped.kernel_
    assert learner.gap_ > 1e-6 * abs(learner.objective_)
    K = learner.kernel_(X)
    assert np.all(np.isfinite(K))
    assert np.linalg.eigvalsh(K)[0] >= -1e-10 * np.trace(K)


def test_a_tolerance_out_of_reach_is_said_to_be_one_and_not_a_matter_of_iterations():
    X, y = some_data()
    with pytest.warns(ConvergenceWarning, match=r"rounding errors .* Scale the features, or increase tol"):
        learn(tol=1e-300).fit(X, y)


# data and parameters that are not as they should be


@EACH_PSD
def test_penalties_at_which_nothing_moves_leave_the_kernel_as_it_is_and_it_says_so(psd):
    X, y = some_data(40, 3)
    learner = learn(C_similar=1e6, C_dissimilar=1e3, nu=0.01, psd=psd)
    with pytest.warns(
        ConvergenceWarning, match="increase C_similar and C_dissimilar by powers of ten"
    ) as caught:
        learner.fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert learner.gamma_ == 0.0
    assert_allclose(learner.objective_, 1.5, rtol=1e-5)
    assert_allclose(learner.kernel_(X), X @ X.T, atol=1e-2 * np.abs(X @ X.T).max())


def test_penalties_near_zero_are_no_obstacle_but_for_the_warning():
    X, y = some_data(30, 3)
    for penalties in ({"C_similar": 1e8, "C_dissimilar": 1.0}, {"C_similar": 1e-9, "C_dissimilar": 1e-9}):
        learner = learn(**penalties, tol=1e-7)
        with pytest.warns(ConvergenceWarning, match="γ is zero"):
            learner.fit(X, y)
        assert learner.gap_ <= 1e-6 * learner.objective_
        assert learner.objective_ < 1.5
        assert np.all(np.isfinite(learner.kernel_(X)))


def test_a_constant_column_counts_for_nothing():
    X, y = some_data(30, 3)
    padded = np.hstack([X, np.full((30, 2), 7.0)])
    plain, other = learn().fit(X, y), learn().fit(padded, y)
    assert_allclose(other.kernel_.coef[3:], 0.0, atol=1e-5 * np.abs(other.kernel_.coef).max())
    assert_same_kernel(other.kernel_, learn().fit(np.hstack([X, np.zeros((30, 2))]), y).kernel_, padded)
    assert_allclose(other.kernel_(padded), plain.kernel_(X), atol=1e-4 * plain.kernel_(X).max())


def test_features_of_very_different_scales_are_no_obstacle():
    X, y = some_data(40, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # γ may be zero
        learner = learn(C_similar=1e3, C_dissimilar=1e5, tol=1e-7).fit(X * [1e-3, 1.0, 1e2, 1e3], y)
    assert learner.gap_ <= 1e-6 * abs(learner.objective_ - learner.gap_)


@EACH_BASE
def test_rows_of_two_classes_that_coincide_do_not_move_apart(base):
    X, y = some_data(30)
    X, y = np.vstack([X, X[:2]]), np.append(y, 1 - y[:2])
    learner = learn(base).fit(X, y)
    D = learner.kernel_.squared_distance(X[:2], X[30:])
    assert_allclose(np.diag(D), 0.0, atol=1e-9 * learner.kernel_.diag(X).max())
    assert learner.gamma_ > 0


def test_a_class_of_a_single_row_is_no_obstacle():
    X, y = some_data(30)
    learner = learn().fit(X, np.append(["lonely"], y[1:].astype(str)))
    similar = learner.pairs_[~learner.dissimilar_]
    assert 0 not in similar
    assert 0 in learner.pairs_[learner.dissimilar_]


def test_two_rows_are_moved_apart_by_as_much_as_their_penalty_says():
    # one pair of distance one: G = νC u uᵀ and γ = νC − 1, in units of its squared distance
    X = np.array([[1.0, 2.0], [4.0, 6.0]])
    learner = IdealizedKernel(nu=0.3, C_dissimilar=100.0, tol=1e-9).fit(X, [0, 1])
    u = (X[1] - X[0]) / 5.0
    assert_allclose(learner.kernel_(X), 30.0 * np.outer(X @ u, X @ u), rtol=1e-5)
    assert_allclose(learner.gamma_, 29.0 * 25.0, rtol=1e-5)
    assert_allclose(learner.pair_weights_, [30.0 / 25.0], rtol=1e-5)


def test_dissimilar_pairs_alone_are_enough():
    X, y = some_data(20, 3)
    learner = learn().fit(X, pairs=Pairs(dissimilar=Pairs.from_labels(y).dissimilar[::4]))
    assert np.all(learner.dissimilar_)
    assert learner.gamma_ > 0


@pytest.mark.parametrize(
    ("X", "base"),
    [
        (np.full((6, 2), 3.7), None),
        (np.zeros((6, 2)), None),
        (np.zeros((6, 9)), None),
        (np.full((6, 9), 0.1), None),
        (np.zeros((6, 2)), DotProduct(0.0)),
        (some_data(6)[0], ConstantKernel(2.0)),
        (some_data(6)[0], RBF(1e20)),
    ],
)
def test_rows_that_are_all_the_same_are_refused(X, base):
    with pytest.raises(ValueError, match="all rows are the same for the base kernel"):
        learn(base).fit(X, [0, 1, 0, 1, 0, 1])


def test_pairs_of_coinciding_rows_alone_are_refused():
    X = np.repeat(some_data(4)[0], 2, axis=0)
    with pytest.raises(ValueError, match=r"all chosen pairs have distance zero: .* more pairs"):
        learn().fit(X, pairs=Pairs(dissimilar=[(0, 1), (2, 3), (4, 5)]))


@pytest.mark.parametrize("scale", [1e-160, 1e160])
def test_numbers_whose_squares_are_none_are_refused(scale):
    X, y = some_data()
    with pytest.raises(ValueError, match="scale them"):
        learn().fit(scale * X, y)


def test_a_radius_that_leaves_no_dissimilar_pair_is_refused():
    X, y = some_data()
    with pytest.raises(ValueError, match=r"no dissimilar pair is left .* Increase radius, or set it to None"):
        learn(radius=1e-3).fit(X, y)


def test_knowledge_that_says_nothing_or_contradicts_itself_is_refused():
    X, y = some_data()
    with pytest.raises(ValueError, match="two or more classes"):
        learn().fit(X, np.zeros(40))
    with pytest.raises(ValueError, match="requires y to be passed"):
        learn().fit(X)
    with pytest.raises(ValueError, match="listed as similar and as dissimilar"):
        learn().fit(X, pairs=Pairs([(0, 1)], [(1, 0)]))
    with pytest.raises(ValueError, match="a row with itself, which says nothing"):
        learn().fit(X, pairs=Pairs([(3, 3)]))
    with pytest.raises(ValueError, match="but X has rows 0 to 39"):
        learn().fit(X, pairs=Pairs([(0, 40)]))
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        learn().fit(X, y)


def test_pairs_that_contradict_each_other_in_a_circle_are_weighed():
    X, _ = some_data(6, 3)
    learner = learn(n_neighbors=None, radius=None, C_similar=1.0, tol=1e-7)
    learner.fit(X, pairs=Pairs([(0, 1), (1, 2)], [(0, 2), (3, 4), (3, 5)]))
    assert len(learner.pairs_) == 5
    assert learner.gap_ <= 1e-6 * abs(learner.objective_)


@pytest.mark.parametrize("function", [np.negative, lambda t: np.tanh(3 * t - 1)], ids=["negative", "sigmoid"])
def test_a_base_kernel_that_is_not_psd_is_refused(function):
    with pytest.raises(ValueError, match="the base kernel is not positive semi-definite"):
        learn(Function(function)).fit(*some_data())


def test_a_base_kernel_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match=r"the base kernel .* not finite"):
        learn(Function(lambda t: t * np.nan)).fit(*some_data())


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"base": "rbf"}, TypeError, "base must be a scikit-learn kernel or None, got 'rbf'"),
        ({"base": RBF}, TypeError, "base must be a scikit-learn kernel"),
        ({"C_similar": 0.0}, ValueError, "C_similar must be positive"),
        ({"C_similar": "1"}, TypeError, "C_similar must be a number"),
        ({"C_dissimilar": -1.0}, ValueError, "C_dissimilar must be positive"),
        ({"C_dissimilar": np.inf}, ValueError, "C_dissimilar must be positive and finite"),
        ({"C_dissimilar": 1e300}, ValueError, "C_dissimilar must be between 1e-30 and 1e30"),
        ({"C_similar": 1e-300}, ValueError, "C_similar must be between 1e-30 and 1e30"),
        ({"nu": 1.0}, ValueError, r"nu must be a number in \[0, 1\), got 1.0"),
        ({"nu": -0.1}, ValueError, "nu must be a number"),
        ({"nu": np.nan}, ValueError, "nu must be a number"),
        ({"nu": "0.1"}, ValueError, "nu must be a number"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors must be at least 1"),
        ({"n_neighbors": 2.0}, TypeError, "n_neighbors must be a whole number"),
        ({"radius": "mean"}, ValueError, "radius must be one of 'auto', 'median', got 'mean'"),
        ({"radius": 0.0}, ValueError, "radius must be positive"),
        ({"psd": "none"}, ValueError, "psd must be one of 'exact', 'clip', got 'none'"),
        ({"max_rank": 0}, ValueError, "max_rank must be at least 1"),
        ({"tol": 0.0}, ValueError, "tol must be positive"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1"),
        ({"random_state": "zero"}, ValueError, "seed"),
    ],
    ids=str,
)
def test_wrong_parameters_are_refused_with_a_reason(params, error, message):
    with pytest.raises(error, match=message):
        learn(**params).fit(*some_data())


def test_a_step_that_does_not_fit_into_memory_is_refused(have_memory):
    X, y = some_data(40, 4)
    have_memory(1600)  # ten unknowns need 6400
    with pytest.raises(MemoryError, match=r"A step with 10 unknowns .* Lower max_rank"):
        learn().fit(X, y)


def test_more_pairs_than_memory_are_refused_before_they_are_written_down(have_memory):
    have_memory(10**12)
    X = np.random.default_rng(0).normal(size=(10**6, 1))  # 5e11 pairs
    with pytest.raises(MemoryError, match=r"all 499999500000 pairs needs .* Set n_neighbors"):
        learn(n_neighbors=None, max_rows=10**6).fit(X, X[:, 0] > 0)
