"""Draw the pictures of docs/how_it_works.md.

    python tools/draw_how_it_works.py [--out docs/_static]

Plain SVG with its own background, readable in light and dark. The ranking is the real one of
docs/results; everything else is a drawing.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from xml.sax.saxutils import escape

DOCS = Path(__file__).parents[1] / "docs"
STYLE = """
.bg{fill:#ffffff}.b{fill:#f3f6fa;stroke:#2563a8;stroke-width:1.5}
.k{fill:#fdf3e3;stroke:#d97706;stroke-width:1.5}
.t{fill:#1b1f24;font-size:15px;font-weight:600}.s{fill:#4b5563;font-size:12.5px}
.a{stroke:#6b7280;stroke-width:1.6;fill:none}.h{fill:#6b7280}
.off{fill:#e5e7eb}.on{fill:#2563a8}.win{fill:#d97706}
.zero{stroke:#9ca3af;stroke-dasharray:4 3}
@media (prefers-color-scheme: dark){.bg{fill:#14181e}.b{fill:#16202c;stroke:#6ea8e0}
.k{fill:#2b2113;stroke:#e9a13b}.t{fill:#f3f4f6}.s{fill:#c3c9d2}.a{stroke:#9ca3af}.h{fill:#9ca3af}
.off{fill:#2a313b}.on{fill:#6ea8e0}.win{fill:#e9a13b}}
"""


class Drawing:
    """A list of SVG elements."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height = width, height
        self.parts = [f"<title>{escape(title)}</title><style>{STYLE}</style>"]
        self.parts.append(f'<rect class="bg" width="{width}" height="{height}" rx="8"/>')

    def rect(self, kind: str, box: tuple[float, float, float, float], r: float = 0) -> None:
        """Add a rectangle (x, y, width, height)."""
        x, y, width, height = box
        self.parts.append(
            f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" '
            f'height="{height:g}" rx="{r:g}"/>'
        )

    def text(self, kind: str, x: float, y: float, words: str, anchor: str = "middle") -> None:
        """Add one line of words."""
        place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}"'
        self.parts.append(f'<text class="{kind}" {place}>{escape(words)}</text>')

    def arrow(self, x: float, y: float, length: float) -> None:
        """Add an arrow to the right."""
        self.parts.append(
            f'<path class="a" d="M{x:g} {y:g} h{length - 8:g}"/>'
            f'<path class="h" d="M{x + length - 9:g} {y - 4.5:g} l9 4.5 l-9 4.5 z"/>'
        )

    def path(self, kind: str, d: str) -> None:
        """Add a line."""
        self.parts.append(f'<path class="{kind}" d="{d}"/>')

    def box(
        self, kind: str, x: float, y: float, title: str, *lines: str, width: float = 180
    ) -> None:
        """Add a box with a title and lines."""
        self.rect(kind, (x, y, width, 34 + 18 * len(lines)), 9)
        self.text("t", x + width / 2, y + 23, title)
        for k, line in enumerate(lines):
            self.text("s", x + width / 2, y + 43 + 17 * k, line)

    def save(self, path: Path) -> None:
        """Write the picture."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            'role="img" font-family="system-ui, -apple-system, Segoe UI, sans-serif">'
        )
        path.write_text("\n".join([head, *self.parts, "</svg>"]) + "\n", encoding="utf-8")


def two_stages() -> Drawing:
    """Draw which matrices are computed: operators down, samples across."""
    d = Drawing(940, 300, "Which matrices are computed: everything, or two stages")
    columns, rows, step = 40, 22, 9.5
    core = {3, 9, 16, 24, 31, 37}
    winners = {4, 11}
    for left, title in ((40, "Everything on everybody"), (500, "Two stages")):
        d.text("t", left + columns * step / 2, 28, title)
        for row in range(rows):
            for column in range(columns):
                full = left == 40
                kind = "on" if full or column in core else "off"
                if not full and row in winners:
                    kind = "win"
                d.rect(kind, (left + column * step, 44 + row * step, step - 1.6, step - 1.6))
        d.text("s", left + columns * step / 2, 274, "samples →")
    turned = 'transform="translate(26 150) rotate(-90)" text-anchor="middle"'
    d.parts.append(f'<text class="s" {turned}>operators ↓</text>')
    d.rect("on", (500, 284, 10, 10))
    d.text("s", 516, 293, "every operator on the core-set", "start")
    d.rect("win", (720, 284, 10, 10))
    d.text("s", 736, 293, "the winners on everybody", "start")
    return d


def encoder() -> Drawing:
    """Draw the way from two windows of a subject to the perturbation score."""
    d = Drawing(
        940,
        190,
        "The encoder learns who is who; samples whose attention map moves least are kept",
    )
    d.box(
        "b",
        20,
        40,
        "Two windows",
        "of one subject must",
        "look alike, other",
        "subjects' must not",
        width=170,
    )
    d.arrow(194, 85, 34)
    d.box(
        "b",
        232,
        40,
        "Attention encoder",
        "16 heads mixed into",
        "one map (region ×",
        "region) per sample",
        width=180,
    )
    d.arrow(416, 85, 34)
    d.box(
        "b",
        454,
        40,
        "Epoch after epoch",
        "how far does each",
        "sample's map move?",
        "(Frobenius norm)",
        width=190,
    )
    d.arrow(648, 85, 34)
    d.box(
        "k",
        686,
        40,
        "Perturbation score",
        "the sum of the moves:",
        "small = stable,",
        "typical structure",
        width=230,
    )
    heights = [46, 30, 19, 12, 8, 6, 5, 4]
    for k, height in enumerate(heights):
        d.rect("on", (470 + 18 * k, 180 - height * 0.75, 12, height * 0.75))
    d.text("s", 640, 178, "moves of one sample", "start")
    return d


def intervals() -> Drawing:
    """Draw the best and some worse operators for diagnosis on ABIDE, with intervals."""
    with (DOCS / "results" / "ranking_diagnosis.csv").open(encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row["score"] not in {"", "nan"}]
    shown = [rows[k] for k in (0, 1, 2, 5, 9, 19, 39, 79, 119)]
    d = Drawing(940, 60 + 24 * len(shown) + 40, "Scores for diagnosis on ABIDE with 95 % intervals")
    low = min(float(row["low"]) for row in shown)
    high = max(float(row["high"]) for row in shown)

    def place(value: float) -> float:
        return 430 + 380 * (value - low) / (high - low)

    words = "Diagnosis on ABIDE: explained share with its interval; orange could be the best"
    d.text("t", 20, 28, words, "start")
    bottom = 52 + 24 * len(shown)
    d.path("a zero", f"M{place(0):g} 40 V{bottom}")
    for k, row in enumerate(shown):
        y = 58 + 24 * k
        d.text("s", 20, y + 4, f"{float(row['rank']):g}", "start")
        d.text("s", 60, y + 4, row["spi"][:48], "start")
        d.path("a", f"M{place(float(row['low'])):g} {y} H{place(float(row['high'])):g}")
        colour = "win" if row["best_set"] == "True" else "on"
        centre = place(float(row["score"]))
        d.parts.append(f'<circle class="{colour}" cx="{centre:g}" cy="{y}" r="5"/>')
        d.text(
            "s", 830, y + 4, f"rank {float(row['rank_low']):g}–{float(row['rank_high']):g}", "start"
        )
    d.text("s", place(0), bottom + 16, "chance")
    return d


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=DOCS / "_static")
    out = parser.parse_args().out
    for name, draw in {
        "two_stages": two_stages,
        "encoder_flow": encoder,
        "ranking_intervals": intervals,
    }.items():
        draw().save(out / f"{name}.svg")
        print(out / f"{name}.svg")


if __name__ == "__main__":
    main()
