"""The page of two runs in headless Firefox, with no network."""

from __future__ import annotations

from pathlib import Path

import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.viewer.figures import figure_of
from tests.browser import needs_firefox, seen_by_firefox

ACT = """
const a = window.armillary, root = document.documentElement;
seen.ready = root.dataset.ready;
seen.poses = [0, 1].map((k) => a.pose("bob", 0.5, k).quaternion);
seen.height = a.value("height", 0.5, 1);
a.player.pause(); a.player.seek(0.5);
document.dispatchEvent(new KeyboardEvent("keydown", { key: ".", bubbles: true }));
seen.step = a.player.t;
seen.labels = [...document.querySelectorAll("#legend button")].map((b) => b.textContent);
seen.plots = document.querySelectorAll(".plot").length;
seen.struck = window.struck === 1;
const hint = document.getElementById("hint"), wait = (ms) => new Promise((go) => setTimeout(go, ms));
while (root.dataset.drawn !== "webgl" && !/no WebGL/.test(hint.textContent)) await wait(20);
const read = (source) => {
  const canvas = document.createElement("canvas"), g = canvas.getContext("2d");
  canvas.width = 90; canvas.height = 60;
  g.drawImage(source, 0, 0, 90, 60);
  return [...g.getImageData(0, 0, 90, 60).data].filter((_, i) => i % 4 < 3);
};
a.scene.draw(1, null);
const plain = read(a.scene.plain.canvas);
seen.vivid = plain.filter((v, i) => i % 3 === 0 && Math.abs(v - plain[i + 2]) > 40).length;
if (root.dataset.drawn === "webgl") {
  a.scene.draw(1);
  const apart = read(a.scene.canvas).map((v, i) => Math.abs(v - plain[i])).sort((x, y) => x - y);
  seen.apart = [apart[apart.length / 2], apart.reduce((x, y) => x + y) / apart.length];
}
"""
HOSTILE = "</script><img src=x onerror=window.struck=1>"


@needs_firefox
def test_firefox_shows_two_runs(tmp_path: Path) -> None:
    """Poses and values are those of the process. Its pictures are those that the page draws itself."""
    s = arm.System("pendulum")
    s.gravity(9.81, "-ground.z")
    bob = s.body("bob", joint=arm.Revolute("y"), mass=1, com=(0, 0, -1), inertia=0)
    s.output("height", arm.dot(arm.position(bob.com), s.ground.z), units="m", about=HOSTILE)
    model = s.derive().compile()
    runs = [model.simulate(1.0, step=0.05, initial={"bob.q1": q}) for q in (0.5, 1.0)]
    page = arm.view(*runs, labels=["first", HOSTILE], title=HOSTILE, path=tmp_path / "page.html")
    seen = seen_by_firefox(page, ACT, tmp_path, "?webgl")
    assert "error" not in seen and seen["ready"] == "yes" and not seen["struck"]
    for run, found in zip(runs, seen["poses"], strict=True):
        assert found == pytest.approx(figure_of(run, core_of(model.equations)).channels[10, 3:7], abs=1e-4)
    assert seen["height"] == pytest.approx(runs[1]["height"][10], abs=1e-4)
    assert seen["step"] == pytest.approx(0.55) and seen["labels"] == ["first", HOSTILE]
    assert seen["plots"] >= 1
    assert 10 < seen["vivid"] < 1500  # bodies are in the picture
    if "apart" in seen:  # with WebGL: the median and the mean of the difference
        assert seen["apart"][0] <= 2 and seen["apart"][1] < 4
