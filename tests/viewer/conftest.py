"""One headless Chromium for all tests of pages in a file, driven by Playwright."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import BROWSER

# WebGL in software; no name is looked up.
_FLAGS = [
    "--no-sandbox", "--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--host-resolver-rules=MAP * ~NOTFOUND",
]  # fmt: skip
_READY = "document.documentElement.dataset.ready"
_LIMIT = 300_000.0  # ms, of Playwright's waits: on a busy machine 30 s are short


@pytest.fixture(scope="module")  # not longer: while Playwright runs, the thread can have no other event loop
def _chromium() -> Iterator[Any]:
    if BROWSER is None:
        pytest.skip("no Chromium or Chrome to open the page with")
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright to drive a browser with")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=_FLAGS, timeout=_LIMIT)
        yield browser
        browser.close()


@pytest.fixture
def open_page(_chromium: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """A function that opens a page (its path or its text) without a network and waits until it is ready.

    ``before`` is JavaScript that runs in the page before its own, ``query`` what follows its address,
    ``options`` those of Playwright's ``Browser.new_context``. An error that a page does not catch fails the
    test.
    """
    contexts, errors = [], []

    def opened(page: Path | str, before: str = "", query: str = "", **options: Any) -> Any:
        if isinstance(page, str):
            (tmp_path / "page.html").write_text(page, encoding="utf-8")
            page = tmp_path / "page.html"
        settings = {"viewport": {"width": 900, "height": 600}, "offline": True}
        contexts.append(_chromium.new_context(**(settings | options)))
        contexts[-1].set_default_timeout(_LIMIT)
        tab = contexts[-1].new_page()
        tab.on("pageerror", lambda error: errors.append(str(error)))
        if before:
            tab.add_init_script(before)
        tab.goto(page.as_uri() + query)
        for _ in range(15_000):
            if tab.evaluate(_READY):
                break
            tab.wait_for_timeout(20)
        assert tab.evaluate(_READY) == "yes", tab.evaluate("document.getElementById('hint').textContent")
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert not errors
