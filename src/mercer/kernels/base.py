"""What every kernel of mercer is: a scikit-learn kernel, called on whole matrices."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self, final

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process import kernels as sk_kernels
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_array

from mercer._typing import Array
from mercer.array_api import at_once, is_tensor, like, matching, namespace
from mercer.validation import float_kinds

BLOCK = 2**22  # kernel values held at a time in a product: 32 MB


class Kernel(sk_kernels.Kernel):
    """A symmetric function k(x, x') of two points, called on rows.

    A kernel is a value: ignorant of how it was learned, and its arrays are read-only copies of those that it
    was given. Being a scikit-learn kernel, it works in every estimator that takes one, on whole matrices. A
    subclass gives `gram` and `diag`, and an ``__init__`` that stores its arguments under their own names, so
    that `sklearn.base.clone` works. It has no hyperparameters for a Gaussian process to tune (`theta` is
    empty): what there was to learn has been learned.

    Calling the kernel checks its arguments: rows that are sparse, not finite or not two-dimensional are
    refused with scikit-learn's own errors. `gram` trusts its arrays.

    Within ``sklearn.config_context(array_api_dispatch=True)`` rows may be tensors: kernel values are computed
    where these are, in their precision. The kernel's own arrays are those of NumPy, wherever it is used.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, _read_only(value))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # neither pickle nor deepcopy calls __setattr__, and their arrays can be written to
        self.__dict__.update({name: _read_only(value) for name, value in state.items()})

    def __sklearn_clone__(self) -> Self:
        # scikit-learn would copy the arrays, and object that the clone does not hold the copies themselves
        params = self.get_params(deep=False)
        for name, value in params.items():
            params[name] = value if isinstance(value, np.ndarray) else clone(value, safe=False)
        return type(self)(**params)

    @abstractmethod
    def gram(self, X: Array, Y: Array) -> Array:
        """Return K with K[i, j] = k(X[i], Y[j])."""

    @abstractmethod
    def diag(self, X: Array) -> Array:
        """Return k(X[i], X[i]) for each row, without the Gram matrix."""

    def product(self, X: Any, Y: Any, v: Any) -> Array:
        """Return k(X, Y) v for a vector or a matrix v, in double precision, without the Gram matrix.

        It is computed in blocks of rows of X, of 32 MB, or on a device 0.5 GB or more.
        """
        X, Y = check_both(X, Y)
        return multiply_gram(self.gram, X, Y, like(X, v))

    @final
    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return the Gram matrix of the rows of X and Y (of X with itself if Y is None).

        With ``eval_gradient`` also its gradient with respect to `theta`, which is empty.
        """
        if eval_gradient and Y is not None:
            raise ValueError("the gradient is that of k(X, X): leave Y out, or set eval_gradient=False")
        K = self.gram(*check_both(X, X if Y is None else Y))
        return (K, np.empty((*K.shape, 0))) if eval_gradient else K

    @final
    def squared_distance(self, X: Any, Y: Any) -> Array:
        """Return ‖φ(x) − φ(y)‖² = k(x, x) − 2 k(x, y) + k(y, y), the distance that the kernel induces."""
        X, Y = check_both(X, Y)
        D = self.diag(X)[:, None] - 2 * self.gram(X, Y) + self.diag(Y)[None, :]
        return not_negative(D)

    def is_stationary(self) -> bool:
        """Whether k(x, x') depends on x − x' alone."""
        return False

    def __sklearn_array_api_convert__(self, convert: Any) -> Self:
        """Return the kernel itself, whose arrays stay those of NumPy where an estimator moves."""
        return self

    @final
    def __eq__(self, other: object) -> bool:
        # scikit-learn's own comparison fails on arrays of different shapes
        if not isinstance(other, Kernel) or type(self) is not type(other):
            return False
        mine, theirs = self.get_params(), other.get_params()
        return all(same(value, theirs[name]) for name, value in mine.items())

    __hash__ = None  # type: ignore[assignment]  # as in scikit-learn, whose set_params changes kernels

    def _repr_html_(self) -> str:
        """Return the kernel as a notebook shows it: its formula, and in words."""
        from mercer.kernels.description import as_html  # which knows all kernels

        return as_html(self)

    def __repr__(self) -> str:
        parts = (f"{name}={_brief(value)}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({', '.join(parts)})"


class FeatureKernel(Kernel):
    """A kernel with a finite feature map: k(x, x') = <φ(x), φ(x')>.

    A subclass gives `transform`; the Gram matrix and its diagonal follow, and with them the promise
    that the kernel is positive semi-definite.
    """

    @abstractmethod
    def transform(self, X: Any) -> Array:
        """Return the features φ(X[i]), one row each."""

    @final
    def gram(self, X: Array, Y: Array) -> Array:
        """Return the inner products of the features."""
        F = self.transform(X)
        return F @ (F if Y is X else self.transform(Y)).T

    @final
    def diag(self, X: Array) -> Array:
        """Return the squared lengths of the features."""
        return squared_lengths(self.transform(X))


def as_rows(X: Any, name: str = "X") -> Array:
    """Return X as a matrix of finite float64 numbers, not copied if it is one; refuse anything else.

    A tensor stays one, and of its precision, where scikit-learn's array API dispatch is on.
    """
    if type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.size and np.isfinite(X).all():
        return X  # as scikit-learn's check would, which takes longer than a small kernel
    kind: Any = float_kinds("A kernel", X) if is_tensor(X) else np.float64
    rows: Array = check_array(X, dtype=kind, input_name=name)
    return rows


def multiply_gram(gram: Callable[[Array, Array], Array], X: Array, Y: Array, v: Array) -> Array:
    """Return gram(X, Y) v in double precision, computed in blocks of rows of X."""
    xp = namespace(X)
    v = xp.astype(v, xp.float64, copy=False)
    blocks = gen_batches(len(X), max(1, at_once(X, BLOCK) // max(1, len(Y))))
    values: Array = xp.concat([xp.astype(gram(X[b], Y), xp.float64, copy=False) @ v for b in blocks])
    return values


def squared_lengths(F: Array) -> Array:
    """Return ‖F[i]‖² of each row."""
    lengths: Array = namespace(F).linalg.vecdot(F, F)
    return lengths


def not_negative(D: Array) -> Array:
    """Return what rounding errors have made negative as zero; an array of NumPy, in place."""
    return np.maximum(D, 0.0, out=D) if isinstance(D, np.ndarray) else namespace(D).clip(D, 0.0, None)


def check_columns(X: Array, expected: int) -> None:
    """Raise unless the rows have as many columns as a kernel was made for."""
    if X.shape[1] != expected:
        raise ValueError(f"X has {X.shape[1]} columns, but the kernel was made for {expected}")


def check_both(X: Any, Y: Any) -> tuple[Array, Array]:
    """Check two sets of rows; what was one object stays one, so that its features are computed once."""
    rows = as_rows(X)
    others = rows if Y is X else matching(rows, as_rows(Y, "Y"))
    if rows.shape[1] != others.shape[1]:
        raise ValueError(f"X has {rows.shape[1]} columns, Y has {others.shape[1]}: they must have the same")
    return rows, others


def _read_only(value: Any) -> Any:
    """Return a read-only copy of an array that can be written to, and anything else as it is."""
    if not isinstance(value, np.ndarray) or not value.flags.writeable:
        return value
    copy = value.copy(order="K")
    copy.flags.writeable = False
    return copy


def same(a: object, b: object) -> bool:
    """Return whether two parameters are equal; arrays, if all their entries are."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(np.asarray(a), np.asarray(b))
    return bool(a == b)


def _brief(value: object) -> str:
    if isinstance(value, np.ndarray) and value.size > 8:
        return f"<array of shape {value.shape}>"
    return repr(value.item() if isinstance(value, np.generic) else value)
