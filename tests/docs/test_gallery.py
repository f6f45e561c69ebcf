"""The notebook of the gallery is the page of the gallery, which test_code_blocks runs."""

import json
import re

from test_code_blocks import REPOSITORY


def test_the_notebook_is_the_page():
    page = (REPOSITORY / "docs" / "gallery.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    book = json.loads((REPOSITORY / "docs" / "gallery" / "best_operator.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]
    assert "\n\n".join(cells) == code.strip()
    assert len([line for line in code.splitlines() if line.strip()]) == 14
