"""Live pages: what they hold, what they refuse, and the model that runs in a browser."""

from __future__ import annotations

import ctypes
import json
import math
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.cli.app import app
from armillary.runtime.models.compilation import compile_equations
from armillary.viewer.live import _slider_limits, hand_names, with_hand
from tests.browser import dragged, touching, wait_for_pictures

HOSTILE = "</script><img src=x onerror=window.struck=1>"


def _system(name: str = "swing") -> arm.System:
    s = arm.System(name)
    s.parameter("L", 0.5, units="m", about=HOSTILE)
    s.parameter("g", 9.81, units="m/s2")
    bob = s.body("bob", joint=arm.Revolute("z"), com=(0, "-L", 0), mass=2.0, inertia=0)
    s.gravity("g", -s.ground.y)
    s.moment("motor", s.input("torque", units="N*m", about="of the motor"), s.ground.z, on=bob)
    s.event("across", bob.q1, direction=-1)
    s.output("height", arm.dot(arm.position(bob.com), s.ground.y), units="m")
    s.start({"bob.q1": 1.0})
    return s


def live_page(model: arm.stages.Model, **options: object) -> str:
    """Return the text of the page of a model."""
    with tempfile.TemporaryDirectory() as folder:
        return model.live(Path(folder) / "page.html", **options).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def model() -> arm.stages.Model:
    return _system().derive().compile()


@pytest.fixture(scope="module")
def page(model) -> str:
    return live_page(
        model,
        sliders=[("L", 0.2, 1.0), "bob.q1", "g"],
        inputs=[("torque", -5, 5)],
        initial={"bob.q1": 0.8},
    )


def _data(text: str) -> dict:
    return json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', text, re.S)[1])


def test_a_page_holds_the_module_sliders_with_limits_and_nothing_from_outside(page: str) -> None:
    live = _data(page)["live"]
    moved = {s["name"]: (s["low"], s["high"], s["value"], s["units"]) for s in live["sliders"]}
    assert moved == {
        "L": (0.2, 1.0, 0.5, "m"), "bob.q1": (-math.pi, math.pi, 0.8, "rad"), "g": (0, 19.62, 9.81, "m/s2"),
    }  # fmt: skip
    assert [(s["name"], s["low"], s["high"]) for s in live["inputs"]] == [("torque", -5.0, 5.0)]
    assert list(live["variants"]) == ["L"]  # the drawn rod grows with its length
    assert "script-src 'unsafe-inline' 'wasm-unsafe-eval'" in page and HOSTILE not in page
    outside = re.sub(r'<script id="three".*?</script>', "", page, flags=re.S)
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", outside)


def test_without_a_word_the_page_chooses_its_sliders(model, tmp_path: Path) -> None:
    path = model.live(tmp_path / "swing.html", grab=False)
    live = _data(path.read_text(encoding="utf-8"))["live"]
    assert [s["name"] for s in live["sliders"]] == ["L", "g", "bob.q1"]
    assert [s["name"] for s in live["inputs"]] == ["torque"]
    assert live["hand"] is None and live["method"] == "dopri5"


def test_sliders_of_inputs_begin_at_their_values_in_stated_units() -> None:
    s = arm.System("press")
    ram = s.body("ram", joint=arm.Prismatic("x"), mass=2.0, inertia=0)
    s.force("press", s.input("load", 2.5, units="kN"), s.ground.x, at=ram.com)
    (slider,) = _data(live_page(s.derive().compile(), inputs=["load"]))["live"]["inputs"]
    assert {name: slider[name] for name in ("value", "low", "high", "units")} == pytest.approx(
        {"value": 2.5, "low": 0.0, "high": 5.0, "units": "kN"}
    )


def test_the_hand_pulls_as_a_force_on_a_point_does(model) -> None:
    """ü = −g/L sin q + F·t / (m L) for a force F on the bob, t its tangent."""
    pulled = compile_equations(with_hand(core_of(model.equations)))
    q, F = 0.7, np.array([3.0, -2.0, 1.0])  # in the body's axes, whose x is the tangent
    at = np.array([0.0, -0.5, 0.0])
    memory = np.zeros(len(pulled.equations.system.memories))
    names = list(pulled.equations.system.memories)
    for name, value in zip(hand_names(0), [*F, *np.cross(at, F)], strict=True):
        memory[names.index(name)] = value
    (found,) = pulled.derivatives(0.0, [q, 0.0], memory=memory)[1:]
    assert found == pytest.approx(-9.81 / 0.5 * math.sin(q) + F[0] / (2.0 * 0.5), rel=1e-13)
    assert model.derivatives(0.0, [q, 0.3]) == pytest.approx(
        pulled.derivatives(0.0, [q, 0.3]), rel=1e-13
    )  # and at rest it changes nothing
    assert list(model.equations.system.memories) == ["torque"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"sliders": ["M"]},
            "no parameter, coordinate, speed, state or input 'M'; it has L, g, bob.q1, bob.u1, torque",
        ),
        ({"sliders": [("L", 2.0, 1.0)]}, "'L' has limits 2 and 1; give the lower one first"),
        ({"sliders": [("L", 0.5, 0.5)]}, "'L' has limits 0.5 and 0.5; give the lower one first"),
        ({"sliders": [("L", 1.0, 2.0)]}, "'L' is 0.5, outside its limits 1 and 2"),
        ({"sliders": {"L": (0.1, math.inf)}}, "both must be finite"),
        ({"sliders": "L"}, "sliders='L' is not a list"),
        ({"sliders": [("L", 1.0)]}, "give a name, or"),
        ({"inputs": ["L"]}, "the model has no input 'L'"),
        ({"plots": ["heigt"]}, "no output 'heigt'; did you mean 'height'"),
        ({"step": -1.0}, "the step must be positive, not -1"),
        ({"method": "euler"}, "a module has no method 'euler'"),
        ({"parameters": {"M": 1.0}}, "no parameter 'M'"),
    ],
)
def test_what_a_page_cannot_show_is_refused(model, options: dict, words: str) -> None:
    with pytest.raises(arm.ArmillaryError, match=re.escape(words)):
        live_page(model, grab=False, **options)


def test_a_model_that_calls_outside_is_refused(tmp_path: Path) -> None:
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    s = arm.System("outside")
    b = s.body("b", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 1))
    s.function("wave", arm.ForeignFunction("wave", kind(math.sin), 1))
    s.moment("tau", "-wave(b.q1)", s.ground.z, on=b)
    outside = s.derive().compile()
    with pytest.raises(arm.ArmillaryError, match="calls a function by its address in this process"):
        outside.live(tmp_path / "page.html")
    with pytest.raises(arm.ArmillaryError, match=r"one \.html page, not as 'page.png'"):
        outside.live(tmp_path / "page.png")
    assert not list(tmp_path.iterdir())


def test_the_command_writes_a_page(tmp_path: Path, capsys) -> None:
    _system().save(tmp_path / "swing.toml")
    place = tmp_path / "swing.html"
    words = ["live", str(tmp_path / "swing.toml"), "--slider", "L=0.1:2", "--no-grab", "--step", "2 ms",
             "--set", "initial.bob.q1=0.4", "-o", str(place)]  # fmt: skip
    assert app.main(words, standalone_mode=False) == 0
    live = _data(place.read_text(encoding="utf-8"))["live"]
    assert (live["method"], live["step"]) == ("rk4", 0.002)
    assert [(s["name"], s["low"], s["high"]) for s in live["sliders"]] == [("L", 0.1, 2.0)]
    assert live["about"]["starts"][0]["initial"] == 0.4


ACT = """
async () => {
  const a = window.armillary, seen = { ready: document.documentElement.dataset.ready };
  const frames = (n) => { for (let i = 0; i < n; i++) a.live.advance(1 / 60); };
  a.play(false); a.reset(); frames(60);
  seen.angle = a.value("bob.q1"); seen.pose = a.pose("bob"); seen.events = a.model.events;
  seen.follow = a.scene.follow;
  seen.drawn = a.scene.figures[0].groups[0].quaternion.toArray();
  a.set("L", 0.8); a.set("bob.q1", -0.5); frames(30);
  seen.longer = a.value("bob.q1");
  seen.com = a.scene.figures[0].bodies[0].com;
  a.controls.pressed.add("ArrowRight"); a.controls.hold(0.2, (c) => a.model.setInputs({ [c.name]: c.value }));
  seen.torque = a.controls.find("torque").value; a.controls.pressed.clear();
  a.set("torque", 0); a.reset(); a.scene.draw();
  const { x, y } = a.scene.project(a.scene.figures[0].place(0, a.scene.figures[0].bodies[0].com));
  a.scene.canvas.setPointerCapture = () => {};
  const where = { clientX: x, clientY: y, button: 0, buttons: 1, bubbles: true };
  const point = (type) => new PointerEvent(type, where);
  a.scene.canvas.dispatchEvent(point("pointerdown"));
  seen.held = a.live.hand.held.body; a.play(false);
  a.live.hand.held.at = [0, -0.8, 0]; a.live.hand.held.goal.set(0.8, 0, 0); frames(240);
  seen.pulled = a.value("bob.q1");
  a.scene.canvas.dispatchEvent(point("pointerup"));
  seen.free = a.live.hand.held === null && a.scene.controls.enabled;
  seen.plots = document.querySelectorAll("#plots .plot").length; seen.rows = a.plots.rows.length;
  seen.struck = window.struck === 1;
  return seen;
}
"""


def test_the_model_runs_in_a_browser(model, page: str, open_page) -> None:
    """Numbers are those of the process; sliders, keys and the pointer change them."""
    seen = open_page(page).evaluate(ACT)
    assert seen["ready"] == "yes"
    assert not seen["struck"]
    settings = {"method": "dopri5", "rtol": 1e-6, "atol": 1e-8, "max_step": 1 / 60}
    run = model.simulate(2.0, sample=1 / 60, initial={"bob.q1": 0.8}, **settings)
    assert seen["angle"] == pytest.approx(run["bob.q1"][60], abs=1e-12)
    c, s = math.cos(seen["angle"]), math.sin(seen["angle"])
    assert seen["pose"]["rotation"] == pytest.approx([c, -s, 0, s, c, 0, 0, 0, 1], abs=1e-15)
    assert [e["name"] for e in seen["events"]] == ["across"]
    assert seen["follow"] == -1  # the swing stays in sight of a fixed camera
    assert seen["events"][0]["time"] == pytest.approx(run.events[0].time, abs=1e-12)
    other = model.simulate(1.0, sample=0.5, initial={"bob.q1": -0.5}, parameters={"L": 0.8}, **settings)
    assert seen["longer"] == pytest.approx(other["bob.q1"][1], abs=1e-12)
    assert seen["com"] == pytest.approx([0, -0.8, 0], abs=1e-9)
    assert seen["torque"] == pytest.approx(5 * 0.2 / 0.7, rel=1e-9)
    assert seen["held"] == 0 and seen["free"]
    # Where the spring of 14 rad/s holds the weight of the bob: k L cos q = m g sin q.
    assert seen["pulled"] == pytest.approx(math.atan(14**2 * 0.8 / 9.81), abs=1e-6)
    assert seen["plots"] == 1 and seen["rows"] == 241


WITHOUT = """
const { getContext } = HTMLCanvasElement.prototype;
HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
  return /webgl/.test(kind) ? null : getContext.call(this, kind, ...more);
};
window.hints = []; // all that were shown: an event of the run may come before or after
new MutationObserver(() => hints.push(document.getElementById("hint")?.textContent ?? ""))
  .observe(document, { childList: true, subtree: true, characterData: true });
"""


def test_a_browser_without_webgl_runs_the_model_and_draws_it(page: str, open_page) -> None:
    """A body is seen where it is: its colour at its mass centre, and nothing of it elsewhere."""
    tab = open_page(page, before=WITHOUT)
    seen = tab.evaluate("""async () => {
      const a = window.armillary, { scene } = a, said = () => window.hints.find((text) => /WebGL/.test(text));
      while (!said()) await new Promise((go) => setTimeout(go, 10));
      a.play(false); a.reset(); scene.draw();
      const { x, y } = scene.project(scene.figures[0].place(0, scene.figures[0].bodies[0].com));
      const g = scene.shown.getContext("2d"), at = (x, y) => [...g.getImageData(x, y, 1, 1).data].slice(0, 3);
      return { hint: said(), bob: at(x, y), sky: at(5, 5), drawn: scene.renderer === null };
    }""")
    assert "no WebGL" in seen["hint"] and seen["drawn"]
    assert max(seen["sky"]) - min(seen["sky"]) < 10 < max(seen["bob"]) - min(seen["bob"])


def test_a_finger_pulls_a_body_and_another_turns_the_view(page: str, open_page) -> None:
    tab = open_page(page, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    tab.evaluate("armillary.play(false); armillary.reset(); armillary.scene.draw()")
    where = """() => {
      const { scene, live } = armillary, { x, y } = scene.project(scene.figures[0].place(0, scene.figures[0].bodies[0].com));
      return { x, y, camera: scene.camera.position.toArray(), held: live.hand.held && live.hand.held.body,
               angle: armillary.value("bob.q1"), free: scene.controls.enabled, playing: live.playing };
    }"""  # noqa: E501
    first = tab.evaluate(where)
    higher = "() => armillary.scene.project(new THREE.Vector3(0.5 * Math.sin(1.5), -0.5 * Math.cos(1.5), 0))"
    up = tab.evaluate(higher)  # where it would be at 1.5 rad
    dragged(tab, ((first["x"], first["y"]), (up["x"], up["y"])), held=True)
    for _ in range(1000):
        wait_for_pictures(tab)
        pulled = tab.evaluate(where)
        if abs(pulled["angle"]) > abs(first["angle"]) + 0.2:  # up, against the weight
            break
    else:
        pytest.fail(f"the body was not pulled up: {pulled}")
    assert pulled["held"] == 0 and pulled["playing"] and pulled["camera"] == pytest.approx(first["camera"])
    touching(tab)("touchEnd")
    wait_for_pictures(tab)
    assert tab.evaluate(where)["held"] is None and tab.evaluate(where)["free"]
    dragged(tab, ((20, 120), (120, 120)))
    wait_for_pictures(tab)
    turned = np.subtract(tab.evaluate(where)["camera"], first["camera"])
    assert np.linalg.norm(turned) > 0.1


PAD = """
window.pad = { axes: [0, 0, 0, 0], buttons: [], connected: true };
window.there = true;
navigator.getGamepads = () => [null, there ? pad : null]; // as browsers give them: empty places first
"""


def test_a_gamepad_moves_inputs_and_lets_them_go(page: str, open_page) -> None:
    """The stick gives a share of the way to a limit; near its middle, and without a pad, the input rests."""
    tab = open_page(page, before=PAD)
    torque = "armillary.controls.find('torque').value"

    def after(act: str) -> float:
        tab.evaluate(act)
        wait_for_pictures(tab)
        return tab.evaluate(torque)

    assert after("pad.axes[0] = 0.5") == pytest.approx(2.5)
    assert (
        tab.evaluate("armillary.model.workspace('memory')[armillary.model.find('memory', 'torque')]") == 2.5
    )
    assert after("pad.axes[0] = -1") == pytest.approx(-5.0)
    after("pad.axes[0] = 0.1")
    for _ in range(1000):
        if after("") == 0:
            break
    assert after("") == 0
    assert after("pad.axes[0] = 1") == pytest.approx(5.0)
    for _ in range(1000):
        if after("there = false") == 0:
            break
    assert after("") == 0


def _balanced(law: object = None) -> arm.System:
    """A cart with a pole above it whose force follows a law every 0.05 s."""
    s = arm.System("cart and pole")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.body("pole", parent=cart, joint=arm.Revolute("z"), com=(0, 0.5, 0), mass=0.3, inertia=0)
    s.gravity(9.81, -s.ground.y)
    if law is None:
        force = s.input("F", units="N")
    else:
        force = s.memory("F", 0.0, units="N", update=law.expressions(s)[0], every=0.05)
        s.output("force", force, units="N")
    s.force("motor", force, s.ground.x, at=cart.com)
    return s


BALANCE = """
() => {
  const a = window.armillary, seen = { forces: [], angles: [] };
  const frames = (n) => { for (let i = 0; i < n; i++) {
    a.live.advance(1 / 60); seen.forces.push(a.value("force")); seen.angles.push(a.value("pole.q1"));
  } };
  a.play(false); a.set("pole.q1", 0.3); a.reset(); frames(300);
  seen.end = ["cart.q1", "pole.q1", "cart.u1", "pole.u1"].map((name) => a.value(name));
  a.live.hand.take(1, [0, 0.5, 0], [0.04, 0.5, 0]); frames(3); a.live.hand.release(); frames(360);
  seen.pushed = Math.max(...seen.angles.slice(300).map(Math.abs)); seen.caught = a.value("pole.q1");
  return seen;
}
"""


def test_a_predictive_controller_balances_the_cart_pole_in_a_browser(open_page) -> None:
    """The law was designed in Python; the page runs it as the process does, and it catches a pole that a hand
    has pushed.
    """
    plant = _balanced().derive().compile()
    law = plant.mpc({"F": (-8, 8)}, Q=[1.0, 1.0, 0.1, 0.1], R=0.01, step=0.05, horizon=5, passes=4)
    closed = _balanced(law).derive().compile()
    text = live_page(closed, sliders=[("pole.q1", -0.4, 0.4)], plots=["pole.q1", "force"])
    seen = open_page(text).evaluate(BALANCE)
    settings = {"method": "dopri5", "rtol": 1e-6, "atol": 1e-8, "max_step": 1 / 60}
    run = closed.simulate(5.0, sample=1 / 60, initial={"pole.q1": 0.3}, **settings)
    frames = np.searchsorted(run.time, np.arange(1, 301) / 60 - 1e-9)  # there are rows at updates, too
    assert seen["angles"][:300] == pytest.approx(list(run["pole.q1"][frames]), abs=1e-6)
    assert min(seen["forces"]) == -8 and max(seen["forces"]) <= 8
    names = ("cart.q1", "pole.q1", "cart.u1", "pole.u1")
    assert seen["end"] == pytest.approx([run.final[name] for name in names], abs=1e-6)
    assert np.max(np.abs(seen["end"])) < 0.1
    assert seen["pushed"] > 0.02 and abs(seen["caught"]) < 0.01


@pytest.mark.parametrize("limits", [3, "ab", (1.0,), (1.0, 2.0, 3.0), None])
def test_limits_of_a_slider_that_are_no_pair_are_refused(limits: object) -> None:
    with pytest.raises(arm.ArmillaryError) as caught:
        _slider_limits("k", limits, 1.0, "sliders=")
    assert str(caught.value) == f"sliders=: 'k' has limits {limits!r}; give two numbers, the lower one first"
