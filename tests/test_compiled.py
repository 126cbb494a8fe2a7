"""Compiled functions: at the first call, also by each other, and where nothing can be kept on disk."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from mercer import compiled, power_series
from mercer.compiled import let_compiled_code_call, njit


@njit(nogil=True)
def double(x):
    return 2 * x


@njit(nogil=True)
def add_doubled(x, y):
    return double(x) + y


def test_compiled_functions_call_each_other():
    assert add_doubled(2, 3.5) == 7.5
    assert double(4) == 8


def test_a_compiled_function_keeps_its_name_and_documentation():
    assert power_series.add_terms.__name__ == "add_terms"
    assert power_series.add_terms.__doc__.startswith("Add up")


def test_a_compiled_function_can_be_sent_to_another_process():
    assert pickle.loads(pickle.dumps(power_series.add_terms)) is power_series.add_terms


def test_compiled_code_calls_a_plain_function_once_it_is_allowed_to():
    def plain(x):
        return x + 1

    @njit(nogil=True)
    def caller(x):
        return 3 * plain(x)

    let_compiled_code_call(plain)
    assert caller(1) == 6


FULL_DISK = """
import errno, os, warnings
from numba.core import caching

def write(self, *what):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

caching.IndexDataCacheFile.save = write
from mercer import StumpSVC
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    model = StumpSVC(loss="log_loss").fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
assert model.predict([[0.0], [3.0]]).tolist() == [0, 1]
assert len(warned) == 1 and "NUMBA_CACHE_DIR" in str(warned[0].message), warned
"""


def test_on_a_full_disk_it_compiles_for_the_running_process_and_says_so_once(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr


UNWRITABLE = """
import os, tempfile, warnings
from pathlib import Path

write = tempfile.TemporaryFile

def write_nowhere_else(dir):  # by this numba finds out whether it can write to a folder
    if f"{os.sep}mercer-" not in dir:
        raise PermissionError(dir)
    return write(dir=dir)

os.environ.pop("NUMBA_CACHE_DIR", None)
tempfile.TemporaryFile = write_nowhere_else
from mercer import power_series
from mercer.losses import LOG
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    power_series.evaluate_series("exp", [0.0])
    LOG.value([0.0])
assert len(warned) == 1 and "NUMBA_CACHE_DIR" in str(warned[0].message), warned
folder = Path(os.environ["NUMBA_CACHE_DIR"])
assert len(list(folder.rglob("*.nbc"))) >= 2
print(folder)
"""


def test_without_a_folder_to_write_to_it_says_so_once_and_keeps_what_it_compiles_until_the_end():
    done = subprocess.run([sys.executable, "-c", UNWRITABLE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not Path(done.stdout.strip()).exists()


def test_a_function_that_comes_from_no_file_is_compiled_nevertheless(monkeypatch):
    names = {"njit": njit}
    exec("@njit(cache=True)\ndef half(x):\n    return x / 2", names)
    monkeypatch.setattr(compiled, "_keep_for_now", lambda: None)
    assert names["half"](3) == 1.5


def test_errors_of_numba_are_not_about_the_cache():
    @njit(no_such_option=True)
    def identity(x):
        return x

    with pytest.raises(Exception, match="no_such_option"):
        identity(1)
