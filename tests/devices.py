"""Where arrays may live: NumPy, torch on the CPU, and on a GPU where there is one."""

import os
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn import config_context

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn.callback", reason="tensors need scikit-learn 1.9")

DEVICES = ["numpy", "cpu", *(["cuda"] if torch.cuda.is_available() else [])]
TENSORS = DEVICES[1:]
EACH_DEVICE = pytest.mark.parametrize("device", DEVICES)
EACH_TENSOR = pytest.mark.parametrize("device", TENSORS)


@contextmanager
def dispatched():
    """scikit-learn wants the variable to be set before it lets tensors through."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "SCIPY_ARRAY_API", "1")
        with config_context(array_api_dispatch=True):
            yield


def put(array, device, dtype=None):
    """Return an array of NumPy as one of a device, a copy."""
    if device == "numpy":
        return np.asarray(array)
    return torch.tensor(np.asarray(array), device=device, dtype=dtype)


def numpy(array):
    """Return an array of a device as one of NumPy."""
    return array if isinstance(array, np.ndarray) else array.cpu().numpy()


def assert_there(array, device, dtype=None):
    """Complain unless an array is one of a device."""
    if device == "numpy":
        assert isinstance(array, np.ndarray)
    else:
        assert isinstance(array, torch.Tensor)
        assert array.device.type == device
        assert dtype is None or array.dtype == dtype
