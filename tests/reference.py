"""The papers' formulas, slow and literal: what the fast code is tested against."""

import numpy as np
from scipy.integrate import quad
from scipy.special import roots_legendre


def stump_kernel(x, z, lower, upper):
    """[LL05, Definition 1] for the decision stumps s(x) = q sign((x)_d − α) with α in [L_d, R_d], r = 1/2."""
    total = 0.0
    for q in (-1, 1):
        for d in range(len(x)):
            total += 0.5**2 * q * q * integral_of_vote_products(x[d], z[d], lower[d], upper[d])
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
