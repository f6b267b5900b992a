"""The documentation site: `make docs` builds it into docs/_build/html, offline, with warnings as errors."""

import sys
from pathlib import Path

import sepnmf

sys.path.insert(0, str(Path(__file__).parent))  # for written_from_source.py

project = "sepnmf"
copyright = "the sepnmf developers"
version = release = sepnmf.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "written_from_source",  # the methods, the command line and the API: see that file
]
exclude_patterns = ["_build", "generated"]
templates_path = ["_templates"]
smartquotes = False  # --option is not a dash
default_role = "py:obj"  # `name` in a docstring is a link if there is such a name, and code if not
myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings have them in words
numpydoc_show_class_members = False
numpydoc_use_plots = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": "/",
    "within_subsection_order": "written_from_source.gallery_order",
    "backreferences_dir": "generated/examples",
    "doc_module": ("sepnmf",),
    "reference_url": {"sepnmf": None},  # names in the code are links to the API
    "image_srcset": ["2x"],
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "thumbnail_size": (480, 320),
    "write_computation_times": False,  # that page asks other hosts for scripts
}

html_theme = "furo"
html_title = f"sepnmf {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072b2", "color-brand-content": "#0072b2"},
    "dark_css_variables": {"color-brand-primary": "#56b4e9", "color-brand-content": "#56b4e9"},
}
