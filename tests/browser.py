"""The browser of the machine that runs the tests, if there is one."""

from __future__ import annotations

import shutil

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next(filter(None, map(shutil.which, _NAMES)), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome to open the page with")
