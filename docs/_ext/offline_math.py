"""Formulas as pictures inside the page: no script and no network is needed to read them.

matplotlib's mathtext draws them; it knows the part of LaTeX that these pages use.
"""

from __future__ import annotations

import base64
import html
import io
from typing import Any

from docutils import nodes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser

RESOLUTION = 72  # points are pixels; the text beside formulas has 16 px
INLINE, DISPLAY = 15.5, 17.0


def picture(formula: str, size: float) -> str:
    """Return a formula as an <img> that stands on the line of the text."""
    text = f"${' '.join(formula.split())}$"
    font = FontProperties(size=size)
    found = MathTextParser("path").parse(text, dpi=RESOLUTION, prop=font)
    width, height, depth = (float(value) for value in found[:3])
    figure = Figure(figsize=((width + 2) / RESOLUTION, (height + 2) / RESOLUTION), dpi=RESOLUTION)
    bottom = (depth + 1) / (height + 2)
    figure.text(1 / (width + 2), bottom, text, fontproperties=font, va="baseline")
    target = io.BytesIO()
    figure.savefig(target, format="svg", transparent=True, metadata={"Date": None})
    data = base64.b64encode(target.getvalue()).decode()
    style = f"vertical-align:{-depth - 1:.1f}px;height:{height + 2:.1f}px"
    return (
        f'<img class="formula dark-light" src="data:image/svg+xml;base64,{data}" '
        f'alt="{html.escape(formula.strip())}" style="{style}">'
    )


def visit_math(translator: Any, node: nodes.math) -> None:  # noqa: ANN401 - sphinx's own
    """Write a formula inside a sentence."""
    translator.body.append(picture(node.astext(), INLINE))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:  # noqa: ANN401
    """Write a formula on a line of its own."""
    drawn = picture(node.astext().replace(r"\frac", r"\dfrac"), DISPLAY)
    translator.body.append(f'<div class="formula" style="margin:1em 0 1em 2em">{drawn}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:  # noqa: ANN401
    """Make sphinx draw formulas this way."""
    app.add_html_math_renderer("mathtext", (visit_math, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
