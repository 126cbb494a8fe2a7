"""Scores are scikit-learn's, and their pseudo-values are what a change of a sample's weight makes of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import label_binarize
from sklearn.svm import SVC

from mercer import ClippedScaler, KernelSearchCV, load, save
from mercer.search import scoring
from mercer.search.scoring import Judged, find_scoring


def judge(rng, n=60, n_classes=2, ties=False, weighted=True):
    """Return what a classifier that is right more often than not says of some samples."""
    truth = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    D = rng.normal(size=(n, n_classes)) + 1.5 * np.eye(n_classes)[truth]
    D = np.round(D) if ties else D
    predicted = np.argmax(D, axis=1)
    decisions = D[:, 1:] - D[:, :1] if n_classes == 2 else D
    weight = rng.uniform(0.5, 2.0, size=n) if weighted else np.ones(n)
    return Judged(truth, predicted, weight, decisions, np.arange(n_classes), 1)


def by_sklearn(name, judged):
    """The same score by scikit-learn."""
    truth, predicted, weight, decisions, classes, _ = judged
    n_classes = len(classes)
    hard = (truth, predicted)
    if name == "accuracy":
        return metrics.accuracy_score(*hard, sample_weight=weight)
    if name == "balanced_accuracy":
        return metrics.balanced_accuracy_score(*hard, sample_weight=weight)
    if name == "f1_macro":
        return metrics.f1_score(*hard, average="macro", sample_weight=weight)
    if name == "f1":
        return metrics.f1_score(*hard, sample_weight=weight)
    rank = metrics.roc_auc_score if name.startswith("roc_auc") else metrics.average_precision_score
    if n_classes == 2:
        return rank(truth, decisions[:, 0], sample_weight=weight)
    return rank(label_binarize(truth, classes=range(n_classes)), decisions, sample_weight=weight)


NAMES = ["accuracy", "balanced_accuracy", "f1_macro", "roc_auc", "average_precision"]


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("name", "n_classes"), [*((n, k) for n in NAMES for k in (2, 4)), ("f1", 2)])
def test_scores_are_those_of_scikit_learn_and_so_are_their_derivatives(rng, name, n_classes, ties):
    judged = judge(rng, n_classes=n_classes, ties=ties)
    score, slope = getattr(scoring, name)(judged)
    assert_allclose(score, by_sklearn(name, judged), rtol=1e-9)
    step = 1e-5
    for i in range(0, 60, 7):
        up, down = judged.weight.copy(), judged.weight.copy()
        up[i], down[i] = up[i] + step, down[i] - step
        change = by_sklearn(name, judged._replace(weight=up)) - by_sklearn(name, judged._replace(weight=down))
        assert_allclose(slope[i], change / (2 * step), atol=1e-7)
    losses = find_scoring(name, np.array([0, 1])).losses(judged)
    assert_allclose(1.0 - losses.mean(), score)


def test_the_error_of_a_sample_is_one_where_it_is_wrong():
    judged = judge(np.random.default_rng(0), weighted=False)
    losses = find_scoring(None, judged.truth).losses(judged)
    assert_array_equal(losses, judged.predicted != judged.truth)


@pytest.mark.parametrize("name", ["roc_auc", "average_precision", "balanced_accuracy"])
def test_the_spread_of_pseudo_values_is_that_of_the_score_over_samples(rng, name):
    scores, foretold = [], []
    for _ in range(300):
        judged = judge(rng, n=150, weighted=False)
        score, slope = getattr(scoring, name)(judged)
        scores.append(score)
        foretold.append(np.sqrt(np.sum(slope**2)))
    assert 0.8 < np.mean(foretold) / np.std(scores) < 1.25


def test_the_log_loss_is_that_of_chances_that_are_calibrated_on_others(rng):
    judged = judge(rng, n=4000, weighted=False)
    score, _ = scoring.log_loss(judged)
    # of two Gaussians whose means are 1.5 apart in two columns the true chance is known
    chance = 1 / (1 + np.exp(-1.5 * judged.decisions[:, 0]))
    assert_allclose(-score, metrics.log_loss(judged.truth, chance), rtol=0.03)


def test_a_fold_of_one_class_has_no_auc():
    judged = judge(np.random.default_rng(0))._replace(truth=np.ones(60, dtype=int))
    with pytest.raises(ValueError, match="of one class, and ROC AUC needs two"):
        scoring.roc_auc(judged)


@pytest.mark.parametrize(
    ("classes", "positive"),
    [((0, 1), 1), ((-1, 1), 1), ((False, True), 1), (("fraud", "ok"), 0), (("no", "yes"), 1), ((1, 2), 0)],
)
def test_the_class_in_question_is_called_1_or_is_the_rarer_one(classes, positive):
    n_rare = 5 if classes == ("fraud", "ok") else 15
    y = np.repeat(np.array(classes), [n_rare, 20 - n_rare])
    y = y if positive == 0 or classes != ("no", "yes") else np.repeat(np.array(classes), [15, 5])
    found = find_scoring("average_precision", y)
    assert found.positive == positive
    assert found.metric.name == f"average precision of {classes[positive]}"


X, Y = make_classification(150, 5, n_informative=3, weights=[0.8], random_state=0)


@pytest.mark.parametrize("name", ["roc_auc", "average_precision", "matthews_corrcoef"])
def test_the_scores_of_all_folds_are_those_of_cross_val_score(name):
    models = {"svc": (SVC(), {"C": [0.1, 10.0]}), "logistic": LogisticRegression()}
    cv = GroupKFold(3)
    groups = np.arange(150) // 5
    search = KernelSearchCV(models, scoring=name, cv=cv, class_weight=None, random_state=0)
    found = search.fit(X, Y, groups=groups).cv_results_
    for i, model in enumerate([SVC(C=0.1), SVC(C=10.0), LogisticRegression()]):
        expected = cross_val_score(
            make_pipeline(ClippedScaler(), model), X, Y, groups=groups, cv=cv, scoring=name
        )
        ours = [found[f"split{k}_test_score"][i] for k in range(3)]
        if np.isfinite(ours).all():  # some are dropped
            assert_allclose(ours, expected, rtol=1e-6)
            assert_allclose(found["mean_test_score"][i], expected.mean(), rtol=1e-6)
    assert np.isfinite(found["split0_test_score"]).all()
    assert found["params"][search.best_index_] == search.best_params_
    assert search.best_score_ == search.result_.measure.value
    assert_allclose(search.score(X, Y), metrics.get_scorer(name)(search.model_, X, Y))


WORDS = np.array(["ok", "fraud"])[Y]  # the rarer one is 1 in the numbers


@pytest.mark.parametrize("name", ["f1", "average_precision", "precision", "recall", "jaccard", "roc_auc"])
def test_what_the_two_classes_are_called_changes_no_score(name):
    exact = {"svc": SVC(tol=1e-9)}  # what it says depends on the order of classes in the last digits only
    numbers, words = (KernelSearchCV(exact, scoring=name, cv=3, random_state=0).fit(X, y) for y in (Y, WORDS))
    assert_allclose(words.cv_results_["mean_test_score"], numbers.cv_results_["mean_test_score"], rtol=1e-6)
    assert_allclose(words.score(X, WORDS), numbers.score(X, Y), rtol=1e-6)
    assert_allclose(numbers.score(X, Y), metrics.get_scorer(name)(numbers, X, Y), rtol=1e-12)
    assert name == "roc_auc" or words.result_.metric.name.endswith(" of fraud")


THREE = make_classification(150, 5, n_informative=3, n_classes=3, class_sep=2.0, random_state=0)


@pytest.mark.parametrize(
    ("name", "macro"),
    [*((n, f"{n}_macro") for n in ("f1", "precision", "recall")), ("roc_auc", "roc_auc_ovr")],
)
def test_of_several_classes_scores_are_means_over_all(name, macro):
    found = [
        KernelSearchCV({"svc": SVC()}, scoring=one, cv=3, random_state=0).fit(*THREE) for one in (name, macro)
    ]
    assert_allclose(found[0].cv_results_["mean_test_score"], found[1].cv_results_["mean_test_score"])
    assert found[0].score(*THREE) == metrics.get_scorer(macro)(found[0], *THREE)


def test_scores_of_whole_folds_count_samples_by_their_weight(rng):
    weight = rng.integers(1, 5, size=150).astype(float)
    folds = list(GroupKFold(3).split(X, Y, np.arange(150)))
    search = KernelSearchCV({"svc": SVC()}, scoring="matthews_corrcoef", cv=folds, random_state=0)
    search.fit(X, Y, sample_weight=weight)
    for k, (train, test) in enumerate(folds):
        scaler = ClippedScaler().fit(X[train], sample_weight=weight[train])
        model = SVC().fit(scaler.transform(X[train]), Y[train], sample_weight=weight[train])
        predicted = model.predict(scaler.transform(X[test]))
        expected = metrics.matthews_corrcoef(Y[test], predicted, sample_weight=weight[test])
        assert search.cv_results_[f"split{k}_test_score"][0] == pytest.approx(expected)


def test_the_rarer_class_is_the_one_of_less_weight():
    y, weight = np.repeat(["a", "b"], [10, 5]), np.repeat([1.0, 3.0], [10, 5])
    assert find_scoring("f1", y).positive == 1
    assert find_scoring("f1", y, weight).positive == 0


def test_a_search_is_scored_after_it_was_saved_as_before(tmp_path):
    search = KernelSearchCV({"svc": SVC()}, scoring="f1", cv=3, random_state=0).fit(X, WORDS)
    save(search, tmp_path / "search.mercer")
    assert load(tmp_path / "search.mercer").score(X, WORDS) == search.score(X, WORDS) > 0.0
