"""The report is one file that says what the search found, whatever won and whatever things are called."""

import base64
import html
import io
import re
import sys
from html.parser import HTMLParser

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from mercer import (
    BoostedKernel,
    IdealizedKernel,
    KernelBoost,
    KernelSearchCV,
    KernelSVC,
    Pairs,
    PerceptronSVC,
    StumpSVC,
    Superkernel,
)
from mercer.report import page, picture, write_report
from mercer.report.content import duration
from mercer.report.plots import leaderboard
from mercer.report.sections.ranking import compare_with_reference

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

SCRIPT = "<script>alert(1)</script>"
WINNERS = {
    "linear": KernelSVC(),
    "stump": StumpSVC(),
    "RBF-SVM": SVC(),
    "perceptron": PerceptronSVC(),
    "superkernel": KernelSVC(Superkernel()),
    "boosted": KernelSVC(BoostedKernel(n_rounds=4, random_state=0), relative_C=True),
    "kernelboost": KernelSVC(KernelBoost(n_rounds=3, random_state=0), relative_C=True),
    "idealized": KernelSVC(
        IdealizedKernel(max_rank=5, tol=1e-3, random_state=0),
        relative_C=True,
    ),
}
EVERYWHERE = {"leaderboard", "gram", "map", "confusion", "neighbours", "computed"}
INSIDE = {"stump": {"shapes"}, "boosted": {"rounds"}, "kernelboost": {"rounds", "gaussians"}}


class Page(HTMLParser):
    """The page taken apart; what is open and never closed, or closed and never opened, is an error."""

    ALONE = frozenset({"meta", "link", "img", "source"})

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.html, self.open_tags, self.tags, self.texts = source, [], [], []
        self.feed(source)
        self.close()
        assert not self.open_tags

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.ALONE:
            self.open_tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open_tags.pop() == tag

    def handle_data(self, data):
        if self.open_tags and self.open_tags[-1] != "style":
            self.texts.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]

    @property
    def text(self):
        return " ".join(self.texts)

    @property
    def sections(self):
        return {attrs["id"] for attrs in self.all("section")}

    @property
    def images(self):
        return [attrs["src"] for attrs in self.all("img")] + [attrs["srcset"] for attrs in self.all("source")]

    def pixels(self, alt):
        """The light pictures whose words begin so."""
        sources = [attrs["src"] for attrs in self.all("img") if attrs["alt"].startswith(alt)]
        data = [base64.b64decode(source.partition(",")[2]) for source in sources]
        return [matplotlib.image.imread(io.BytesIO(one))[..., :3] for one in data]

    def heads(self, caption):
        """The names of a table's columns."""
        head = re.search(f"<caption>{re.escape(caption)}.*?</thead>", self.html, re.DOTALL)[0]
        return re.findall(r"<th [^>]*>(.*?)</th>", head)

    def rows(self, caption):
        """The cells of a table below its head."""
        table = re.search(f"<caption>{re.escape(caption)}.*?</table>", self.html, re.DOTALL)[0]
        body = table[table.index("<tbody") :]
        return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in body.split("</tr>")[:-1]]


@pytest.fixture(autouse=True, scope="module")
def _coarse_pictures():
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(picture, "DPI", 30)  # what they show is tested elsewhere
        yield


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::2], y[::2]


def search_for(estimators, X, y, **options):
    return KernelSearchCV(estimators, cv=2, random_state=0).fit(X, y, **options)


@pytest.fixture(scope="module")
def linear(iris):
    """A search that a linear SVM has won, for there was nobody else. Nothing changes it."""
    return search_for({"linear": KernelSVC()}, *iris)


@pytest.fixture(scope="module")
def linear_page(linear, iris, tmp_path_factory):
    return report(tmp_path_factory.mktemp("linear"), linear, *iris)


def report(tmp_path, search, X, y=None, **options):
    path = tmp_path / "report.html"
    write_report(path, search, X, y, **options)
    return Page(path.read_text(encoding="utf-8"))


def data_of(n_classes, n_features=4):
    X, y = make_classification(
        60, n_features, n_informative=n_features, n_redundant=0, n_classes=n_classes,
        n_clusters_per_class=1, random_state=0,
    )  # fmt: skip
    return X, np.array([SCRIPT, "$a_b^", "c & d"])[y]


@pytest.mark.filterwarnings("ignore:γ is zero")  # there is little to idealize in these rows
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", WINNERS)
def test_every_kind_of_winner_has_a_page(tmp_path, name, n_classes):
    X, y = data_of(n_classes)
    names = [f"<b>{d}</b> $x_{d}$ \"quoted\" 'so'" for d in range(4)]
    search = search_for({name: WINNERS[name]}, X, y)
    found = report(
        tmp_path, search, X, y, feature_names=names, about={"<i>data</i>": "<img src=x onerror=y>"}
    )
    assert found.sections == EVERYWHERE | INSIDE.get(name, set())
    assert not found.all("script")
    assert not found.all("i")
    assert not found.all("b")
    assert SCRIPT in found.text
    assert "<img src=x onerror=y>" in found.text
    left_out = {"Shape functions": "shapes", "The error by rounds": "rounds", "Gaussians": "gaussians"}
    for title, key in left_out.items():
        assert (f"{title}:" in found.text) == (key not in found.sections)


def test_every_image_is_inside_the_file_and_has_words_for_those_who_do_not_see_it(tmp_path, iris):
    found = report(tmp_path, search_for({"stump": StumpSVC()}, *iris), *iris)
    assert len(found.all("img")) == len(found.all("source")) == 1 + 2 + 2 + 3 + 1
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
    assert policies == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]
    for attrs in found.all("a"):
        assert attrs["href"].removeprefix("#") in found.sections


def test_tables_can_be_read_aloud(linear_page):
    found = linear_page
    assert found.all("html") == [{"lang": "en"}]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in found.all("meta")
    assert len(found.all("table")) == len(found.all("caption")) == 6
    assert {attrs["scope"] for attrs in found.all("th")} == {"col", "row"}
    assert len(found.all("h1")) == 1


def test_the_leaderboard_of_the_page_is_that_of_the_search(tmp_path, iris):
    kinds = {"stump": (StumpSVC(), {"C": [0.01, 1.0]}), "RBF-SVM": SVC(C=1e-9), "<u>": KernelSVC()}
    search = search_for(kinds, *iris)
    rows = report(tmp_path, search, *iris).rows("All candidates")
    assert len(rows) == 3
    for (name, line), cells in zip(search.leaderboard_.iterrows(), rows, strict=True):
        assert cells[0] == name.replace("<", "&lt;").replace(">", "&gt;")
        score = f"{100 * line['error']:.1f} ± {100 * line['std_error']:.1f} %"
        assert cells[1].replace("\N{NO-BREAK SPACE}", " ") == score
        assert cells[3] == duration(line["fit_seconds"])
    assert "C=0.01" in str(rows) or "C=1" in str(rows)


def test_columns_without_a_word_are_left_out_and_those_with_one_stay(tmp_path, iris):
    search = search_for({"linear": KernelSVC(), "stump": StumpSVC()}, *iris)  # no settings, nothing to note
    columns = ["candidate", "error", "against RBF-SVM", "fit", "predict"]
    assert report(tmp_path, search, *iris).heads("All candidates") == columns
    search.ranking_[1].update(note="too slow")
    assert report(tmp_path, search, *iris).heads("All candidates") == [*columns, "note"]


def test_the_winner_is_marked_and_its_honest_error_is_at_the_top(tmp_path, iris):
    search = search_for({"linear": KernelSVC(), "RBF-SVM": SVC(C=1e-9)}, *iris)
    found = report(tmp_path, search, *iris)
    assert len(re.findall('class="best"', found.html)) == 1
    (pixels,) = found.pixels("The error of 2 candidates")
    star = matplotlib.colors.to_rgb(leaderboard.MARKED)
    assert (np.abs(pixels - star).max(axis=2) < 0.05).any()
    assert re.search('<tr[^>]* class="best"><th [^>]*>linear</th>', found.html)
    top = found.text[: found.text.index("Which kernel?")].replace("\N{NO-BREAK SPACE}", " ")
    assert "75 rows, 4 features, 3 classes" in top
    assert f"{100 * search.error_:.1f} % ± {100 * search.std_error_:.1f} %" in top
    assert "better than a tuned RBF-SVM" in top  # whose error is 2/3: it may do nothing


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(-0.2, -0.1, "it is better"), (-0.2, 0.1, "cannot be told apart"), (0.1, 0.2, "RBF-SVM is better")],
)
def test_the_verdict_goes_by_the_interval_of_the_difference(iris, low, high, verdict):
    search = search_for({"linear": KernelSVC(), "RBF-SVM": SVC(C=1e-9)}, *iris)
    for line in search.ranking_:
        if line["candidate"] == "linear":
            line.update(difference=(low + high) / 2, low=low, high=high)
    assert verdict in compare_with_reference("linear", search.ranking_)


@pytest.mark.parametrize("unknown", [None, np.nan])
def test_there_is_no_verdict_without_a_comparison(iris, unknown):
    lines = search_for({"linear": KernelSVC(), "RBF-SVM": SVC()}, *iris).ranking_
    blank = [{**line, "low": unknown, "high": unknown} for line in lines]
    assert compare_with_reference("linear", blank) == ""
    assert compare_with_reference("linear", [line for line in lines if line["candidate"] == "linear"]) == ""


def test_where_the_rbf_svm_wins_the_page_says_so(iris):
    search = search_for({"RBF-SVM": SVC(), "bad": SVC(C=1e-9)}, *iris)
    assert "No other candidate is clearly better than the tuned RBF-SVM" in compare_with_reference(
        "RBF-SVM", search.ranking_
    )


def test_the_neighbours_named_are_rows_of_their_classes(linear_page, iris):
    _, y = iris
    rows = linear_page.rows("Nearest rows")
    assert {cells[1] for cells in rows} == {"0", "1", "2"}
    queries = {int(cells[0].removeprefix("row ")) for cells in rows}
    for head, label, _, *near in rows:
        assert y[int(head.removeprefix("row "))] == int(label)
        assert len(near) == 5
        for cell in near:
            number, of_class = re.fullmatch(r"row (\d+): (\d)", cell).groups()
            assert y[int(number)] == int(of_class)
            assert int(number) not in queries


@pytest.mark.parametrize("kind", ["numbers", "names"])
def test_rows_are_called_by_the_names_that_are_given(tmp_path, linear, linear_page, iris, kind):
    """The same page as that of rows 0, 1, …, with other names."""
    names = [3 * k + 7 for k in range(75)] if kind == "numbers" else [f"<flower> {k}" for k in range(75)]
    found = report(tmp_path, linear, *iris, row_names=names)
    shown = [html.unescape(cell) for cells in found.rows("Nearest rows") for cell in cells]
    expected = [
        re.sub(r"row (\d+)", lambda match: as_shown(names[int(match[1])]), cell)
        for cells in linear_page.rows("Nearest rows")
        for cell in cells
    ]
    assert shown == expected
    assert ("counted, from 0" in found.text) == (kind == "numbers")


def as_shown(name):
    return name if isinstance(name, str) else f"row {name}"


def test_row_names_must_be_as_many_as_rows(tmp_path, linear, iris):
    with pytest.raises(ValueError, match="3 row names for 75 rows"):
        report(tmp_path, linear, *iris, row_names=range(3))


def test_both_gram_matrices_are_of_one_size_and_their_ranges_are_said(linear_page):
    boxes, found = [], linear_page
    for pixels in found.pixels("The Gram matrix"):
        inked = np.abs(pixels - pixels[0, 0]).max(axis=2) > 0.1
        boxes.append([np.flatnonzero(inked.any(axis=axis))[[0, -1]].tolist() for axis in (0, 1)])
    assert boxes[0] == boxes[1]
    assert "scaled to its own range" in found.text
    captions = re.findall(r"(\w+ plain|winner's) kernel \((.+?)\): dark is (\S+), bright (\S+)", found.text)
    assert [name for _, name, *_ in captions] == ["RBF", "linear"]
    low, high = (float(end.replace("−", "-")) for end in captions[0][2:])
    assert 0.0 <= low < high <= 1.0  # an RBF kernel's


def test_the_kernel_is_described_in_words(tmp_path):
    X, y = data_of(3)
    search = search_for({"kernelboost": WINNERS["kernelboost"]}, X, y)
    found = report(tmp_path, search, X, y)
    n_mixtures, n_components, _ = search.best_kernel_.base.means.shape
    words = f"{n_mixtures} Gaussian mixtures of {n_components} components on 4 columns"
    assert f"The best kernel is kernelboost: {words}." in found.text
    assert dict(found.rows("Settings"))["kernel"] == words
    assert "array" not in found.text


def test_rows_without_a_class_are_counted_at_the_top(tmp_path, iris):
    X, y = iris
    search = search_for({"linear": KernelSVC()}, X[3:], y[3:], unlabelled=X[:3])
    found = report(tmp_path, search, X[3:], y[3:], unlabelled=X[:3])
    assert "72 rows, 4 features, 3 classes, 3 more rows without a class." in found.text


def test_the_confusion_table_counts_the_held_out_rows(linear_page):
    rows = linear_page.rows("Rows of each true")
    counts = np.array([[int(cell) for cell in cells[1:]] for cells in rows])
    assert list(counts.sum(axis=1)) == [8, 8, 8]  # 30 % of 25, rounded


def test_it_says_how_to_get_it_again(tmp_path, iris):
    search = search_for({"linear": (KernelSVC(), {"C": [0.125]})}, *iris)
    found = report(tmp_path, search, *iris, about={"data": "iris"})
    settings = dict(found.rows("Settings"))
    assert settings["data"] == "iris"
    assert settings["its settings"] == "C=0.125"
    assert settings["kernel"] == "inner product of two rows"
    assert settings["rows of this page"] == "51 learned from, 24 held out"
    versions = dict(cells for cells in found.rows("Versions"))
    assert set(versions) == {"Python", "mercer", "numpy", "scipy", "scikit-learn", "matplotlib"}
    assert versions["numpy"] == np.__version__
    assert "cv=2, random_state=0" in re.sub(r"\s+", " ", found.text)


def test_the_same_seed_gives_the_same_file_and_another_one_other_rows(tmp_path, linear, linear_page, iris):
    pages = [report(tmp_path, linear, *iris, random_state=seed).html for seed in (0, 1)]
    assert pages[0] == linear_page.html != pages[1]


def test_one_feature_is_enough(tmp_path):
    X, y = load_iris(return_X_y=True)
    for name in ("stump", "kernelboost"):
        found = report(tmp_path, search_for({name: WINNERS[name]}, X[:, [2]], y), X[:, [2]], y)
        assert found.sections == EVERYWHERE | INSIDE[name]
    assert "1 feature," in found.text


def test_a_winner_without_a_known_kernel_shows_what_there_is(tmp_path, iris):
    found = report(tmp_path, search_for({"logistic": LogisticRegression()}, *iris), *iris)
    assert found.sections == {"leaderboard", "confusion", "computed"}
    assert "The Gram matrix: the winner (LogisticRegression) has no kernel that mercer knows." in found.text


def test_if_no_row_can_be_held_out_the_leaderboard_stays(tmp_path, linear, iris):
    found = report(tmp_path, linear, iris[0][:3], np.arange(3))
    assert found.sections == {"leaderboard", "computed"}
    assert "single row" in found.text


def test_candidates_that_were_not_measured_stand_in_the_table_with_their_note(tmp_path, iris):
    search = search_for({"linear": KernelSVC(), "stump": StumpSVC()}, *iris)
    search.ranking_[-1].update(error=np.nan, std_error=np.nan, note="no <time>", settings={})
    search.stopped_ = "budget"
    found = report(tmp_path, search, *iris)
    assert "no <time>" in found.text
    assert "did not run to its end (the time was over)" in found.text


def test_a_search_among_pairs_has_a_page_without_classes(tmp_path, iris):
    X, y = iris
    pairs = Pairs.from_labels(y)
    kinds = {"plain": None, "boosted": BoostedKernel(n_rounds=3, random_state=0)}
    search = KernelSearchCV(kinds, cv=2, random_state=0).fit(X, pairs=pairs)
    found = report(tmp_path, search, X, pairs=pairs)
    assert found.sections == {"leaderboard", "map", "pairs", "computed"}
    assert f"{search.auc_:.3f}" in found.text
    assert len(found.all("img")) == 1 + 2 + 2
    for (name, line), cells in zip(search.leaderboard_.iterrows(), found.rows("All candidates"), strict=True):
        shown = [cell.replace("\N{NO-BREAK SPACE}", " ").replace("−", "-") for cell in cells]
        assert shown[:2] == [name, f"{line['auc']:.3f} ± {line['std_error']:.3f}"]
        if name != "plain":
            assert shown[2] == f"{line['difference']:+.3f} ({line['low']:+.3f} to {line['high']:+.3f})"
    plain, learned = re.findall(r"kernel \([\w ]+\): AUC ([\d.]+)", found.text)
    assert float(plain) < float(learned)  # which is why it won
    found = report(tmp_path, search, X)
    assert found.sections == {"leaderboard", "map", "computed"}
    assert "there are no pairs" in found.text


def test_no_winner_is_said_to_have_learned(linear_page):
    """A linear kernel learns nothing, so there is no before and no after."""
    words = " ".join([linear_page.text, *(attrs["alt"] for attrs in linear_page.all("img"))])
    assert not re.search(r"\b(before|after)\b", words, re.IGNORECASE)
    assert linear_page.heads("The same in numbers")[1:] == [
        "A plain kernel (RBF)",
        "The winner&#39;s kernel (linear)",
    ]


def test_where_the_plain_distance_wins_it_is_shown_once(tmp_path, iris):
    pairs = Pairs.from_labels(iris[1])
    search = KernelSearchCV({"plain": None}, cv=2, random_state=0).fit(iris[0], pairs=pairs)
    found = report(tmp_path, search, iris[0], pairs=pairs)
    assert len(found.all("img")) == 1 + 1 + 1
    assert found.text.count("The winner is the plain kernel itself") == 2


def test_the_title_names_the_data(tmp_path, linear, linear_page, iris):
    assert "<h1>Kernel report</h1>" in linear_page.html
    found = report(tmp_path, linear, *iris, about={"data": "<iris>.csv"})
    for tag in ("title", "h1"):
        assert f"<{tag}>Kernel report: &lt;iris&gt;.csv</{tag}>" in found.html
    assert "<iris>.csv: 75 rows, 4 features, 3 classes." in found.text


@pytest.mark.parametrize(("n_each", "is_few"), [(13, True), (17, False)])
def test_few_held_out_rows_are_said_to_mean_little(tmp_path, n_each, is_few):
    """Of 13 rows 4 are held out, of 17 there are 5."""
    X, y = load_iris(return_X_y=True)
    some = np.concatenate([np.flatnonzero(y == label)[:n_each] for label in range(3)])
    found = report(tmp_path, search_for({"linear": KernelSVC()}, X[some], y[some]), X[some], y[some])
    rows = [int(cell) for cells in found.rows("Rows of each true")[:1] for cell in cells[1:]]
    assert (sum(rows) < 5) == is_few
    assert found.text.count("so few rows mean little") == (3 if is_few else 0)


def test_no_more_neighbours_are_counted_than_a_class_has_rows(tmp_path):
    X, y = load_iris(return_X_y=True)
    some = np.concatenate([np.flatnonzero(y == label)[:n] for label, n in enumerate((3, 20, 20))])
    found = report(tmp_path, search_for({"linear": KernelSVC()}, X[some], y[some]), X[some], y[some])
    assert found.rows("The same in numbers")[2][0] == "same class among 2 nearest"


def test_the_page_says_how_the_winner_is_chosen(tmp_path, iris):
    search = search_for({"stump": StumpSVC(), "linear": KernelSVC()}, *iris)
    search.ranking_.sort(key=lambda line: line["candidate"] == search.best_name_)  # the winner stands last
    found = report(tmp_path, search, *iris)
    assert (
        "first candidate in the list that is no worse than the best by more than one standard" in found.text
    )
    assert "The list is: stump, linear." in found.text
    assert f"{search.best_name_} is taken although" in found.text
    search.ranking_.sort(key=lambda line: line["candidate"] != search.best_name_)
    assert "is taken although" not in report(tmp_path, search, *iris).text


def test_names_come_from_the_search_and_must_be_as_many_as_features(tmp_path, iris):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(iris[0], columns=["a", "b", "c", "d"])
    search = search_for({"stump": StumpSVC()}, frame, iris[1])
    assert page._check_names(search, 4, None) == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="1 feature names for 4"):
        report(tmp_path, search, *iris, feature_names=["a"])


def test_a_report_that_fails_leaves_the_old_one_and_nothing_else(tmp_path, linear, iris, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(page, "rank_candidates", lambda subject: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_report(path, linear, *iris)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_users_style_has_no_say_and_no_figure_stays_open(tmp_path, linear, linear_page, iris):
    import matplotlib.pyplot as plt

    with plt.style.context({"text.usetex": True, "font.size": 30, "figure.facecolor": "red"}):
        assert report(tmp_path, linear, *iris).html == linear_page.html
    assert not plt.get_fignums()


@pytest.mark.parametrize(
    ("y", "message"), [(np.zeros(3), "75 rows, y has 3"), (np.zeros((75, 2)), "1d array")]
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
