"""Draw docs/_static/report.png: the first screen of a run's report, light.

python tools/report_screenshot.py RUN docs/_static/report.png
"""

from __future__ import annotations

import argparse
import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from sclcs.report import run_report

WIDTH, HEIGHT = 1280, 860
COLOURS = 128  # keeps the file small; the page has few colours


def main() -> None:
    """Make the report, open it in the system's chromium, and keep its first screen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page = run_report(given.run).save_as_html(Path(folder) / "report.html")
        options = ["--no-sandbox"]
        program = driver.chromium.launch(executable_path=shutil.which("chromium"), args=options)
        view = program.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        view.goto(page.as_uri())
        picture = view.screenshot()
        program.close()
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS).save(given.out, optimize=True)


if __name__ == "__main__":
    main()
