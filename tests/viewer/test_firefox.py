"""The page of two runs in headless Firefox, with no network."""

from __future__ import annotations

from pathlib import Path

import pytest

import armillary as arm
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
a.scene.draw();
const canvas = document.createElement("canvas"), g = canvas.getContext("2d");
canvas.width = 90; canvas.height = 60;
g.drawImage(a.scene.shown, 0, 0, 90, 60);
const pixels = g.getImageData(0, 0, 90, 60).data, found = new Set();
for (let i = 0; i < pixels.length; i += 4) found.add(pixels.slice(i, i + 3).join());
seen.colours = found.size;
"""
HOSTILE = "</script><img src=x onerror=window.struck=1>"


@needs_firefox
def test_firefox_shows_two_runs(tmp_path: Path) -> None:
    """Poses and values are those of the process. Without WebGL the picture is a plain one."""
    s = arm.System("pendulum")
    s.gravity(9.81, "-ground.z")
    bob = s.body("bob", joint=arm.Revolute("y"), mass=1, com=(0, 0, -1), inertia=0)
    s.output("height", arm.dot(arm.position(bob.com), s.ground.z), units="m", about=HOSTILE)
    model = s.derive().compile()
    runs = [model.simulate(1.0, step=0.05, initial={"bob.q1": q}) for q in (0.5, 1.0)]
    page = arm.view(*runs, labels=["first", HOSTILE], title=HOSTILE, path=tmp_path / "page.html")
    seen = seen_by_firefox(page, ACT, tmp_path)
    assert "error" not in seen and seen["ready"] == "yes" and not seen["struck"]
    for run, found in zip(runs, seen["poses"], strict=True):
        assert found == pytest.approx(figure_of(run, model.equations).channels[10, 3:7], abs=1e-4)
    assert seen["height"] == pytest.approx(runs[1]["height"][10], abs=1e-4)
    assert seen["step"] == pytest.approx(0.55) and seen["labels"] == ["first", HOSTILE]
    assert seen["plots"] >= 1
    assert seen["colours"] > 30
