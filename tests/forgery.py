"""Files that `mercer.save` did not write, and a watch over what loading them does."""

import json
import subprocess
import sys
from contextlib import contextmanager
from zipfile import ZipFile

import skops.io

import mercer
from mercer.persistence.allowed_types import to_file
from mercer.persistence.archive import METADATA, SCHEMA, pack
from mercer.persistence.metadata import write_metadata
from mercer.persistence.model_file import _to_skops
from mercer.persistence.schema import rebuild

NEW_ID = iter(range(10**6, 10**7))


def unpack(path):
    """Return metadata, schema and arrays of a file."""
    with ZipFile(path) as archive:
        arrays = {name: archive.read(name) for name in archive.namelist() if name.endswith(".npy")}
        return json.loads(archive.read(METADATA)), json.loads(archive.read(SCHEMA)), arrays


def repack(path, metadata, schema, arrays):
    """Write a file whose archive is in order, whatever is in it."""
    path.write_bytes(pack({METADATA: metadata, SCHEMA: schema}, arrays))


def save_unchecked(estimator, path):
    """Write an estimator as an attacker may: without a look at its fitted state."""
    schema, arrays = rebuild(*_to_skops(estimator), to_file)
    repack(path, write_metadata(estimator, None), schema, arrays)


def ends_of_loading(estimator, folder, call):
    """Load an estimator with skops and with mercer, in processes of their own, and `call` a method of it."""
    save_unchecked(estimator, folder / "bad.mercer")
    skops.io.dump(estimator, folder / "bad.skops")
    ends = {}
    for name, library, load in (("skops", "skops.io", "skops.io.load"), ("mercer", "mercer", "mercer.load")):
        program = f"import sys, {library}, numpy; {load}(sys.argv[1]).{call}"
        command = [sys.executable, "-c", program, str(folder / f"bad.{name}")]
        ends[name] = subprocess.run(command, capture_output=True, text=True, check=False)
    return ends


def node(loader, name, **fields):
    module, _, kind = name.rpartition(".")
    return {"__loader__": loader, "__module__": module, "__class__": kind, "__id__": next(NEW_ID), **fields}


def text(value):
    return node("JsonNode", "builtins.str", content=json.dumps(value), is_json=True)


def sequence(*items, kind="list"):
    return node(f"{kind.title()}Node", f"builtins.{kind}", content=list(items))


def dictionary(kinds, content, name="builtins.dict"):
    return node("DictNode", name, key_types=kinds, content=content)


def types(name, n=1):
    return sequence(*(node("TypeNode", name) for _ in range(n)))


def forge(path, value, arrays=()):
    """Save an SVM, and put a node in the place of one of its attributes."""
    mercer.save(mercer.StumpSVC(), path)
    metadata, schema, _ = unpack(path)
    schema["content"]["content"]["class_weight"] = value
    repack(path, metadata, schema, dict(arrays))
    return schema


_watched: list[str] | None = None  # what happened, while somebody watches
_NEVER = [
    "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "os.kill", "os.remove", "os.rename",
    "os.mkdir", "os.chmod", "os.putenv", "subprocess.Popen", "pickle.find_class", "socket.__new__",
    "socket.connect", "ctypes.dlopen", "shutil.rmtree", "webbrowser.open",
]  # fmt: skip
_OURS = {"mercer", "sklearn", "numpy", "scipy", "skops", "_loss"}


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
