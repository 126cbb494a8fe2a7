"""Wrong command lines and files: one sentence that says what to do, exit code 2, and nothing is written."""

import os
import re
import shutil
from pathlib import Path
from zipfile import ZipFile

import pytest
from typer.testing import CliRunner

import mercer as library
from commands.conftest import QUICK
from commands.tables_at_hand import make_table
from mercer import StumpSVC, cli
from mercer.persistence import model_file

GOOD = "x,y\n1,a\n2,b\n4,a\n8,b\n9,a\n3,b\n"
LEARN = "learn bad.csv --target y"


def quantity(n):
    return "x,y\n" + "".join(f"{k * k % 17},{k}\n" for k in range(n))


# what is wrong: what bad.csv holds, the command line, and words that the sentence must have
CASES = {
    "no such file": (None, "learn nowhere.csv --target y", "no file nowhere.csv"),
    "a folder": (None, "learn folder --target y", "folder is a folder"),
    "a folder's name for a file in it": (None, "learn data.csv/x.csv --target y", "cannot be read"),
    "an empty file": (b"", LEARN, "empty"),
    "nothing but blank lines": (b"\n\n  \n", LEARN, "empty"),
    "binary data": (b"\x00\x01\x02\xff" * 99, LEARN, "binary"),
    "a ZIP file": (b"PK\x03\x04" + bytes(50), LEARN, "no Excel sheet: unpack it"),
    "a compressed file": (b"\x1f\x8b" + bytes(50), LEARN, "compressed and damaged"),
    "a damaged Parquet file": (b"PAR1" + bytes(50), LEARN, "arquet"),
    "text in another encoding": ("x,y\né,1\n".encode("latin-1"), f"{LEARN} --encoding utf-8", "UTF-8"),
    "an encoding that is none": ("x,y\na,1\n", f"{LEARN} --encoding utf-9", "no encoding 'utf-9'"),
    "only a header": ("x,y\n", LEARN, "no rows"),
    "no header": ("1,2\n3,4\n", "learn bad.csv --target 2", "names of the columns above it"),
    "two columns of one name": ("x,x,y\n1,2,a\n", LEARN, "several columns of the same name ('x')"),
    "a line with a cell too many": (GOOD + "7,a,5\n", LEARN, "Line 8 of bad.csv has 3 cells"),
    "a line with a cell too few": (GOOD + "7\n", LEARN, "Line 8 of bad.csv has 1 cells"),
    "a quotation mark that is not closed": (GOOD + '7,"a\n' + "8,b\n" * 9, LEARN, "bad.csv"),
    "10⁵ columns": (
        ",".join(f"c{k}" for k in range(100_000)) + "\n" + ",".join("1" * 100_000) + "\n",
        "learn bad.csv --target c0",
        "100000 columns",
    ),
    "no target": (GOOD, "learn bad.csv", "--target"),
    "a target that is not there": (GOOD, "learn bad.csv --target z", "no column 'z'"),
    "one class": ("x,y\n1,a\n2,a\n3,a\n", LEARN, "one class, 'a'"),
    "a target without classes": ("x,y\n1,\n2,NA\n3,\n", LEARN, "'y' is empty"),
    "a text among numbers": ("x,y\n1,0.5\n2,cheap\n3,0.7\n", f"{LEARN} --task number", "'cheap' in row 1"),
    "a target of dates": (
        "x,y\n1,2024-01-31\n2,2024-02-29\n3,2023-12-01\n",
        f"{LEARN} --task number",
        "holds dates",
    ),
    "a target that is infinite": ("x,y\n1,0.5\n2,inf\n3,0.7\n", LEARN, "infinite in row 1"),
    "a target that is constant": ("x,y\n1,0.5\n2,0.5\n3,0.5\n", LEARN, "is 0.5 in every row"),
    "a target of many whole numbers": (quantity(50) + quantity(50)[4:], LEARN, "quantity"),
    "a class for each row": ("x,y\n1,a\n2,b\n4,c\n9,d\n", LEARN, "classes repeat"),
    "a class with a single row": (GOOD + "5,c\n", LEARN, "one each of 'c'"),
    "nothing but constants": ("x,z,y\n1,u,a\n1,u,b\n1,u,a\n1,u,b\n", LEARN, "single value"),
    "nothing but ids": ("x,y\nu,a\nv,b\nw,a\nt,b\n", LEARN, "each row has its own text"),
    "nothing but the target": ("y\na\nb\na\nb\n", LEARN, "no columns besides"),
    "words among numbers": (
        "x,y\n" + "".join(f"{k / 7},{'ab'[k % 2]}\n" for k in range(40)) + "many,a\n",
        LEARN,
        "'many' in row 40",
    ),
    "an infinite number": (GOOD + "inf,a\n", LEARN, "inf in row 6"),
    "a negative budget": (GOOD, f"{LEARN} --budget -3", "--budget must be"),
    "no budget at all": (GOOD, f"{LEARN} --budget 0", "--budget must be"),
    "an infinite budget": (GOOD, f"{LEARN} --budget inf", "--budget must be"),
    "a budget in words": (GOOD, f"{LEARN} --budget long", "'--budget'"),
    "an unknown candidate": (GOOD, f"{LEARN} --candidates linear,quantum", "no candidate 'quantum'"),
    "a candidate for classes, with pairs": (
        GOOD,
        "learn bad.csv --pairs p.csv --candidates stump",
        "'stump'",
    ),
    "no processes": (GOOD, f"{LEARN} --jobs 0", "'--jobs'"),
    "a negative seed": (GOOD, f"{LEARN} --seed -1", "'--seed'"),
    "a model in a folder that is not there": (GOOD, f"{LEARN} --model no/out.mercer", "create it first"),
    "a folder as the model": (GOOD, f"{LEARN} --model folder", "folder is a folder"),
    "the data as the model": (GOOD, f"{LEARN} --model bad.csv", "named twice"),
    "the report as the model": (GOOD, f"{LEARN} --model out --report out", "named twice"),
    "a place that cannot be written to": (
        GOOD,
        f"{LEARN} --model /proc/out.mercer",
        "is not writable",
    ),
    "classes and pairs": (GOOD, f"{LEARN} --pairs p.csv", "not both"),
    "a target without data": (None, "learn --target y", "name its file"),
    "dropped columns without data": (None, "learn --drop y", "name its file"),
    "a column to drop that is not there": (GOOD, f"{LEARN} --drop z", "no column 'z'"),
    "ids that are the classes": (GOOD, f"{LEARN} --id y", "two columns"),
    "ids that repeat": (GOOD + "1,a\n", f"{LEARN} --id x", "duplicate ids, '1'"),
    "ids that are missing": (GOOD + ",a\n", f"{LEARN} --id x", "Row 6 of bad.csv has no id"),
    "unlabelled rows without a column": (
        "x,y\n1,a\n",
        "learn data.csv --target state --unlabelled bad.csv",
        "x",
    ),
    "pairs in one column": ("a\n1\n2\n", "learn data.csv --pairs bad.csv", "has 1 columns"),
    "pairs of rows that are not there": ("a,b\n0,1\n2,99\n", "learn data.csv --pairs bad.csv", "'99'"),
    "pairs by name, without --id": ("a,b\napple 1,apple 2\n", "learn data.csv --pairs bad.csv", "--id"),
    "pairs of unknown names": ("a,b\napple 1,pear\n", "learn data.csv --pairs bad.csv --id name", "'pear'"),
    "a pair of one": ("a,b\n1,\n", "learn data.csv --pairs bad.csv", "lacks a row"),
    "pairs of an unknown kind": ("a,b,c\n1,2,maybe\n", "learn data.csv --pairs bad.csv", "'maybe'"),
    "pairs that are both": ("a,b,c\n1,2,1\n2,1,0\n", "learn data.csv --pairs bad.csv", "similar and as dis"),
    "an unknown option": (GOOD, f"{LEARN} --frobnicate", "--frobnicate"),
    "an unknown command": (None, "frobnicate", "frobnicate"),
    "predict without a table": (None, "predict out.mercer", "DATA"),
    "predict without the model": (None, "predict no.mercer data.csv", "no file no.mercer"),
    "predict with a table as the model": (None, "predict data.csv data.csv", "data.csv is not a model"),
    "predict with half a model": (
        None,
        "predict half.mercer data.csv",
        "half.mercer is not a model file, or is dam",
    ),
    "predict with an archive of others": (None, "predict sheet.xlsx data.csv", "sheet.xlsx was not loaded"),
    "predict with a spoilt model": (None, "predict spoilt.mercer data.csv", "spoilt.mercer is not a model"),
    "show a table": (None, "show data.csv", "data.csv is not a model"),
    "show half a model": (None, "show half.mercer", "half.mercer is not a model"),
    "similar rows by a table": (None, "similar data.csv data.csv --query 1", "data.csv is not a model"),
    "predict with another model": (None, "predict stump.mercer data.csv", "not from `mercer learn`"),
    "predict with a model of pairs": (None, "predict pairs.mercer data.csv", "has no classes"),
    "predict without the data": (None, "predict out.mercer no.csv", "no file no.csv"),
    "predict with a column missing": (
        "days,colour\n1,red\n",
        "predict out.mercer bad.csv",
        "lacks the column 'weight'",
    ),
    "predict with a word for a number": (
        "weight,days,colour\n1,2,red\nheavy,3,red\n",
        "predict out.mercer bad.csv",
        "'heavy' in row 1",
    ),
    "predictions in no folder": (None, "predict out.mercer data.csv -o no/p.csv", "create it first"),
    "predictions over the model": (None, "predict out.mercer data.csv -o out.mercer", "named twice"),
    "show nothing": (None, "show no.mercer", "no file no.mercer"),
    "show a folder": (None, "show folder", "is a folder"),
    "similar to no row": (None, "similar out.mercer data.csv", "--query"),
    "similar to a row that is not there": (None, "similar out.mercer data.csv --query 60", "0 to 59"),
    "similar to no number, without ids": (
        None,
        "similar pairs.mercer data.csv --query apple",
        "0 to 59; --id names",
    ),
    "similar to a negative row": (None, "similar out.mercer data.csv --query=-1", "0 to 59"),
    "similar to an unknown name": (None, "similar out.mercer data.csv --query pear --id name", "'pear'"),
    "no similar rows": (None, "similar out.mercer data.csv --query 1 --top 0", "'--top'"),
}


def content_of(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def workplace(models, tmp_path_factory):
    """Return a folder with models, whole and broken, and a folder in it."""
    folder = tmp_path_factory.mktemp("workplace")
    for name in ("out.mercer", "pairs.mercer", "data.csv"):
        shutil.copy(models / name, folder)
    whole = (folder / "out.mercer").read_bytes()
    (folder / "half.mercer").write_bytes(whole[: len(whole) // 2])
    (folder / "spoilt.mercer").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with ZipFile(folder / "sheet.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    library.save(StumpSVC(), folder / "stump.mercer")
    (folder / "folder").mkdir()
    return folder


@pytest.mark.parametrize("case", CASES)
def test_wrong_use_gets_one_sentence_and_nothing_is_written(case, workplace, monkeypatch):
    content, command, words = CASES[case]
    if "/proc" in command and not Path("/proc/self").exists():
        pytest.skip("there is no folder here that nobody can write to")
    monkeypatch.chdir(workplace)
    bad = workplace / "bad.csv"
    bad.unlink(missing_ok=True)
    if content is not None:
        bad.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = content_of(workplace)
    result = CliRunner().invoke(cli.make_app(), command.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert result.stderr.endswith(".\n")
    assert result.stderr.count("\n") == 1
    assert not re.search(r"\w+(Error|ZipFile|Exception)\b", result.stderr)  # that is Python, not English
    assert content_of(workplace) == before


def test_there_are_forty_cases_and_more():
    assert len(CASES) >= 40


def test_debug_shows_the_traceback_wherever_it_stands(mercer):
    for command in (["--debug", "show", "no.mercer"], ["show", "no.mercer", "--debug"]):
        result = mercer(*command)
        assert result.exit_code == 2  # a wrong request, as without it
        assert "Traceback (most recent call last)" in result.stderr
        assert result.stderr.splitlines()[-1].startswith("There is no file no.mercer")


def test_a_failure_of_mercer_itself_is_told_from_a_wrong_request(mercer, monkeypatch):
    monkeypatch.setattr("mercer.commands.learn.read_task", lambda request: 1 / 0)
    result = mercer("learn", "data.csv", "--target", "state")
    assert result.exit_code == 1
    assert result.stderr == (
        "mercer failed (ZeroDivisionError: division by zero); --debug shows the traceback.\n"
    )


def test_a_full_disk_is_said_in_a_sentence(mercer, monkeypatch, models):
    def fail(path, content):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("mercer.commands.predict.replace_file", fail)
    result = mercer("predict", models / "out.mercer", "data.csv", "-o", "p.csv")
    assert (result.exit_code, result.stderr) == (
        2,
        "p.csv cannot be read or written: No space left on device.\n",
    )


@pytest.mark.parametrize("is_room_elsewhere", [True, False])
def test_a_full_disk_does_not_lose_what_was_learned(mercer, monkeypatch, tmp_path, is_room_elsewhere):
    write = model_file.replace_file

    def fill(path, content):
        if not is_room_elsewhere or path.absolute().parent == tmp_path:
            raise OSError(28, "No space left on device", str(path))
        write(path, content)

    monkeypatch.setattr(model_file, "replace_file", fill)
    result = mercer("learn", "data.csv", "--target", "state", *QUICK, "--model", "out.mercer")
    assert result.exit_code == 1
    assert "out.mercer cannot be written (No space left on device)" in result.stderr
    assert "Expected error on new samples" in result.stdout  # what was found is said in any case
    assert not (tmp_path / "out.mercer").exists()
    if is_room_elsewhere:
        place = re.search(r"The model is in (\S*out\.mercer)\.", result.stdout)[1]
        assert f"it is in {place}." in result.stderr
        assert mercer("predict", place, "data.csv").exit_code == 0
    else:
        assert "The model was not saved" in result.stdout


def test_what_a_terminal_would_obey_is_shown_and_not_sent(mercer):
    table = make_table().rename(columns={"state": "st\x1b[31mate\n"})
    table.to_csv("data.csv", index=False)
    result = mercer("learn", "data.csv", "--target", "nothing\x1b[2J")
    assert result.exit_code == 2
    assert "\x1b" not in result.stderr
    assert result.stderr.count("\n") == 1


def test_without_arguments_the_help_is_shown(mercer):
    result = mercer()
    assert result.exit_code == 2
    assert "learn" in result.stderr
    assert "For example:" in result.stderr


def test_a_data_file_whose_name_is_no_utf8_has_a_report_and_a_model(mercer, tmp_path):
    name = os.fsdecode(b"caf\xe9.csv")
    try:
        Path(name).write_bytes(Path("data.csv").read_bytes())
    except OSError:
        pytest.skip("names of files are UTF-8 here")
    files = ("--model", "out.mercer", "--report", "out.html")
    done = mercer("learn", name, "--target", "state", "--id", "name", *QUICK, *files)
    assert done.exit_code == 0, done.output
    assert "caf\ufffd.csv" in Path("out.html").read_text(encoding="utf-8")
    assert "caf\ufffd.csv" in mercer("show", "out.mercer").output


@pytest.mark.parametrize("option", ["--model", "--report"])
def test_a_link_to_itself_is_no_file_to_write(mercer, option):
    Path("loop").symlink_to("loop")
    done = mercer("learn", "data.csv", "--target", "state", option, "loop")
    assert done.exit_code == 2
    assert "loop cannot be written" in done.stderr
    assert "another file" in done.stderr
