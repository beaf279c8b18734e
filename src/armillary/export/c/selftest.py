"""test.c: stored numbers of the in-process model, each with the room that the precision of the code needs."""

from __future__ import annotations

from collections.abc import Sequence

from armillary.export.c.model import CModel
from armillary.export.text.files.template import fill, template
from armillary.export.text.printing.layout import wrapped
from armillary.export.text.selftest.selftest import self_test
from armillary.runtime.integrators import METHODS, Method


def test_code(model: CModel, method: Method = METHODS["rk4"]) -> str:
    """The self-test with its numbers, of a program in C or of device functions."""
    test, has = self_test(model.source, model.precision, method, model.has), set(model.has)
    reference = model.source.reference
    if not has & {"host", "embedded"}:
        has |= {"device"}  # whose model has no function that gives its start
        test.inputs.update(start_state=[reference.initial], start_memory=[reference.memory])
    lines = [model.in_precision(_matrix(model, name, rows)) for name, rows in test.inputs.items()]
    for name, (expected, rooms) in test.compared.items():
        lines += [_matrix(model, f"expected_{name}", expected), _matrix(model, f"room_of_{name}", rooms)]
    suffix, header = ("cpp", ".cuh") if "device" in has else ("c", "_solver.h")
    values = {"real": "double", "suffix": suffix, "included": model.stem + header, "data": "\n".join(lines)}
    values["huge"] = "1e37" if model.precision == "single" else "1e307"  # beyond which all is infinite
    values |= model.values | {"points": str(test.points), "room": str(test.room)}
    if test.run is not None:
        has |= {"trajectory"}
        run = {"step": test.run.step, "steps": test.run.steps, "duration": test.run.duration}
        values |= {name: repr(value) for name, value in run.items()}
    return fill(template(__package__, "test.c.txt"), values, has)


def _matrix(model: CModel, name: str, rows: Sequence[Sequence[float]]) -> str:
    lines = [f"static const double {name}[{len(rows)}][{max(1, len(rows[0]))}] = {{"]
    for row in rows:
        numbers = ", ".join(model.printer.number(float(v)).text for v in row) or "0.0"
        lines += wrapped(f"{{{numbers}}},", 110, "    ", "        ")
    return "\n".join([*lines, "};"])
