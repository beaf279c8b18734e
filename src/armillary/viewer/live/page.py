"""The page of a live model: its figure, its module, its sliders, and the program that runs them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path

import numpy as np

from armillary.algebra.arguments import checked_names, file_path, flag, several, text
from armillary.atomic import replacing
from armillary.errors import ArmillaryError
from armillary.export.text.reference import start_values
from armillary.export.text.source import make_source
from armillary.export.wasm import class_text
from armillary.export.wasm.module import METHODS_OF_MODULES, WasmModule
from armillary.program.equations import DerivedEquations
from armillary.results.plots.picture_options import PictureOptions
from armillary.results.units import label_units
from armillary.runtime.models.compilation import compile_equations
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.parameters import parameter_table
from armillary.runtime.start.initial import initial_memory
from armillary.settings import run_settings
from armillary.untyped import DataMapping, DataTable, Given
from armillary.viewer.figures import bodies_of
from armillary.viewer.live.controls import inputs_of, sliders_of, wanted_sliders
from armillary.viewer.live.grab import hand_names, with_hand
from armillary.viewer.live.variants import variants
from armillary.viewer.pages.encoding import compressed
from armillary.viewer.pages.page import SCENE, look_of, page_text
from armillary.viewer.parts.appearance import Appearance

_WEB = Path(__file__).parent.parent / "web"
_SCRIPTS = ("controls/axes.js", "live/plots.js", "live/controls.js", "live/hand.js", "live/live.js")
_SHOWN = 3  # plots that are open at first
_POLICY = "script-src 'unsafe-inline'"
_RTOL, _ATOL = 1e-6, 1e-8  # of adaptive steps in a page
_GRABBED = 40  # bodies up to which a page has a hand unasked


def write_live(model: CompiledModel, path: str | os.PathLike[str], **options: Given) -> Path:
    """The page of a model, written whole or not at all; ``options`` are those of ``live_page``."""
    place = file_path(path, "the page")
    if place.suffix.lower() not in (".html", ".htm"):
        raise ArmillaryError(f"a live model is written as one .html page, not as '{place.name}'")
    page = live_page(model, **options)
    with replacing(place) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return place


def live_page(
    model: CompiledModel,
    *,
    sliders: object = None,
    inputs: object = None,
    plots: object = None,
    parameters: Mapping[str, object] | None = None,
    initial: object = None,
    memory: Mapping[str, object] | None = None,
    method: str | None = None,
    step: float | str | None = None,
    grab: bool | None = None,
    title: str = "",
) -> str:
    """The text of the page."""
    asked, driven = wanted_sliders(sliders, "sliders="), wanted_sliders(inputs, "inputs=")
    settings = run_settings(live_page, 0.0, step=step, rtol=_RTOL, atol=_ATOL)
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
        "shown": _shown(plots, names, model),
        "events": [],
        "look": look_of(PictureOptions(), figure),
        "live": {
            "about": about,
            "code": compressed(module.linked.code),
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
    return _completed(page)


def _with_hand(equations: DerivedEquations, grab: bool | None) -> DerivedEquations:
    """The equations with loads for dragging bodies, if ``grab`` is True, or None and they can have them."""
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
    """The values of the description replaced by those from which the page starts."""
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
    """Places of the amplitudes of all modes in the state, in the order of the figure."""
    index = {s.data.name: i for i, s in enumerate(module.program.state)}
    return [index[q.data.name] for b in module.bodies if b.flex is not None for q in b.flex.coordinates]


def _hand(module: WasmModule, hands: list[list[str]], values: Mapping[str, float]) -> DataTable | None:
    """Inputs of the hand on each body, and the masses that decide how hard it pulls, in the model's units."""
    if not hands:
        return None
    look = Appearance(module.equations, values)
    masses = np.nan_to_num(look.numbers([body.mass for body in module.bodies])).tolist()
    return {"names": hands, "masses": masses}


def _shown(plots: object, names: list[str], model: CompiledModel) -> list[str]:
    if plots is None:
        own = list(model.equations.system.outputs)
        return [*own, *(n for n in names if n not in own)][: min(_SHOWN, len(own) or _SHOWN)]
    return list(checked_names(several(plots, "plots="), names, "plots=: the model has no output"))


def _completed(page: str) -> str:
    """The page with the class of models and the style of its own, and with leave to compile the module."""
    style = (_WEB / "live.css").read_text(encoding="utf-8")
    page = page.replace(_POLICY, f"{_POLICY} 'wasm-unsafe-eval'", 1).replace(
        "</style>", f"{style}</style>", 1
    )
    return page.replace("<script>\n", f"<script>\n{_class()}\n", 1)


@cache
def _class() -> str:
    return class_text()
