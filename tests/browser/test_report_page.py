"""The report in a real browser. The fixture `visit` checks console, dialogs and requests."""

import math

import pytest
from run_example import IMAGE, OPERATORS, REGION, TITLE

pytestmark = pytest.mark.slow

#: Equivalents of an operator (here of Pearson correlation) stand in its row.
EQUIVALENT = {"cov_LedoitWolf", "pdist_euclidean"}
ROWS = [name for name in OPERATORS if name not in EQUIVALENT]
SAID = f"{len(OPERATORS)} operators in {len(ROWS)} rows: equivalents are one"
TABLE = "#ranking-table-1"
FORM = "form[data-filters=ranking-table-1]"


def shown(page, column=1):
    """Text of the code elements (operator names) in the rows that can be seen."""
    return page.eval_on_selector_all(
        f"{TABLE} tbody tr:not([hidden])",
        f"rows => rows.map(row => row.cells[{column}].querySelector('code, *')?.textContent"
        f" ?? row.cells[{column}].textContent)",
    )


def values(page, column):
    return page.eval_on_selector_all(
        f"{TABLE} tbody tr", f"rows => rows.map(row => row.cells[{column}].dataset.value)"
    )


def head(page, name):
    return page.locator(f"{TABLE} thead th", has=page.get_by_role("button", name=name, exact=True))


def in_order(found, falling=False):
    """Whether numbers are in order, those that are missing last."""
    numbers = [float(value) for value in found]
    there = [not math.isnan(value) for value in numbers]
    known = [value for value in numbers if not math.isnan(value)]
    return known == sorted(known, reverse=falling) and there == sorted(there, reverse=True)


@pytest.mark.parametrize("name", ["run", "compare"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_load_without_errors_or_requests(visit, name, scheme):
    page = visit(name, scheme=scheme)
    assert TITLE in page.title()
    page.mouse.wheel(0, 20000)
    page.wait_for_timeout(50)


def test_hostile_names_are_text(visit):
    page = visit()
    assert page.locator("img").count() == 0
    assert page.locator("main b").count() == 0
    assert page.locator("h1").inner_text() == TITLE
    page.locator("#core-set details summary").last.click()
    assert IMAGE in page.locator("#core-set .ids").inner_text()
    assert IMAGE in page.locator("#losses").inner_text()
    page.locator("#connectivity canvas").first.focus()
    page.keyboard.press("ArrowRight")
    said = page.locator("#connectivity .matrix-said").first.inner_text()
    assert said.startswith(f"{REGION} → left & right: ")


def test_an_injected_script_would_not_run(visit):
    page = visit(stops_script=True)
    page.evaluate(
        "document.querySelector('h1').innerHTML = '<img src=\"data:,\" onerror=\"go=1\">'"
    )
    page.wait_for_timeout(100)
    assert page.evaluate("typeof go") == "undefined"


def test_sorting_with_the_mouse(visit):
    page = visit()
    score = head(page, "Score")
    score.locator("button").click()
    assert score.get_attribute("aria-sort") == "descending"
    assert in_order(values(page, 2), falling=True)
    score.locator("button").click()
    assert score.get_attribute("aria-sort") == "ascending"
    assert in_order(values(page, 2))
    assert page.locator(f"{TABLE} [aria-sort]").count() == 1
    head(page, "Operator").locator("button").click()
    names = shown(page)
    assert sorted(names, key=str.lower) == sorted(ROWS, key=str.lower)
    assert names[0] == "cov_EmpiricalCovariance"
    head(page, "Cost").locator("button").click()
    assert in_order(values(page, 7))


def test_sorting_with_the_keyboard(visit):
    page = visit()
    head(page, "Rank").locator("button").focus()
    page.keyboard.press("Enter")
    assert head(page, "Rank").get_attribute("aria-sort") == "descending"
    assert in_order(values(page, 0), falling=True)
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert head(page, "Operator").get_attribute("aria-sort") == "ascending"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_filters_can_be_combined_and_cleared(visit):
    page = visit()
    form = page.locator(FORM)
    form.get_by_label("Search").fill("covariance graphical")
    assert shown(page) == ["cov_GraphicalLasso"]
    assert form.locator("output").inner_text() == f"1 of {SAID}"
    form.get_by_role("button", name="Clear").click()
    page.wait_for_timeout(20)
    assert len(shown(page)) == len(ROWS)
    assert form.locator("output").inner_text() == SAID
    form.get_by_label("Family").select_option("covariance")
    assert {name.partition("_")[0] for name in shown(page)} == {"cov"}
    form.get_by_label("Direction").select_option("yes")
    assert shown(page) == []
    form.get_by_label("Family").select_option("")
    assert "gc_gaussian_k-1_kt-1_l-1_lt-1" in shown(page)
    assert "kendalltau" not in shown(page)
    assert page.locator("#ranking-table-2 tbody tr[hidden]").count() == 0


def test_the_cost_filter_keeps_cheap_operators(visit):
    page = visit()
    cost = page.locator(FORM).get_by_label("Cost")
    limit = cost.locator("option").nth(1).get_attribute("value")
    cost.select_option(limit)
    kept = page.eval_on_selector_all(
        f"{TABLE} tbody tr:not([hidden])", "rows => rows.map(row => row.dataset.cost)"
    )
    assert 0 < len(kept) < len(OPERATORS)
    assert all(float(value) <= float(limit) for value in kept)


def colours(page):
    return (
        page.evaluate("getComputedStyle(document.body).backgroundColor"),
        page.evaluate("document.querySelector('canvas').toDataURL()"),
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_can_be_changed(visit, scheme):
    page = visit(scheme=scheme)
    button = page.locator("#theme")
    before = colours(page)
    assert button.get_attribute("aria-pressed") == str(scheme == "dark").lower()
    button.click()
    after = colours(page)
    assert before[0] != after[0]
    assert before[1] != after[1]
    assert button.get_attribute("aria-pressed") == str(scheme == "light").lower()
    button.click()
    assert colours(page) == before


@pytest.mark.parametrize("name", ["run", "compare"])
@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_is_wider_than_the_window(visit, name, width):
    page = visit(name, width=width)
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_links_lead_to_sections_and_the_skip_link_comes_first(visit):
    page = visit()
    links = page.eval_on_selector_all("a", "all => all.map(link => link.getAttribute('href'))")
    assert all(page.locator(link).count() == 1 for link in links)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.locator("nav a", has_text="Costs").click()
    assert page.evaluate("location.hash") == "#costs"


def test_matrices_show_what_is_pointed_at(visit):
    page = visit()
    box = page.locator("#connectivity canvas").first
    box.scroll_into_view_if_needed()
    box.hover(position={"x": 2, "y": 2})
    said = page.locator("#connectivity .matrix-said").first
    assert said.inner_text() == f"{REGION} → {REGION}: no value"
    size = box.bounding_box()
    box.hover(position={"x": size["width"] - 3, "y": 2})
    assert said.inner_text().startswith(f"{REGION} → r3: ")


def test_a_dot_tells_its_numbers(visit):
    page = visit()
    dot = page.locator("#ranking circle").first
    dot.scroll_into_view_if_needed()
    # Scrolling hides the tip, and says so with the next picture: let that pass first.
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    dot.hover()
    tip = page.locator("#tip")
    tip.wait_for(state="visible")
    assert "Cohen's d" in tip.inner_text()


def test_the_methods_paragraph_is_copied(visit):
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    page.locator("#methods button.copy").first.click()
    page.get_by_text("Copied", exact=True).wait_for()
    text = page.evaluate("navigator.clipboard.readText()")
    assert text.startswith("Functional-connectivity operators were compared")
    assert "Nature Computational Science" in text


def test_paper_is_light_and_shows_no_controls(visit):
    page = visit(scheme="dark")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for part in ("nav", "#theme", ".filters", "button.copy"):
        assert not page.locator(part).first.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"


def test_without_script_all_is_readable(visit):
    page = visit(java_script_enabled=False)
    assert page.locator(f"{TABLE} tbody tr").count() == len(ROWS)
    assert page.locator("#answer .best").first.is_visible()
    assert not page.locator("#theme").is_visible()
    assert page.locator("#connectivity noscript").count() == 1


def test_in_a_notebook_frame_the_page_works(visit, pages):
    from sclcs.report import HTMLReport

    frame = HTMLReport(pages["run"].read_text(encoding="utf-8"), "t")._repr_html_()
    page = visit()
    page.set_content(f"<!doctype html><p>notebook</p>{frame}")
    inside = page.frame_locator("iframe")
    inside.locator(f"{TABLE} thead button").nth(1).click()
    assert inside.locator(f"{TABLE} [aria-sort=ascending] button").inner_text() == "Operator"
    assert inside.locator("img").count() == 0
