"""A kernel in a few words: what it is made of, not how it is typed."""

from collections import Counter
from collections.abc import Sequence
from functools import singledispatch
from html import escape
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as sk_kernels

from mercer.kernels import (
    Combination,
    Forest,
    Mapped,
    Mixture,
    Perceptron,
    PerceptronEnsemble,
    Projected,
    Ranked,
    Rescaled,
    Series,
    Stump,
    StumpEnsemble,
    Tree,
)

FORMULAS = {
    Stump: "k(x, x′) = Δ − Σ_d |x_d − x′_d|",
    Perceptron: "k(x, x′) = Δ − ‖x − x′‖",
    Tree: "k(x, x′) = exp(−γ Σ_d w_d |x_d − x′_d|)",
    StumpEnsemble: "k(x, x′) = ⟨φ(x), φ(x′)⟩, a stump in each feature φ_t",
    PerceptronEnsemble: "k(x, x′) = ⟨φ(x), φ(x′)⟩, a perceptron in each feature φ_t",
    Forest: "k(x, x′) = the share of trees in which x and x′ come to the same leaf",
    Mixture: "k(x, x′) = Σ_t α_t Σ_j p_t(j | x) p_t(j | x′)",
    Projected: "k(x, x′) = κ(x, Z) A Aᵀ κ(Z, x′)",
    Combination: "k(x, x′) = Σ_i w_i k_i(x, x′)",
    Series: "k(x, x′) = Σ_i w_i f(c_i κ(x, x′))",
    Mapped: "k(x, x′) = κ(Aᵀ x, Aᵀ x′)",
    Rescaled: "k(x, x′) = κ((x − μ) / s, (x′ − μ) / s)",
    Ranked: "k(x, x′) = κ(r(x), r(x′)), r the ranks of the values in their columns",
}
INNER_PRODUCT = "inner product of two rows"
LONGEST = 100  # letters of a kernel that is not known here


@singledispatch
def describe_kernel(kernel: Any) -> str:
    """Return what a kernel is, for people: without arrays, and on one line.

    Parameters
    ----------
    kernel : kernel or None
        Of mercer or of scikit-learn. One of another kind is shown as Python shows it, cut if it is long.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from mercer.kernels.description import describe_kernel
    >>> describe_kernel(RBF(2.0))
    'RBF of width 2'
    """
    return "unknown" if kernel is None else _as_python_shows(kernel)


def as_html(kernel: Any) -> str:
    """Return a kernel's formula and what it is in words, for a notebook."""
    name, formula = type(kernel).__name__, FORMULAS.get(type(kernel), "")
    words = describe_kernel(kernel)
    return f"<p><b>{escape(name)}</b> <code>{escape(formula)}</code></p><p>{escape(words)}</p>"


@describe_kernel.register
def _(kernel: Mixture) -> str:
    n_mixtures, n_components, n_columns = np.shape(kernel.means)
    mixtures = count(n_mixtures, "Gaussian mixture")
    return f"{mixtures} of {count(n_components, 'component')} on {count(n_columns, 'column')}"


@describe_kernel.register
def _(kernel: Projected) -> str:
    n_inputs, n_features = np.shape(kernel.coef)
    features = count(n_features, "feature")
    if kernel.base is None:
        if np.array_equal(kernel.coef, np.eye(n_inputs)):
            return INNER_PRODUCT
        return f"learned linear map of {count(n_inputs, 'column')} to {features}"
    similarity = f"the similarity to {count(n_inputs, 'row')} ({describe_kernel(kernel.base)})"
    return f"learned linear map of {similarity} to {features}"


@describe_kernel.register
def _(kernel: Combination) -> str:
    used = _weighty(kernel.kernels, kernel.weights)
    if len(used) == 1:
        return describe_kernel(used[0])
    kinds = Counter(type(one).__name__ for one in used)
    if len(kinds) == 1:
        return f"weighted sum of {len(used)} {next(iter(kinds))} kernels"
    return f"weighted sum of {len(used)} kernels ({', '.join(f'{n} {kind}' for kind, n in kinds.items())})"


@describe_kernel.register
def _(kernel: Series) -> str:
    n_terms = len(_weighty(kernel.constants, kernel.weights))
    by_feature = ", column by column" if kernel.by_feature else ""
    series = f"{kernel.function} series" if n_terms == 1 else f"sum of {n_terms} {kernel.function} series"
    return f"{series} of: {describe_kernel(kernel.base)}{by_feature}"


@describe_kernel.register
def _(kernel: Rescaled) -> str:
    return f"{describe_kernel(kernel.base)}, on rescaled columns"


@describe_kernel.register
def _(kernel: Forest) -> str:
    return f"the share of {count(len(kernel.roots), 'tree')} in which two rows come to the same leaf"


@describe_kernel.register
def _(kernel: Ranked) -> str:
    base = kernel.base.base if isinstance(kernel.base, Rescaled) else kernel.base
    return f"{describe_kernel(base)}, on ranks"


@describe_kernel.register
def _(kernel: Mapped) -> str:
    return f"{describe_kernel(kernel.base)}, after a linear map of {count(len(kernel.coef), 'column')}"


@describe_kernel.register
def _(kernel: Stump) -> str:
    return "all decision stumps at once (city-block distance)"


@describe_kernel.register
def _(kernel: Perceptron) -> str:
    return "all perceptrons at once (Euclidean distance)"


@describe_kernel.register
def _(kernel: Tree) -> str:
    width = "" if kernel.gamma is None else f" of width {1 / kernel.gamma:.4g}"
    return f"all decision trees at once (exponential of the city-block distance{width})"


@describe_kernel.register
def _(kernel: StumpEnsemble) -> str:
    return count(len(kernel.thresholds), "random decision stump")


@describe_kernel.register
def _(kernel: PerceptronEnsemble) -> str:
    return count(len(kernel.thresholds), "random perceptron")


@describe_kernel.register
def _(kernel: sk_kernels.DotProduct) -> str:
    constant = f", plus {kernel.sigma_0**2:.4g}" if kernel.sigma_0 else ""
    return f"{INNER_PRODUCT}{constant}"


@describe_kernel.register
def _(kernel: sk_kernels.RBF) -> str:
    if type(kernel) is not sk_kernels.RBF:  # Matern derives from it, and is another kernel
        return _as_python_shows(kernel)
    widths = np.atleast_1d(kernel.length_scale)
    if len(widths) == 1:
        return f"RBF of width {widths[0]:.4g}"
    return f"RBF with a width for each of {len(widths)} columns"


def count(n: int, one: str) -> str:
    """Return how many there are of something whose plural has an s."""
    return f"{n} {one}{'' if n == 1 else 's'}"


def _as_python_shows(kernel: Any) -> str:
    text = " ".join(repr(kernel).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _weighty(parts: Sequence[Any], weights: Any) -> list[Any]:
    """Return the parts that have a weight, or all if none has."""
    return [part for part, weight in zip(parts, weights, strict=True) if weight > 0] or list(parts)
