"""The report is one file that says what the search found, whatever won and whatever things are called."""

import base64
import hashlib
import io
import re
import sys

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from mercer import KernelSearchCV, KernelSVC, StumpSVC
from mercer.report import page, write_report
from report.html_page import report, search_for

pytestmark = pytest.mark.usefixtures("coarse_pictures")

SCRIPT = "<script>alert(1)</script>"


EVERYWHERE = {"leaderboard", "confusion", "calibration", "effects", "gram", "map", "neighbours", "failures"}
EVERYWHERE |= {"columns", "computed"}


def test_every_image_is_inside_the_file_and_has_words_for_those_who_do_not_see_it(tmp_path, iris):
    found = report(tmp_path, search_for({"stump": StumpSVC()}, *iris), *iris)
    n_calibration = "too few values for a plot" not in found.text
    assert len(found.all("img")) == len(found.all("source")) == 1 + n_calibration + 2 + 1 + 2 + 2
    for attrs in found.all("img"):
        assert len(attrs["alt"]) > 20
    for address in found.images:
        kind, _, data = address.partition(",")
        assert kind == "data:image/png;base64"
        pixels = matplotlib.image.imread(io.BytesIO(base64.b64decode(data, validate=True)))
        assert min(pixels.shape[:2]) > 30
        assert pixels[..., :3].std() > 0.01


def test_dark_images_are_on_dark_ground_and_light_ones_on_light(linear_page):
    found = linear_page
    for attrs, is_dark in [(a["src"], False) for a in found.all("img")] + [
        (a["srcset"], True) for a in found.all("source")
    ]:
        pixels = matplotlib.image.imread(io.BytesIO(base64.b64decode(attrs.partition(",")[2])))
        assert (pixels[0, 0, :3].mean() < 0.3) == is_dark
    assert {attrs["media"] for attrs in found.all("source")} == {"(prefers-color-scheme: dark)"}


def test_the_page_asks_the_network_for_nothing(linear_page):
    found = linear_page
    assert not re.search(r"https?:|url\(|@import|javascript:", re.sub(r"base64,[\w+/=]+", "", found.html))
    assert not found.all("script")
    policies = [a["content"] for a in found.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    style = re.search(r"<style>(.*?)</style>", found.html, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policies == [f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'"]
    assert not [attrs for _, attrs in found.tags if "style" in attrs]
    places = {attrs.get("id") for _, attrs in found.tags}
    for attrs in found.all("a"):
        assert attrs["href"].removeprefix("#") in places


def test_tables_can_be_read_aloud(linear_page):
    found = linear_page
    assert found.all("html") == [{"lang": "en"}]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in found.all("meta")
    assert len(found.all("table")) == len(found.all("caption")) == 10
    assert {attrs["scope"] for attrs in found.all("th")} == {"col", "row"}
    assert len(found.all("h1")) == 1


def test_row_names_must_be_as_many_as_rows(tmp_path, linear, iris):
    with pytest.raises(ValueError, match="3 row names for 75 rows"):
        report(tmp_path, linear, *iris, row_names=range(3))


def test_it_says_how_to_get_it_again(tmp_path, iris):
    search = search_for({"linear": (KernelSVC(), {"C": [0.125]})}, *iris)
    found = report(tmp_path, search, *iris, about={"data": "iris"})
    settings = dict(found.rows("Settings"))
    assert settings["data"] == "iris"
    assert "C=0.125" in found.text
    assert "Its kernel: inner product of two rows." in found.text
    versions = dict(cells for cells in found.rows("Versions"))
    assert set(versions) == {"Python", "mercer", "numpy", "scipy", "scikit-learn", "matplotlib"}
    assert versions["numpy"] == np.__version__
    assert "cv=2, random_state=0" in re.sub(r"\s+", " ", found.text)


def test_the_same_seed_gives_the_same_file_and_another_one_other_rows(tmp_path, linear, linear_page, iris):
    pages = [report(tmp_path, linear, *iris, random_state=seed).html for seed in (0, 1)]
    assert pages[0] == linear_page.html != pages[1]


def test_one_feature_is_enough(tmp_path):
    X, y = load_iris(return_X_y=True)
    found = report(tmp_path, search_for({"stump": StumpSVC()}, X[:, [2]], y), X[:, [2]], y)
    assert found.sections == EVERYWHERE
    assert "1 features, numbers as they were given" in found.text


def test_a_winner_without_a_known_kernel_shows_what_there_is(tmp_path, iris):
    found = report(tmp_path, search_for({"logistic": LogisticRegression()}, *iris), *iris)
    assert found.sections == EVERYWHERE - {"gram", "map", "neighbours"}
    assert "Similarities: the main member (LogisticRegression) has no kernel that mercer knows." in found.text


def test_the_title_names_the_data(tmp_path, linear, linear_page, iris):
    assert "<h1>Predicting the class</h1>" in linear_page.html
    found = report(tmp_path, linear, *iris, about={"data": "<iris>.csv", "target": "a & b"})
    for tag in ("title", "h1"):
        assert f"<{tag}>Predicting a &amp; b from &lt;iris&gt;.csv</{tag}>" in found.html


def test_a_report_that_fails_leaves_the_old_one_and_nothing_else(tmp_path, linear, iris, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(page, "make_headline", lambda subject: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_report(linear, *iris, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_users_style_has_no_say_and_no_figure_stays_open(tmp_path, linear, linear_page, iris):
    import matplotlib.pyplot as plt

    before = plt.get_fignums()  # of tests that draw figures to keep
    with plt.style.context({"text.usetex": True, "font.size": 30, "figure.facecolor": "red"}):
        assert report(tmp_path, linear, *iris).html == linear_page.html
    assert plt.get_fignums() == before


@pytest.mark.parametrize(
    ("y", "message"), [(np.zeros(3), "75 samples, but y has 3"), (np.zeros((75, 2)), "1d array")]
)
def test_wrong_labels_are_refused(tmp_path, iris, y, message):
    with pytest.raises(ValueError, match=message):
        report(tmp_path, search_for({"linear": KernelSVC()}, *iris), iris[0], y)


def test_a_search_that_is_not_fitted_is_refused(tmp_path, iris):
    with pytest.raises(NotFittedError):
        report(tmp_path, KernelSearchCV(), *iris)


def test_without_jinja2_it_says_what_to_install(tmp_path, iris, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'mercer\[app\]'"):
        report(tmp_path, search_for({"linear": KernelSVC()}, *iris), *iris)
