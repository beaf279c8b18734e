"""The browsers of the machine that runs the tests, if there are any, and node."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import signal
import subprocess
import threading
import time
import urllib.parse
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next(filter(None, map(shutil.which, _NAMES)), None)
FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
NODE = shutil.which("node")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome to open the page with")
needs_firefox = pytest.mark.skipif(FIREFOX is None, reason="no Firefox to open the page with")
needs_node = pytest.mark.skipif(NODE is None, reason="no node to run the page's functions with")

# All but this machine is out of reach: a proxy that nobody answers at.
_SETTINGS = {
    "network.proxy.type": 1, "network.proxy.http": "127.0.0.1", "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1", "network.proxy.ssl_port": 9, "webgl.force-enabled": True,
    "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False,
    "app.update.enabled": False,
}  # fmt: skip
_DISPLAY = ("xvfb-run", "Xvfb", "xauth")
_ACT = """
<script>
(async () => {
  while (!document.documentElement.dataset.ready) await new Promise((go) => setTimeout(go, 20));
  const seen = {};
  try { %s } catch (error) { seen.error = String(error); }
  location.href = "http://127.0.0.1:%d/?" + encodeURIComponent(JSON.stringify(seen));
})();
</script>
"""


def seen_by_firefox(
    page: Path, act: str, folder: Path, query: str = "", seconds: float = 300.0
) -> dict[str, Any]:
    """What some JavaScript puts into ``seen`` in a page that Firefox opens without a network.

    Headless Firefox has no WebGL without a graphics processor; on a virtual display (``xvfb-run``) Mesa gives
    it one in software.
    """
    found: list[str] = []

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments: Any) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    profile = folder / "profile"
    profile.mkdir()
    lines = [f"user_pref({json.dumps(key)}, {json.dumps(value)});" for key, value in _SETTINGS.items()]
    (profile / "user.js").write_text("\n".join(lines))
    text = page.read_text(encoding="utf-8").replace("</body>", _ACT % (act, server.server_port) + "</body>")
    page.write_text(text, encoding="utf-8")
    display = ["xvfb-run", "-a", "-s", "-screen 0 1000x700x24"] if all(map(shutil.which, _DISPLAY)) else []
    command = [
        *display, FIREFOX, *([] if display else ["--headless"]), "--no-remote", "--profile", str(profile),
        page.as_uri() + query,
    ]  # fmt: skip
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    with subprocess.Popen(command, env=os.environ | {"LIBGL_ALWAYS_SOFTWARE": "1"}, **quiet) as process:
        began = time.monotonic()
        while not found and time.monotonic() - began < seconds:
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGTERM)  # Firefox, and its display
        process.wait(120)
    server.shutdown()
    server.server_close()
    assert found, f"Firefox gave no answer in {seconds:g} s"
    answer: dict[str, Any] = json.loads(urllib.parse.unquote(found[0].partition("?")[2]))
    return answer


def wait_for_pictures(tab: Any, pictures: int = 5) -> None:
    """Waits until a page has drawn so many pictures, however long a busy machine takes for them."""
    tab.evaluate(
        "(n) => new Promise((go) => { (function next() { n-- ? requestAnimationFrame(next) : go(); })(); })",
        pictures,
    )


@cache
def touching(tab: Any) -> Callable[..., None]:
    """A function that sends touches of a tab of Chromium: their kind, and a place for each finger."""
    session = tab.context.new_cdp_session(tab)

    def touch(kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(places)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    return touch


def dragged(tab: Any, *ways: tuple[tuple[float, float], tuple[float, float]], held: bool = False) -> None:
    """Fingers that go from one place to another, and leave the screen unless they are ``held`` there."""
    touch = touching(tab)
    touch("touchStart", *(start for start, _ in ways))
    for k in range(1, 9):
        touch("touchMove", *((a + (c - a) * k / 8, b + (d - b) * k / 8) for (a, b), (c, d) in ways))
    if not held:
        touch("touchEnd")
