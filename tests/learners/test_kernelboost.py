"""KernelBoost: what it keeps of its rounds, what must not matter to it, and odd data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer import KernelBoost, KernelSVC, Pairs
from mercer.kernels import Mixture
from mercer.learners import kernelboost
from mercer.metrics import alignment
from mercer.solvers.kernelboost import WeakLearner, boost_mixtures, chunk_labels
from stand_ins import ProgressBar, Stop

EACH_KIND = pytest.mark.parametrize("kind", ["full", "tied", "diag"])


def some_data(n_rows=120, n_classes=3, seed=0, n_features=4):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_rows) % n_classes)
    return 3.0 * np.eye(n_classes, n_features)[y] + rng.normal(size=(n_rows, n_features)), y


def few_labels(n_labelled=12, **options):
    X, y = some_data(**options)
    return X[:n_labelled], y[:n_labelled], X[n_labelled:], y[n_labelled:]


def assert_same_kernel(one, other, X, **tol):
    assert_allclose(one(X), other(X), **{"rtol": 1e-9, "atol": 1e-12, **tol})


@EACH_KIND
def test_the_kernel_is_that_of_the_boosted_mixtures_of_standardised_rows(kind):
    X, y, more, _ = few_labels()
    learner = KernelBoost(n_rounds=4, covariance_type=kind, n_starts=2, random_state=0)
    learner.fit(X, y, unlabelled=more)
    everything = np.vstack([X, more])
    Z = StandardScaler().fit_transform(everything)
    rounds = boost_mixtures(
        Z,
        chunk_labels(y),
        WeakLearner(3, kind, 5.0, n_starts=2, max_iter=30, tol=1e-3),
        np.random.RandomState(0),
        n_rounds=4,
        decay=10.0,
        max_alpha=5.0,
    )
    models = [r.model for r in rounds]
    alpha = np.array([r.alpha for r in rounds])
    parts = (np.stack([getattr(model, name) for model in models]) for name in ("offsets", "means", "factors"))
    assert_allclose(learner.kernel_(everything), Mixture(alpha / alpha.sum(), *parts)(Z), atol=1e-9)
    assert_allclose(learner.alphas_, alpha)
    assert_allclose(learner.edges_, [r.edge for r in rounds])
    assert learner.exact_


@EACH_KIND
def test_scales_and_constant_columns_do_not_matter(kind):
    X, y, more, _ = few_labels()
    learner = KernelBoost(n_rounds=3, covariance_type=kind, random_state=0)
    plain = clone(learner).fit(X, y, unlabelled=more)
    scale, shift = np.array([1e-3, 1.0, 1e4, 7.0]), np.array([0.0, 5.0, -1e5, 1.0])

    def change(rows):
        return np.insert(rows * scale + shift, [1, 4], [3.0, 0.0], axis=1)

    changed = clone(learner).fit(change(X), y, unlabelled=change(more))
    assert_allclose(changed.kernel_(change(more)), plain.kernel_(more), atol=1e-6)


def test_its_features_reproduce_its_kernel():
    X, y, more, _ = few_labels()
    learner = KernelBoost(n_rounds=5, random_state=0).fit(X, y, unlabelled=more)
    F = learner.transform(more)
    assert F.shape == (108, 15)
    assert len(learner.get_feature_names_out()) == 15
    assert_allclose(F @ F.T, learner.kernel_(more), rtol=1e-12)
    assert np.linalg.eigvalsh(learner.kernel_(more)).min() > -1e-10


def test_the_kernel_is_normalised_unless_the_literal_sum_is_asked_for():
    X, y, more, _ = few_labels()
    one, other = (
        KernelBoost(n_rounds=4, normalize=normalize, random_state=0).fit(X, y, unlabelled=more)
        for normalize in (True, False)
    )
    assert one.kernel_.alpha.sum() == pytest.approx(1.0)
    assert_array_equal(other.kernel_.alpha, other.alphas_)
    assert_array_equal(one.alphas_, other.alphas_)
    assert_allclose(other.kernel_(X), other.alphas_.sum() * one.kernel_(X), rtol=1e-12)
    assert other.alphas_.sum() < 5 * 4 * (12 / 120) ** 2


@pytest.mark.parametrize("normalize", [True, False])
def test_the_kernel_after_some_rounds_is_that_of_fewer_rounds_and_costs_nothing(normalize):
    X, y, more, _ = few_labels()
    learner = KernelBoost(n_rounds=4, normalize=normalize, random_state=0)
    whole = clone(learner).fit(X, y, unlabelled=more)
    kernels = list(whole.staged_kernels())
    assert kernels[-1] == whole.kernel_
    for t, staged in enumerate(kernels, 1):
        fewer = clone(learner).set_params(n_rounds=t).fit(X, y, unlabelled=more)
        assert_same_kernel(staged, fewer.kernel_, X)
        assert np.shares_memory(staged.factors, whole.kernel_.factors)
    for wrong in (0, 5):
        with pytest.raises(ValueError, match="n_rounds must be at"):
            whole.kernel_after(wrong)


def test_kernel_for_is_the_stage_of_the_largest_alignment():
    X, y, more, _ = few_labels(30)
    learner = KernelBoost(n_rounds=8, n_starts=1, max_iter=3, random_state=1).fit(X, y, unlabelled=more)
    chosen = set()
    for pair in ([0, 1], [0, 2], [1, 2], [0, 1, 2]):
        rows = np.isin(y, pair)
        signs = np.where(y[rows] == pair[0], 1.0, -1.0)
        ideal = np.outer(signs, signs)
        if len(pair) == 3:
            ideal = np.where(y[:, None] == y, 1.0, -1.0)
        scores = [alignment(kernel(X[rows]), ideal) for kernel in learner.staged_kernels()]
        found = learner.kernel_for(X[rows], y[rows])
        assert found == learner.kernel_after(int(np.argmax(scores)) + 1)
        chosen.add(len(found.alpha))
    assert len(chosen) > 1


def test_all_pairs_of_the_labels_are_the_labels():
    X, y, more, _ = few_labels()
    _, first = np.unique(y, return_index=True)
    y = np.argsort(np.argsort(first))[y]  # classes in the order of their first rows, as pairs have them
    learner = KernelBoost(n_rounds=3, random_state=0)
    labels = clone(learner).fit(X, y, unlabelled=more)
    pairs = clone(learner).fit(X, pairs=Pairs.from_labels(y), unlabelled=more)
    assert pairs.n_components_ == 3
    assert_same_kernel(pairs.kernel_, labels.kernel_, more, atol=1e-7)
    assert not hasattr(pairs, "classes_")


def test_rows_of_x_that_no_pair_names_are_unlabelled_rows():
    X, y, more, _ = few_labels(20)
    pairs = Pairs.from_labels(y)
    learner = KernelBoost(n_rounds=3, random_state=0)
    one = clone(learner).fit(X, pairs=pairs, unlabelled=more)
    other = clone(learner).fit(np.vstack([X, more]), pairs=pairs)
    assert_same_kernel(one.kernel_, other.kernel_, X)


def test_few_labels_and_many_other_rows_are_enough():
    X, y, more, truth = few_labels(6, n_rows=600)
    model = KernelSVC(KernelBoost(n_rounds=5, random_state=0), C=300.0).fit(X, y, unlabelled=more)
    alone = SVC(C=300.0).fit(X, y)
    assert model.score(more, truth) > alone.score(more, truth) + 0.02


def test_dissolving_separates_classes_of_two_clumps_each():
    rng = np.random.default_rng(0)
    clump = np.arange(200) % 4  # the corners of a square; opposite ones are of one class
    X = 6.0 * np.column_stack([clump // 2, clump % 2]) + rng.normal(size=(200, 2))
    y = (clump // 2) ^ (clump % 2)
    options = {"n_rounds": 8, "n_components": 4, "random_state": 0}
    first = [
        KernelBoost(dissolve=dissolve, **options).fit(X[:60], y[:60], unlabelled=X[60:]).kernel_after(1)
        for dissolve in (False, True)
    ]
    # dissolved, a mixture may give each clump a component of its own; whole classes keep to one
    within = [kernel(X[clump == 0], X[clump == 3]).mean() for kernel in first]
    assert within[1] < 0.1 < within[0]
    model = KernelSVC(KernelBoost(dissolve=True, **options), C=5.0).fit(X[:60], y[:60], unlabelled=X[60:])
    assert model.score(X[60:], y[60:]) > 0.95


@EACH_KIND
@pytest.mark.parametrize("dissolve", [False, True])
def test_odd_data_work(kind, dissolve):
    X, y, more, _ = few_labels()
    learner = KernelBoost(n_rounds=2, covariance_type=kind, dissolve=dissolve, random_state=0)
    cases = {
        "a class of one row": (X[:4], [0, 0, 1, 2], more),
        "fewer labelled rows than components": (X[:2], [0, 1], more),
        "duplicates": (np.repeat(X[:2], 5, axis=0), np.repeat([0, 1], 5), np.repeat(more[:1], 9, axis=0)),
        "more columns than rows": (np.random.default_rng(1).normal(size=(6, 15)), [0, 1] * 3, None),
        "no unlabelled rows": (X, y, None),
        "two rows": (X[:2], ["a", "b"], None),
        "one column": (X[:, :1], y, more[:, :1]),
    }
    for name, (rows, label, unlabelled) in cases.items():
        components = 5 if name == "fewer labelled rows than components" else None
        fitted = clone(learner).set_params(n_components=components).fit(rows, label, unlabelled=unlabelled)
        K = fitted.kernel_(rows)
        assert np.all(np.isfinite(K)), name
        assert np.all(np.diag(K) > 0), name


@EACH_KIND
@pytest.mark.parametrize("dissolve", [False, True])
def test_one_component_is_the_constant_kernel(kind, dissolve):
    X, y, more, _ = few_labels()
    learner = KernelBoost(n_components=1, covariance_type=kind, dissolve=dissolve, n_rounds=3)
    for given in ({"y": y}, {"y": np.r_[np.zeros(11), 1]}, {"pairs": Pairs([(0, 1)], [(1, 2)])}):
        fitted = clone(learner).fit(X, **given, unlabelled=more)
        assert fitted.n_components_ == 1
        assert_allclose(fitted.kernel_(more), 1.0, rtol=1e-12)


def test_a_prior_too_weak_for_repeated_samples_says_what_to_do():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 3, axis=0)
    with pytest.raises(ValueError, match=r"density is unbounded\. Increase prior_strength"):
        KernelBoost(prior_strength=1e-300).fit(X, [0, 0, 0, 1, 1, 1])


def test_pairs_that_contradict_each_other_are_named():
    X, *_ = few_labels()
    with pytest.raises(ValueError, match=r"such as \(0, 2\).* 0 – 1 – 2\. Drop one of these pairs"):
        KernelBoost().fit(X, pairs=Pairs([(0, 1), (1, 2)], [(0, 2)]))


def test_a_hundred_classes_come_to_an_end_and_posteriors_without_a_bound_are_told():
    y = np.arange(200) % 100
    noise = np.random.default_rng(0).normal(size=(200, 3))
    options = {"n_rounds": 1, "n_starts": 1, "random_state": 0}
    places = np.column_stack(np.unravel_index(y, (5, 5, 4)))
    sure = KernelBoost(prior_strength=0.001, **options).fit(100.0 * places + 0.1 * noise, y)
    assert sure.exact_
    assert sure.posterior_error_ <= 1e-6
    assert sure.n_components_ == 100
    with pytest.warns(ConvergenceWarning, match="in 1 of 1 rounds, the posteriors .* may be far off"):
        unsure = KernelBoost(**options).fit(places + noise, y)
    assert not unsure.exact_
    assert unsure.posterior_error_ == 1.0


def test_impossible_wishes_are_refused():
    X, y, *_ = few_labels()
    with pytest.raises(
        ValueError, match=r"2 components cannot keep .* apart: 3 sets .*\. Increase n_components"
    ):
        KernelBoost(n_components=2).fit(X, y)
    with pytest.raises(ValueError, match="give dissimilar pairs as well"):
        KernelBoost().fit(X, pairs=Pairs([(0, 1)]))
    with pytest.raises(ValueError, match="all rows are equal"):
        KernelBoost().fit(np.ones((4, 2)), [0, 1, 0, 1])
    with pytest.raises(NotFittedError):
        KernelBoost().kernel_for(X, y)
    with pytest.raises(ValueError, match="X has 12 rows, y has 3"):
        KernelBoost(n_rounds=1).fit(X, y).kernel_for(X, y[:3])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_rounds", 0),
        ("n_components", 0),
        ("covariance_type", "spherical"),
        ("decay", -1.0),
        ("n_mutual", 0),
        ("dissolve", "no"),
        ("normalize", 2),
        ("max_alpha", 0.0),
        ("prior_strength", 0.0),
        ("n_starts", 0),
        ("max_iter", 0),
        ("tol", 0.0),
    ],
)
def test_parameters_are_checked_by_name(name, value):
    X, y, *_ = few_labels()
    with pytest.raises(ValueError, match=f"{name} must be"):
        KernelBoost(**{name: value}).fit(X, y)


def test_where_nothing_is_better_than_chance_it_warns_and_keeps_a_kernel(monkeypatch):
    X, y, more, _ = few_labels()
    real = kernelboost.boost_mixtures
    monkeypatch.setattr(kernelboost, "boost_mixtures", lambda *a, **k: [real(*a, **k)[0]._replace(alpha=0.0)])
    learner = KernelBoost(n_rounds=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="better than chance"):
        learner.fit(X, y, unlabelled=more)
    assert_array_equal(learner.kernel_.alpha, [1.0])
    assert np.all(np.diag(learner.kernel_(X)) > 0)


def test_callbacks_see_the_rounds_and_a_stopped_fit_keeps_what_it_has():
    X, y, more, _ = few_labels()
    stopped = KernelBoost(n_rounds=5, random_state=0).set_callbacks(Stop(2, "round"))
    stopped.fit(X, y, unlabelled=more)
    assert stopped.n_rounds_ == 2
    fewer = KernelBoost(n_rounds=2, random_state=0).fit(X, y, unlabelled=more)
    assert stopped.kernel_ == fewer.kernel_
    KernelBoost(n_rounds=2).set_callbacks(ProgressBar()).fit(X, y)


def test_the_seed_decides_and_parameters_stay_as_they_are():
    X, y, more, _ = few_labels()
    learner = KernelBoost(n_rounds=2, random_state=3)
    before = learner.get_params()
    kernels = [clone(learner).fit(X, y, unlabelled=more).kernel_ for _ in range(2)]
    assert kernels[0] == kernels[1]
    assert learner.fit(X, y).get_params() == before
    assert kernels[0] != KernelBoost(n_rounds=2, random_state=4).fit(X, y, unlabelled=more).kernel_


def test_rows_are_transformed_one_by_one_as_together_and_in_any_order():
    X, y, more, _ = few_labels()
    learner = KernelBoost(n_rounds=2, random_state=0).fit(X, y, unlabelled=more)
    whole = learner.transform(more)
    assert_allclose(np.vstack([learner.transform(row[None]) for row in more]), whole, atol=1e-10)
    assert_allclose(learner.transform(more[::-1]), whole[::-1], atol=1e-10)


def test_memory_that_there_is_not_is_said_before_it_starts(have_memory):
    have_memory(10**12)
    with pytest.raises(MemoryError, match="KernelBoost on 3 rows of 60000 columns"):
        KernelBoost(n_rounds=1000).fit(np.random.default_rng(0).normal(size=(3, 60000)), [0, 1, 1])
