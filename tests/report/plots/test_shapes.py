"""`plot_shapes` draws the model: what can be read off the picture predicts as the model does."""

import sys

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, RobustScaler, StandardScaler

from mercer import StumpRegressor, StumpSVC
from mercer.datasets import twonorm
from mercer.machines import ShapeFunction
from mercer.report import plot_shapes
from mercer.report.plots.additive_model import AdditiveModel


@pytest.fixture
def rows():
    """Rows whose columns have very different units and importance; the labels are words."""
    X, y = twonorm(120, n_features=5, random_state=0)
    X = X * [1.0, 100.0, 0.01, 1.0, 5.0] + [0.0, 7.0, 0.0, -3.0, 50.0]
    return X, np.where(y > 0, "yes", "no")


def curve(ax):
    """The line that is neither an axis nor a bar, by its label."""
    (line,) = [line for line in ax.get_lines() if line.get_label() == ax.get_title()]
    return line.get_data()


def sum_of_curves(axes, X, columns):
    return sum(np.interp(X[:, d], *curve(ax)) for ax, d in zip(axes, columns, strict=True))


def numbers(axes):
    return [int(ax.get_title().removeprefix("x")) for ax in axes]


def bars(ax):
    """The heights of the histogram, if there is one."""
    return [
        patch.get_data().values for patch in ax.patches if isinstance(patch, matplotlib.patches.StepPatch)
    ]


@pytest.mark.parametrize("X_given", [False, True])
@pytest.mark.parametrize("model", [StumpSVC(C=0.1), StumpSVC("cv", Cs=3, cv=2), StumpSVC(C=0.1, max_bins=8)])
def test_the_curves_and_the_intercept_sum_to_the_decision_function(rows, model, X_given, rng):
    X, y = rows
    model.fit(X, y)
    axes = plot_shapes(model, X=X if X_given else None)
    X_new = X[rng.permuted(np.tile(np.arange(len(X)), (5, 1)), axis=1).T, np.arange(5)]
    f = sum_of_curves(axes, X_new, numbers(axes)) + model.intercept_[0]
    np.testing.assert_allclose(f, model.decision_function(X_new), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "scalers",
    [[MinMaxScaler((-1, 1))], [StandardScaler()], [RobustScaler(), "passthrough", MinMaxScaler()]],
    ids=["min-max", "standard", "two"],
)
def test_the_curves_of_a_pipeline_are_functions_of_the_values_before_scaling(rows, scalers):
    X, y = rows
    model = make_pipeline(*scalers, StumpSVC(C=0.1)).fit(X, y)
    axes = plot_shapes(model, X=X)
    f = sum_of_curves(axes, X, numbers(axes)) + model[-1].intercept_[0]
    np.testing.assert_allclose(f, model.decision_function(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("step", [PCA(), QuantileTransformer(n_quantiles=10)])
def test_a_step_that_is_not_a_linear_scaler_is_refused(rows, step):
    model = make_pipeline(step, StumpSVC()).fit(*rows)
    with pytest.raises(TypeError, match=f"{type(step).__name__} is not a linear scaler.*last step"):
        plot_shapes(model)
    plot_shapes(model[-1])


def test_a_curve_is_constant_beyond_its_knots(rows):
    X, y = rows
    model = StumpSVC(C=0.1).fit(X, y)
    for ax, (knots, values) in zip(
        plot_shapes(model, features=range(5)), model.shape_functions_, strict=True
    ):
        x, g = curve(ax)
        np.testing.assert_array_equal(x[1:-1], knots)
        np.testing.assert_array_equal(g[1:-1], values)
        assert (g[0], g[-1]) == (values[0], values[-1])
        assert x[0] < knots[0] <= knots[-1] < x[-1]


def test_the_order_is_by_the_standard_deviation_over_the_rows_given(rows):
    X, y = rows
    model = StumpSVC(C=0.1).fit(X, y)
    spread = [np.interp(x, *shape).std() for x, shape in zip(X.T, model.shape_functions_, strict=True)]
    assert numbers(plot_shapes(model, X=X)) == sorted(range(5), key=lambda d: -spread[d])


def test_without_rows_the_order_is_by_the_height_of_the_curve(rows):
    model = StumpSVC(C=0.1).fit(*rows)
    height = [np.ptp(shape.values) for shape in model.shape_functions_]
    assert numbers(plot_shapes(model)) == sorted(range(5), key=lambda d: -height[d])


def test_without_rows_the_importance_is_the_height_and_not_the_reach():
    knots = np.array([0.0, 1.0])
    shapes = [ShapeFunction(knots, np.array(values)) for values in ([-1.0, 1.0], [0.0, 1.5])]
    assert list(AdditiveModel(shapes, ["a", "b"], ("no", "yes")).importance(None)) == [2.0, 1.5]


def test_a_feature_that_does_not_vary_in_the_rows_given_comes_last(rows):
    X, y = rows
    model = StumpSVC(C=0.1).fit(X, y)
    first, *others = numbers(plot_shapes(model))
    X[:, first] = X[0, first]
    assert numbers(plot_shapes(model, X=X))[-1] == first
    assert set(others) == set(range(5)) - {first}


def test_features_are_chosen_by_number_or_name_in_the_order_given(rows):
    model = StumpSVC().fit(*rows)
    names = ["a", "b", "c", "d", "e"]
    axes = plot_shapes(model, features=[3, "b"], feature_names=names)
    assert [ax.get_title() for ax in axes] == ["d", "b"]
    assert len(plot_shapes(model, features=2)) == 2


def test_names_come_from_the_data_frame(rows):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(rows[0], columns=["a", "b", "c", "d", "e"])
    for model in (StumpSVC(), make_pipeline(MinMaxScaler(), StumpSVC())):
        axes = plot_shapes(model.fit(X, rows[1]), X=X)
        assert {ax.get_title() for ax in axes} == {"a", "b", "c", "d", "e"}


def test_there_are_at_most_twelve_panels_unless_more_are_asked_for():
    X, y = twonorm(60, n_features=15, random_state=0)
    model = StumpSVC(C=0.1).fit(X, y)
    assert len(plot_shapes(model)) == 12
    axes = plot_shapes(model, features=15)
    assert len(axes) == len(axes[0].figure.axes) == 15


def test_all_panels_show_the_same_heights_and_hold_every_curve(rows):
    axes = plot_shapes(StumpSVC(C=0.1).fit(*rows), X=rows[0])
    low, high = axes[0].get_ylim()
    for ax in axes:
        assert ax.get_ylim() == (low, high)
        assert low < curve(ax)[1].min() <= curve(ax)[1].max() < high


def test_the_bars_count_the_rows_and_stay_below_the_curves(rows):
    X, y = rows
    X[0, 1] = 1e4  # far outside
    axes = plot_shapes(StumpSVC(C=0.1).fit(X, y), X=X, features=range(5))
    for ax, column in zip(axes, X.T, strict=True):
        (heights,) = bars(ax)
        counts = np.histogram(column, bins=len(heights))[0]
        np.testing.assert_allclose(heights / heights.sum(), counts / len(column))
        left, right = ax.get_xlim()
        assert left < column.min() < column.max() < right
        low, high = ax.get_ylim()
        assert low + heights.max() * (high - low) < min(curve(other)[1].min() for other in axes)
    assert not bars(plot_shapes(StumpSVC(C=0.1).fit(X, y))[0])


def test_it_draws_into_given_axes_and_returns_them(rows):
    model = StumpSVC().fit(*rows)
    _, grid = plt.subplots(2, 2)
    axes = plot_shapes(model, axes=grid)
    assert list(axes) == list(grid.ravel())
    _, ax = plt.subplots()
    assert list(plot_shapes(model, features=["x2"], axes=ax)) == [ax]
    assert ax.get_title() == "x2"
    with pytest.raises(ValueError, match="4 axes for 3 features"):
        plot_shapes(model, features=3, axes=grid)


def test_the_legend_names_the_classes(rows):
    (legend,) = plot_shapes(StumpSVC().fit(*rows))[0].figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["evidence for no", "evidence for yes"]


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
@pytest.mark.parametrize("problem", [0, 1, 2])
def test_of_many_classes_one_problem_is_drawn(scheme, problem):
    bunch = load_iris()
    model = StumpSVC(multi_class=scheme).fit(bunch.data, bunch.target_names[bunch.target])
    axes = plot_shapes(model, problem=problem, features=range(4))
    for ax, (knots, values) in zip(axes, model.shape_functions_[problem], strict=True):
        np.testing.assert_allclose(np.interp(knots, *curve(ax)), values)
    pair = [("setosa", "versicolor"), ("setosa", "virginica"), ("versicolor", "virginica")][problem]
    if scheme == "ovr":
        pair = ("the rest", bunch.target_names[problem])
    texts = [text.get_text() for text in axes[0].figure.legends[0].get_texts()]
    assert texts == [f"evidence for {name}" for name in pair]


@pytest.mark.parametrize("problem", [None, 3, -1])
def test_many_classes_without_a_problem_say_which_there_are(problem):
    model = StumpSVC().fit(*load_iris(return_X_y=True))
    with pytest.raises(ValueError, match=r"3 two-class problems: problem=0 \(1 against 0\), problem=1"):
        plot_shapes(model, problem=problem)


def test_a_constant_model_can_be_drawn():
    X = np.ones((6, 2))
    for ax in plot_shapes(StumpSVC().fit(X, [0, 1] * 3), X=X):
        np.testing.assert_array_equal(curve(ax)[1], 0.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": 0}, "nothing to draw"),
        ({"features": []}, "nothing to draw"),
        ({"features": [5]}, "no feature 5: count from 0 to 4"),
        ({"features": ["height"]}, "no feature 'height'; there are x0, x1"),
        ({"feature_names": ["a"]}, "1 feature names for 5 features"),
        ({"X": np.ones((3, 2))}, "2 columns, but the model has 5 features"),
        ({"X": np.full((3, 5), np.nan)}, "NaN"),
        ({"problem": 1}, "two-class problems: problem=0 .yes against no."),
    ],
)
def test_a_wrong_request_gets_a_clear_error(rows, options, message):
    with pytest.raises(ValueError, match=message):
        plot_shapes(StumpSVC().fit(*rows), **options)


def test_what_has_no_shape_functions_is_refused(rows):
    with pytest.raises(NotFittedError):
        plot_shapes(StumpSVC())
    with pytest.raises(TypeError, match="LogisticRegression has no shape functions: give a fitted Stump"):
        plot_shapes(LogisticRegression())


def test_without_matplotlib_it_says_what_to_install(rows, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'mercer\[app\]'"):
        plot_shapes(StumpSVC().fit(*rows))


def test_of_a_regressor_the_curves_sum_to_the_prediction_of_one_target_or_several(rng):
    X = rng.normal(size=(80, 3))
    Y = np.column_stack([X[:, 0] + np.abs(X[:, 1]), 50.0 * X[:, 2]])
    model = StumpRegressor().fit(X, Y)
    for k in range(2):
        axes = plot_shapes(model, problem=k)
        f = sum_of_curves(axes, X, numbers(axes)) + model.intercept_[k]
        np.testing.assert_allclose(f, model.predict(X)[:, k], rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="one of the model's 2 targets"):
        plot_shapes(model)
    axes = plot_shapes(make_pipeline(StandardScaler(), StumpRegressor()).fit(X, Y[:, 0]))
    assert axes[0].figure.get_supylabel() == "contribution to the prediction"
    assert "raises the prediction" in [text.get_text() for text in axes[0].figure.legends[0].get_texts()]
