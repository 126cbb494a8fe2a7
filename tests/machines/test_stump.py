"""StumpSVC: the SVM of the stump kernel, whatever the data look like."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import trapezoid
from sklearn.base import clone
from sklearn.datasets import load_wine, make_hastie_10_2
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from sklearn.utils import check_random_state

from mercer import StumpSVC
from mercer.datasets import ringnorm, threenorm
from mercer.kernels import Stump
from stand_ins import ProgressBar

CS = 2.0 ** np.arange(-17, 6, 2)


def wine():
    X, y = load_wine(return_X_y=True)
    return MinMaxScaler((-1, 1)).fit_transform(X), y


@pytest.mark.parametrize("C", CS)
def test_it_is_libsvm_with_the_stump_kernel(C):
    X, y = ringnorm(300, random_state=0)
    X_new, _ = ringnorm(500, random_state=1)
    ours = StumpSVC(C=C).fit(X, y)
    theirs = SVC(C=C, kernel=Stump()).fit(X, y)
    f, expected = ours.decision_function(X_new), theirs.decision_function(X_new)
    assert np.corrcoef(f, expected)[0, 1] > 0.9999
    assert np.mean(ours.predict(X_new) == theirs.predict(X_new)) >= 0.999


@pytest.mark.parametrize("C", CS)
def test_the_dual_solution_is_feasible_and_has_the_objective_that_it_reports(C):
    X, y = threenorm(200, random_state=0)
    model = StumpSVC(C=C).fit(X, y)
    coef = np.zeros(len(X))
    coef[model.support_] = model.dual_coef_[0]
    K = Stump()(X)
    assert np.all((coef * y >= 0) & (coef * y <= C * (1 + 1e-12)))
    assert_allclose(coef.sum(), 0, atol=1e-9 * C)
    assert_allclose(0.5 * coef @ K @ coef - y @ coef, model.objective_[0], rtol=1e-9)
    f = K @ coef
    assert_allclose(model.decision_function(X) - f, (model.decision_function(X) - f).mean(), atol=1e-8)


def test_the_primal_is_a_roughness_penalty_on_the_shape_functions():
    # strong duality: ¼ Σ ∫ g'² + C Σ hinge = −(P2)
    X, y = threenorm(200, random_state=0)
    model = StumpSVC(C=0.1, tol=1e-6).fit(X, y)
    roughness = 0.0
    for knots, values in model.shape_functions_:
        roughness += np.sum(np.diff(values) ** 2 / np.diff(knots))
    hinge = np.maximum(0, 1 - y * model.decision_function(X)).sum()
    assert_allclose(roughness / 4 + 0.1 * hinge, -model.objective_[0], rtol=1e-6)


@pytest.mark.parametrize("max_bins", [None, 8, 32])
def test_the_shape_functions_and_the_intercept_are_the_decision_function(max_bins):
    X, y = threenorm(300, random_state=0)
    X[:, 0], X[:, 1] = np.round(X[:, 0]), 3.0  # equal values, and a constant
    model = StumpSVC(C=0.05, max_bins=max_bins).fit(X, y)
    X_new, _ = threenorm(100, random_state=1)
    X_new[0] *= 100  # beyond the data
    f = model.intercept_[0] + sum(
        np.interp(x, knots, values)
        for x, (knots, values) in zip(X_new.T, model.shape_functions_, strict=True)
    )
    assert_allclose(model.decision_function(X_new), f, atol=1e-10)


def test_bins_are_exact_when_there_is_one_for_each_value():
    X, y = threenorm(200, random_state=0)
    exact, binned = (StumpSVC(C=0.1, max_bins=m).fit(X, y) for m in (None, 200))
    assert_allclose(binned.decision_function(X), exact.decision_function(X), atol=1e-4)


def test_more_bins_come_nearer_to_the_exact_classifier():
    X, y = threenorm(1000, random_state=0)
    exact = StumpSVC(C=0.05).fit(X, y).decision_function(X)
    errors = [
        np.abs(StumpSVC(C=0.05, max_bins=m).fit(X, y).decision_function(X) - exact).mean()
        for m in (4, 32, 256)
    ]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


def test_three_classes_vote_as_in_libsvm():
    X, y = wine()
    ours = StumpSVC(C=0.5).fit(X, y)
    theirs = SVC(C=0.5, kernel=Stump()).fit(X, y)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-3)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert len(ours.shape_functions_) == 3


def test_one_against_the_rest_is_three_svms_of_two_classes():
    X, y = wine()
    model = StumpSVC(C=0.5, multi_class="ovr").fit(X, y)
    for k in range(3):
        alone = StumpSVC(C=0.5).fit(X, y == k)
        assert_allclose(model.decision_function(X)[:, k], alone.decision_function(X), atol=1e-6)


def test_integer_weights_are_repeated_rows(rng):
    X, y = threenorm(100, random_state=0)
    weight = rng.integers(0, 4, size=100)
    weighted = StumpSVC(C=0.1, tol=1e-6).fit(X, y, sample_weight=weight)
    repeated = StumpSVC(C=0.1, tol=1e-6).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-5)
    assert np.all(weight[weighted.support_] > 0)


def test_class_weights_multiply_c():
    X, y = threenorm(200, random_state=0)
    by_class = StumpSVC(C=0.1, class_weight={-1: 3.0}).fit(X, y)
    by_row = StumpSVC(C=0.1).fit(X, y, sample_weight=np.where(y == -1, 3.0, 1.0))
    assert_allclose(by_class.decision_function(X), by_row.decision_function(X))


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1e8, 1e30])
def test_the_units_of_the_features_do_not_matter(scale):
    X, y = threenorm(150, random_state=0)
    usual = StumpSVC(C=0.25).fit(X, y)
    scaled = StumpSVC(C=0.25 / scale).fit(X * scale, y)
    assert_allclose(scaled.decision_function(X * scale), usual.decision_function(X), atol=1e-5)


def test_a_range_that_overflows_is_refused():
    X = np.array([[-1.7e308], [1.7e308]])
    with pytest.raises(ValueError, match="scale the features"):
        StumpSVC().fit(X, [0, 1])


def test_constant_and_duplicate_columns_are_no_obstacle():
    X, y = threenorm(150, random_state=0)
    plain = StumpSVC(C=0.1).fit(X, y)
    padded = np.column_stack([np.full(150, 7.0), X, np.zeros(150)])
    assert_allclose(
        StumpSVC(C=0.1).fit(padded, y).decision_function(padded), plain.decision_function(X), atol=1e-5
    )
    twice = StumpSVC(C=0.05).fit(np.hstack([X, X]), y)
    assert_allclose(twice.decision_function(np.hstack([X, X])), plain.decision_function(X), atol=1e-5)


def test_features_that_are_all_constant_give_the_larger_class():
    model = StumpSVC().fit(np.ones((5, 2)), ["a", "b", "b", "a", "b"])
    assert list(model.predict([[1.0, 1.0], [5.0, -3.0]])) == ["b", "b"]


def test_duplicate_rows_of_opposite_classes_are_no_obstacle():
    X, y = threenorm(80, random_state=0)
    X, y = np.vstack([X, X]), np.r_[y, -y]
    model = StumpSVC(C=32.0).fit(X, y)
    assert model.residual_[0] <= 1e-3
    assert_allclose(model.decision_function(X), 0.0, atol=1e-2)  # every row is as much of one as of the other


def test_fewer_rows_than_features():
    X, y = threenorm(10, n_features=40, random_state=0)
    assert StumpSVC(C=10.0).fit(X, y).score(X, y) == 1.0  # Theorem 3: distinct rows can always be separated


@pytest.mark.parametrize("dtype", [np.int64, np.int8, bool, np.float32])
def test_other_types_of_numbers(dtype, rng):
    X = rng.integers(0, 2, size=(60, 5)).astype(dtype)
    y = X[:, 0].astype(bool) | X[:, 1].astype(bool)
    model = StumpSVC().fit(X, y)
    assert_allclose(
        model.decision_function(X), StumpSVC().fit(X.astype(float), y).decision_function(X.astype(float))
    )


def test_arrays_in_any_order_and_read_only():
    X, y = threenorm(100, random_state=0)
    expected = StumpSVC(C=0.1).fit(X, y).decision_function(X)
    for form in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], np.hstack([X, X])[:, :20]):
        form.flags.writeable = False
        assert_allclose(StumpSVC(C=0.1).fit(form, y).decision_function(form), expected)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_refused(bad):
    X, y = threenorm(20, random_state=0)
    X[3, 4] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        StumpSVC().fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0}, "C"),
        ({"C": -1.0}, "C"),
        ({"max_bins": 1}, "max_bins"),
        ({"tol": 0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"multi_class": "all"}, "multi_class"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y = threenorm(20, random_state=0)
    with pytest.raises(ValueError, match=message):
        StumpSVC(**parameters).fit(X, y)


def test_one_class_is_refused_in_words():
    with pytest.raises(ValueError, match="two classes"):
        StumpSVC().fit([[0.0], [1.0]], [1, 1])
    with pytest.raises(ValueError, match="two classes"):
        StumpSVC().fit([[0.0], [1.0]], [0, 1], sample_weight=[1.0, 0.0])


def test_too_few_steps_warn_with_the_residual():
    X, y = threenorm(300, random_state=0)
    with pytest.warns(ConvergenceWarning, match="residual"):
        StumpSVC(max_iter=2).fit(X, y)


def test_progress_is_shown(capsys):
    X, y = threenorm(100, random_state=0)
    StumpSVC().set_callbacks(ProgressBar()).fit(X, y)
    assert "StumpSVC" in capsys.readouterr().out
    StumpSVC("cv", Cs=2, cv=2).set_callbacks(ProgressBar()).fit(X, y)
    assert "StumpSVC" in capsys.readouterr().out


def test_the_same_result_on_two_threads_and_after_pickling():
    X, y = wine()
    one, two = (StumpSVC("cv", Cs=4, max_bins=16, n_jobs=jobs, random_state=0).fit(X, y) for jobs in (1, 2))
    assert_array_equal(one.scores_, two.scores_)
    assert_array_equal(one.decision_function(X), two.decision_function(X))
    assert_array_equal(pickle.loads(pickle.dumps(one)).decision_function(X), one.decision_function(X))


def test_cv_gives_the_scores_of_a_grid_search():
    X, y = threenorm(200, random_state=0)
    Cs = 2.0 ** np.arange(-9, 4, 3)
    folds = StratifiedKFold(4)
    ours = StumpSVC("cv", Cs=Cs, cv=folds).fit(X, y)
    search = GridSearchCV(StumpSVC(), {"C": Cs}, cv=folds).fit(X, y)
    scores = [search.cv_results_[f"split{k}_test_score"] for k in range(4)]
    tried = np.isfinite(ours.scores_)  # larger C than the best are not all tried
    assert_allclose(ours.scores_[tried], np.array(scores)[tried])
    assert tried.sum() >= 3 * 4
    assert search.best_params_["C"] == ours.C_
    assert_allclose(ours.decision_function(X), search.best_estimator_.decision_function(X), atol=1e-6)


def test_cv_takes_another_score():
    X, y = threenorm(200, random_state=0)
    ours = StumpSVC("cv", Cs=3, cv=3, scoring="roc_auc").fit(X, y)
    expected = [
        cross_val_score(StumpSVC(C=C), X, y, cv=3, scoring="roc_auc") for C in 2.0 ** np.array([-17, -7, 3])
    ]
    assert_allclose(ours.scores_.T, expected, atol=1e-6)


@pytest.mark.parametrize("Cs", [[], 0, [-1.0], [0.0, 1.0], [np.nan]])
def test_a_grid_without_a_usable_c_is_refused(Cs):
    X, y = threenorm(20, random_state=0)
    with pytest.raises(ValueError, match=r"C"):
        StumpSVC("cv", Cs=Cs).fit(X, y)


def test_the_default_grid_is_that_of_the_paper():
    X, y = threenorm(40, random_state=0)
    assert_allclose(np.log2(StumpSVC("cv", cv=2).fit(X, y).Cs_), np.arange(-17, 4, 2))


def test_it_works_in_a_pipeline_and_clones():
    X, y = load_wine(return_X_y=True)
    model = make_pipeline(MinMaxScaler((-1, 1)), StumpSVC(C=0.5))
    assert cross_val_score(clone(model), X, y, cv=3).mean() > 0.85


def test_it_learns_what_is_additive():
    X, y = make_hastie_10_2(4000, random_state=0)
    model = StumpSVC(C=0.1, max_bins=64).fit(X[:2000], y[:2000])
    assert model.score(X[2000:], y[2000:]) > 0.75
    # y is the sign of Σx² − 9.34: each shape function is a parabola
    knots, values = model.shape_functions_[0]
    t = np.linspace(-1.5, 1.5, 50)
    g = np.interp(t, knots, values)
    assert np.corrcoef(g, t**2)[0, 1] > 0.95
    assert trapezoid(g, t) < 0 < g[0] + g[-1]


def test_a_start_from_a_sample_ends_at_the_same_minimum(monkeypatch):
    X, y = threenorm(1000, random_state=0)
    usual = [StumpSVC(C=0.05, max_bins=bins, tol=1e-5).fit(X, y) for bins in (None, 8)]
    monkeypatch.setattr("mercer.solvers.newton.rows.Rows.sample_from", 100)  # those from fewer, and so on
    sampled = [StumpSVC(C=0.05, max_bins=bins, tol=1e-5).fit(X, y) for bins in (None, 8)]
    for one, other in zip(usual, sampled, strict=True):
        assert_allclose(other.objective_, one.objective_, rtol=1e-7)
        assert_allclose(other.decision_function(X), one.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("scale", [1e6, 1e15, 1e30])
def test_a_c_that_is_far_too_large_separates_what_can_be_separated(scale):
    X, y = threenorm(100, n_features=5, random_state=0)
    model = StumpSVC(C=1.0).fit(X * scale, y)
    assert model.score(X * scale, y) == 1.0
    hard = StumpSVC(C=1e4).fit(X, y)
    assert_allclose(model.objective_ * scale, hard.objective_, rtol=1e-6)


def test_features_far_from_zero_keep_their_digits():
    X, y = threenorm(100, n_features=3, random_state=0)
    X = np.round(X, 3)
    far = X + 1e9
    model = StumpSVC(C=0.5).fit(far, y)
    coef = np.zeros(100)
    coef[model.support_] = model.dual_coef_[0]
    f = Stump()(far) @ coef
    assert_allclose(model.decision_function(far) - model.decision_function(far)[0], f - f[0], atol=1e-9)


def test_numpy_numbers_are_numbers():
    X, y = threenorm(60, random_state=0)
    grid = {"max_bins": np.array([4, 16]), "C": np.array([1, 2]), "tol": [np.float32(1e-3)]}
    search = GridSearchCV(StumpSVC(), grid, cv=2, error_score="raise").fit(X, y)
    assert search.best_params_["max_bins"] in (4, 16)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 0.0])
@pytest.mark.parametrize("name", ["C", "tol"])
def test_parameters_that_are_not_finite_are_refused(name, bad):
    X, y = threenorm(20, random_state=0)
    with pytest.raises(ValueError, match=name):
        StumpSVC(**{name: bad}).fit(X, y)


def test_a_fold_without_a_class_is_named():
    X, y = threenorm(40, random_state=0)
    with pytest.raises(ValueError, match="fold 1 holds no row of class 1"):
        StumpSVC("cv", Cs=2, cv=KFold(2)).fit(X, np.sort(y))


def test_folds_may_be_lists_and_masks_of_rows():
    X, y = threenorm(60, random_state=0)
    half = np.arange(60) < 30
    lists = [(np.flatnonzero(half).tolist(), np.flatnonzero(~half).tolist())]
    scores = [StumpSVC("cv", Cs=3, cv=cv).fit(X, y).scores_ for cv in (lists, [(half, ~half)])]
    assert_array_equal(scores[0], scores[1])


def test_weights_and_a_scorer_of_ones_own():
    X, y = threenorm(60, random_state=0)
    model = StumpSVC("cv", Cs=2, cv=2, scoring=lambda estimator, Cs=X, cv=y: 1.0)
    assert np.all(model.fit(X, y, sample_weight=np.full(60, 2.0)).scores_ == 1.0)


def test_folds_that_did_not_converge_warn():
    X, y = threenorm(200, random_state=0)
    with pytest.warns(ConvergenceWarning, match="StumpSVC"):
        StumpSVC("cv", Cs=[100.0, 200.0], cv=2, max_iter=3).fit(X, y)


def test_parameters_that_are_changed_after_fit_change_nothing():
    X, y = wine()
    model = StumpSVC().fit(X, y)
    before = model.predict(X)
    assert_array_equal(model.set_params(multi_class="ovr").predict(X), before)


def test_a_fit_without_bins_leaves_the_global_random_state_alone():
    X, y = threenorm(40, random_state=0)
    before = check_random_state(None).get_state()[1:3]
    StumpSVC().fit(X, y)
    after = check_random_state(None).get_state()[1:3]
    assert_array_equal(before[0], after[0])
    assert before[1] == after[1]


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent to this process")
def test_an_interrupt_is_an_exception_and_not_the_end_of_the_process():
    # the signal comes from a thread that waits for the solver to have begun: no clock decides when;
    # and again at the next step, if Python was just deleting something and dropped the exception
    program = """
import os, signal, threading
import numpy as np
from mercer import StumpSVC
from mercer.solvers.newton.tables import SortedRows
rng = np.random.default_rng(0)
X, y = rng.normal(size=(20_000, 10)), rng.choice([-1, 1], size=20_000)
has_begun, step = threading.Event(), SortedRows.newton_step
def newton_step(self, *arguments, **options):
    has_begun.set()
    return step(self, *arguments, **options)
def interrupt():
    while True:
        has_begun.wait()
        os.kill(os.getpid(), signal.SIGINT)
        has_begun.clear()
try:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=interrupt, daemon=True).start()
    SortedRows.newton_step = newton_step
    for _ in range(30):
        StumpSVC(C=1e3).fit(X, y)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    os._exit(0)  # the thread must not interrupt the end of the process
"""
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (out.returncode, out.stdout) == (0, "interrupted\n")


@pytest.mark.parametrize("n", [200, 3000])
@pytest.mark.parametrize("max_bins", [None, 16])
def test_a_class_of_hardly_any_weight_is_never_predicted(n, max_bins, rng):
    X, y = rng.normal(size=(n, 3)), np.where(np.arange(n) < 3, 1, -1)
    model = StumpSVC(C=1e-3, max_bins=max_bins).fit(X, y, sample_weight=np.where(y > 0, 1e-12, 1.0))
    assert_allclose(model.decision_function(X), -1.0, atol=1e-2)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_log_loss_gives_probabilities(n_classes, multi_class, rng):
    X = rng.normal(size=(900, 3))
    y = np.digitize(X[:, 0] + 0.7 * rng.normal(size=900), np.linspace(-0.7, 0.7, n_classes - 1))
    model = StumpSVC(C=0.3, loss="log_loss", multi_class=multi_class).fit(X[:600], y[:600])
    p = model.predict_proba(X[600:])
    assert p.shape == (300, n_classes)
    assert_allclose(p.sum(axis=1), 1.0)
    rate = np.bincount(y[:600], minlength=n_classes) / 600
    assert log_loss(y[600:], p) < 0.9 * log_loss(y[600:], np.tile(rate, (300, 1)))
    assert np.mean(p.argmax(axis=1) == model.predict(X[600:])) > 0.8


def test_the_hinge_has_no_probabilities():
    assert not hasattr(StumpSVC(), "predict_proba")
    assert hasattr(StumpSVC(loss="log_loss"), "predict_proba")
    with pytest.raises(ValueError, match="loss"):
        StumpSVC(loss="log").fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_cells_of_many_equal_samples_take_few_steps(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 20, (20_000, 2)).astype(float)
    score = sum(rng.normal(size=20)[column] for column in X.T.astype(int)) + rng.normal(size=20_000)
    for C in (0.03, 0.5):
        model = StumpSVC(C=C).fit(X, score > 0)
        assert model.n_iter_[0] <= 80  # some 20; with steps that miss cells of equal rows, up to a thousand


def test_cells_that_hold_both_classes_do_not_stop_a_fit():
    X, y = [[0], [1], [1], [0], [1]], [0, 0, 0, 1, 1]
    model = StumpSVC(C=10).fit(X, y)
    # of the rows at 1 two are of class 0; those at 0 are in balance, and anything will do
    assert model.predict([[1]]) == [0]
    assert model.residual_[0] <= 1e-3
    assert_allclose(-model.objective_[0], 10.0 * 4.0)  # two wrong rows, with a loss of two each


def test_tables_of_zeros_and_ones_with_a_weak_signal_are_fitted_for_each_c():
    for seed in range(32):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 2, size=(60, 4)).astype(float)
        y = np.where(rng.random(60) < 0.4 + 0.2 * X[:, 0], 1, 0)
        model = StumpSVC("cv", cv=3).fit(X, y)  # a warning would be an error
        assert np.isfinite(model.scores_[:, 0]).all()
        assert np.all(model.residual_ <= 1e-3)
