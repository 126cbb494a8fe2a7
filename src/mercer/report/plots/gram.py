"""The Gram matrix as a picture, samples sorted by class: a good kernel shows its classes as bright blocks."""

from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.report.plots.style import MATRIX_COLOURS, Classes, make_axes, plain_text, read_classes

SIZE = (4.5, 3.9)  # inches
MOST_NAMES = 12  # classes whose names have room beside the matrix
SHORT = 4  # letters that may stand beside the matrix; longer names stand upright along their blocks, which
MOST_UPRIGHT = 5  # must be at least a fifth of the matrix for it
FEW_ROWS = 400  # fewer than dots of a picture
CLIPPED = 3.0  # percent of the values at either end that share the end's colour


def plot_gram(
    kernel: Any, X: Any, y: Any = None, ax: Any = None, *, limits: tuple[float, float] | None = None
) -> Any:
    """Draw the Gram matrix of samples, sorted by class [as CKS02, Fig. 3; KT03, Fig. 1].

    Pairs of samples that are similar by the kernel are bright. Where it knows the classes, there are bright
    blocks along the diagonal, and dark ones elsewhere. O(n²) for n samples.

    Parameters
    ----------
    kernel : kernel, or array of shape (n, n)
        A kernel of mercer or of scikit-learn, another function that gives a Gram matrix, or a Gram matrix.
    X : array-like of shape (n, n_features) or None
        The samples, best held-out ones, which the kernel was not learned from. Ignored if a Gram matrix is
        given.
    y : array-like of shape (n,), default=None
        Their classes. None: the samples stay in their order.
    ax : matplotlib Axes, default=None
        Where to draw. None makes a new figure with pyplot.
    limits : (float, float), default=None
        The values of the darkest and the brightest colour, to compare several matrices. None: those of this
        one, but for three percent at either end, with a bar beside it.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.kernels import Stump
    >>> from mercer.report import plot_gram
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot_gram(Stump(), X, y)
    >>> ax.images[0].get_array().shape
    (150, 150)
    """
    K = gram_matrix(kernel, X)
    classes = read_classes(y, len(K))
    order = np.argsort(classes.of_row, kind="stable")
    ax = make_axes(ax, SIZE)
    low, high = colour_range(K) if limits is None else limits
    # blurred, few entries would be no clearer, and the picture a larger file
    smoothing = "nearest" if len(K) <= FEW_ROWS else "auto"
    shown = K[np.ix_(order, order)]
    image = ax.imshow(shown, cmap=MATRIX_COLOURS, vmin=low, vmax=high, interpolation=smoothing)
    if limits is None:  # inside the axes' own frame, the bar is as high as the matrix
        from matplotlib.ticker import MaxNLocator

        drawn = ax.figure.colorbar(image, cax=ax.inset_axes((1.03, 0.0, 0.045, 1.0)), ticks=MaxNLocator(4))
        drawn.outline.set_visible(False)
    ax.spines[:].set_visible(False)
    _name_blocks(ax, classes)
    return ax


def gram_matrix(kernel: Any, X: Any) -> Array:
    """Return the Gram matrix of a kernel, or a matrix that is given as it is; refuse what is not square."""
    K: Array = np.asarray(kernel(X) if callable(kernel) else kernel, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or len(K) == 0:
        raise ValueError(f"a Gram matrix is square, but this one is of shape {K.shape}")
    if not np.isfinite(K).all():
        raise ValueError("the Gram matrix has entries that are not finite: scale the features")
    return K


def colour_range(K: Array) -> tuple[float, float]:
    """Return the values of the darkest and the brightest colour. The diagonal, often larger, is ignored."""
    values = K[~np.eye(len(K), dtype=bool)] if len(K) > 1 else K
    low, high = np.percentile(values, [CLIPPED, 100.0 - CLIPPED])
    return (float(low), float(high)) if high > low else (float(low) - 0.5, float(low) + 0.5)


def _name_blocks(ax: Any, classes: Classes) -> None:
    """Draw lines between the classes, and write their names beside them."""
    sizes = np.bincount(classes.of_row, minlength=len(classes.names))
    ends = np.cumsum(sizes) - 0.5
    for end in ends[:-1]:
        ax.axhline(end, color="white", lw=0.8)
        ax.axvline(end, color="white", lw=0.8)
    ax.set_xticks([])
    if classes.names == [""] or len(classes.names) > MOST_NAMES:
        ax.set_yticks([])
        ax.set_ylabel("samples" if classes.names == [""] else f"samples of {len(classes.names)} classes")
        return
    shown = [plain_text(name, 14) for name in classes.names]
    upright = max(map(len, shown)) > SHORT and sizes.min() * MOST_UPRIGHT >= sizes.sum()
    ax.set_yticks(ends - sizes / 2.0, shown, rotation=90 if upright else 0, va="center")
    ax.tick_params(left=False)
