"""Systems posed by hand: the functions in the page beside the process, loops that close as sliders move."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.viewer.page_data import PoseFunction
from tests.browser import NODE, needs_node


def _data(page: str) -> dict:
    return json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', page, re.S)[1])


def _four_bar() -> arm.System:
    s = arm.System("four-bar")
    s.parameter("L", 500.0, units="mm")
    crank = s.body("crank", joint=arm.Revolute("z"), mass=1, com=(0.1, 0, 0), inertia=(0, 0.01, 0.01))
    coupler = s.body(
        "coupler", crank, arm.Revolute("z"), at=(0.2, 0, 0), mass=1, com=("L/2", 0, 0), inertia=0
    )
    rocker = s.body("rocker", joint=arm.Revolute("z"), at=(0.6, 0, 0), mass=1, com=(0.2, 0, 0), inertia=0)
    s.close_loop(coupler.point(("L", 0, 0), name="pin"), rocker.point((0.4, 0, 0), name="end"),
                 directions=[s.ground.x, s.ground.y])  # fmt: skip
    ball = s.body("ball", rocker, arm.Spherical(), at=(0.4, 0, 0), mass=1, com=(0, 0, 0.1), inertia=(1, 1, 1))
    ball.shape(arm.Sphere(0.05))
    s.start({"crank.q1": 1.0, "coupler.q1": -0.3, "rocker.q1": 1.8})
    return s


@needs_node
def test_loops_close_as_in_the_process(tmp_path: Path) -> None:
    """The page's own functions, run by node without a picture, at another angle of the crank."""
    model = _four_bar().derive().compile()
    page = model.view(path=tmp_path / "pose.html", parameters={"L": 450.0}).read_text(encoding="utf-8")
    data = _data(page)
    assert [s["name"] for s in data["sliders"]][:3] == ["crank.q1", "coupler.q1", "rocker.q1"]
    assert data["quaternions"] == [3] and data["parents"] == [-1, 0, -1, 2]
    program = page.rpartition("<script>")[2].partition("</script>")[0]
    head = program.partition("async function main()")[0].replace(
        'JSON.parse(document.getElementById("data").textContent)', json.dumps(data)
    )
    (tmp_path / "pose.js").write_text(
        f"{head}\nlet q = data.start; const seen = [];\n"
        "for (let a = 0; a <= 10; a++) { const next = q.slice(); next[0] = data.start[0] + 0.1 * a;\n"
        "  q = closed(next, new Set([0])); seen.push(q); }\n"
        "const far = data.start.slice(); far[2] = 0.0;\n"
        "const none = closed(far, new Set([0, 2]));\n"
        "console.log(JSON.stringify({ seen, poses: relativePoses(q), none }));\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [NODE, tmp_path / "pose.js"], capture_output=True, text=True, timeout=300, check=True
    )
    found = json.loads(done.stdout)
    assert found["none"] is None  # crank and rocker held apart: no place with a closed loop
    for q in found["seen"]:
        start = {"crank.q1": q[0], "coupler.q1": q[1], "rocker.q1": q[2]}
        state = model.state(start, {"L": 450.0})
        assert np.allclose(state[:3], q[:3], atol=1e-8)
    poses = PoseFunction(core_of(model.equations)).at(0.0, state[None, :], {"L": 450.0})
    crank = np.array(found["poses"][3:12]).reshape(3, 3)
    assert np.allclose(crank, poses.rotations[0, 0], atol=1e-8)
    coupler = poses.rotations[0, 0] @ np.array(found["poses"][15:24]).reshape(3, 3)
    assert np.allclose(coupler, poses.rotations[0, 1], atol=1e-8)


def test_systems_are_posed_in_pages_alone(tmp_path: Path, monkeypatch) -> None:
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    shown = _four_bar().view()
    assert opened == [shown.path.as_uri()]
    shutil.rmtree(shown.path.parent)
    with pytest.raises(arm.ArmillaryError, match=r"not as 'pose\.gif'"):
        _four_bar().view(tmp_path / "pose.gif")
