"""Settings of the documentation site: Sphinx with MyST, the theme furo, equations as MathML.

    make docs          builds docs/_build/html

The site needs no network and no script for its equations: see _ext/equations.py.
"""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Armillary"
author = "The Armillary developers"
copyright = author
try:
    release = metadata.version("armillary")
except metadata.PackageNotFoundError:  # a checkout that is not installed
    release = ""

extensions = ["myst_parser", "equations", "blocks", "docstrings", "gallery"]
exclude_patterns = ["_build"]
# Headings are link targets, as on the pages of a repository; links to files of the project are downloads.
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]
smartquotes = False  # quotes on these pages are often code

html_theme = "furo"
html_title = "Armillary"
html_static_path = ["_static"]
html_css_files = ["armillary.css"]
html_logo = "_static/armillary.svg"
html_favicon = "_static/armillary.svg"
html_copy_source = False
html_show_sphinx = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#8a5a00",
        "color-brand-content": "#1f5fa8",
        "color-brand-visited": "#1f5fa8",
    },
    "dark_css_variables": {
        "color-brand-primary": "#e2b65a",
        "color-brand-content": "#7fb2ee",
        "color-brand-visited": "#7fb2ee",
    },
}
pygments_style = "tango"
pygments_dark_style = "github-dark"
