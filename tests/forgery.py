"""Files that `mercer.save` did not write, and a watch over what loading them does."""

import sys
from contextlib import contextmanager

from mercer.persistence import container
from mercer.persistence.metadata import write_metadata
from mercer.persistence.objects import Writer


def unpack(path):
    """Return the metadata, the root and the arrays of a file."""
    with path.open("rb") as file:
        return container.read_content(file)


def repack(path, metadata, root, arrays):
    """Write a file whose lengths and checksums are in order, whatever is in it."""
    path.write_bytes(container.pack(metadata, root, arrays))


def save_unchecked(estimator, path):
    """Write an estimator as an attacker may: without a look at what it holds."""
    writer = Writer()
    repack(path, write_metadata(estimator, None), writer.write(estimator), writer.arrays)


_watched: list[str] | None = None  # what happened, while somebody watches
_NEVER = [
    "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "os.kill", "os.remove", "os.rename",
    "os.mkdir", "os.chmod", "os.putenv", "subprocess.Popen", "pickle.find_class", "socket.__new__",
    "socket.connect", "ctypes.dlopen", "shutil.rmtree", "webbrowser.open",
]  # fmt: skip
_OURS = {"mercer", "sklearn", "numpy", "scipy", "_loss"}


def _watch(event, arguments):
    if _watched is None:
        return
    writes = event == "open" and isinstance(arguments[1], str) and set("wax+") & set(arguments[1])
    strange = event == "import" and arguments[0].split(".")[0] not in _OURS | set(sys.modules)
    if event in _NEVER or writes or strange:
        _watched.append(f"{event}{arguments}"[:300])


sys.addaudithook(_watch)


@contextmanager
def watching():
    """Yield a list of what Python does within, of the things that a file must not make it do."""
    global _watched
    _watched = []
    try:
        yield _watched
    finally:
        _watched = None
