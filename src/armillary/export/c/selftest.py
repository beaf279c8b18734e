"""test.c: stored numbers of the in-process model, and the program that compares them."""

from __future__ import annotations

from collections.abc import Sequence

from armillary.export.c.model import CModel
from armillary.export.text.files.template import fill, template
from armillary.export.text.layout import wrapped
from armillary.export.text.selftest.reference import ABSOLUTE, RELATIVE


def test_code(model: CModel) -> str:
    """The self-test with its numbers."""
    values, has = stored_numbers(model)
    return fill(template(__package__, "test.c.txt"), values, has)


def stored_numbers(model: CModel) -> tuple[dict[str, str], set[str]]:
    """What the template of a self-test puts in, and which of its parts it has."""
    reference, d = model.source.reference, model.description
    points = reference.points
    room = max(1, len(d.states), len(d.outputs), len(d.events), len(d.memory))
    data = [
        f"enum {{ POINTS = {len(points)}, ROOM = {room} }};",
        "",
        _vector(model, "parameters", reference.parameters),
        _vector(model, "expected_constants", reference.constants),
        _vector(model, "times", [p.t for p in points], "POINTS"),
        _matrix(model, "states", [p.state for p in points]),
        _matrix(model, "memories", [p.memory for p in points]),
        _matrix(model, "expected_derivatives", [p.derivatives for p in points]),
        _matrix(model, "expected_outputs", [p.outputs for p in points]),
    ]
    if "events" in model.has:
        data.append(_matrix(model, "expected_events", [p.events for p in points]))
    if "update" in model.has:
        data.append(_matrix(model, "expected_update", [p.update for p in points]))
    values = model.values | {"relative": repr(RELATIVE), "absolute": repr(ABSOLUTE)}
    has = model.has
    run = reference.trajectory
    if run is not None:
        has = has | {"trajectory"}
        data.append(_vector(model, "expected_end", run.outputs))
        if "host" not in has:  # where the model has no function that gives its start
            data.append(_vector(model, "start_state", reference.initial))
            data.append(_vector(model, "start_memory", reference.memory))
        values |= {"duration": repr(run.duration), "step": repr(run.step), "steps": str(run.steps)}
    values["data"] = "\n".join(data)
    return values, has


def _numbers(model: CModel, values: Sequence[float]) -> str:
    return "{" + (", ".join(model.printer.number(v).text for v in values) or "0.0") + "}"


def _vector(model: CModel, name: str, values: Sequence[float], size: str = "") -> str:
    size = size or str(max(1, len(values)))
    text = f"static const double {name}[{size}] = {_numbers(model, values)};"
    return "\n".join(wrapped(text, 110, "", "    "))


def _matrix(model: CModel, name: str, rows: Sequence[Sequence[float]]) -> str:
    width = max(1, len(rows[0]))
    lines = [f"static const double {name}[POINTS][{width}] = {{"]
    for row in rows:
        lines += wrapped(f"{_numbers(model, row)},", 110, "    ", "        ")
    return "\n".join([*lines, "};"])
