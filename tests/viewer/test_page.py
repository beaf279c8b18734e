"""The page of a motion: what is in it, what it refuses, and how it lives in a browser."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.cli.app import app
from armillary.results.plots import motion
from armillary.viewer.appearance import COLOURS, Appearance
from armillary.viewer.page_data import PoseFunction
from tests.browser import dragged, touching, wait_for_pictures

HOSTILE = "</script><img src=x onerror=window.struck=1>"


def _system(name: str = "two links") -> arm.System:
    s = arm.System(name)
    s.gravity(9.81, "-ground.z")
    upper = s.body("upper", joint=arm.Revolute("y"), mass=2, com=(0, 0, -0.5), inertia=(0.17, 0.17, 0.001))
    lower = s.body(
        "lower", parent=upper, joint=arm.Revolute("y"), at=(0, 0, -1), mass=1, com=(0.1, 0, -0.3),
        inertia=(0.02, 0.03, 0.04),
    )  # fmt: skip
    s.strut(
        "spring", "-200*(x - 0.8)", between=[lower.point((0, 0, -0.6), name="end"), s.ground.point(1, 0, 0)]
    )
    s.output("tip", arm.dot(arm.position(lower.end), s.ground.x), units="m", about=HOSTILE)
    s.output("nothing", "1e-16*sin(40*upper.q1)", units="m")  # of the size of rounding errors
    s.event("across", "upper.q1")
    s.start({"upper.q1": 1.2})
    return s


@pytest.fixture(scope="module")
def model() -> arm.stages.Model:
    return _system().derive().compile()


@pytest.fixture(scope="module")
def run(model) -> arm.Run:
    return model.simulate(2.0, step=0.01)


def _data(page: str) -> dict:
    return json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', page, re.S)[1])


def test_a_page_holds_bodies_events_plots_and_nothing_from_outside(model, run, tmp_path: Path) -> None:
    path = run.animate(tmp_path / "motion.html", title="A <title>")
    page = path.read_text(encoding="utf-8")
    data = _data(page)
    (figure,) = data["figures"]
    assert [b["name"] for b in figure["bodies"]] == ["upper", "lower"]
    assert [b["colour"] for b in figure["bodies"]] == list(COLOURS[:2])
    assert {p["kind"] for p in figure["bodies"][1]["parts"]} == {"rod", "box", "pin"}
    assert [s["name"] for s in figure["springs"]] == ["spring"]
    assert data["up"] == [0.0, 0.0, 1.0]
    assert [name for _, name in data["events"]] == [e.name for e in run.events] and data["events"]
    assert figure["outputs"][0]["name"] == "tip" == data["shown"][0]
    assert "<title>A &lt;title&gt;</title>" in page
    outside = re.sub(r'<script id="three".*?</script>', "", page, flags=re.S)
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", outside)
    assert len(gzip.compress(page.encode())) < 250_000  # with 200 rows


def test_names_of_the_model_cannot_act(model, run) -> None:
    page = _system(HOSTILE).derive().compile().simulate(0.1, step=0.05)
    text = page.picture.page(page, "")
    assert HOSTILE not in text
    assert _data(text)["system"] == HOSTILE


def test_solids_have_the_inertia_of_their_body(model) -> None:
    """A slender rod of 1 m, and a box whose edges follow from J = m/12 (b² + c²)."""
    look = Appearance(core_of(model.equations), {})
    upper, lower = (next(p for p in look.parts(b) if p["kind"] in ("box", "cylinder")) for b in look.bodies)
    assert upper["kind"] == "cylinder"
    assert 2 / 12 * (3 * upper["radius"] ** 2 + upper["length"] ** 2) == pytest.approx(0.17, rel=1e-9)
    edges, axes = np.array(lower["size"]), np.array(lower["axes"]).reshape(3, 3)
    moments = (np.sum(edges**2) - edges**2) / 12
    assert np.allclose(axes @ np.diag(moments) @ axes.T, np.diag([0.02, 0.03, 0.04]), atol=1e-12)


def _look(joint: arm.Joint, **options) -> tuple[arm.System, Appearance]:
    s = arm.System("one body")
    s.gravity(9.81, "-ground.z")
    s.body("a", joint=joint, **options)
    return s, Appearance(core_of(s.derive()), {})


def test_inertias_of_no_body_and_placeholders_are_not_drawn_as_solids() -> None:
    """A moment above the sum of the others is that of no body; a ball must not hide the links it is on."""
    link = {"mass": 1, "com": (0, 0, -0.2)}
    _, look = _look(arm.Revolute("y"), **link, inertia=(1, 1, 2.5), check_inertia=False)
    assert [p["kind"] for p in look.parts(look.bodies[0])] == ["rod", "sphere", "pin"]
    _, look = _look(arm.Revolute("y"), **link, inertia=(1, 1, 1))
    assert next(p for p in look.parts(look.bodies[0]) if p["kind"] == "sphere")["radius"] < 0.1
    # A ball of 1 m stands for a body whose mass centre is beyond its diameter; for one that moves freely,
    # also if that is within 0.3 of the radius.
    for joint, distance, drawn in (
        (arm.Revolute("y"), 1.9, False), (arm.Revolute("y"), 2.1, True), (arm.Revolute("y"), 0.25, False),
        (arm.Free(), 0.25, True), (arm.Free(), 0.35, False), (arm.Free(), 2.1, True),
    ):  # fmt: skip
        _, look = _look(joint, mass=2.5, com=(0, 0, -distance), inertia=(1, 1, 1))
        (radius,) = (p["radius"] for p in look.parts(look.bodies[0]) if p["kind"] == "sphere")
        assert (radius == pytest.approx(1.0)) == drawn and (drawn or radius < 0.2)
    _, look = _look(arm.Free(), mass=7.27, inertia=(0.0326, 0.0326, 0.0346))  # a bowling ball
    (ball,) = look.parts(look.bodies[0])
    assert ball["kind"] == "sphere" and ball["radius"] == pytest.approx(0.107, abs=1e-3)


def test_point_masses_that_slide_are_blocks_across_gravity_and_balls_along_it() -> None:
    for axis, kind in (("x", "box"), ("z", "sphere"), ((1, 1, 0), "box")):
        _, look = _look(arm.Prismatic(axis), mass=1, inertia=0)
        mass, sleeve = look.parts(look.bodies[0])
        assert (mass["kind"], sleeve["kind"]) == (kind, "sleeve")
        if kind == "box":
            along = np.array(mass["axes"]).reshape(3, 3)
            assert np.allclose(along[:, 2], sleeve["axis"]) and np.linalg.det(along) == pytest.approx(1)
            assert max(mass["size"]) == mass["size"][2] > 2.4 * sleeve["size"]


def test_closed_loops_have_a_ball_where_they_close() -> None:
    s = arm.System("loop")
    a = s.body("a", joint=arm.Revolute("y"), mass=1, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    b = s.body(
        "b",
        parent=a,
        joint=arm.Revolute("y"),
        at=(1, 0, 0),
        mass=1,
        com=(0.5, 0, 0),
        inertia=(0.01, 0.1, 0.1),
    )
    c = s.body("c", joint=arm.Prismatic("x"), at=(0.5, 0, 0), mass=1, inertia=0)
    s.close_loop(b.point((1, 0, 0), name="end"), c.origin, [s.ground.x, s.ground.z])
    look = Appearance(core_of(s.derive()), {})
    balls = [(body.name, p["at"]) for body in look.bodies for p in look.parts(body) if p["kind"] == "ball"]
    assert balls[0] in (("b", [1.0, 0.0, 0.0]), ("c", [0.0, 0.0, 0.0])) and len(balls) == 1


def test_runs_from_files_need_their_model(model, run, tmp_path: Path) -> None:
    run.save(tmp_path / "run.csv")
    loaded = arm.load_run(tmp_path / "run.csv")
    with pytest.raises(arm.ArmillaryError, match="does not have its model"):
        loaded.animate(tmp_path / "page.html")
    with pytest.raises(arm.ArmillaryError, match=r"model=System is not a compiled model"):
        loaded.animate(tmp_path / "page.html", model=_system())
    assert not (tmp_path / "page.html").exists()
    assert _data(loaded.animate(tmp_path / "page.html", model=model).read_text())["system"] == "two links"
    assert loaded == run


def test_what_cannot_be_shown_is_refused(model, run, tmp_path: Path) -> None:
    with pytest.raises(arm.ArmillaryError, match=r"not as 'motion\.mov'"):
        run.animate(tmp_path / "motion.mov")
    other = _system("another").derive().compile()
    with pytest.raises(arm.ArmillaryError, match="give the model of the run"):
        run.animate(tmp_path / "page.html", model=other)
    empty = arm.Run(run.system, np.empty(0), np.empty((0, len(run.names))), run.names)
    with pytest.raises(arm.ArmillaryError, match="no rows"):
        empty.animate(tmp_path / "page.html", model=model)


def test_notebooks_and_browsers_are_told_apart(run, monkeypatch) -> None:
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    shown = run.view()
    assert opened == [shown.path.as_uri()]
    assert shown.path.read_text(encoding="utf-8") == shown.page
    shutil.rmtree(shown.path.parent)
    monkeypatch.setattr(motion, "_in_notebook", lambda: True)
    assert "trust the notebook" in repr(run.view())
    cell = run.view()._repr_html_()
    assert len(opened) == 1
    assert cell.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert "sandbox=" in cell


def test_the_command_shows_a_saved_run_or_makes_one(run, tmp_path: Path) -> None:
    _system().save(tmp_path / "links.toml")
    run.save(tmp_path / "run.csv")
    model, page = str(tmp_path / "links.toml"), tmp_path / "page.html"
    assert app.main(["view", model, str(tmp_path / "run.csv"), "-o", str(page)], standalone_mode=False) == 0
    assert _data(page.read_text())["figures"][0]["time"]["rows"] == len(run)
    assert app.main(["view", model, "--duration", "0.5 s", "-o", str(page)], standalone_mode=False) == 0
    assert _data(page.read_text())["about"].endswith("0 to 0.5 s")
    assert app.main(["view", model, "-o", str(page)], standalone_mode=False) == 0
    assert _data(page.read_text())["figures"][0]["time"]["rows"] == 301  # 60 in each of 5 s
    arrows = ["--arrow", "velocities", "--reaction", "lower", "--speed", "0.5"]
    assert (
        app.main(["view", model, str(tmp_path / "run.csv"), *arrows, "-o", str(page)], standalone_mode=False)
        == 0
    )
    look = _data(page.read_text())["look"]
    assert (look["arrows"], look["speed"]) == (["velocities", "reactions"], 0.5)
    picture = tmp_path / "picture.png"
    how = [
        "--view",
        "front",
        "--follow",
        "lower",
        "--path",
        "lower.end",
        "--theme",
        "dark",
        "--size",
        "64",
        "48",
        "--time",
        "0.5",
        "-o",
        str(picture),
    ]
    assert app.main(["view", model, str(tmp_path / "run.csv"), *how], standalone_mode=False) == 0
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.read_bytes()[19:24:4] == b"\x40\x30"


ACT = """
async () => {
  const a = window.armillary, seen = { ready: document.documentElement.dataset.ready };
  seen.poses = [0, 0.5, 1.234, 2].map((t) => ["upper", "lower"].map((name) => a.pose(name, t)));
  seen.tip = a.value("tip", 0.5);
  a.player.pause(); a.player.seek(0.5);
  seen.clock = document.getElementById("clock").textContent;
  document.dispatchEvent(new KeyboardEvent("keydown", { key: ".", bubbles: true }));
  seen.step = a.player.t;
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "n", bubbles: true }));
  seen.names = [...document.querySelectorAll("#labels span")].map((s) => s.textContent);
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "d", bubbles: true }));
  seen.theme = document.documentElement.dataset.theme;
  a.scene.draw();
  const canvas = document.createElement("canvas"), g = canvas.getContext("2d");
  canvas.width = 300; canvas.height = 200;
  g.drawImage(a.scene.shown, 0, 0, 300, 200);
  const pixels = g.getImageData(0, 0, 300, 200).data, found = new Set();
  for (let i = 0; i < pixels.length; i += 4)
    if (pixels[i + 3] > 200) found.add(pixels.slice(i, i + 3).join());
  seen.colours = found.size; seen.struck = window.struck === 1;
  const [figure] = a.scene.figures;
  a.player.seek(0.5);
  for (const key of "fvw") document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  seen.arrows = a.arrows.arrows.filter((x) => a.arrows.on.has(x.group)).map((x) => [x.kind, x.name]);
  seen.scales = document.getElementById("scales").textContent;
  const spring = a.arrows.arrows.find((x) => x.name === "spring");
  seen.force = a.arrows.value(spring, 0.5).toArray();
  const end = a.scene.project(figure.place(1, figure.bodies[1].com));
  const hit = a.scene.pick(end.x, end.y);
  seen.picked = hit && figure.bodies[hit.body].name;
  a.pointer.at(end.x, end.y);
  seen.tip_words = document.getElementById("tip").textContent;
  a.tools.write(); a.scene.camera.position.set(1, 2, 3); a.tools.read();
  seen.address = location.hash; seen.back = a.scene.camera.position.toArray();
  const clock = performance.now, ratio = () => a.scene.detail;
  let now = clock.call(performance) + 1e6;
  performance.now = () => (now += 300); // pictures that take so long
  const draw = () => { a.scene.changed = true; a.scene.refresh(); return ratio(); };
  Object.assign(a.scene, { coarse: false, late: 0, moving: false }); // as before late pictures
  seen.ratios = Array.from({ length: 8 }, draw);
  for (let i = 0; i < 300; i++) a.scene.refresh(); // until the camera rests
  seen.ratios.push(ratio()); performance.now = clock;
  a.scene.ride(1);  // seen from the body, its own place stays
  const there = (t) => { a.player.seek(t); return a.scene.project(figure.place(1, [0, 0, 0])); };
  const still = [0.2, 1.7].map(there);
  seen.still = Math.hypot(still[0].x - still[1].x, still[0].y - still[1].y);
  const poses = (t, out) => { out.set([t, 2, 3, 0, 0, 0, 1, 4, 5, 6, 1, 0, 0, 0]); };
  figure.motion = new FunctionMotion(poses, { bodies: 2 });
  a.scene.show(7);
  seen.computed = [...figure.groups.map((g) => g.position.toArray()), figure.groups[1].quaternion.toArray()];
  return seen;
}
"""


def test_the_page_lives_in_a_browser(model, run, tmp_path: Path, open_page) -> None:
    """Poses and values read back from the page are those of the process; keys act; something is drawn."""
    seen = open_page(run.animate(tmp_path / "motion.html")).evaluate(ACT)
    assert seen["ready"] == "yes" and not seen["struck"]
    poses = PoseFunction(core_of(model.equations)).of_run(run)
    for t, found in zip((0.0, 0.5, 1.234, 2.0), seen["poses"], strict=True):
        i, s = divmod(t / 0.01, 1)
        k = min(round(t / 0.01) if min(s, 1 - s) < 1e-9 else int(i), len(run) - 1)
        near = 1e-4 if min(s, 1 - s) < 1e-9 else 0.06  # between rows only roughly that of the row before
        for b, pose in enumerate(found):
            assert pose["position"] == pytest.approx(poses.positions[k, b], abs=near)
            turned = Rotation.from_quat(pose["quaternion"]).as_matrix()
            assert np.max(np.abs(turned - poses.rotations[k, b])) < 2 * near
    assert seen["tip"] == pytest.approx(run.interpolate(0.5, "tip"), abs=1e-4)
    assert seen["clock"] == "0.50 s" and seen["step"] == pytest.approx(0.51, abs=1e-9)
    assert seen["names"] == ["upper", "lower"] and seen["theme"] == "dark"
    assert seen["colours"] > 50
    moving = [["velocity", "upper"], ["velocity", "lower"], ["weight", "upper"], ["weight", "lower"]]
    assert seen["arrows"] == [["force", "spring"], *moving]
    assert "N" in seen["scales"] and "m/s" in seen["scales"]
    row = 50
    end = poses.positions[row, 1] + poses.rotations[row, 1] @ [0, 0, -0.6]
    length = np.linalg.norm(end - [1, 0, 0])
    pull = -200 * (length - 0.8) * (end - [1, 0, 0]) / length
    assert seen["force"] == pytest.approx(pull, abs=0.2)  # half of 1/2047 of their range
    assert seen["picked"] in ("upper", "lower") and " mq1" in seen["tip_words"]
    first, *_, last, still = seen["ratios"]
    assert (first, last) == (1, 0.5) and still >= 1  # fewer pixels where pictures are slow
    assert seen["still"] < 0.5
    assert "shown=names%2Cforces%2Cvelocities%2Cweights%2Cplots" in seen["address"]
    assert "theme=dark" in seen["address"]
    camera = re.search(r"camera=([^&]*)", seen["address"])[1].split("%2C")
    assert seen["back"] == pytest.approx([float(x) for x in camera[:3]])
    assert seen["computed"] == [[7, 2, 3], [4, 5, 6], [1, 0, 0, 0]]  # poses of a function instead of rows


BOTH = """async () => {
  const { scene, player } = window.armillary, root = document.documentElement;
  const [picture] = performance.getEntriesByName("picture");
  while (root.dataset.drawn !== "webgl") await new Promise((go) => setTimeout(go, 20));
  player.pause(); player.seek(0.5);
  const read = (canvas) => {
    const small = document.createElement("canvas"), g = small.getContext("2d");
    small.width = 90; small.height = 60;
    g.drawImage(canvas, 0, 0, 90, 60);
    return [...g.getImageData(0, 0, 90, 60).data].filter((_, i) => i % 4 < 3);
  };
  scene.draw(1); const drawn = read(scene.canvas);
  scene.draw(1, null); const plain = read(scene.plain.canvas);
  return { first: Boolean(picture), drawn, plain };
}"""


def test_pictures_with_and_without_webgl_show_the_same(run, tmp_path: Path, open_page) -> None:
    """Colours of 90 × 60 cells: the bodies are where they should be in both, and shadows are on the floor."""
    seen = open_page(run.animate(tmp_path / "motion.html"), query="?webgl").evaluate(BOTH)
    drawn, plain = (np.reshape(seen[name], (60, 90, 3)).astype(float) for name in ("drawn", "plain"))
    assert seen["first"]  # a plain picture came before
    vivid = np.ptp(plain, axis=2) > 40  # cells of a body
    assert 20 < np.sum(vivid) < 1000 and np.sum(vivid != (np.ptp(drawn, axis=2) > 40)) < 0.25 * np.sum(vivid)
    assert np.median(np.abs(drawn - plain)) <= 2 and np.mean(np.abs(drawn - plain)) < 3


SEEN = """() => {
  const { scene, player } = window.armillary, [figure] = scene.figures;
  const line = document.getElementById("time");
  const heights = scene.points.map((p) => scene.project(p).y);
  return {
    camera: scene.camera.position.toArray(), target: scene.controls.target.toArray(), time: player.t,
    body: Object.values(scene.project(figure.place(1, figure.bodies[1].com))), heights,
    panel: document.getElementById("plots").getBoundingClientRect().top,
    line: Object.values(line.getBoundingClientRect().toJSON()), tip: document.getElementById("tip").innerText,
  };
}"""


def test_fingers_turn_zoom_move_scrub_and_ask_for_values(run, tmp_path: Path, open_page) -> None:
    """On a telephone: the motion is above the panel, one finger turns, two come nearer and move the view."""
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    tab = open_page(run.animate(tmp_path / "motion.html"), **phone)
    tab.evaluate("armillary.player.pause(); armillary.player.seek(0.5)")

    def now() -> dict:
        wait_for_pictures(tab)
        return {k: np.array(v) if isinstance(v, list) else v for k, v in tab.evaluate(SEEN).items()}

    first = now()
    assert 60 < min(first["heights"]) < max(first["heights"]) < first["panel"]
    touching(tab)("touchStart", tuple(first["body"]))
    touching(tab)("touchEnd")
    assert "lower" in now()["tip"] and "q1" in now()["tip"]
    dragged(tab, ((60, 200), (140, 200)))
    tab.evaluate("armillary.scene.controls.enableDamping = false")
    turned = now()
    reach = np.linalg.norm(first["camera"] - first["target"])
    assert np.linalg.norm(turned["camera"] - first["camera"]) > 0.2 * reach
    assert turned["target"] == pytest.approx(first["target"])
    dragged(tab, ((150, 300), (100, 300)), ((250, 300), (300, 300)))
    nearer = now()
    assert np.linalg.norm(nearer["camera"] - nearer["target"]) < 0.8 * reach
    dragged(tab, ((100, 300), (160, 300)), ((200, 300), (260, 300)))
    moved = now()
    assert np.linalg.norm(moved["target"] - nearer["target"]) > 0.02 * reach
    x, y, width, height = moved["line"][:4]
    dragged(tab, ((x + 0.25 * width, y + height / 2), (x + 0.75 * width, y + height / 2)))
    assert now()["time"] == pytest.approx(0.75 * run.time[-1], abs=0.15)


FRAMED = """() => {
  const { scene } = window.armillary, seen = scene.points.map((p) => scene.project(p));
  const span = (values) => [Math.min(...values), Math.max(...values)];
  const box = (id) => document.getElementById(id).getBoundingClientRect();
  return {
    x: span(seen.map((p) => p.x)), y: span(seen.map((p) => p.y)), foot: scene.coveredBelow(),
    panel: box("plots").left, side: box("side").right,
  };
}"""


@pytest.mark.parametrize("width", [900, 1500])
def test_the_motion_fills_the_picture_between_the_panels(run, tmp_path: Path, open_page, width: int) -> None:
    """The corners of all bodies at all times are seen, their middle is that of the free part, and they reach
    through most of its height or width.
    """
    viewport = {"width": width, "height": 700}
    seen = open_page(run.animate(tmp_path / "motion.html"), viewport=viewport).evaluate(FRAMED)
    (left, right), (top, bottom) = seen["x"], seen["y"]
    height = 700 - seen["foot"]
    assert seen["side"] <= left < right <= seen["panel"] and 0 <= top < bottom <= height
    assert 0.5 * (top + bottom) == pytest.approx(0.5 * height, abs=0.02 * height)
    assert 0.5 * (left + right) == pytest.approx(0.5 * (seen["side"] + seen["panel"]), abs=0.03 * width)
    assert max((bottom - top) / height, (right - left) / (seen["panel"] - seen["side"])) > 0.8


def test_a_page_of_exactly_the_narrow_width_has_the_motion_in_its_middle(
    run, tmp_path: Path, open_page
) -> None:
    """At 640 pixels the style puts panels below; the camera left room at the right for them and for 641."""
    viewport = {"width": 640, "height": 700}
    seen = open_page(run.animate(tmp_path / "motion.html"), viewport=viewport).evaluate(FRAMED)
    assert 0.5 * sum(seen["x"]) == pytest.approx(320.0, abs=20.0)


RECORD = """async () => {
  const { player, scene } = window.armillary, videos = [];
  const wait = (ms) => new Promise((go) => setTimeout(go, ms));
  player.pause(); player.seek(0.5);
  HTMLAnchorElement.prototype.click = function () { videos.push(this); };
  const button = [...document.querySelectorAll("#tools button")].find((b) => b.textContent === "video");
  let pictures = 0;
  const { draw } = scene;
  scene.draw = (...more) => { pictures++; return draw.apply(scene, more); };
  scene.draw(0.5); // as the last picture of a slow machine
  button.click();
  while (pictures < 20) await wait(50);
  await wait(1000); button.click();
  while (!videos.length) await wait(20);
  const video = document.createElement("video"), canvas = document.createElement("canvas");
  video.muted = true; video.src = videos[0].href;
  await new Promise((go, fail) => {
    video.onloadeddata = go; video.onerror = () => fail(Error(video.error.message));
  });
  video.currentTime = 0.4;
  await new Promise((go) => { video.onseeked = go; });
  canvas.width = video.videoWidth; canvas.height = video.videoHeight;
  const g = canvas.getContext("2d"), found = new Set();
  g.drawImage(video, 0, 0);
  const pixels = g.getImageData(0, 0, canvas.width, canvas.height).data;
  for (let i = 0; i < pixels.length; i += 4) found.add(pixels.slice(i, i + 3).join());
  return { name: videos[0].download, size: [canvas.width, canvas.height], colours: found.size };
}"""


def test_a_video_of_a_motion_that_rests_has_pictures(run, tmp_path: Path, open_page) -> None:
    tab = open_page(
        run.animate(tmp_path / "motion.html"), viewport={"width": 321, "height": 241}, bypass_csp=True
    )
    seen = tab.evaluate(RECORD)
    assert re.fullmatch(r"two_links\.(mp4|webm)", seen["name"])
    assert seen["size"] == [320, 240]  # codecs need even numbers; those of the screen
    assert seen["colours"] > 50


PLOTS = """() => {
  const { plots, player } = window.armillary, at = (name) => plots.shown.find((p) => p.name === name);
  player.pause(); player.seek(0.5);
  const seen = plots.shown.map((p) => {
    const { name, low, high, value, canvas } = p, { at, step } = ticks(low, high, 4);
    return { name, low, high, value: value.textContent, at, step, texts: at.map((v) => tickText(v, step)) };
  });
  const { canvas, X, drawn } = at("tip"), box = canvas.getBoundingClientRect(), ratio = sharp();
  canvas.dispatchEvent(new PointerEvent("pointermove", { buttons: 1, clientX: box.left + X(1.5) / ratio }));
  // Pixels with ink: left of the axis, where the numbers of values are, and below it, with those of times.
  const ink = (x, y, w, h) => {
    const pixels = drawn.getContext("2d").getImageData(x, y, w, h).data;
    return pixels.filter((v, i) => i % 4 === 3 && v > 100).length;
  };
  const left = Math.floor(X(0)) - 2, foot = drawn.height - Math.round(9 * ratio);
  return {
    seen, sought: player.t, words: [ink(0, 0, left, foot), ink(left, foot, drawn.width - left, 9 * ratio)],
    texts: [[-1e-17, 0.5], [0.30000000000000004, 0.1], [2e-7, 1e-7], [7000000.5, 0.5], [-9.090208, 2e-6]]
      .map(([x, step]) => tickText(x, step)),
    ranges: [range(9.81, 9.81 + 1e-14), range(-3e-17, 2e-17), range(1e-10, 3e-10), range(1e-9, 2e-9, 1e6)]
      .map(({ low, high }) => [low, high]),
  };
}"""


def test_plots_have_axes_and_rounding_is_no_curve(run, tmp_path: Path, open_page) -> None:
    """Ticks are round numbers in the plot; values of 1e-16 are a line at zero."""
    found = open_page(run.animate(tmp_path / "motion.html")).evaluate(PLOTS)
    plots = {p["name"]: p for p in found["seen"]}
    assert 0 < np.max(np.abs(run["nothing"])) < 1e-15
    assert (plots["nothing"]["low"], plots["nothing"]["high"]) == (-1, 1)
    assert plots["nothing"]["value"] == "0 m"
    tip = plots["tip"]
    low, high = np.min(run["tip"]), np.max(run["tip"])
    assert tip["low"] < low < high < tip["high"] and tip["high"] - tip["low"] < 1.2 * (high - low)
    assert 2 <= len(tip["at"]) <= 4 and all(tip["low"] <= v <= tip["high"] for v in tip["at"])
    assert round(tip["step"] / 10 ** np.floor(np.log10(tip["step"])), 9) in (1, 2, 5)
    assert [float(x) for x in tip["texts"]] == pytest.approx(tip["at"])
    assert found["texts"] == ["0", "0.3", "2e-7", "7.0000005e6", "-9.090208"]
    assert min(found["words"]) > 20
    assert found["sought"] == pytest.approx(1.5, abs=0.01)  # a pixel
    constant, rounding, small, nano = found["ranges"]
    assert constant == pytest.approx([0.9 * 9.81, 1.1 * 9.81])
    assert rounding == [-1, 1] and nano == [-1, 1]  # beside values of 1e6 in these units
    assert small == pytest.approx([0.88e-10, 3.12e-10])  # a small model's curve


PICTURE = """async () => {
  const root = document.documentElement, wait = () => new Promise((go) => setTimeout(go, 20));
  while (!root.dataset.ready || !performance.getEntriesByName("picture").length) await wait();
  const { scene } = window.armillary, { canvas } = scene.plain;
  scene.draw(1, null);
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let vivid = 0; // pixels of a body
  for (let i = 0; i < pixels.length; i += 4)
    if (Math.max(...pixels.slice(i, i + 3)) - Math.min(...pixels.slice(i, i + 3)) > 40) vivid++;
  return { ready: root.dataset.ready, vivid, camera: scene.camera.position.toArray() };
}"""
SHOW = "(how) => { document.querySelector('div').style.display = how; }"
DRAW = """() => {
  const { scene } = window.armillary;
  scene.draw(); scene.resize(); scene.changed = true; scene.refresh();
}"""


def test_pages_in_a_frame_that_is_hidden_at_first_are_framed_and_drawn_once_it_is_seen(
    model, run, monkeypatch, open_page
) -> None:
    """A hidden frame has neither width nor height. The picture is that of a frame which was seen from the
    start; hidden and shown once more, the page goes on.
    """
    monkeypatch.setattr(motion, "_in_notebook", lambda: True)
    for view in (run.view(), model.view()):
        cell = view._repr_html_()
        body = f'<div style="display:none">{cell}</div><div>{cell}</div>'
        tab = open_page(f'<!doctype html><html data-ready="yes"><body>{body}</body></html>')
        hidden, shown = (frame for frame in tab.frames if frame.parent_frame)
        seen = shown.evaluate(PICTURE)
        assert seen["ready"] == "yes" and seen["vivid"] > 500
        assert hidden.evaluate("[innerWidth, document.documentElement.dataset.ready || '']") == [0, ""]
        tab.evaluate(SHOW, "block")
        found = hidden.evaluate(PICTURE)
        assert found["camera"] == pytest.approx(seen["camera"]) and found["vivid"] > 500
        tab.evaluate(SHOW, "none")
        hidden.evaluate(DRAW)
        tab.evaluate(SHOW, "block")
        assert hidden.evaluate(PICTURE)["camera"] == pytest.approx(seen["camera"])
