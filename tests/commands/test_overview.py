"""``mercer papers --overview``: the table of all tables, on the terminal or in a page."""

from typer.testing import CliRunner

from mercer.cli import make_app
from mercer.papers.harness.record import BEGIN, END, Measured, read_record, write_record

PLACE = ("ll05-table1", "twonorm", "SVM-Stump")


def run_overview(tmp_path, *options):
    record = tmp_path / "results.csv"
    write_record(record, {PLACE: Measured(2.9, 0.1, 20, "2005-01-31")})
    arguments = ["papers", "--overview", str(record), "--store", str(tmp_path / "none"), *options]
    return CliRunner().invoke(make_app(), arguments)


def test_the_overview_is_printed_and_nothing_is_run(tmp_path):
    found = run_overview(tmp_path)
    assert found.exit_code == 0
    assert "1 of the 1 that were run are within two joint standard errors or better" in found.output
    assert read_record(tmp_path / "results.csv") == {PLACE: Measured(2.9, 0.1, 20, "2005-01-31")}
    assert not (tmp_path / "none").exists()


def test_the_overview_is_written_into_a_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"# Results\n\n{BEGIN}\n{END}\n", encoding="utf-8")
    assert run_overview(tmp_path, "--output", str(page)).exit_code == 0
    assert "| [LL05] Table I," in page.read_text(encoding="utf-8")


def test_a_page_without_a_place_for_it_is_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Results", encoding="utf-8")
    found = run_overview(tmp_path, "--output", str(page))
    assert found.exit_code != 0
    assert page.read_text(encoding="utf-8") == "# Results"
