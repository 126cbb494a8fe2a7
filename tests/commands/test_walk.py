"""How far is it from `mercer learn` to the first learner? Not so far that nobody can walk it."""

import json
import subprocess
import sys

from commands.tables_at_hand import make_table

MOST = 40  # files
PROGRAM = """
import json, os, sys
import mercer
from mercer import cli

ROOT = os.path.dirname(mercer.__file__) + os.sep
files, importing = {}, 0

def watch(frame, event, argument):
    global importing
    name, code = frame.f_code.co_name, frame.f_code.co_filename
    if code.startswith("<frozen importlib") and name == "_find_and_load":
        importing += (event == "call") - (event == "return")
    if event != "call" or importing or not code.startswith(ROOT) or name.startswith("<"):
        return
    if name == "fit" and code[len(ROOT):].split(os.sep)[0] in ("machines", "learners"):
        sys.setprofile(None)
        print(json.dumps(files))
        sys.stdout.flush()
        os._exit(0)
    if name != "__init__":
        files.setdefault(code[len(ROOT):], name)

sys.argv = ["mercer", *sys.argv[1:]]
sys.setprofile(watch)
cli.main()
"""


def test_from_the_command_to_the_first_learner_there_are_few_files(tmp_path):
    make_table(n_rows=120).to_csv(tmp_path / "data.csv", index=False)
    options = ("--target", "state", "--model", tmp_path / "out.mercer", "--budget", "300", "--quiet")
    command = [sys.executable, "-c", PROGRAM, "learn", tmp_path / "data.csv", *options, "--jobs", "1"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    files = json.loads(done.stdout.splitlines()[-1])
    assert {"commands/learn.py", "search/race.py", "search/fitting.py"} <= set(files)
    assert len(files) <= MOST, "\n".join(files)
