"""Several runs in one scene, batches as clouds, shapes of modes: what is in their pages, what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import armillary as arm
from armillary.viewer.views import _SCALE, _colours
from tests.viewer.page_data import unpack


def _data(page: str) -> dict:
    return json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', page, re.S)[1])


@pytest.fixture(scope="module")
def model() -> arm.stages.Model:
    s = arm.System("pendulum")
    s.gravity(9.81, "-ground.z")
    s.parameter("L", 1.0, units="m")
    bob = s.body("bob", joint=arm.Revolute("y"), mass=1, com=(0, 0, "-L"), inertia=0)
    s.output("height", arm.dot(arm.position(bob.com), s.ground.z), units="m")
    s.start({"bob.q1": 0.5})
    return s.derive().compile()


@pytest.fixture(scope="module")
def runs(model) -> list[arm.Run]:
    return [model.simulate(1.0, step=0.05, parameters={"L": L}) for L in (1.0, 2.0)]


def test_runs_are_drawn_over_each_other_or_side_by_side(runs, tmp_path: Path) -> None:
    path = arm.view(*runs, labels=["short", "<long>"], path=tmp_path / "both.html")
    data = _data(path.read_text(encoding="utf-8"))
    first, second = data["figures"]
    assert (first["label"], second["label"]) == ("short", "<long>")
    assert "ghost" not in first and 0 < second["ghost"] < 1 and first["colour"] != second["colour"]
    assert second["bodies"][0]["com"] == [0.0, 0.0, -2.0]  # the length of its own run
    arm.view(*runs, layout="side by side", path=tmp_path / "both.html")
    first, second = _data((tmp_path / "both.html").read_text(encoding="utf-8"))["figures"]
    apart = np.array(second["shift"]) - first["shift"]
    assert abs(apart @ [0, 0, 1]) < 1e-12 and np.linalg.norm(apart) > 1.0


def test_films_of_several_runs_show_all(runs, tmp_path: Path) -> None:
    one, two = tmp_path / "one.png", tmp_path / "two.png"
    arm.view(runs[0], runs[0], layout="side by side", path=two, size=(160, 100))
    runs[0].animate(one, size=(160, 100))
    images = [np.asarray(Image.open(p)).astype(int) for p in (one, two)]
    blue = [(i[..., 2] > i[..., 0] + 60).any(axis=0) for i in images]  # columns with the body's colour
    pieces = [np.count_nonzero(np.diff(columns.astype(int)) == 1) for columns in blue]
    assert pieces == [1, 2]


def test_a_batch_is_a_cloud_of_all_its_runs(model, tmp_path: Path) -> None:
    lengths = np.linspace(0.5, 2.0, 5)
    batch = model.simulate_batch(
        1.0, step=0.01, sample=0.1, parameters={"L": lengths}, metrics={"top": "maximum(height)"},
        outputs=["bob.q1", "height"], progress=False,
    )  # fmt: skip
    path = batch.view(colour="L", path=tmp_path / "cloud.html")
    data = _data(path.read_text(encoding="utf-8"))
    cloud = data["figures"][0]["cloud"]
    assert cloud["runs"] == 5 and len(set(cloud["colours"])) == 5 and data["about"] == "5 runs, coloured by L"
    assert cloud["labels"][4] == "run 4: L = 2 m"
    found = unpack(cloud["poses"]).reshape(11, 5, 7)  # the hinge stays; turned by q about y
    assert pytest.approx(np.sin(batch["bob.q1"] / 2), abs=1e-4) == found[..., 4].T
    assert np.abs(found[..., :3]).max() < 1e-9
    columns = unpack(cloud["columns"]).reshape(11, 5)
    assert pytest.approx(batch["height"], abs=1e-4) == columns.T
    with pytest.raises(arm.ArmillaryError, match="did you mean 'top'"):
        batch.view(colour="tpo", path=tmp_path / "cloud.html")
    with pytest.raises(arm.ArmillaryError, match=r"not as 'cloud\.gif'"):
        batch.view(path=tmp_path / "cloud.gif")
    short = model.simulate_batch(
        0.1, step=0.01, parameters={"L": lengths}, outputs=["height"], progress=False
    )
    with pytest.raises(arm.ArmillaryError, match=r"no history of the coordinate 'bob\.q1'.*outputs="):
        short.view(path=tmp_path / "none.html")
    bare = model.simulate_batch(
        0.1, step=0.01, parameters={"L": lengths}, metrics={"e": "final(height)"}, progress=False
    )
    with pytest.raises(arm.ArmillaryError, match="no histories"):
        bare.view(path=tmp_path / "none.html")
    assert not (tmp_path / "none.html").exists()


def test_a_cloud_of_many_runs_shows_some_and_says_so(
    model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("armillary.viewer.views.MOST", 3)
    lengths = np.linspace(0.5, 2.0, 5)
    batch = model.simulate_batch(
        0.1, step=0.05, sample=0.05, parameters={"L": lengths}, outputs=["bob.q1"], progress=False
    )
    data = _data(batch.view(path=tmp_path / "cloud.html").read_text(encoding="utf-8"))
    assert data["about"] == "3 of 5 runs, coloured by L"
    assert data["figures"][0]["cloud"]["labels"] == [f"run {i}: L = {lengths[i]:g} m" for i in (0, 2, 4)]


def test_a_cloud_plots_six_histories_at_most(tmp_path: Path) -> None:
    s = arm.System("sliders")
    for i in range(4):
        s.body(f"b{i}", joint=arm.Prismatic("x"), mass=1, inertia=0)
    names = [f"b{i}.{x}1" for x in "qu" for i in range(4)]
    model = s.derive().compile()
    batch = model.simulate_batch(0.1, step=0.05, sample=0.05, runs=2, outputs=names, progress=False)
    data = _data(batch.view(path=tmp_path / "cloud.html").read_text(encoding="utf-8"))
    columns = unpack(data["figures"][0]["cloud"]["columns"])
    assert columns.size == 6 * len(batch.time) * 2


def test_modes_are_shown_one_at_a_time_with_their_periods(model, tmp_path: Path) -> None:
    modes = model.linearize({"bob.q1": 0.0}).modes()
    data = _data(modes.animate(tmp_path / "modes.html").read_text(encoding="utf-8"))
    assert data["layout"] == "choose" and len(data["figures"]) == len(modes) == 1
    time = data["figures"][0]["time"]
    assert time["step"] * (time["rows"] - 1) == pytest.approx(2 * np.pi / np.sqrt(9.81))
    assert data["figures"][0]["label"] == "0: 0.4985 Hz, damping ratio 0; 100 % bob.q1"  # √9.81/2π
    film = Image.open(modes.animate(tmp_path / "mode.gif", 0, size=(60, 40), rate=5))
    assert film.n_frames > 3
    with pytest.raises(arm.ArmillaryError, match="a film shows one of the 1 modes"):
        modes.animate(tmp_path / "mode.gif")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"layout": "ghost"}, "did you mean 'ghosts'"),
        ({"labels": ["one"]}, "1 labels were given for 2 runs"),
        ({"model": [None]}, "1 models were given"),
        ({"model": 3}, "model="),
        ({"labels": [1, 2]}, "a label must be a text"),
    ],
)
def test_wrong_arguments_of_views_are_sentences(runs, given, message: str) -> None:
    with pytest.raises(arm.ArmillaryError, match=message):
        arm.view(*runs, path="never.html", **given)


def test_only_runs_can_be_viewed() -> None:
    with pytest.raises(arm.ArmillaryError, match="no run to show"):
        arm.view()
    with pytest.raises(arm.ArmillaryError, match="what is shown"):
        arm.view(3)


def test_values_are_coloured_from_low_to_high_and_missing_ones_grey() -> None:
    """The ends of the scale at the least and the largest, its middle between them."""
    found = _colours(np.array([3.0, np.nan, 7.0, 5.0]))
    spots = ["#" + "".join(f"{round(255 * x):02x}" for x in row) for row in _SCALE]
    assert found[0] == spots[0] and found[2] == spots[-1] and found[1] == "#999999"
    middle = np.array([np.interp(0.5, np.linspace(0, 1, len(_SCALE)), _SCALE[:, k]) for k in range(3)])
    assert found[3] == "#" + "".join(f"{round(255 * x):02x}" for x in middle)
    viridis = pytest.importorskip("matplotlib").colormaps["viridis"]
    np.testing.assert_allclose(_SCALE, viridis(np.linspace(0, 1, 5))[:, :3], atol=0.6 / 255)
    assert _colours(np.array([2.0, 2.0])) == [found[3]] * 2
    assert _colours(np.array([np.nan])) == ["#999999"]
