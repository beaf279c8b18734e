"""Live models: a page in which the model itself runs, compiled to WebAssembly.

The page has a figure, a WebAssembly module, sliders (those requested, or some that suit the model, with
limits in stated units), and the program that runs them.

Bodies can be pulled by the *hand*: a spring and a damper between the pointer and a point r of a body,
F = k (p − x) − c ẋ, with p the pointer and x the position of the point in the ground. In the equations each
body has a force F on its origin and a moment T = r × F, both in its own axes, as six inputs: this adds six
terms to the loads of a body and no rotation.

Sliders of parameters change the figure. Lengths, positions and sizes of drawn parts are numbers in it; for
each slider they are computed at its two ends. Between these and the start value the page interpolates
linearly, and adds the changes of several sliders. This is exact for positions proportional to a length, and
an approximation for others.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np

from armillary.algebra.arguments import checked_names, file_path, flag, real, several, text
from armillary.algebra.units import FORCE, MOMENT
from armillary.errors import ArmillaryError, nearest
from armillary.export.text.description import start_values
from armillary.export.text.source import make_source
from armillary.export.wasm import class_text
from armillary.export.wasm.module import METHODS_OF_MODULES, WasmModule
from armillary.limited_files import write_file
from armillary.model.bodies.body import Body
from armillary.model.loads.forces import force, moment
from armillary.model.signals import input as declare
from armillary.model.snapshot import changeable
from armillary.program.derive import derive
from armillary.program.equations import DerivedEquations
from armillary.program.pieces import moving_bodies
from armillary.results.plots.motion import PictureOptions
from armillary.results.record import label_units
from armillary.runtime.models.compilation import compile_equations
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.parameters import parameter_table
from armillary.runtime.start.initial import initial_memory
from armillary.settings import Initial, run_settings
from armillary.untyped import DataMapping, DataTable, Given
from armillary.viewer.appearance import Appearance
from armillary.viewer.figures import bodies_of
from armillary.viewer.page import SCENE, look_of, page_text
from armillary.viewer.page_data import compress

PARAMETERS, STARTS, INPUTS = "parameters", "starts", "memory"  # lists of a module's description
# Numbers of sliders that a page shows by default.
_MOST_PARAMETERS, _MOST_COORDINATES, _MOST_SPEEDS, _MOST_INPUTS = 4, 2, 3, 4
_TURNS = {"rad": math.pi, "deg": 180.0, "rev": 0.5}


@dataclass(frozen=True)
class Slider:
    """A value that the page can change between two limits, in its units."""

    name: str
    kind: str  # the list of the description that contains it
    low: float
    high: float
    value: float
    units: str
    about: str


Wanted = list[tuple[str, Given]] | None  # names with their limits, or None for default limits


def sliders_of(
    about: DataMapping, wanted: Wanted, hidden: frozenset[str] = frozenset(), size: float = 1.0
) -> list[Slider]:
    """Return sliders of parameters and initial values, and of inputs if these are named.

    ``size`` is a typical length of the system: the default range of coordinates that start at zero.
    """
    known = _movable_quantities(about, (PARAMETERS, STARTS, INPUTS), hidden)
    if wanted is not None:
        return [_slider(item, known, "sliders=", size) for item in wanted]
    needed = [p["name"] for p in about["parameters"] if p["needed"]][:_MOST_PARAMETERS]
    coordinates = [s["name"] for s in about["starts"] if s["kind"] == "coordinate" and s["free"]]
    speeds = [s["name"] for s in about["starts"] if s["kind"] == "speed"]
    starts = coordinates[:_MOST_COORDINATES] or speeds[:_MOST_SPEEDS]  # Euler parameters have no sliders
    chosen = (*needed, *starts)
    return [_slider((name, None), known, "", size) for name in chosen]


def inputs_of(
    about: Mapping[str, object], wanted: Wanted, hidden: frozenset[str] = frozenset()
) -> list[Slider]:
    """Return inputs that sliders, keys and a gamepad move; by default the first inputs of the model."""
    known = _movable_quantities(about, (INPUTS,), hidden)
    if wanted is not None:
        return [_slider(item, known, "inputs=") for item in wanted]
    return [_slider((name, None), known, "") for name in list(known)[:_MOST_INPUTS]]


def _movable_quantities(
    about: DataMapping, kinds: Iterable[str], hidden: frozenset[str]
) -> dict[str, tuple[str, DataMapping]]:
    """Return quantities that sliders can move, by name: their kinds, and their entries in the description."""
    return {
        item["name"]: (kind, item)
        for kind in kinds
        for item in about[kind]
        if item["name"] not in hidden and (kind != INPUTS or item["input"])
    }


def wanted_sliders(wanted: object, option: str) -> Wanted:
    """Return the requested sliders from names, (name, lowest, highest), or a table of limits by name."""
    if wanted is None:
        return None
    if isinstance(wanted, Mapping):
        return [(str(name), limits) for name, limits in wanted.items()]
    if isinstance(wanted, str) or not isinstance(wanted, Sequence):
        raise ArmillaryError(
            f"{option}{wanted!r} is not a list; give names, or (name, lowest, highest), as in "
            f'{option}["k", ("L", 0.2, 1.5)]'
        )
    found: list[tuple[str, Given]] = []
    for item in wanted:
        if isinstance(item, str):
            found.append((item, None))
        elif isinstance(item, Sequence) and len(item) == 3 and isinstance(item[0], str):
            found.append((item[0], item[1:]))
        else:
            raise ArmillaryError(f"{option} holds {item!r}; give a name, or (name, lowest, highest)")
    return found


def _slider(item: tuple[str, Given], known: DataMapping, option: str, size: float = 1.0) -> Slider:
    name, limits = item
    if name not in known:
        kinds = "input" if option == "inputs=" else "parameter, coordinate, speed, state or input"
        there = ", ".join([*list(known)[:12], *["…"][: len(known) > 12]]) or "none"
        raise ArmillaryError(
            f"{option}: the model has no {kinds} '{name}'{nearest(name, known)}; it has {there}"
        )
    kind, entry = known[name]
    value = entry["value"] if kind == PARAMETERS else entry["initial"] / entry["factor"]
    reach = {"coordinate": size / entry["factor"], "speed": 10.0}.get(entry.get("kind", ""), 1.0)
    low, high = (
        _suitable(value, entry["units"], reach)
        if limits is None
        else _slider_limits(name, limits, value, option)
    )
    return Slider(name, kind, low, high, value, label_units(entry["units"]), entry["about"])


def _slider_limits(name: str, limits: object, value: float, option: str) -> tuple[float, float]:
    where = f"{option}: '{name}'"
    if isinstance(limits, str) or not isinstance(limits, Sequence) or len(limits) != 2:
        raise ArmillaryError(f"{where} has limits {limits!r}; give two numbers, the lower one first")
    low, high = (real(x, f"{where}: a limit") for x in limits)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ArmillaryError(f"{where} has limits {low:g} and {high:g}; both must be finite")
    if low >= high:
        raise ArmillaryError(f"{where} has limits {low:g} and {high:g}; give the lower one first")
    if not low <= value <= high:
        raise ArmillaryError(f"{where} is {value:g}, outside its limits {low:g} and {high:g}; widen them")
    return low, high


def _suitable(value: float, units: str, reach: float) -> tuple[float, float]:
    """Return limits: from zero to twice the value. For angles, half a turn to either side; for other values
    at zero, ``reach`` to either side.
    """
    turn = _TURNS.get(units)
    if turn is not None and abs(value) <= turn:
        return -turn, turn
    if value == 0.0:
        return -reach, reach
    return min(0.0, 2.0 * value), max(0.0, 2.0 * value)


_AXES = "xyz"


def hand_names(place: int) -> list[str]:
    """Return the names of the hand's inputs on a body, by its index among moving bodies: force, moment."""
    return [f"hand_{what}_{axis}_{place}" for what in ("force", "moment") for axis in _AXES]


def with_hand(equations: DerivedEquations) -> DerivedEquations:
    """Return the equations of the same system with loads of the hand on every moving body."""
    system = changeable(equations.system)
    for place, moving in enumerate(moving_bodies(equations)):
        body: Body = system.bodies[moving.name]
        for i, load in enumerate(hand_names(place)):
            units = system.units.unit_text(FORCE if i < 3 else MOMENT)
            magnitude = declare(system, load, 0.0, units=units)
            direction = getattr(body, _AXES[i % 3])
            if i < 3:
                force(system, f"{load}_load", magnitude, direction, at=body.origin)
            else:
                moment(system, f"{load}_load", magnitude, direction, on=body)
    return derive(system, equations.formalism, configuration=equations.configuration, **equations.options)


_PARTS = ("bodies", "ground", "springs")  # in the order in which the page counts numbers
_SHARES = (1.0, 0.5, 0.1)  # fractions of the way to a limit, tried in turn: at the limit, masses may vanish
_SAME = 1e-9


def variants(
    equations: DerivedEquations,
    values: Mapping[str, float],
    figure: DataMapping,
    sliders: Sequence[Slider],
) -> dict[str, list[list[float]]]:
    """Return for each slider the numbers that it changes: [index, change at lower limit, at upper]."""
    if figure["meshes"].found:
        return {}  # meshes from files do not depend on parameters
    start = list(_iterate_numbers([figure[part] for part in _PARTS]))
    found = {}
    for slider in sliders:
        if slider.kind != PARAMETERS:
            continue
        ends = [
            _figure_changes(equations, values, start, slider, limit) for limit in (slider.low, slider.high)
        ]
        scale = _SAME * max(map(abs, start), default=0.0)
        changed = [
            [i, a, b] for i, (a, b) in enumerate(zip(*ends, strict=True)) if max(abs(a), abs(b)) > scale
        ]
        if changed:
            found[slider.name] = changed
    return found


def _figure_changes(
    equations: DerivedEquations, values: Mapping[str, float], start: list[float], slider: Slider, limit: float
) -> list[float]:
    for share in _SHARES:
        value = slider.value + share * (limit - slider.value)
        try:
            figure = bodies_of(equations, {**values, slider.name: value})
        except ArmillaryError:
            continue
        there = list(_iterate_numbers([figure[part] for part in _PARTS]))
        if len(there) == len(start):
            return [(b - a) / share for a, b in zip(start, there, strict=True)]
    return [0.0] * len(start)


def _iterate_numbers(content: object) -> Iterator[float]:
    """Yield all numbers in lists and tables, in their order."""
    if isinstance(content, Mapping):
        for item in content.values():
            yield from _iterate_numbers(item)
    elif isinstance(content, list | tuple):
        for item in content:
            yield from _iterate_numbers(item)
    elif isinstance(content, int | float) and not isinstance(content, bool):
        yield float(content)


_WEB = Path(__file__).parent / "web"
_SCRIPTS = ("controls/axes.js", "live/plots.js", "live/controls.js", "live/hand.js", "live/live.js")
_SHOWN = 3  # plots that are open at first
_POLICY = "script-src 'unsafe-inline'"
_RTOL, _ATOL = 1e-6, 1e-8  # of adaptive steps in a page
_GRABBED = 40  # most bodies of a system whose page has a hand by default


def live(
    model: CompiledModel,
    path: str | os.PathLike[str],
    *,
    sliders: object = None,
    inputs: object = None,
    plots: Sequence[str] | None = None,
    parameters: Mapping[str, object] | None = None,
    initial: Initial = None,
    memory: Mapping[str, float] | None = None,
    method: str | None = None,
    step: float | str | None = None,
    grab: bool | None = None,
    title: str = "",
) -> Path:
    """Write a page in which the model itself runs, compiled to WebAssembly: one HTML file, no network.

    ``sliders`` change parameters, initial values and inputs while the model runs; ``inputs`` are also moved
    by keys and a gamepad. Both are lists of names, or of (name, lowest, highest) in the units of the
    quantity; without a list, the page chooses some. ``plots`` are the outputs that the page shows at first.
    ``method`` and ``step`` are as in ``simulate``, but the default method is "rk4" with a step and "dopri5"
    without one. With ``grab`` bodies can be pulled with the pointer; by default they can if the system allows
    it.
    """
    place = file_path(path, "the page")
    if place.suffix.lower() not in (".html", ".htm"):
        raise ArmillaryError(f"a live model is written as one .html page, not as '{place.name}'")
    asked, driven = wanted_sliders(sliders, "sliders="), wanted_sliders(inputs, "inputs=")
    settings = run_settings(live, 0.0, step=step, rtol=_RTOL, atol=_ATOL)
    chosen = METHODS_OF_MODULES[step is None] if method is None else text(method, "method")
    heading = text(title, "title")
    hold = None if grab is None else flag(grab, "grab")
    values = parameter_table(model.equations).values(parameters)
    equations = _with_hand(model.equations, hold)
    made = make_source(equations, None, exchanges=True, passes=True)
    module = WasmModule(made, [chosen])
    about = module.description()
    _start_from(about, compile_equations(made.equations), values, initial, memory)
    hands = (
        [hand_names(place) for place in range(len(module.bodies))] if equations is not model.equations else []
    )
    hidden = frozenset(name for hand in hands for name in hand)
    names = [o["name"] for o in about["outputs"]]
    figure = bodies_of(made.equations, values)
    count = len(figure["bodies"])
    moved = sliders_of(about, asked, hidden, figure["size"])
    content = {
        "system": about["name"],
        "about": f"{count} {'body' if count == 1 else 'bodies'}, {made.equations.freedom}",
        "up": figure["up"],
        "size": figure["size"],
        "figures": [figure],
        "shown": _choose_plots(plots, names, model),
        "events": [],
        "look": look_of(PictureOptions(), figure),
        "live": {
            "about": about,
            "code": compress(module.linked.code),
            "sliders": [asdict(s) for s in moved],
            "variants": variants(made.equations, values, figure, moved),
            "inputs": [asdict(s) for s in inputs_of(about, driven, hidden)],
            "outputs": [
                {"name": o["name"], "units": label_units(o["units"]), "about": o["about"]}
                for o in about["outputs"]
            ],
            "method": chosen,
            **{name: getattr(settings, name) for name in ("step", "rtol", "atol")},
            "modes": _modes(module),
            "hand": _hand(module, hands, values),
        },
    }
    page = page_text(content, heading or about["name"], (*SCENE, "controls/pointer.js", *_SCRIPTS))
    write_file(place, _complete_page(page))
    return place


def _with_hand(equations: DerivedEquations, grab: bool | None) -> DerivedEquations:
    """Return the equations with loads for dragging bodies if ``grab`` is True, or if it is None and they can
    have these loads.
    """
    if grab is False:
        return equations
    if grab is None and len(equations.system.bodies) > _GRABBED:
        return equations
    try:
        return with_hand(equations)
    except ArmillaryError:
        if grab:
            raise
        return equations


def _start_from(
    about: DataTable,
    model: CompiledModel,
    values: Mapping[str, float],
    initial: Given,
    memory: DataMapping | None,
) -> None:
    """Replace the start values of the description by the values with which the page starts."""
    for parameter in about["parameters"]:
        parameter["value"] = values.get(parameter["name"], parameter["value"])
    begin = start_values(model, {p["name"]: p["value"] for p in about["parameters"]}, initial)
    for entry, x in zip(about["states"], begin.state, strict=True):
        entry["initial"] = x
    for entry, x in zip(about["starts"], begin.given, strict=True):
        entry["initial"] = x
    stored = initial_memory(model.equations, memory)
    for entry, x in zip(about["memory"], stored.tolist(), strict=False):
        if memory is not None and entry["name"] in memory:
            entry["initial"] = x


def _modes(module: WasmModule) -> list[int]:
    """Return the indices of the amplitudes of all modes in the state, in the order of the figure."""
    index = {s.data.name: i for i, s in enumerate(module.program.state)}
    return [index[q.data.name] for b in module.bodies if b.flex is not None for q in b.flex.coordinates]


def _hand(module: WasmModule, hands: list[list[str]], values: Mapping[str, float]) -> DataTable | None:
    """Return the inputs of the hand on each body, and the masses from which its stiffness follows."""
    if not hands:
        return None
    look = Appearance(module.equations, values)
    masses = np.nan_to_num(look.numbers([body.mass for body in module.bodies])).tolist()
    return {"names": hands, "masses": masses}


def _choose_plots(plots: object, names: list[str], model: CompiledModel) -> list[str]:
    if plots is None:
        own = list(model.equations.system.outputs)
        return [*own, *(n for n in names if n not in own)][: min(_SHOWN, len(own) or _SHOWN)]
    return list(checked_names(several(plots, "plots="), names, "plots=: the model has no output"))


def _complete_page(page: str) -> str:
    """Return the page with the class of models, its own style, and permission to compile the module."""
    style = (_WEB / "live.css").read_text(encoding="utf-8")
    page = page.replace(_POLICY, f"{_POLICY} 'wasm-unsafe-eval'", 1).replace(
        "</style>", f"{style}</style>", 1
    )
    return page.replace("<script>\n", f"<script>\n{_class()}\n", 1)


@cache
def _class() -> str:
    return class_text()
