"""Configuration of Sphinx."""

from importlib.metadata import version as version_of

project = "mercer"
author = "The mercer developers"
copyright = "2026, The mercer developers"
release = version = version_of("mercer")

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.mathjax"]
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

html_theme = "pydata_sphinx_theme"
html_title = "mercer"
html_theme_options = {"secondary_sidebar_items": ["page-toc"], "show_prev_next": False}

default_role = "literal"  # docstrings put names into single backticks
autodoc_default_options = {"member-order": "bysource"}
autodoc_typehints = "none"  # numpydoc's sections say more
numpydoc_show_class_members = False  # the reference names the members that matter
rst_prolog = r".. |θ_1| replace:: \|θ_1\|"  # an absolute value in a docstring reads as a substitution
