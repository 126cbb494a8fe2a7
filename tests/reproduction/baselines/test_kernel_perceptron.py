import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.linear_model import Perceptron as LinearPerceptron
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import cross_val_score

from mercer.datasets import slanted, threenorm, twonorm
from mercer.kernels import Perceptron as PerceptronKernel
from reproduction.baselines import KernelPerceptron, kernel_perceptron

KERNELS = [None, RBF(2.0), PerceptronKernel()]


def inner_product(X, Y=None):
    return X @ (X if Y is None else Y).T


def two_class_history(K, y, n_epochs):
    """The Perceptron as it is told: the signed coefficients after every step, one row each."""
    coef, history = np.zeros(len(y)), []
    for i in np.tile(np.arange(len(y)), n_epochs):
        if y[i] * (coef @ K[:, i]) <= 0:
            coef[i] += y[i]
        history.append(coef.copy())
    return np.array(history)


def many_class_history(K, labels, n_classes, n_epochs):
    """The multiclass Perceptron as it is told: the coefficients of all classes after every step."""
    coef, history = np.zeros((n_classes, len(labels))), []
    for i in np.tile(np.arange(len(labels)), n_epochs):
        scores = coef @ K[:, i]
        rivals = np.delete(np.arange(n_classes), labels[i])
        rival = rivals[np.argmax(scores[rivals])]
        if scores[labels[i]] <= scores[rival]:
            coef[labels[i], i] += 1
            coef[rival, i] -= 1
        history.append(coef.copy())
    return np.array(history)


def three_classes(n, seed):
    """Whole numbers, so that scores are exact and ties are frequent."""
    rng = np.random.default_rng(seed)
    return rng.integers(-3, 4, size=(n, 3)).astype(float), np.arange(n) % 3


def full_coef(model):
    coef = np.zeros((len(model.dual_coef_), model.mistakes_.shape[1]))
    coef[:, model.support_] = model.dual_coef_
    return coef


@pytest.mark.parametrize("kernel", KERNELS)
def test_two_classes_are_learned_as_it_is_told(kernel):
    X, y = threenorm(80, 4, random_state=0)
    fresh = threenorm(30, 4, random_state=1)[0]
    k = kernel or inner_product
    history = two_class_history(k(X), y, n_epochs=3)
    model = KernelPerceptron(kernel, n_epochs=3).fit(X, y)
    assert_array_equal(full_coef(model)[0], history[-1])
    assert_allclose(model.decision_function(fresh), k(fresh, X) @ history[-1], atol=1e-12)
    changed = np.diff(history, axis=0, prepend=0).any(axis=1)
    assert_array_equal(model.mistakes_, changed.reshape(3, 80))
    assert model.n_updates_ == changed.sum()


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), n=st.integers(3, 15), n_epochs=st.integers(1, 4))
def test_many_classes_are_learned_as_it_is_told_with_ties_in_plenty(seed, n, n_epochs):
    X, y = three_classes(n, seed)
    history = many_class_history(X @ X.T, y, 3, n_epochs)
    model = KernelPerceptron(n_epochs=n_epochs).fit(X, y)
    assert_array_equal(full_coef(model), history[-1])
    assert_array_equal(model.decision_function(X), X @ X.T @ history[-1].T)
    assert_array_equal(model.predict(X), np.argmax(model.decision_function(X), axis=1))
    changed = np.diff(history, axis=0, prepend=0).any(axis=(1, 2))
    assert_array_equal(model.mistakes_.ravel(), changed)


@pytest.mark.parametrize("average", [False, True])
def test_the_rule_of_many_classes_is_that_of_two_up_to_a_factor(average):
    X, y = threenorm(60, 4, random_state=2)
    many = many_class_history(X @ X.T, (y + 1) // 2, 2, 2)
    coef = many.mean(axis=0) if average else many[-1]
    scores = X @ X.T @ coef.T
    f = KernelPerceptron(n_epochs=2, average=average).fit(X, y).decision_function(X)
    assert_allclose(scores[:, 1] - scores[:, 0], 2 * f, atol=1e-12)


@pytest.mark.parametrize("n_epochs", [1, 4])
def test_the_plain_inner_product_is_scikit_learns_perceptron(n_epochs):
    X, y = threenorm(100, 5, random_state=3)
    rival = LinearPerceptron(fit_intercept=False, shuffle=False, tol=None, max_iter=n_epochs).fit(X, y)
    model = KernelPerceptron(n_epochs=n_epochs).fit(X, y)
    assert_allclose(model.decision_function(X), rival.decision_function(X), atol=1e-12)


def test_the_averaged_one_is_scikit_learns_averaged_gradient_descent():
    X, y = threenorm(100, 5, random_state=3)
    options = {"learning_rate": "constant", "eta0": 1.0, "penalty": None, "average": True}
    rival = SGDClassifier(
        loss="perceptron", fit_intercept=False, shuffle=False, tol=None, max_iter=3, **options
    ).fit(X, y)
    model = KernelPerceptron(n_epochs=3, average=True).fit(X, y)
    assert_allclose(model.decision_function(X), rival.decision_function(X), atol=1e-12)


def test_the_average_is_the_literal_mean_over_all_steps_of_every_stage():
    X, y = threenorm(50, 4, random_state=4)
    K, fresh = RBF()(X), threenorm(20, 4, random_state=5)[0]
    history = two_class_history(K, y, n_epochs=4)
    model = KernelPerceptron(RBF(), n_epochs=4, average=True).fit(X, y)
    for epoch, scores in enumerate(model.staged_decision_function(fresh), start=1):
        assert_allclose(scores, RBF()(fresh, X) @ history[: 50 * epoch].mean(axis=0), atol=1e-12)


def test_the_average_of_many_classes_is_the_literal_mean():
    X, y = three_classes(30, 0)
    history = many_class_history(X @ X.T, y, 3, 5)
    model = KernelPerceptron(n_epochs=5, average=True).fit(X, y)
    assert_allclose(full_coef(model), history.mean(axis=0), atol=1e-12)


def test_averaging_goes_on_after_the_rows_are_separated():
    X, y = slanted(40, random_state=0)
    history = two_class_history(X @ X.T, y, n_epochs=50)
    model = KernelPerceptron(n_epochs=50, average=True).fit(X, y)
    assert not model.mistakes_[-1].any()
    assert_allclose(full_coef(model)[0], history.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_stages_are_shorter_fits(n_classes, average):
    X, y = three_classes(60, 1)
    y = y % n_classes
    fresh = three_classes(25, 2)[0]
    model = KernelPerceptron(RBF(), n_epochs=6, average=average).fit(X, y)
    scores, predictions = list(model.staged_decision_function(fresh)), list(model.staged_predict(fresh))
    assert len(scores) == len(predictions) == 6
    for epoch in range(1, 7):
        shorter = KernelPerceptron(RBF(), n_epochs=epoch, average=average).fit(X, y)
        assert_allclose(scores[epoch - 1], shorter.decision_function(fresh), atol=1e-12)
        assert_array_equal(predictions[epoch - 1], shorter.predict(fresh))
    assert_array_equal(predictions[-1], model.predict(fresh))


def test_the_stages_compute_the_kernel_once():
    calls = []

    class Counting(DotProduct):
        def __call__(self, X, Y=None, eval_gradient=False):
            calls.append(len(X))
            return super().__call__(X, Y, eval_gradient)

    X, y = twonorm(30, 3, random_state=0)
    model = KernelPerceptron(Counting(0.0), n_epochs=5).fit(X, y)
    calls.clear()
    assert len(list(model.staged_predict(X[:7]))) == 5
    assert calls == [7]


def first_separation(history, K, y):
    """Check after each step whether all rows are right, and count the updates so far."""
    n_updates = np.cumsum(np.diff(history, axis=0, prepend=0).any(axis=1))
    separating = (y * (history @ K) > 0).all(axis=1)
    return n_updates[np.argmax(separating)] if separating.any() else None


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("n_epochs", [1, 3, 30])
@pytest.mark.parametrize("seed", range(4))
def test_the_updates_until_separation_are_those_of_a_check_after_every_update(seed, n_epochs, average):
    X, y = slanted(60, random_state=seed)
    expected = first_separation(two_class_history(X @ X.T, y, n_epochs), X @ X.T, y)
    model = KernelPerceptron(n_epochs=n_epochs, average=average).fit(X, y)
    assert model.n_updates_to_separate_ == expected
    if n_epochs != 3:  # both cases are seen: one epoch is too short, thirty are plenty
        assert (expected is None) == (n_epochs == 1)


def test_three_classes_are_separated_when_no_row_is_wrong_or_tied():
    X, y = np.eye(3)[[0, 1, 2, 0, 1, 2]], np.array([0, 1, 2, 0, 1, 2])
    # Row 0 leaves (1, −1, 0), row 1 leaves (−1, 1, 0); on row 2 all scores are still 0.
    model = KernelPerceptron().fit(X, y)
    assert_array_equal(model.mistakes_[0], [True, True, True, False, False, False])
    assert model.n_updates_to_separate_ == 3
    assert KernelPerceptron(n_epochs=9).fit(np.ones((6, 1)), y).n_updates_to_separate_ is None


def test_one_example_is_enough_for_the_kernel_of_the_labels():
    y = np.where(np.arange(40) % 3, 1, -1)
    model = KernelPerceptron("precomputed").fit(np.outer(y, y), y)
    assert model.n_updates_to_separate_ == model.n_updates_ == 1
    assert_array_equal(model.support_, [0])


def test_what_cannot_be_separated_never_is():
    # Exclusive or: no hyperplane through the origin, and none at all, separates it.
    X, y = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]]), [0, 0, 1, 1]
    assert KernelPerceptron(n_epochs=200).fit(X, y).n_updates_to_separate_ is None
    assert KernelPerceptron(RBF(), n_epochs=200).fit(X, y).n_updates_to_separate_ is not None


@pytest.mark.parametrize("seed", range(5))
def test_the_updates_obey_novikoffs_bound(seed):
    X, y = slanted(100, random_state=seed)
    direction = np.eye(100)[:2].sum(axis=0) / np.sqrt(2)
    margin, radius = (y * (X @ direction)).min(), np.linalg.norm(X, axis=1).max()
    model = KernelPerceptron(n_epochs=1000).fit(X, y)
    assert model.n_updates_to_separate_ is not None
    assert model.n_updates_ <= (radius / margin) ** 2


def test_the_updates_of_many_classes_obey_novikoffs_bound(rng):
    # For W of Frobenius norm 1 with (w_y − w_r)·x ≥ γ for all rivals r: at most 2 R²/γ² updates.
    W, X = rng.normal(size=(4, 3)), rng.normal(size=(400, 3))
    W /= np.linalg.norm(W)
    ranked = np.sort(X @ W.T, axis=1)
    clear = ranked[:, -1] - ranked[:, -2] > 0.1
    X, y, margin = X[clear], np.argmax(X[clear] @ W.T, axis=1), (ranked[:, -1] - ranked[:, -2])[clear].min()
    model = KernelPerceptron(n_epochs=5000).fit(X, y)
    assert model.score(X, y) == 1
    assert model.n_updates_to_separate_ == model.n_updates_ <= 2 * (X**2).sum(axis=1).max() / margin**2


def test_a_score_of_zero_is_a_mistake():
    X, y = np.array([[0.0], [1.0], [0.0], [2.0], [-1.0]]), np.array([1, 1, -1, 1, -1])
    model = KernelPerceptron(n_epochs=2).fit(X, y)
    assert_array_equal(model.mistakes_, [[True, True, True, False, False], [True, False, True, False, False]])
    assert model.n_updates_to_separate_ is None
    assert_array_equal(model.predict([[0.0], [3.0], [-3.0]]), [-1, 1, -1])


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_precomputed_gram_matrix_gives_the_same(kernel):
    X, y = three_classes(50, 3)
    fresh = three_classes(20, 4)[0]
    k = kernel or inner_product
    given_kernel = KernelPerceptron(kernel, n_epochs=2).fit(X, y)
    given_gram = KernelPerceptron("precomputed", n_epochs=2).fit(k(X), y)
    assert_allclose(given_gram.decision_function(k(fresh, X)), given_kernel.decision_function(fresh))
    assert given_gram.kernel_ is None


def test_cross_validation_cuts_rows_and_columns_of_a_gram_matrix():
    X, y = threenorm(60, 4, random_state=6)
    by_kernel = cross_val_score(KernelPerceptron(RBF(2.0), n_epochs=3), X, y)
    assert_array_equal(
        by_kernel, cross_val_score(KernelPerceptron("precomputed", n_epochs=3), RBF(2.0)(X), y)
    )


def test_predictions_in_blocks_are_those_at_once(monkeypatch):
    X, y = threenorm(50, 4, random_state=7)
    model = KernelPerceptron(RBF(), n_epochs=2).fit(X, y)
    at_once = model.decision_function(X)
    monkeypatch.setattr(kernel_perceptron, "_BLOCK", 7 * len(model.support_))
    assert_allclose(model.decision_function(X), at_once, atol=1e-12)


def test_labels_may_be_of_any_type():
    X, y = threenorm(60, 3, random_state=0)
    names = np.where(y == 1, "yes", "no")
    model, named = KernelPerceptron(RBF()).fit(X, y), KernelPerceptron(RBF()).fit(X, names)
    assert_array_equal(named.classes_, ["no", "yes"])
    assert_array_equal(named.predict(X), np.where(model.predict(X) == 1, "yes", "no"))


@pytest.mark.parametrize(
    ("model", "X", "message"),
    [
        (KernelPerceptron(n_epochs=0), np.eye(4), "n_epochs"),
        (KernelPerceptron("rbf"), np.eye(4), "scikit-learn kernel"),
        (KernelPerceptron("precomputed"), np.eye(4)[:, :3], "square"),
        (KernelPerceptron("precomputed"), np.triu(np.ones((4, 4))), "symmetric"),
        (KernelPerceptron("precomputed"), 1e-12 * np.triu(np.ones((4, 4))), "symmetric"),
    ],
)
def test_impossible_input_is_refused(model, X, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, [0, 1, 0, 1])


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="only one class"):
        KernelPerceptron().fit(np.eye(3), [1, 1, 1])


def test_a_kernel_whose_values_are_not_finite_is_refused():
    class Broken(DotProduct):
        def __call__(self, X, Y=None, eval_gradient=False):
            return np.full((len(X), len(X)), np.nan)

    with pytest.raises(ValueError, match=r"kernel\(X\) contains NaN"):
        KernelPerceptron(Broken()).fit(np.eye(4), [0, 1, 0, 1])


def test_a_gram_matrix_larger_than_the_machine_is_refused_before_it_is_computed():
    X = np.zeros((1_000_000, 1))
    with pytest.raises(MemoryError, match="1000000 rows"):
        KernelPerceptron().fit(X, np.arange(len(X)) % 2)
