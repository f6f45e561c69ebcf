"""Sphinx settings; `make docs` builds with warnings as errors."""

from __future__ import annotations

import sys
from pathlib import Path

import sclcs

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS / "_ext"), str(DOCS.parent), str(DOCS.parent / "tools")]  # also paper/

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
    "sphinx.ext.intersphinx",
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

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's Parameters section says it in words
numpydoc_show_class_members = False
# Types of parameters link to their own documentation. The inventories are small files of ours
# with the names that we use, so that the documentation is built without a network.
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # words without an alias are words
numpydoc_xref_aliases = {
    "Axes": "matplotlib.axes.Axes",
    "DataArray": "xarray.DataArray",
    "xarray.DataArray": ":obj:`xarray.DataArray`",
    "matplotlib.axes.Axes": ":obj:`matplotlib.axes.Axes`",
    "DataFrame": "pandas.DataFrame",
    "Path": "pathlib.Path",
    "Series": "pandas.Series",
    "Tensor": "torch.Tensor",
    "array-like": "numpy.typing.ArrayLike",
    "array_like": "numpy.typing.ArrayLike",
    "bool": ":class:`python:bool`",
    "callable": "collections.abc.Callable",
    "collection": "collections.abc.Collection",
    "generator": "collections.abc.Generator",
    "iterable": "collections.abc.Iterable",
    "mapping": "collections.abc.Mapping",
    "path-like": "os.PathLike",
    "scalar": ":class:`python:float`",
    "sequence": "collections.abc.Sequence",
    "Cohort": "sclcs.Cohort",
    "CoreSet": "sclcs.CoreSet",
    "FCStore": "sclcs.store.FCStore",
    "Ranking": "sclcs.Ranking",
    "RunFolder": "sclcs.run_folder.RunFolder",
    "Scans": "sclcs.Scans",
}
intersphinx_mapping = {
    name: (address, f"_inventories/{name}.txt")
    for name, address in {
        "python": "https://docs.python.org/3/",
        "numpy": "https://numpy.org/doc/stable/",
        "scipy": "https://docs.scipy.org/doc/scipy/",
        "pandas": "https://pandas.pydata.org/docs/",
        "xarray": "https://docs.xarray.dev/en/stable/",
        "matplotlib": "https://matplotlib.org/stable/",
        "nilearn": "https://nilearn.github.io/stable/",
        "torch": "https://docs.pytorch.org/docs/stable/",
    }.items()
}

html_theme = "pydata_sphinx_theme"
html_title = "sclcs"
html_sidebars: dict[str, list[str]] = {
    name: [] for name in ("index", "api", "results/index", "experiments")
}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": True,
    "show_toc_level": 2,
    "header_links_before_dropdown": 5,
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
    "write_computation_times": False,  # its page would ask a network for scripts
    "show_signature": False,
    "min_reported_time": 1e9,
    "image_scrapers": ("matplotlib",),
    "capture_repr": (),
    "reference_url": {"sclcs": None},
}
