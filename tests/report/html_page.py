"""A report as a test reads it: written, and taken apart."""

import base64
import io
import re
from html.parser import HTMLParser

import matplotlib

from mercer import KernelSearchCV
from mercer.report import write_report


def search_for(estimators, X, y, **options):
    return KernelSearchCV(estimators, cv=2, random_state=0).fit(X, y, **options)


def report(tmp_path, search, X, y=None, **options):
    path = tmp_path / "report.html"
    write_report(search, X, y, path, **options)
    return Page(path.read_text(encoding="utf-8"))


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
