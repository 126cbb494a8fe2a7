"""Twenty reports of all kinds in a real browser: nothing logged, nothing cut off, axe-core has no objection.

    npm pack axe-core && tar xf axe-core-*.tgz
    AXE=package/axe.min.js python tests/report/look.py FOLDER

The reports stay in FOLDER to be looked at.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)

sys.path.insert(0, str(Path(__file__).parents[1]))
from mercer import KernelSearchCV, KernelSearchRegressor, Pairs
from mercer.report import write_report
from report.browser import Browser, find_browser

WIDTHS = (360, 768, 1440)
QUICK = ["stump", "linear", "RBF-SVM"]
LARGEST = 3e6  # bytes
CLIPPED = """[...document.querySelectorAll('main *')].filter(e => {
    const box = e.getBoundingClientRect();
    return box.width && box.right > innerWidth + 1 && !e.closest('.scroll');
}).map(e => e.tagName + '.' + e.className).slice(0, 3)"""


def classes(n, d, k, seed=0, **more):
    return make_classification(
        n,
        d,
        n_informative=min(d, 12),
        n_redundant=0,
        n_classes=k,
        n_clusters_per_class=1,
        random_state=seed,
        **more,
    )


def messy(n=300, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({
        "colour": rng.choice(["red", "green", "blue", "<b>ünï</b>"], n),
        "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, n), unit="D"),
        "constant": 1,
    })  # fmt: skip
    return table, np.where(table["colour"] == "red", "stop", np.where(rng.random(n) < 0.2, "stop", "go"))


def subjects():
    """Each report: its name, the search's options, X, y and the report's."""
    iris, wine, cancer = (load(return_X_y=True) for load in (load_iris, load_wine, load_breast_cancer))
    digits = load_digits(return_X_y=True)
    table, y = messy()
    long = [f"{'a very long name of a class ' * 7}{k}" for k in range(3)]
    arabic = np.array(["قطة", "كلب", "حصان"])
    yield "two", {}, *cancer, {"about": {"data": "cancer.csv", "target": "diagnosis", "seconds": 12.0}}
    yield "three", {}, *iris, {}
    yield "ten", {}, digits[0][:600], digits[1][:600], {}
    yield "thirty", {}, *classes(1500, 12, 30), {}
    yield "stump", {"candidates": ["stump"]}, *cancer, {}
    yield "tree", {"candidates": ["tree-svm", "RBF-SVM"]}, *wine, {}
    yield "boosted", {"candidates": ["boosted", "RBF-SVM"]}, *wine, {}
    yield "kernelboost", {"candidates": ["kernelboost", "RBF-SVM"]}, *wine, {}
    yield "relevance", {"candidates": ["relevance", "RBF-SVM"]}, *wine, {}
    yield "columns3", {}, *classes(200, 3, 2), {}
    yield "columns300", {}, *classes(300, 300, 2), {"feature_names": [f"gene {k}" for k in range(300)]}
    yield (
        "longnames",
        {},
        iris[0],
        np.array(long)[iris[1]],
        {"feature_names": [f"{'x' * 200}{k}" for k in range(4)]},
    )
    yield "arabic", {}, iris[0], arabic[iris[1]], {"about": {"data": "جدول.csv", "target": "الصنف"}}
    yield "table", {}, table, y, {"about": {"data": "table.csv"}}
    yield "rare", {"scoring": "average_precision"}, *classes(600, 6, 2, weights=[0.95]), {}
    yield "random", {}, np.random.default_rng(0).normal(size=(120, 5)), np.arange(120) % 2, {}
    yield "rows100000", {}, *classes(100_000, 10, 2), {}
    pairs = Pairs.from_labels(wine[1][:40])
    yield "pairs", {"candidates": ["plain", "idealized"]}, wine[0], None, {"pairs": pairs}
    yield "unlabelled", {}, wine[0][::2], wine[1][::2], {"unlabelled": wine[0][1::2]}
    yield (
        "number",
        {},
        *load_diabetes(return_X_y=True),
        {"about": {"data": "diabetes", "target": "progression"}},
    )


def write(folder):
    for name, options, X, y, more in subjects():
        path = folder / f"{name}.html"
        if path.exists():
            continue
        start = time.perf_counter()
        kind = KernelSearchRegressor if name == "number" else KernelSearchCV
        given = {"candidates": QUICK, "budget": 20, "random_state": 0, **options}
        if kind is KernelSearchRegressor:
            given.pop("candidates")
        known = {key: more[key] for key in ("pairs", "unlabelled") if key in more}
        search = kind(**given).fit(X, **({} if y is None else {"y": y}), **known)
        middle = time.perf_counter()
        write_report(search, X, y, path, **more)
        print(
            f"{name}: search {middle - start:.0f} s, report {time.perf_counter() - middle:.0f} s", flush=True
        )


def look(folder):
    axe = Path(os.environ["AXE"]).read_text(encoding="utf-8") if "AXE" in os.environ else None
    browser = Browser(find_browser(), tempfile.mkdtemp())
    faults = 0
    for path in sorted(folder.glob("*.html")):
        found = [f"{path.stat().st_size / 1e6:.1f} MB"] if path.stat().st_size > LARGEST else []
        for width in WIDTHS:
            for dark in (False, True):
                browser.open(path, width=width, dark=dark)
                where = f"{width}{' dark' if dark else ''}"
                found += [f"{where}: {one}" for one in browser.complaints[:2]]
                if browser.ask("document.documentElement.scrollWidth") > width:
                    found.append(f"{where}: wider than the screen: {browser.ask(CLIPPED)}")
                if axe is not None:
                    browser.ask(f"{axe};0")
                    found += [f"{where}: {one}" for one in browser.ask(AXE)]
        faults += bool(found)
        print(path.stem, found or "fine", flush=True)
    browser.close()
    return faults


AXE = """axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(
    v => v.id + ': ' + v.nodes.slice(0, 2).map(n => n.target.join(' ')).join(', ')))"""

if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.mkdir(exist_ok=True, parents=True)
    write(place)
    sys.exit(look(place))
