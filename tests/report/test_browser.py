"""The report in a real browser: nothing is missing, nothing is logged, markup in names is text."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from mercer import KernelSearchCV, StumpSVC
from mercer.report import write_report

pytest.importorskip("fcntl")  # by which pipes get the numbers that chromium asks for
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from report.browser import Browser, find_browser

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = find_browser()
    if program is None:
        pytest.skip("there is no chromium to look at the report with: apt-get install chromium")
    opened = Browser(program, tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    X, y = load_iris(return_X_y=True)
    labels = np.array([SCRIPT, "<img src=nowhere.png>", "plain $x_1$ " + "long" * 30])[y]
    search = KernelSearchCV({"stump": StumpSVC(), "<h1>": StumpSVC(C=10.0)}, cv=2, random_state=0)
    path = tmp_path_factory.mktemp("report") / "report.html"
    first, second, *others = search.fit(X, labels).result_.candidates
    second = second._replace(note="dropped: " + "it fell too far behind the others. " * 5)
    search.result_ = search.result_._replace(candidates=(first, second, *others))
    write_report(search, pd.DataFrame(X, columns=["<b>a</b>", "b", "c", "d"]), labels, path)
    return path


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1200, 360])
def test_the_page_is_whole_and_fits_the_screen(browser, path, dark, width):
    browser.open(path, width=width, dark=dark)
    assert not browser.complaints
    assert [url for url in browser.requests if not url.startswith("data:")] == [path.as_uri()]
    widths = browser.ask("[...document.images].map(image => image.naturalWidth)")
    is_said = "too few values for a plot" in path.read_text(encoding="utf-8")  # of probabilities
    assert len(widths) == 9 - is_said
    assert min(widths) > 100
    assert browser.ask("document.documentElement.scrollWidth") <= width
    assert browser.ask("[...document.images].map(i => i.currentSrc !== i.src)") == [dark] * len(widths)


@pytest.mark.parametrize("width", [1200, 850, 800, 390])
@pytest.mark.parametrize("section", ["leaderboard", "neighbours"])
def test_nothing_of_a_table_is_beyond_the_edge_of_its_card(browser, path, width, section):
    browser.open(path, width=width)
    browser.ask("document.querySelector('details.chapter').open = true")
    hidden, n_cells = browser.ask(
        f"""(() => {{
            const box = document.querySelector('#{section} .scroll');
            const edge = box.getBoundingClientRect().right;
            const cells = [...box.querySelectorAll('tbody td, tbody th')].filter(cell => cell.innerText);
            const beyond = cells.filter(cell => cell.getBoundingClientRect().right > edge + 1);
            return [beyond.map(cell => cell.innerText), cells.length];
        }})()"""
    )
    assert hidden == []
    assert n_cells >= 10


def test_on_a_phone_each_cell_stands_beside_the_name_of_its_column(browser, path):
    """And the table is still one to those who do not see it."""
    browser.open(path, width=390)
    labels = browser.ask(
        "[...document.querySelectorAll('#leaderboard tr.best td')].map(cell => "
        "getComputedStyle(cell, '::before').content)"
    )
    assert labels == [f'"{name}"' for name in ("share", "error", "what it is", "fit, predict", "note")]
    roles = browser.ask("[...document.querySelectorAll('#leaderboard :is(table, tr, td)')].map(e => e.role)")
    assert set(roles) == {"table", "row", "cell"}


def test_markup_in_names_is_text(browser, path):
    browser.open(path)
    assert browser.ask("document.scripts.length") == 0
    assert browser.ask("document.querySelectorAll('h1').length") == 1
    assert SCRIPT in browser.ask("document.body.innerText")
    cells = browser.ask("[...document.querySelectorAll('td, th')].map(cell => cell.textContent)")
    assert SCRIPT in cells
    assert "<h1>" in cells


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_from_its_ground(browser, path, dark):
    browser.open(path, dark=dark)
    for selector in ("p", "caption", "thead th", "tr.best td", "pre", "summary"):
        ink, ground = browser.ask(COLOURS % selector)
        assert contrast(ink, ground) >= 4.5, selector  # what WCAG asks for


COLOURS = """(() => {
    let element = document.querySelector('section %s');
    const ink = getComputedStyle(element).color;
    let ground = 'rgba(0, 0, 0, 0)';
    for (; ground === 'rgba(0, 0, 0, 0)'; element = element.parentElement)
        ground = getComputedStyle(element).backgroundColor;
    return [ink, ground].map(colour => colour.match(/[\\d.]+/g).slice(0, 3).map(Number));
})()"""


def contrast(first, second):
    """The ratio of luminances as WCAG 2 defines it."""

    def luminance(rgb):
        c = np.array(rgb) / 255.0
        return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]

    low, high = sorted([luminance(first), luminance(second)])
    return (high + 0.05) / (low + 0.05)
