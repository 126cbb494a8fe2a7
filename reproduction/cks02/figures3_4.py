"""Figures 3 and 4 of [CKS02]: the synthetic data in the learned kernel, and a Perceptron's errors.

The caption of Figure 3 says that its points are training rows, the text that they are test rows: these are
test rows, which the kernel has not seen. The text also has "rather little deviation" along the second
eigenvector. That is so in the scale of the learned kernel, which is drawn; along directions of length one the
deviation is about as large as the distance of the classes.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import svd_flip

from mercer._typing import Array
from reproduction.harness import png_canvas

if TYPE_CHECKING:
    from reproduction.cks02.synthetic import Draw

Intervals = Callable[[Array], tuple[Any, Any]]

CLASSES = {1: ("#c44e52", "o", "class +1"), -1: ("#4c72b0", "s", "class −1")}
KERNELS = {"Standard": ("#4c72b0", "s", "standard kernel"), "Learned": ("#c44e52", "o", "learned kernel")}
BLOCK = 10  # rows over which the online error is averaged for a bar


def draw_figure3(path: Path, rows: "Draw", kernel: Any) -> None:
    """Draw test rows, and inner products of training and test rows, before and after learning."""
    with png_canvas(path, (16, 4)) as canvas:
        before, after, products_before, products_after = canvas.subplots(1, 4)
        draw_rows(before, rows.X_test[:, :2], rows.y_test)
        before.set(title="standard kernel: the test rows", xlabel="feature 1", ylabel="feature 2")
        draw_rows(after, rows.X_test @ leading_directions(kernel.coef), rows.y_test)
        after.set(title="learned kernel: the test rows", xlabel="eigenvector 1", ylabel="eigenvector 2")
        order, order_test = by_class(rows.y_train), by_class(rows.y_test)
        X, X_test = rows.X_train[order], rows.X_test[order_test]
        borders = ((rows.y_test == 1).sum(), (rows.y_train == 1).sum())
        draw_products(products_before, X @ X_test.T, borders, "standard kernel: inner products")
        draw_products(products_after, kernel(X, X_test), borders, "learned kernel: inner products")
        before.legend(loc="upper right", fontsize="small")


def leading_directions(coef: Array, n_directions: int = 2) -> Array:
    """Return the eigenvectors of A Aᵀ with the largest eigenvalues λ, each of length √λ.

    They are the left singular vectors of A times the singular values. Inner products of the projections onto
    all of them are the kernel.
    """
    vectors, lengths, _ = np.linalg.svd(coef, full_matrices=False)
    # The sign means nothing: the largest entry counts as the positive side.
    directions: Array = svd_flip(vectors[:, :n_directions] * lengths[:n_directions], None)[0]
    return directions


def by_class(y: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the order that puts the positive rows first, and leaves each class as it was."""
    return np.argsort(-y, kind="stable")


def draw_rows(ax: Any, points: Array, y: NDArray[np.int64]) -> None:
    """Draw rows of two coordinates on axes of one scale, so that distances can be compared."""
    for label, (colour, marker, name) in CLASSES.items():
        ax.scatter(*points[y == label].T, s=16, marker=marker, color=colour, alpha=0.6, lw=0, label=name)
    reach = 1.05 * np.abs(points).max()
    ax.set(aspect="equal", xlim=(-reach, reach), ylim=(-reach, reach))
    ax.locator_params(nbins=5)


def draw_products(ax: Any, products: Array, borders: tuple[int, int], title: str) -> None:
    """Draw a matrix of inner products in grey, white the largest, with lines between the classes."""
    reach = np.percentile(np.abs(products), 99)  # a few extreme ones would leave the others in one grey
    image = ax.imshow(products, cmap="gray", vmin=-reach, vmax=reach, aspect="auto", interpolation="nearest")
    ax.axvline(borders[0] - 0.5, color=CLASSES[1][0], lw=0.8)
    ax.axhline(borders[1] - 0.5, color=CLASSES[1][0], lw=0.8)
    ax.set_box_aspect(1)  # as tall as the panels of rows
    ax.set(title=title, xlabel="test rows, +1 then −1", ylabel="training rows, +1 then −1")
    ax.figure.colorbar(image, ax=ax, shrink=0.75)


def draw_figure4(path: Path, curves: Mapping[str, Mapping[str, Array]], interval: Intervals) -> None:
    """Draw the online error, and the test errors after each epoch, with bars of 95 % intervals.

    ``curves[kernel][which]`` has a row for each draw; which is online (a column for each training row), test
    or noisy (a column for each epoch).
    """
    with png_canvas(path, (13, 4.2)) as canvas:
        online, test, noisy = canvas.subplots(1, 3)
        for kernel, errors in curves.items():
            draw_online(online, errors["online"], kernel, interval)
            draw_epochs(test, errors["test"], kernel, interval)
            draw_epochs(noisy, errors["noisy"], kernel, interval)
        n_draws = len(next(iter(curves.values()))["online"])
        online.set(title="online error", xlabel="training row", ylabel=f"error in %, mean of {n_draws} draws")
        test.set(title="test error", xlabel="epochs", ylabel="error in %")
        noisy.set(title="test error on noisy rows", xlabel="epochs", ylabel="error in %")
        for ax in (online, test, noisy):
            ax.set_ylim(bottom=-0.02 * ax.get_ylim()[1])  # room for a marker at zero
            ax.legend(frameon=False)
            ax.spines[["top", "right"]].set_visible(False)


def draw_online(ax: Any, errors: Array, kernel: str, interval: Intervals) -> None:
    """Draw the error on each training row, thin, and that of blocks of rows with bars."""
    colour = KERNELS[kernel][0]
    ax.plot(np.arange(1, errors.shape[1] + 1), errors.mean(axis=0), color=colour, lw=0.5, alpha=0.4)
    blocks = np.array_split(np.arange(errors.shape[1]), max(1, errors.shape[1] // BLOCK))
    in_blocks = np.column_stack([errors[:, block].mean(axis=1) for block in blocks])
    draw_bars(ax, [block.mean() + 1 for block in blocks], in_blocks, kernel, interval)


def draw_epochs(ax: Any, errors: Array, kernel: str, interval: Intervals) -> None:
    """Draw the test error after each epoch."""
    draw_bars(ax, range(1, errors.shape[1] + 1), errors, kernel, interval)
    ax.set_xticks(range(1, errors.shape[1] + 1))


def draw_bars(ax: Any, x: Any, errors: Array, kernel: str, interval: Intervals) -> None:
    """Draw means with 95 % intervals."""
    colour, marker, name = KERNELS[kernel]
    mean, half = interval(errors)
    ax.errorbar(x, mean, half, color=colour, marker=marker, ms=4, lw=1.2, capsize=2, label=name)
