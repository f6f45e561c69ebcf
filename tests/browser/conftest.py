"""A real browser: the system's chromium, driven by Playwright."""

import os
import shutil

import pytest
from run_example import OPERATORS, make_run

from sclcs.report import compare_report, run_report
from sclcs.report.parts import RunParts

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LOST = "EXTRA CHECK LOST: no {} here; the report is not tried in a browser"

PATIENCE = 120_000  # milliseconds; a busy machine is slow to start a browser


def find_browser():
    return os.environ.get("SCLCS_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason=LOST.format("Playwright"))
    program = find_browser()
    if program is None:
        pytest.skip(LOST.format("chromium (`apt-get install chromium`)"))
    with playwright.sync_playwright() as driver:
        # Inside a container there is no sandbox, and /dev/shm is too small for a browser.
        options = ["--no-sandbox", "--disable-dev-shm-usage"]
        program = driver.chromium.launch(executable_path=program, args=options)
        yield program
        program.close()


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """The report of a run with hostile names, and a comparison of it with another run."""
    folder = tmp_path_factory.mktemp("pages")
    run = make_run(folder / "RUN")
    other = make_run(folder / "OTHER", until="rank", full_benchmark=False, seed=1)
    # Costs to choose from: on a fast machine all that was measured is below the smallest limit.
    costs = {name: 3.0 * 10.0 ** (place % 4 - 3) for place, name in enumerate(OPERATORS)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunParts, "seconds_per_sample", property(lambda _: costs))
        return {
            "run": run_report(run).save_as_html(folder / "report.html"),
            "compare": compare_report([run, other]).save_as_html(folder / "compare.html"),
        }


class Visit:
    """A page that was opened, and everything suspicious that happened in it."""

    def __init__(self, page):
        self.page = page
        self.trouble = []
        self.requests = []
        page.on("console", lambda message: self.trouble.append(message.text))
        page.on("pageerror", lambda error: self.trouble.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("dialog", self._dialog)

    def _dialog(self, dialog):
        self.trouble.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@pytest.fixture
def visit(browser, pages):
    """Open a page; at the end, nothing suspicious may have happened.

    With `stops_script`, the page must have reported that it stopped a script.
    """
    contexts, visits = [], []

    def opened(name="run", width=1280, scheme="light", stops_script=False, **options):
        contexts.append(
            browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme, **options
            )
        )
        contexts[-1].set_default_timeout(PATIENCE)
        found = Visit(contexts[-1].new_page())
        visits.append((found, stops_script))
        found.page.goto(pages[name].as_uri())
        return found.page

    yield opened
    for found, stops_script in visits:
        if stops_script:
            assert any("Content Security Policy" in words for words in found.trouble)
        else:
            assert found.trouble == []
        assert all(url.startswith(("file:", "data:")) for url in found.requests)
        assert sum(url.startswith("file:") for url in found.requests) == 1
    for context in contexts:
        context.close()
