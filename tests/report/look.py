"""Reports of all kinds of tables in a real browser: nothing logged, nothing cut off, and axe-core content.

    npm pack axe-core && tar xf axe-core-*.tgz
    AXE=package/axe.min.js python tests/report/look.py FOLDER

The reports stay in FOLDER with a picture of each, at each width, light and dark, to be looked at.
"""

import base64
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
    make_friedman1,
)

sys.path.insert(0, str(Path(__file__).parents[1]))
from mercer import KernelSearchCV, KernelSearchRegressor, Pairs
from mercer.report import write_report
from report.browser import Browser, find_browser

WIDTHS = (390, 900, 1440)
LARGEST = 3e6  # bytes
CLIPPED = """[...document.querySelectorAll('main *')].filter(e => {
    const box = e.getBoundingClientRect();
    return box.width && box.right > innerWidth + 1 && !e.closest('.scroll');
}).map(e => e.tagName + '.' + e.className).slice(0, 3)"""
# a word of a cell that takes more than one line, though it is no longer than words are
BROKEN = """[...document.querySelectorAll('td, th, dt, dd')].flatMap(cell => {
    const found = [], walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) for (const word of walk.currentNode.data.matchAll(/[^\\s\\u00a0-]{2,}/g)) {
        if (word[0].length > 24) continue;
        const range = document.createRange();
        range.setStart(walk.currentNode, word.index);
        range.setEnd(walk.currentNode, word.index + word[0].length);
        if (new Set([...range.getClientRects()].map(r => Math.round(r.top))).size > 1) found.push(word[0]);
    }
    return found;
}).slice(0, 5)"""
AXE = """axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(
    v => v.id + ': ' + v.nodes.slice(0, 2).map(n => n.target.join(' ')).join(', ')))"""


def classes(n, d, k, seed=0, **more):
    some = {"n_informative": min(d, 12), "n_redundant": 0, "n_clusters_per_class": 1, "random_state": seed}
    return make_classification(n, d, n_classes=k, **some, **more)


def named(X, *names):
    return pd.DataFrame(X, columns=names[: X.shape[1]] or [f"gene {k}" for k in range(X.shape[1])])


def messy(n=400, seed=0):
    rng = np.random.default_rng(seed)
    good, bad = ["great fast friendly", "lovely clean quiet"], ["slow rude noisy", "dirty late broken"]
    is_good = rng.random(n) < 0.5
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, n), unit="D")
    table = pd.DataFrame({
        "colour": rng.choice(["red", "green", "blue", "<b>ünï</b>"], n),
        "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
        "day": day.strftime("%d.%m.%Y"),
        "review": [f"{rng.choice(good if g else bad)} {rng.choice(['visit', 'stay'])}" for g in is_good],
        "constant": 1,
    })  # fmt: skip
    value = (
        (table["colour"] == "red") + 2.0 * is_good + (day - day.min()).days / 200 + 0.6 * rng.normal(size=n)
    )
    return table, np.where(value > 2.3, "stop", "go")


def prices(n=600, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({
        "area": rng.gamma(6.0, 15.0, n).round(),
        "rooms": rng.integers(1, 7, n),
        "built": rng.integers(1900, 2024, n),
        "quarter": rng.choice(["Altstadt", "Neustadt", "Hafen", "Vorstadt am Wald"], n),
    })  # fmt: skip
    far = table["quarter"].map({"Altstadt": 0.4, "Neustadt": 0.1, "Hafen": 0.0, "Vorstadt am Wald": -0.3})
    log = 8.2 + np.log(table["area"]) + far + (table["built"] - 1960) / 200 + 0.25 * rng.normal(size=n)
    return table, np.exp(log).round(-2)


def subjects():
    """Each report: its name, the search's options, X, y and the report's."""
    iris, wine = load_iris(return_X_y=True), load_wine(return_X_y=True)
    cancer, digits = load_breast_cancer(), load_digits(return_X_y=True)
    about = {"data": "clinic.csv", "target": "diagnosis", "seconds": 12.0, "model": "clinic.mercer"}
    yield (
        "two",
        {},
        named(cancer.data, *cancer.feature_names),
        cancer.target_names[cancer.target],
        {"about": about},
    )
    rare = classes(1500, 8, 2, weights=[0.94], class_sep=0.8)
    campaign = {"about": {"data": "campaign.csv", "target": "answer"}}
    yield "rare", {"scoring": "average_precision"}, named(rare[0]), np.array(["no", "yes"])[rare[1]], campaign
    yield "ten", {}, digits[0][:900], digits[1][:900], {}
    yield "thirty", {}, *classes(1500, 12, 30), {}
    yield "number", {}, *load_diabetes(return_X_y=True, as_frame=True), {"about": {"target": "progression"}}
    yield "prices", {"log": True}, *prices(), {"about": {"data": "flats.csv", "target": "price"}}
    pairs = Pairs.from_labels(wine[1][:60])
    yield "pairs", {"candidates": ["plain", "idealized"]}, wine[0], None, {"pairs": pairs}
    yield "table", {}, *messy(), {"about": {"data": "table.csv", "target": "decision"}}
    yield "wide", {}, *(lambda X, y: (named(X), y))(*classes(300, 300, 2)), {}
    yield "tiny", {}, *(part[::3][:60] for part in iris), {}
    yield "cost", {"cost": {"FP": 1, "FN": 5}}, named(rare[0]), np.array(["no", "yes"])[rare[1]], campaign
    yield "random", {}, np.random.default_rng(0).normal(size=(120, 5)), np.arange(120) % 2, {}
    long = np.array([f"{'a very long name of a class ' * 7}{k}" for k in range(3)])
    yield "longnames", {}, named(iris[0], *(f"{'x' * 200}{k}" for k in range(4))), long[iris[1]], {}
    arabic = {"about": {"data": "جدول.csv", "target": "الصنف"}}
    yield "arabic", {}, iris[0], np.array(["قطة", "كلب", "حصان"])[iris[1]], arabic
    yield "curves", {}, *make_friedman1(300, noise=1.0, random_state=0), {}
    yield "kernelboost", {"candidates": ["kernelboost", "RBF-SVM"]}, *wine, {}


def write(folder, wanted):
    for name, options, X, y, more in subjects():
        path = folder / f"{name}.html"
        if path.exists() or (wanted and name not in wanted):
            continue
        start = time.process_time()
        kind = KernelSearchCV if y is None or y.dtype.kind not in "f" else KernelSearchRegressor
        pairs = {"pairs": more.pop("pairs")} if "pairs" in more else {}
        search = kind(**{"budget": 8, "random_state": 0, **options}).fit(
            X, *([] if y is None else [y]), **pairs
        )
        middle = time.process_time()
        write_report(search, X, y, path, **more)
        print(
            f"{name}: search {middle - start:.0f} s, report {time.process_time() - middle:.0f} s", flush=True
        )


def look(folder, wanted):
    axe = Path(os.environ["AXE"]).read_text(encoding="utf-8") if "AXE" in os.environ else None
    browser = Browser(find_browser(), tempfile.mkdtemp())
    faults = 0
    for path in sorted(folder.glob("*.html")):
        if wanted and path.stem not in wanted:
            continue
        found = [f"{path.stat().st_size / 1e6:.1f} MB"] if path.stat().st_size > LARGEST else []
        for width in WIDTHS:
            for dark in (False, True):
                browser.open(path, width=width, dark=dark)
                where = f"{width}{' dark' if dark else ''}"
                found += [f"{where}: {one}" for one in browser.complaints[:2]]
                for opened in (False, True):
                    browser.ask(
                        f"document.querySelectorAll('details').forEach(d => d.open = {str(opened).lower()})"
                    )
                    if browser.ask("document.documentElement.scrollWidth") > width:
                        found.append(f"{where}: wider than the screen: {browser.ask(CLIPPED)}")
                    if broken := browser.ask(BROKEN):
                        found.append(f"{where}: broken words: {broken}")
                    if axe is not None:
                        browser.ask(f"{axe};0")
                        found += [f"{where}: {one}" for one in browser.ask(AXE)]
                shot = browser.call("Page.captureScreenshot", captureBeyondViewport=True, format="png")
                picture = folder / f"{path.stem}-{where.replace(' ', '-')}.png"
                picture.write_bytes(base64.b64decode(shot["data"]))
        faults += bool(found)
        print(path.stem, list(dict.fromkeys(found)) or "fine", flush=True)
    browser.close()
    return faults


if __name__ == "__main__":
    place, names = Path(sys.argv[1]), sys.argv[2:]
    place.mkdir(exist_ok=True, parents=True)
    write(place, names)
    sys.exit(look(place, names))
