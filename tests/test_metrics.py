import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import mannwhitneyu

from mercer.metrics import (
    alignment,
    clustering_accuracy,
    ideal_kernel,
    pair_auc,
    retrieval_auc,
    retrieval_roc,
)


def random_gram(rng, n=8, rank=3):
    F = rng.normal(size=(n, rank))
    return F @ F.T


def test_alignment_is_the_formula_of_the_paper(rng):
    K, L = random_gram(rng), random_gram(rng)

    def product(A, B):
        return sum(A[i, j] * B[i, j] for i in range(8) for j in range(8))

    expected = product(K, L) / np.sqrt(product(K, K) * product(L, L))
    assert alignment(K, L) == pytest.approx(expected, rel=1e-12)


def test_alignment_does_not_see_the_scale_and_is_one_with_itself(rng):
    K, L = random_gram(rng), random_gram(rng)
    assert alignment(1e-200 * K, 1e200 * K) == pytest.approx(1)
    assert alignment(3 * K, 1e-200 * L) == pytest.approx(alignment(L, K))
    assert 0 <= alignment(K, L) < 1


@pytest.mark.parametrize("wrong", [np.zeros((2, 2)), np.full((2, 2), np.nan), np.full((2, 2), np.inf)])
def test_a_matrix_without_a_direction_has_no_alignment(wrong):
    with pytest.raises(ValueError, match="no alignment"):
        alignment(np.eye(2), wrong)


def test_matrices_of_different_rows_are_not_compared():
    with pytest.raises(ValueError, match="the same shape"):
        alignment(np.eye(2), np.eye(3))


def test_the_ideal_kernel_has_a_block_of_ones_for_each_class():
    assert_array_equal(ideal_kernel(["b", "a", "b"]), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])


@pytest.mark.parametrize("gamma", [0.01, 1.0, 100.0])
def test_proposition_1_adding_the_ideal_kernel_raises_the_alignment(rng, gamma):
    y = rng.integers(3, size=8)
    K, ideal = random_gram(rng), ideal_kernel(y)
    assert alignment(K + gamma / 2 * ideal, ideal) > alignment(K, ideal)


def test_classes_may_have_weights_in_the_ideal_kernel_as_the_end_of_section_3_1_says(rng):
    y = rng.integers(3, size=9)
    weight = np.array([0.1, 1.0, 7.0])[y]
    K, ideal = random_gram(rng, 9), ideal_kernel(y) * weight
    assert_allclose(ideal, ideal.T)
    alignments = [alignment(K + gamma / 2 * ideal, ideal) for gamma in (0.0, 0.1, 1.0, 10.0)]
    assert alignments == sorted(alignments)
    assert alignments[0] < alignments[-1]


def test_centred_alignment_is_that_of_matrices_multiplied_by_the_centring_matrix(rng):
    K, other = random_gram(rng), random_gram(rng)
    H = np.eye(len(K)) - 1 / len(K)
    expected = alignment(H @ K @ H, H @ other @ H)
    assert alignment(K, other, centred=True) == pytest.approx(expected, rel=1e-12)
    assert alignment(K + 3.0, other, centred=True) == pytest.approx(expected, rel=1e-9)
    assert abs(alignment(K + 3.0, other) - expected) > 0.05


def test_erratum_of_proposition_1_its_condition_is_not_needed(rng):
    # f(t) = A(K + tK*, K*) has a derivative of the sign of <K,K><K*,K*> − <K,K*>², which is never negative
    ideal = ideal_kernel(np.arange(8) % 2)
    K = random_gram(rng) - 2 * ideal  # turned away from the ideal kernel, as no PSD matrix is
    bound = -np.sum(K * ideal) / np.sum(ideal)
    assert bound > 0
    for gamma in np.array([0.01, 0.1, 0.5]) * bound:  # all below what the proposition asks for
        assert alignment(K + gamma / 2 * ideal, ideal) > alignment(K, ideal)


def test_pair_auc_counts_the_pairs_of_pairs_in_the_right_order(rng):
    similarity = rng.integers(5, size=30).astype(float)
    similar = rng.random(30) < 0.4
    wins = [
        (a > b) + (a == b) / 2 for a in similarity[similar] for b in similarity[~similar]
    ]  # ties count half
    assert pair_auc(similarity, similar) == pytest.approx(np.mean(wins))
    statistic = mannwhitneyu(similarity[similar], similarity[~similar]).statistic
    assert pair_auc(similarity, similar) == pytest.approx(statistic / len(wins))


def test_pair_auc_of_distances_needs_a_minus_sign():
    assert pair_auc([-1.0, -2.0, -3.0], [1, 1, 0]) == 1
    assert pair_auc([1.0, 2.0, 3.0], [1, 1, 0]) == 0


@pytest.mark.parametrize("similar", [[True, True], [False, False]])
def test_pairs_of_one_kind_cannot_be_told_apart(similar):
    with pytest.raises(ValueError, match="one kind"):
        pair_auc([1.0, 2.0], similar)


def test_clustering_accuracy_is_footnote_9_written_out(rng):
    c, found = rng.integers(3, size=12), rng.integers(4, size=12)
    n = len(c)
    agreed = sum((c[i] == c[j]) == (found[i] == found[j]) for i in range(n) for j in range(i))
    assert clustering_accuracy(c, found) == pytest.approx(agreed / (0.5 * n * (n - 1)))


def test_the_names_of_clusters_do_not_matter():
    assert clustering_accuracy(["a", "a", "b"], [7, 7, 1]) == 1
    # two clusters of one size, crossed: the docstring's 1 − 2/k + 2/k², but for pairs of a row with itself
    k, each = 2, 500
    y, crossed = np.repeat(range(k), k * each), np.tile(np.repeat(range(k), each), k)
    assert clustering_accuracy(y, crossed) == pytest.approx(1 - 2 / k + 2 / k**2, abs=1 / each)


def retrieval(rng, n_queries=5, n_items=40):
    relevant = rng.random((n_queries, n_items)) < 0.3
    return rng.integers(12, size=relevant.shape) + 3.0 * relevant, relevant


def test_retrieval_auc_is_the_mean_over_queries_of_orders_that_are_right(rng):
    similarity, relevant = retrieval(rng)
    each = [
        np.mean([(a > b) + (a == b) / 2 for a in values[wanted] for b in values[~wanted]])
        for values, wanted in zip(similarity, relevant, strict=True)
    ]
    assert retrieval_auc(similarity, relevant) == pytest.approx(np.mean(each))


def test_the_retrieval_curve_counts_what_is_found_before_so_many_others(rng):
    similarity = rng.random((3, 31))  # no ties
    relevant = np.arange(31) < np.array([[6], [11], [16]])  # 25, 20 and 15 others: whole fifths of them
    false, true = retrieval_roc(similarity, relevant, n_points=6)
    assert_array_equal(false, np.linspace(0, 1, 6))
    expected = np.zeros(6)
    for values, wanted in zip(similarity, relevant, strict=True):
        others = np.append(np.sort(values[~wanted])[::-1], -np.inf)
        for k in range(6):
            next_one = others[k * (len(others) - 1) // 5]  # so many others may come along; this one no more
            expected[k] += np.mean(values[wanted] > next_one) / 3
    assert_allclose(true, expected)


def test_the_area_under_the_average_curve_is_the_average_area(rng):
    similarity, relevant = retrieval(rng)
    false, true = retrieval_roc(similarity, relevant, n_points=20001)
    assert np.trapezoid(true, false) == pytest.approx(retrieval_auc(similarity, relevant), abs=1e-3)


def test_items_without_a_similarity_are_not_in_the_database(rng):
    similarity, relevant = retrieval(rng)
    without = np.where(np.arange(40) < 5, np.nan, similarity)
    assert retrieval_auc(without, relevant) == retrieval_auc(similarity[:, 5:], relevant[:, 5:])
    expected = retrieval_roc(similarity[:, 5:], relevant[:, 5:])
    assert_array_equal(retrieval_roc(without, relevant), expected)


def test_a_query_that_cannot_be_judged_is_named():
    with pytest.raises(ValueError, match="query 1 has no relevant"):
        retrieval_auc([[1.0, 2.0], [1.0, 2.0]], [[True, False], [True, True]])
    with pytest.raises(ValueError, match="one shape"):
        retrieval_roc([[1.0, 2.0]], [[True]])
