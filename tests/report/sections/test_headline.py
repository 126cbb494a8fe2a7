"""The top of the page: what must not be overlooked is said there."""

from report.html_page import Page


def test_the_page_marks_warnings(linear, iris, coarse_pictures):
    from mercer.report import Report

    page = Report(linear, *iris, questions=["data"])
    assert {"class": "warning"} not in Page(page.html()).all("p")
    page.headline = page.headline._replace(warnings=["Beware <of> it."])
    found = Page(page.html())
    assert {"class": "warning"} in found.all("p")
    assert "Beware <of> it." in found.text[: found.text.index("The winner is")]
