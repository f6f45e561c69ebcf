"""Sphinx settings; `make docs` builds with warnings as errors."""

from __future__ import annotations

import sys
from pathlib import Path

import sclcs

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))

from generated_pages import write_pages

write_pages(DOCS)

project = "sclcs"
author = "The sclcs developers"
copyright = "2026, the sclcs developers"
version = release = sclcs.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "offline_math",  # ours: formulas are pictures, so that pages read without a network
]
html_math_renderer = "mathtext"
exclude_patterns = [
    "_build",
    "generated/*_table.md",  # tables are included by pages
    "examples/*.ipynb",
    "examples/*.py",
    "gallery/*.ipynb",  # the notebook of the page of that name
]
templates_path: list[str] = []

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing"]  # README is included and links into docs/

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's Parameters section says it in words
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = "sclcs"
html_sidebars: dict[str, list[str]] = {"index": [], "api": []}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": True,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True

# Examples run while the documentation is built; one that fails stops the build.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "examples",
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "image_scrapers": ("matplotlib",),
    "capture_repr": (),
    "reference_url": {"sclcs": None},
}
