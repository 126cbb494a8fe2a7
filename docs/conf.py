"""Configuration of Sphinx."""

import os
import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert

sys.path.insert(0, str(Path(__file__).parents[1]))  # of `reproduction`, which is not installed
os.environ.setdefault("OMP_NUM_THREADS", "1")  # examples are small: threads that wait for others take longer

project = "mercer"
author = "The mercer developers"
copyright = "2026, The mercer developers"
release = version = version_of("mercer")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

html_theme = "pydata_sphinx_theme"
html_title = "mercer"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "secondary_sidebar_items": {"*": ["page-toc"]},  # of examples there is none: code needs the room
    "show_prev_next": False,
}
html_sidebars = {"*": []}  # the bar on top has all pages but the examples

default_role = "literal"  # docstrings put names into single backticks
autodoc_default_options = {"member-order": "bysource"}
autodoc_typehints = "none"  # numpydoc's sections say more
numpydoc_show_class_members = False  # the reference names the members that matter
rst_prolog = r".. |θ_1| replace:: \|θ_1\|"  # an absolute value in a docstring reads as a substitution

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "subsection_order": ["../examples/methods", "../examples/tasks"],
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("mercer",),
    "reference_url": {"mercer": None},  # names in the code lead to the reference
    "backreferences_dir": "auto_examples/backreferences",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
}


# formulas are MathML, which browsers show without a script and without a network

html_math_renderer = "mathml"


def as_mathml(node, **options):
    """Convert a formula; its number, which MathML has no place for, stands after it."""
    return convert(re.sub(r"\\tag\{(.*?)\}", r"\\qquad\\text{(\1)}", node.astext()), **options)


def show_inline(writer, node):
    """Write a formula inside a line."""
    writer.body.append(as_mathml(node))
    raise nodes.SkipNode


def show_block(writer, node):
    """Write a formula on lines of its own, which scroll on a narrow screen."""
    writer.body.append(f'<div class="formula" tabindex="0">{as_mathml(node, display="block")}</div>')
    raise nodes.SkipNode


def setup(app):
    """Tell Sphinx how formulas are written."""
    app.add_html_math_renderer("mathml", (show_inline, None), (show_block, None))
