"""HTML pages of plots: self-contained, safe, thinned without loss to the eye, and alive in a real browser."""

from __future__ import annotations

import base64
import json
import re
import subprocess

import numpy as np
import pytest

import armillary as arm
from armillary.results import Run
from armillary.results.plots.run_plot import BUCKETS, LONG
from tests.browser import BROWSER, needs_browser

TIME = np.linspace(0.0, 2.0, 201)


def two_runs() -> list[Run]:
    names = ("r", "Ay")
    units = {"r": "deg/s", "Ay": "m/s2"}
    return [
        Run("car", TIME, np.column_stack([v * TIME, np.cos(v * TIME)]), names, units, parameters={"v": v})
        for v in (1.0, 2.0)
    ]


def data_of(path):
    text = path.read_text(encoding="utf-8")
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])
    arrays = [np.frombuffer(base64.b64decode(array), "<f8") for array in data["arrays"]]
    return data, arrays


def test_a_page_has_its_numbers_exactly_and_asks_nobody(tmp_path):
    runs = two_runs()
    assert arm.plot(runs, "r", "Ay", path=tmp_path / "car.html") is None
    data, arrays = data_of(tmp_path / "car.html")
    assert [panel["title"] for panel in data["panels"]] == ["r (deg/s)", "Ay (m/s2)"]
    assert data["x"] == "time (s)"
    second = data["panels"][1]["curves"][1]
    assert second["label"] == "v = 2" and second["colour"] == 1
    assert arrays[second["x"]].tolist() == TIME.tolist()
    assert arrays[second["y"]].tolist() == runs[1]["Ay"].tolist()
    assert len(arrays) == 4  # equal columns are stored once: the times of both runs, and r of the first
    text = (tmp_path / "car.html").read_text()
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text) and "default-src 'none'" in text


def test_names_are_text_and_never_run(tmp_path):
    evil = "</script><script>alert(1)</script>@data@"
    Run(evil, TIME, TIME[:, None], (evil,), {evil: "<b>"}).plot(path=tmp_path / "x.html")
    text = (tmp_path / "x.html").read_text()
    assert text.count("<script") == 2 and "<b>" not in text
    assert data_of(tmp_path / "x.html")[0]["panels"][0]["curves"][0]["label"] == evil


def test_long_curves_keep_their_extremes(tmp_path):
    time = np.linspace(0.0, 1.0, 300_001)
    values = np.zeros((time.size, 1))
    values[123_457], values[200_002], values[-1] = 5.0, -3.0, 1.0  # single samples that must be seen
    values[10:20] = np.nan
    Run("long", time, values, ("spikes",)).plot(path=tmp_path / "long.html")
    data, arrays = data_of(tmp_path / "long.html")
    curve = data["panels"][0]["curves"][0]
    x, y = arrays[curve["x"]], arrays[curve["y"]]
    assert LONG > 4 * BUCKETS >= x.size and np.all(np.diff(x) > 0) and "20,000" in data["note"]
    assert x[np.nanargmax(y)] == time[123_457] and x[np.nanargmin(y)] == time[200_002]
    assert (x[0], x[-1], y[-1]) == (0.0, 1.0, 1.0)
    assert (tmp_path / "long.html").stat().st_size < 500_000


ACT = """
<script>
const seen = {};
HTMLElement.prototype.setPointerCapture = () => {};
const pixel = (panel, name) => {  // how many points of a canvas have the colour of a curve
  const c = panel.canvas, [r, g, b] = name.match(/\\w\\w/g).map((h) => parseInt(h, 16));
  const p = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
  let n = 0;
  const off = (i) => Math.abs(p[i] - r) + Math.abs(p[i + 1] - g) + Math.abs(p[i + 2] - b);
  for (let i = 0; i < p.length; i += 4) n += off(i) < 12;
  return n;
};
const key = (panel, k) => panel.canvas.dispatchEvent(new KeyboardEvent("keydown", { key: k }));
const pointer = (kind, x, y) => {
  const box = panels[0].canvas.getBoundingClientRect(), at = panels[0].at;
  const place = { clientX: box.left + at.px(x), clientY: box.top + y, button: 0, pointerId: 1 };
  panels[0].canvas.dispatchEvent(new PointerEvent(kind, place));
};
seen.drawn = ["0072b2", "d55e00"].map((c) => pixel(panels[0], c));
document.querySelectorAll(".legend button")[1].click();
seen.pressed = document.querySelectorAll(".legend button")[1].getAttribute("aria-pressed");
seen.hidden = pixel(panels[0], "d55e00");
document.querySelectorAll(".legend button")[1].click();
pointer("pointermove", 0.5, 60);
seen.readout = panels.map((p) => p.readout.innerText);
pointer("pointerdown", 0.5, 60); pointer("pointermove", 1.0, 64); pointer("pointerup", 1.0, 64);
seen.zoomed = view.x;
seen.y = panels[0].at.y;
seen.canReset = !document.getElementById("reset").disabled;
key(panels[1], "0");
seen.whole = view.x;
key(panels[1], "ArrowRight"); key(panels[1], "ArrowRight");
seen.spoken = document.getElementById("spoken").textContent;
key(panels[1], "+");
seen.byKey = view.x[1] - view.x[0];
document.getElementById("reset").click();
document.getElementById("theme").click(); document.getElementById("theme").click();
seen.theme = document.documentElement.dataset.theme;
seen.dark = pixel(panels[0], "4aa8e8");
seen.rows = document.querySelectorAll("#values tr").length;
document.body.replaceChildren(JSON.stringify(seen));
</script>
"""


@needs_browser
def test_the_page_lives_in_a_browser(tmp_path):
    """Drawn in its colours; curves hidden, values read, zoomed and reset, by pointer and by keys; dark."""
    path = tmp_path / "car.html"
    arm.plot(two_runs(), "r", "Ay", path=path)
    path.write_text(path.read_text().replace("</body>", ACT + "</body>"))
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--window-size=1000,900",
        "--dump-dom",
    ]
    page = subprocess.run(
        [*command, f"--user-data-dir={tmp_path}/profile", path.as_uri()],
        capture_output=True,
        text=True,
        timeout=300,
    )
    seen = json.loads(re.search(r"<body>(.*)</body>", page.stdout, re.S)[1])
    assert min(seen["drawn"]) > 100 and seen["hidden"] < 10 and seen["pressed"] == "false"
    assert seen["readout"][0].split("\n") == ["time 0.5 s", "v = 1 0.5 deg/s", "v = 2 1 deg/s"]
    assert seen["readout"][1].split("\n")[2] == f"v = 2 {np.cos(1.0):.9f} m/s2"  # the panels share the cursor
    assert seen["zoomed"] == pytest.approx([0.5, 1.0], abs=0.01) and seen["canReset"]
    assert seen["y"][0] == pytest.approx(0.41, abs=0.05) and seen["y"][1] == pytest.approx(2.1, abs=0.1)
    assert seen["whole"] is None and seen["spoken"].startswith("time 0.01 s: v = 1 0.99995")
    assert seen["byKey"] == pytest.approx(2.0 / 1.6) and seen["theme"] == "dark" and seen["dark"] > 100
    assert seen["rows"] == 5
