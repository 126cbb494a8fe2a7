"""The confusion matrix counts what scikit-learn counts."""

from numpy.testing import assert_allclose
from sklearn.metrics import confusion_matrix

from mercer.report import plot_confusion


def test_the_confusion_matrix_counts_and_colours_by_share_of_the_true_class(rng):
    truth, guess = rng.choice(["a", "b", "c"], 50), rng.choice(["a", "b", "c"], 50)
    ax = plot_confusion(truth, guess)
    counts = confusion_matrix(truth, guess)
    assert [int(text.get_text()) for text in ax.texts] == list(counts.ravel())
    assert_allclose(ax.images[0].get_array(), confusion_matrix(truth, guess, normalize="true"))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted class", "true class")


def test_a_class_that_is_only_predicted_has_a_column(rng):
    ax = plot_confusion(["a", "a"], ["a", "b"])
    assert [int(text.get_text()) for text in ax.texts] == [1, 1, 0, 0]
