"""The papers' formulas, slow and literal: what the fast code is tested against."""

import cvxpy as cp
import numpy as np
from scipy.integrate import quad
from scipy.linalg import eigh
from scipy.special import roots_legendre


def stump_kernel(x, z, lower, upper):
    """[LL05, Definition 1] for the decision stumps s(x) = q sign((x)_d − α) with α in [L_d, R_d], r = 1/2."""
    total = 0.0
    for q in (-1, 1):
        for d in range(len(x)):
            total += 0.5**2 * q * q * integral_of_vote_products(x[d], z[d], lower[d], upper[d])
    return total


def tree_kernel(x, z, lower, upper, gamma):
    """[LL08] the mean over trees that are products of L stumps, L being Poisson of mean γ Δ, term by term."""
    delta = np.sum(np.asarray(upper) - lower) / 2
    agreement = stump_kernel(x, z, lower, upper) / delta  # the mean of s(x) s(z) over all stumps
    total, weight = 0.0, np.exp(-gamma * delta)
    for level in range(200):
        total += weight * agreement**level
        weight *= gamma * delta / (level + 1)
    return total


def perceptron_kernel(x, z, center, radius):
    """[LL05, Definition 1] for the perceptrons sign(θᵀ(x − c) − α) with |α| ≤ R, in 2 or 3 dimensions."""
    directions, weights = sphere_rule(len(x))
    a, b = directions @ (x - center), directions @ (z - center)
    r_squared = 1 / (2 * np.sum(weights * np.abs(directions[:, 0])))  # r = (2 Ξ_D)^(-1/2)
    return r_squared * np.sum(weights * integral_of_vote_products(a, b, -radius, radius))


def integral_of_vote_products(a, b, lower, upper):
    """∫ sign(a − α) sign(b − α) dα over [lower, upper]: exact, as the product is constant between jumps."""
    a, b = np.broadcast_arrays(a, b)
    edges = np.sort([np.full(a.shape, lower), a, b, np.full(a.shape, upper)], axis=0)
    middles = (edges[:-1] + edges[1:]) / 2
    return np.sum(np.diff(edges, axis=0) * np.sign(a - middles) * np.sign(b - middles), axis=0)


def sphere_rule(dimension):
    """Points on the unit circle or sphere and the surface that each stands for: a fine product rule."""
    if dimension == 2:
        angles = 2 * np.pi * (np.arange(20_000) + 0.5) / 20_000
        return np.column_stack([np.cos(angles), np.sin(angles)]), np.full(20_000, 2 * np.pi / 20_000)
    heights, weights = roots_legendre(300)
    angles = 2 * np.pi * (np.arange(600) + 0.5) / 600
    height, angle = (grid.ravel() for grid in np.meshgrid(heights, angles, indexing="ij"))
    ring = np.sqrt(1 - height**2)
    points = np.column_stack([ring * np.cos(angle), ring * np.sin(angle), height])
    return points, np.repeat(weights, 600) * 2 * np.pi / 600


def theta_over_xi(dimension):
    """Θ_D / Ξ_D [LL05, Section V] for D ≥ 2, as integrals over the angle to e_1."""
    theta, _ = quad(lambda angle: np.sin(angle) ** (dimension - 2), 0, np.pi)
    xi, _ = quad(
        lambda angle: abs(np.cos(angle)) * np.sin(angle) ** (dimension - 2), 0, np.pi, points=[np.pi / 2]
    )
    return theta / xi


def exp_loss(margin):
    """ExpLoss [CKS02, Section 2]."""
    return np.exp(-margin)


def log_loss(margin):
    """LogLoss [CKS02, Section 2]."""
    return np.log(1 + np.exp(-margin))


PAIR_LOSSES = {"exp": exp_loss, "log": log_loss}


def slope(function, point, step=1e-5):
    """The derivative, by central differences: right to about step²."""
    return (function(point + step) - function(point - step)) / (2 * step)


def score(D, S, A, v):
    """Score (1) of [CKS02] of K_w(x_i, x_j) = Σ_rs v_r v_s κ(x_i, x̃_r) κ(x_j, x̃_s), A_ir = κ(x_i, x̃_r)."""
    total = 0.0
    for i in range(len(A)):
        for j in range(len(A)):
            K_w = 0.0
            for r in range(len(v)):
                for s in range(len(v)):
                    K_w += v[r] * v[s] * A[i, r] * A[j, s]
            total += D[i, j] * S[i, j] * K_w
    return total


def signs(y):
    """y_i y_j of [CKS02] for any number of classes: +1 for rows of one class, −1 for others."""
    return np.array([[1.0 if a == b else -1.0 for b in y] for a in y])


def boost(A, K_tilde, S, n_rounds, *, loss="log", normalize=True, D_0=1.0, n_directions=1):
    """Fig. 1 of [CKS02], with dense generalised eigenvectors. D_0 weighs the pairs, 0 leaves them out.

    Where mercer departs: the weight is minus the derivative of the loss, `normalize` divides K_t by its
    largest value, W⁻ is at least W⁺ over the number of pairs, and a round stops at scores that are not
    positive. Returns the coefficients on the x̃_r of all directions, scaled by √α, the α, and the mean losses.
    """
    D_0 = np.broadcast_to(D_0, S.shape)
    K, features, alphas, losses = np.zeros(S.shape), [], [], []
    for _ in range(n_rounds):
        D = D_0 * (np.exp(-S * K) if loss == "exp" else 1 / (1 + np.exp(S * K)))
        values, vectors = eigh(A.T @ (D * S) @ A, K_tilde)
        v = vectors[:, values > 1e-9 * np.abs(values).max()][:, ::-1][:, :n_directions]
        if v.shape[1] == 0:
            break
        K_t = A @ v @ v.T @ A.T
        gain = D * S * K_t
        right, wrong = gain[gain > 0].sum(), -gain[gain < 0].sum()
        alpha = 0.5 * np.log(right / max(wrong, right / np.sum(D_0 > 0)))
        alpha /= np.abs(K_t).max() if normalize else 1.0
        K += alpha * K_t
        features.append(np.sqrt(alpha) * v)
        alphas.append(alpha)
        losses.append(np.sum(D_0 * PAIR_LOSSES[loss](S * K)) / D_0.sum())
    return np.hstack(features), np.array(alphas), np.array(losses)


def ideal_kernel(y):
    """K* of [KT03, (1)]."""
    return np.array([[1.0 if a == b else 0.0 for b in y] for a in y])


def alignment(K_1, K_2):
    """A(K_1, K_2) of [KT03, Section 2]."""
    return np.sum(K_1 * K_2) / (np.sqrt(np.sum(K_1 * K_1)) * np.sqrt(np.sum(K_2 * K_2)))


def squared_length(u, M):
    """(x_i − x_j)ᵀ M (x_i − x_j) of [KT03, (5)], entry by entry."""
    return sum(u[a] * M[a, b] * u[b] for a in range(len(u)) for b in range(len(u)))


def idealization_loss(X, rows, dissimilar, G, gamma, C_S, C_D, nu):
    """The primal objective of [KT03, 3.2.1], with the least slacks that (8) and (9) allow."""
    xi = {False: [], True: []}
    for (i, j), unlike in zip(rows, dissimilar, strict=True):
        u = X[i] - X[j]
        gain = squared_length(u, G) - squared_length(u, np.eye(len(u)))
        xi[bool(unlike)].append(max(0.0, gamma - gain) if unlike else max(0.0, gain))
    similar = C_S / len(xi[False]) * sum(xi[False]) if xi[False] else 0.0
    return 0.5 * np.sum(G * G) + similar + C_D * (-nu * gamma + sum(xi[True]) / len(xi[True]))


def idealization_dual(X, rows, dissimilar, alpha):
    """Ψ of [KT03, (14)], with M the identity."""
    sign = np.where(dissimilar, 1.0, -1.0)
    total = 0.0
    for p, (i, j) in enumerate(rows):
        total += sign[p] * alpha[p] * (X[i] - X[j]) @ (X[i] - X[j])
        for q, (k, m) in enumerate(rows):
            total -= 0.5 * sign[p] * sign[q] * alpha[p] * alpha[q] * ((X[i] - X[j]) @ (X[k] - X[m])) ** 2
    return total


def idealization_matrix(X, rows, dissimilar, alpha):
    """AAᵀ of [KT03, (11)]."""
    total = np.zeros((X.shape[1], X.shape[1]))
    for (i, j), unlike, a in zip(rows, dissimilar, alpha, strict=True):
        total += (a if unlike else -a) * np.outer(X[i] - X[j], X[i] - X[j])
    return total


def idealized_kernel(K_a, K_b, rows, dissimilar, alpha):
    """K̃(x_a, x_b) of [KT03, 3.3], given K(x_a, x_i) and K(x_b, x_i) for the rows x_i of the pairs."""
    total = 0.0
    for (i, j), unlike, a in zip(rows, dissimilar, alpha, strict=True):
        total += (a if unlike else -a) * (K_a[i] - K_a[j]) * (K_b[i] - K_b[j])
    return total


def idealized_squared_distance(K_a, K_b, rows, dissimilar, alpha):
    """d̃²(x_a, x_b) of [KT03, 3.3], given the same."""
    total = 0.0
    for (i, j), unlike, a in zip(rows, dissimilar, alpha, strict=True):
        total += (a if unlike else -a) * (K_a[i] - K_a[j] - K_b[i] + K_b[j]) ** 2
    return total


def nearest_pairs(Z, listed, m, radius):
    """The pairs of one kind that [KT03, 3.2.5] selects: the m closest of each row, if within the radius."""

    def distance(pair):
        return np.sqrt(sum((a - b) ** 2 for a, b in zip(Z[pair[0]], Z[pair[1]], strict=True)))

    chosen = set()
    for row in range(len(Z)):
        own = sorted((pair for pair in listed if row in pair), key=distance)
        for pair in own[: len(own) if m is None else m]:
            if distance(pair) <= radius * (1 + 1e-12):
                chosen.add(tuple(sorted(pair)))
    return chosen


# of y, f and C, to expressions: Σ C_i ℓ(y_i, f_i)
MACHINE_LOSSES = {
    "hinge": lambda y, f, C: C @ cp.pos(1 - cp.multiply(y, f)),
    "squared_hinge": lambda y, f, C: C @ cp.square(cp.pos(1 - cp.multiply(y, f))),
    "log_loss": lambda y, f, C: C @ cp.logistic(-cp.multiply(y, f)),
    "squared_error": lambda y, f, C: 0.5 * C @ cp.square(y - f),
    "huber": lambda y, f, C: 0.5 * C @ cp.huber(y - f, 1.0),
    "absolute_error": lambda y, f, C: C @ cp.abs(y - f),
    "quantile": lambda y, f, C: C @ (0.8 * cp.pos(y - f) + 0.2 * cp.pos(f - y)),
    "epsilon_insensitive": lambda y, f, C: C @ cp.pos(cp.abs(y - f) - 0.3),
    "poisson": lambda y, f, C: C @ (cp.exp(f) - cp.multiply(y, f)),
}


class Machine:
    """min ½‖f‖²_k + Σ C_i ℓ(y_i, f(x_i) + b) by a generic convex solver, given k among all rows.

    The first rows are those of the losses; on the others f is predicted. A function is a vector of weights of
    features, which the eigenvectors give; a constant in k moves b alone, and is taken away.
    """

    def __init__(self, K, y, C, loss):
        K = K - K[: len(y)].mean(axis=0) - K[: len(y)].mean(axis=0)[:, None] + K[: len(y), : len(y)].mean()
        size, U = np.linalg.eigh(K)
        kept = size > 1e-10 * size[-1]
        self.F, self.y, self.C, self.loss = U[:, kept] * np.sqrt(size[kept]), y, C, MACHINE_LOSSES[loss]
        w, b = cp.Variable(self.F.shape[1]), cp.Variable()
        rows = self.F[: len(y)]
        problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + self.loss(y, rows @ w + b, C)))
        digits = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
        self.minimum = problem.solve(solver=cp.CLARABEL, **digits)
        self.values = self.F @ w.value + b.value

    def objective(self, values):
        """Return the objective of a function, given its values at all rows."""
        F = np.column_stack([self.F, np.ones(len(self.F))])
        w = np.linalg.lstsq(F, values, rcond=None)[0]
        lost = self.loss(self.y, values[: len(self.y)], self.C)
        return 0.5 * w[:-1] @ w[:-1] + float(lost.value)
