"""test.c: stored numbers of the in-process model, each with the room that the precision of the code needs.

In single precision the room of a value is 64 units in its last place and 8 times the largest change where
every input is changed by up to 4 units in its last place: an ill-conditioned result magnifies roundings of
operations as it magnifies those of inputs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from armillary.export.c.embedded.model import EmbeddedModel
from armillary.export.text.layout import wrapped
from armillary.export.text.reference import ABSOLUTE, RELATIVE, at, last_row
from armillary.export.text.template import fill, template
from armillary.runtime.integrators.records import Method
from armillary.runtime.models.compiling import compile_equations

Values = Sequence[float] | np.ndarray
ULP = 2.0**-23
_CHANGES = 6
_SECTIONS = ("derivatives", "outputs", "events", "update")


def test_code(model: EmbeddedModel, method: Method) -> str:
    """The self-test with its numbers."""
    reference, program = model.source.reference, model.program
    points, has = reference.points, model.has
    sections = [s for s in _SECTIONS if s not in ("events", "update") or s in has]
    lines = [_vector(model, "parameters", reference.parameters)]
    lines += _compared(model, "constants", [reference.constants], _constant_rooms(model))
    lines.append(_vector(model, "times", [p.t for p in points]))
    for name, rows in (("states", [p.state for p in points]), ("memories", [p.memory for p in points])):
        lines.append(_matrix(model, name, rows))
    rooms = _point_rooms(model, sections)
    for name in sections:
        lines += _compared(model, name, [getattr(p, name) for p in points], rooms[name])
    values = model.values | {"points": str(len(points)), "data": ""}
    counts = (program.state, program.outputs.results, program.events.results, program.memory)
    values["room"] = str(max(1, *map(len, counts)))
    run = reference.trajectory
    if run is not None and method.name == "rk4":  # the method of the stored run
        has = has | {"trajectory"}
        lines += _compared(model, "end", [run.outputs], [_run_room(model)])
        values |= {"step": repr(run.step), "steps": str(run.steps), "duration": repr(run.duration)}
    values["data"] = "\n".join(lines)
    return fill(template(__package__, "test.c.txt"), values, has)


def _usual(values: Sequence[float]) -> list[float]:
    """The room in double precision, as in the self-tests of other languages."""
    largest = max([1.0, *(abs(v) for v in values if np.isfinite(v))])
    return [RELATIVE * abs(v) + ABSOLUTE * largest for v in values]


def _room(values: Sequence[float], others: Sequence[Values], carried: float = 0.0) -> list[float]:
    """The room in single precision."""
    found = np.asarray(values, dtype=float)
    spread = np.max([np.abs(np.nan_to_num(np.asarray(o) - found)) for o in others], axis=0)
    size = np.abs(np.nan_to_num(found, posinf=0.0, neginf=0.0))
    largest = float(np.max(size, initial=0.0))
    return list(64 * ULP * size + 8 * spread + carried * largest + 1e-30)


def _nudged(random: np.random.Generator, values: Sequence[float]) -> np.ndarray:
    given = np.asarray(values, dtype=float)
    return given * (1 + 4 * ULP * random.uniform(-1, 1, len(given)))


def _changed(model: EmbeddedModel, random: np.random.Generator) -> dict[str, float]:
    names = model.source.equations.parameters
    return dict(zip(names, map(float, _nudged(random, model.source.reference.parameters)), strict=True))


def _constant_rooms(model: EmbeddedModel) -> list[list[float]]:
    expected = model.source.reference.constants
    if model.precision == "double":
        return [_usual(expected)]
    random, compiled = np.random.default_rng(1), compile_equations(model.source.equations)
    others = [compiled.constants(_changed(model, random))[: len(expected)] for _ in range(_CHANGES)]
    return [_room(expected, others)]


def _point_rooms(model: EmbeddedModel, sections: Sequence[str]) -> dict[str, list[list[float]]]:
    points = model.source.reference.points
    if model.precision == "double":
        return {name: [_usual(getattr(p, name)) for p in points] for name in sections}
    random, compiled = np.random.default_rng(2), compile_equations(model.source.equations)
    found: dict[str, list[list[float]]] = {name: [] for name in sections}
    for p in points:
        others = [
            at(compiled, p.t, _nudged(random, p.state), _changed(model, random), _nudged(random, p.memory))
            for _ in range(_CHANGES)
        ]
        for name, rooms in found.items():
            rooms.append(_room(getattr(p, name), [getattr(o, name) for o in others]))
    return found


def _run_room(model: EmbeddedModel) -> list[float]:
    run = model.source.reference.trajectory
    assert run is not None
    if model.precision == "double":
        return _usual(run.outputs)
    random, compiled = np.random.default_rng(3), compile_equations(model.source.equations)
    rows: list[Values | None] = [
        last_row(compiled, _changed(model, random), run.step, run.steps) for _ in range(2)
    ]
    return _room(run.outputs, [r for r in rows if r is not None] or [run.outputs], 4 * run.steps * ULP)


# ---------------------------------------------------------------- text


def _compared(
    model: EmbeddedModel, name: str, rows: Sequence[Sequence[float]], rooms: Sequence[Sequence[float]]
) -> list[str]:
    """Expected numbers and their rooms, in double precision."""
    return [_matrix(model, f"expected_{name}", rows, True), _matrix(model, f"room_of_{name}", rooms, True)]


def _numbers(model: EmbeddedModel, values: Sequence[float]) -> str:
    return "{" + (", ".join(model.printer.number(float(v)).text for v in values) or "0.0") + "}"


def _vector(model: EmbeddedModel, name: str, values: Sequence[float]) -> str:
    text = f"static const double {name}[{max(1, len(values))}] = {_numbers(model, values)};"
    return model.in_precision("\n".join(wrapped(text, 110, "", "    ")))


def _matrix(model: EmbeddedModel, name: str, rows: Sequence[Sequence[float]], wide: bool = False) -> str:
    lines = [f"static const double {name}[{len(rows)}][{max(1, len(rows[0]))}] = {{"]
    for row in rows:
        lines += wrapped(f"{_numbers(model, row)},", 110, "    ", "        ")
    text = "\n".join([*lines, "};"])
    return text if wide else model.in_precision(text)
