"""Many SVMs at once are those of LIBSVM, one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from devices import EACH_TENSOR, numpy, put, torch
from mercer.solvers import many_svms
from mercer.solvers.many_svms import Problems, multiply, solve_many, solve_positive, store_gram

N = 240


def draw(seed=0, noise=1.5):
    """Rows, their Gram matrix, and three problems: of some rows, of other rows, and of all, with weights."""
    rng = np.random.default_rng(seed)
    label = rng.integers(3, size=N)
    X = rng.normal(size=(N, 3)) * noise + label[:, None]
    problems = [np.flatnonzero(label != 2), np.flatnonzero(label != 0), np.arange(N)]
    signs = [np.where(label[rows] == k, 1.0, -1.0) for k, rows in enumerate(problems)]
    weights = [np.ones(len(problems[0])), np.ones(len(problems[1])), rng.uniform(0.1, 3.0, N)]
    return X, problems, signs, weights


def tabulate(problems, signs, weights, device):
    table = np.zeros((3, len(problems), N))
    table[1] = 1.0
    for p, parts in enumerate(zip(problems, signs, weights, strict=True)):
        for array, part in zip(table, parts, strict=True):
            array[p, : len(part)] = part
    rows, y, C = (put(array, device) for array in table)
    return Problems(rows.long(), y, C)


def centred(X):
    K = -cdist(X, X)
    means = K.mean(axis=1) - K.mean() / 2
    return K - means[:, None] - means


def libsvm(K, y, C):
    svc = SVC(kernel="precomputed", tol=1e-6).fit(K, y, sample_weight=C)
    coef = np.zeros(len(y))
    coef[svc.support_] = svc.dual_coef_[0]
    return 0.5 * coef @ K @ coef - y @ coef, svc.intercept_[0]


@pytest.mark.parametrize("C", [1e-3, 0.03, 1.0, 100.0])
@pytest.mark.parametrize("seed", [0, 1])
@EACH_TENSOR
def test_they_are_libsvms(device, C, seed):
    X, problems, signs, weights = draw(seed)
    K = centred(X)
    table = tabulate(problems, signs, weights, device)
    found = solve_many(put(K, device), table._replace(C=C * table.C), tol=1e-4, max_iter=500)
    for p, (rows, y, weight) in enumerate(zip(problems, signs, weights, strict=True)):
        c = numpy(found.coef[p])[: len(rows)]
        objective, intercept = libsvm(K[np.ix_(rows, rows)], y, C * weight)
        assert objective * (1 - 1e-4) >= found.objective[p].item() >= objective * (1 + 1e-4)
        assert np.all(numpy(found.coef[p])[len(rows) :] == 0)
        assert np.all((c * y >= 0) & (c * y <= C * weight * (1 + 1e-12)))
        assert abs(c.sum()) <= 1e-9 * np.abs(c).sum()
        g = y - K[np.ix_(rows, rows)] @ c
        lower, upper = np.minimum(y, 0) * C * weight, np.maximum(y, 0) * C * weight
        residual = g[c < upper].max() - g[c > lower].min()
        assert residual <= 1e-4
        assert found.residual[p].item() == pytest.approx(residual, abs=1e-9)
        if C > 0.01:
            assert found.intercept[p].item() == pytest.approx(intercept, abs=1e-3)


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("seed", [0, 1])
@EACH_TENSOR
def test_a_penalty_that_no_coefficient_reaches_is_no_matter(device, seed, kind):
    X, y = make_classification(600, 20, n_informative=10, n_classes=3, flip_y=0.3, random_state=seed)
    rows = [np.flatnonzero(y != k) for k in range(3)]
    signs = [np.where(y[some] == y[some].max(), 1.0, -1.0) for some in rows]
    size = max(map(len, rows))
    table = np.stack(
        [
            [np.pad(part, (0, size - len(part))) for part in parts]
            for parts in (rows, signs, [np.full(len(some), 1e4) for some in rows])
        ]
    )
    problems = Problems(put(table[0], device).long(), put(table[1], device), put(table[2], device))
    K = put(centred(X), device, getattr(torch, kind))
    found = solve_many(K, problems, tol=1e-3, max_iter=100)
    assert float(found.residual.max()) <= 1e-3
    for p, (some, sign) in enumerate(zip(rows, signs, strict=True)):
        objective, _ = libsvm(numpy(K).astype(float)[np.ix_(some, some)], sign, np.full(len(some), 1e4))
        assert found.objective[p].item() == pytest.approx(objective, rel=1e-4)


@EACH_TENSOR
def test_a_path_from_small_to_large_penalties_ends_where_each_alone_does(device):
    X, *parts = draw()
    K, table, start, steps = put(centred(X), device), tabulate(*parts, device), None, []
    for C in (0.01, 0.1, 1.0, 1.5):
        problems = table._replace(C=C * table.C)
        start = solve_many(K, problems, tol=1e-5, max_iter=500, start=start)
        alone = solve_many(K, problems, tol=1e-5, max_iter=500)
        assert_allclose(numpy(start.objective), numpy(alone.objective), rtol=1e-5)
        assert float(start.residual.max()) <= 1e-5
        steps.append((int(start.n_iter.sum()), int(alone.n_iter.sum())))
    assert steps[-1][0] < steps[-1][1]


@EACH_TENSOR
def test_a_stored_gram_matrix_is_centred_and_has_the_precision_of_its_rows(device, monkeypatch):
    monkeypatch.setattr(many_svms, "AT_ONCE", 7 * N)  # seven rows at a time
    X = draw()[0]
    for kind, tol in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        K, means = store_gram(lambda x, y: -(x[:, None] - y).norm(dim=2), put(X, device, kind))
        assert K.dtype == kind
        assert means.dtype == torch.float64
        assert_allclose(numpy(K), centred(X), atol=tol)
        whole = numpy(K) + numpy(means)[:, None] + numpy(means)
        assert_allclose(whole, -cdist(X, X), atol=tol)


@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
@EACH_TENSOR
def test_products_of_some_rows_are_those_of_the_whole_matrix(device, share, monkeypatch):
    monkeypatch.setattr(many_svms, "AT_ONCE", 7 * N)
    X, *parts = draw()
    rng, table = np.random.default_rng(0), tabulate(*parts, device)
    v = rng.normal(size=(3, N)) * (rng.uniform(size=N) < share) * (numpy(table.C) > 0)
    K = centred(X)
    found = numpy(multiply(put(K, device), table.rows, put(v, device)))
    for rows, given, product in zip(numpy(table.rows), v, found, strict=True):
        whole = np.zeros(N)
        np.add.at(whole, rows, given)
        assert_allclose(product, (K @ whole)[rows], atol=1e-9)


@EACH_TENSOR
def test_systems_are_solved_by_halves_and_despite_rounding(device, monkeypatch):
    monkeypatch.setattr(many_svms, "PANEL", 5)
    rng = np.random.default_rng(0)
    B = rng.normal(size=(4, 37, 37))
    A, right = B @ B.transpose(0, 2, 1) + np.eye(37), rng.normal(size=(4, 37, 2))
    assert_allclose(
        numpy(solve_positive(lambda _: put(A, device), put(right, device))), np.linalg.solve(A, right)
    )
    A[2] -= 1.5 * np.eye(37)  # indefinite, until more than that is added
    A[2, np.arange(37), np.arange(37)] = -0.1

    def build(extra):
        return put(A, device) + 300.0 * extra[:, :, None] * torch.eye(37, device=device, dtype=torch.float64)

    assert torch.isfinite(solve_positive(build, put(right, device))).all()


@pytest.mark.parametrize("repeats", [1, 3])
@EACH_TENSOR
def test_degenerate_rows_are_no_matter(device, repeats):
    same = np.repeat(np.array([[0.0, 1.0], [2.0, 0.5], [1.0, 1.0]]), 4 * repeats, axis=0)
    for X in (same, np.ones((12 * repeats, 2))):
        y = np.where(np.arange(len(X)) % 3 == 0, 1.0, -1.0)
        K = centred(X)
        problems = Problems(*(put(array[None], device) for array in (np.arange(len(X)), y, np.ones(len(X)))))
        found = solve_many(put(K, device, torch.float32), problems, tol=1e-3, max_iter=500)
        assert found.objective.item() == pytest.approx(libsvm(K, y, np.ones(len(X)))[0], rel=1e-3, abs=1e-6)
