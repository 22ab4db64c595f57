"""The page in a browser: filters, search and keys work, it loads no other file, and fits a narrow screen."""

import shutil

import pytest

from heedful.reports.page.writing import write_page

import paged_runs

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
NARROW, WIDE = {"width": 400, "height": 800}, {"width": 1280, "height": 900}


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium to open the page with")
def test_a_page_works_in_a_browser(tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    folder = paged_runs.saved(tmp_path / "run", paged_runs.rows(), text="<b>Premise</b> of #")
    other = paged_runs.saved(tmp_path / "other", paged_runs.rows(28), text="<b>Premise</b> of #")
    page_of = write_page([folder, other], tmp_path / "a.html")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport=WIDE)
        asked, said = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(page_of.as_uri())
        _keys(page)
        _filters(page)
        for size in (NARROW, WIDE):
            page.set_viewport_size(size)
            widths = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            assert widths[0] <= widths[1]
        page.emulate_media(media="print")
        assert not page.locator("#finder").is_visible()
        assert page.locator(".card").first.is_visible()
        browser.close()
    assert asked == [page_of.as_uri()] * 2  # _keys() reloads the page
    assert not said


def _filters(page):
    status = page.locator("#hits")
    all_of_them = status.inner_text().split(" ")[0]
    assert page.locator(".card").count() == 6
    assert set(page.locator(".card .badge").all_inner_texts()) == {"prediction kept, not as expected"}
    page.locator("#finder summary").click()
    assert "<b>Premise</b> of d/validation/" in page.locator(".card").first.inner_text()
    changed = "prediction changed, as expected"
    page.get_by_label("outcome").select_option(label=_option(page, "outcome", changed))
    assert set(page.locator(".card .badge").all_inner_texts()) == {changed}
    assert status.inner_text().split(" ")[0] == str(_count(page, "outcome", changed)) != all_of_them
    page.get_by_label("outcome").select_option("")
    page.get_by_label("search").fill("HYPOTHESIS d/validation/7")
    assert page.locator(".card").count() > 0
    assert all("Hypothesis d/validation/7" in text for text in page.locator(".card").all_inner_texts())
    page.get_by_label("search").fill("nowhere to be found")
    assert page.locator(".card").count() == 0
    assert status.inner_text().startswith("0 of ")
    page.get_by_label("search").fill("")
    page.get_by_label("order").select_option("probability moved most")
    moved = page.locator(".card .answers small:last-child").all_inner_texts()
    points = [abs(float(text.split()[-2])) for text in moved if "points" in text]
    assert len(points) > 3
    assert points == sorted(points, reverse=True)
    page.get_by_label("order").select_option("findings first")


def _option(page, label, begins):
    texts = page.get_by_label(label).locator("option").all_inner_texts()
    return next(text for text in texts if text.startswith(begins))


def _count(page, label, begins):
    return int(_option(page, label, begins).rpartition("(")[2].rstrip(")"))


def _keys(page):
    """Tab focuses the skip link; Enter on the button "Show more" adds cards and focuses the first of them."""
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    before = page.locator(".card").count()
    page.locator("#more").focus()
    page.keyboard.press("Enter")
    assert page.locator(".card").count() > before
    assert page.evaluate("document.activeElement.className") == "card"
    page.reload()
