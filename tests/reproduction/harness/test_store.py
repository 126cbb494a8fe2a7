import json

import pytest

from reproduction.harness.store import Cell, Result, Store


def result(repeat: int, value: float = 1.5) -> Result:
    return Result(Cell("heart", "SVM", repeat), "abc", {"SVM": value}, 0.25, ["a warning\nof two lines"])


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "deep" / "folder", "toy")


def test_what_is_written_is_read_again(store):
    written = [result(repeat, value=repeat / 3) for repeat in range(3)]
    for one in written:
        store.append(one)
    assert list(store) == written


def test_a_store_that_has_no_file_is_empty(store):
    assert list(store) == []
    store.forget(lambda _: True)
    assert not store.path.exists()


def test_each_result_is_on_disk_as_soon_as_it_is_written(store):
    for repeat in range(3):
        store.append(result(repeat))
        assert [json.loads(line)["cell"]["repeat"] for line in store.path.read_text().splitlines()] == [
            *range(repeat + 1)
        ]


@pytest.mark.parametrize("kept_bytes", [1, 10, -3, -1])
def test_a_line_cut_short_costs_that_line_only(store, kept_bytes):
    for repeat in range(3):
        store.append(result(repeat))
    *whole, last = store.path.read_bytes().splitlines(keepends=True)
    store.path.write_bytes(b"".join(whole) + last[:kept_bytes])
    lost_nothing = kept_bytes == -1  # only the line break is gone
    assert list(store) == [result(0), result(1)] + [result(2)] * lost_nothing
    store.append(result(7))
    assert list(store) == [result(0), result(1)] + [result(2)] * lost_nothing + [result(7)]


@pytest.mark.parametrize(
    "line", ["", "3", "null", "[]", "{}", '{"cell": 1}', '{"cell": {}}', "\x00\x00", "\udcff"]
)
def test_a_line_that_is_no_result_is_passed_over(store, line):
    store.append(result(0))
    with store.path.open("ab") as file:
        file.write(line.encode("utf-8", "surrogateescape") + b"\n")
    store.append(result(1))
    assert list(store) == [result(0), result(1)]


def test_what_is_forgotten_is_gone_and_the_rest_stays(store):
    for repeat in range(4):
        store.append(result(repeat))
    store.forget(lambda one: one.cell.repeat % 2 == 0)
    assert list(store) == [result(1), result(3)]
    assert [path.name for path in store.path.parent.iterdir()] == ["toy.jsonl"]
