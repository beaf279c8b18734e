"""The record of a run is declared once: the process and exported programs have the same fields."""

from __future__ import annotations

import ast
import ctypes

import pytest

from armillary.solver.language.translator import read_fields, read_solver
from armillary.solver.llvm.layout import FIELDS, VECTOR_SIZES, Control, LoopShape
from armillary.solver.methods.registry import METHODS

OF_TYPE = {"real": ctypes.c_double, "address": ctypes.c_void_p}
SIZES = {"states": 3, "memory": 2, "outputs": 4, "events": 2}


def loop_shape(method: str, dense: bool = True) -> LoopShape:
    flags = {"update": True, "fire": True, "normalise": False}
    return LoopShape(METHODS[method].coefficients, **SIZES, **flags, dense=dense, general=True)


def test_scalars_of_the_process_are_fields_of_the_record_with_their_types() -> None:
    declared = {f.name: f.type for f in read_fields()}
    for name, kind in Control._fields_:
        assert kind is OF_TYPE.get(declared[name], ctypes.c_int64), name
    assert ctypes.sizeof(Control) == 8 * len(FIELDS)


def test_a_name_that_is_no_field_cannot_be_set() -> None:
    """An address under a wrong name left the loop with that of a run before."""
    with pytest.raises(AttributeError):
        Control().rows = 1


@pytest.mark.parametrize("method", ["rk4", "dopri5", "dop853", "rodas3", "rodas5p"])
def test_a_loop_has_the_vectors_of_an_exported_program_with_its_features(method: str) -> None:
    shape = loop_shape(method)
    has = shape.features - {"PROCESS"}
    exported = read_solver(has, [METHODS[method]], ("settle",), commented=False).fields
    own = {f.name for f in read_fields() if "PROCESS" in {n for c in f.conditions for n in _names(c)}}
    vectors = {f.name for f in exported if f.type in VECTOR_SIZES} - own
    assert vectors | {"atol", "direction", "terminal"} == {*shape.lengths(), "atol"}


def test_states_come_first_and_rows_at_ends_of_steps_need_no_dense_output() -> None:
    lengths = loop_shape("rk4").lengths()
    assert next(iter(lengths)) == "state"
    left_out = {*lengths} - {*loop_shape("rk4", dense=False).lengths()}
    assert left_out == {"base", "finish", "point", "k_end", "nest0", "nest1", "nest2"}


def _names(condition: object) -> set[str]:
    assert isinstance(condition, ast.expr)
    return {n.id for n in ast.walk(condition) if isinstance(n, ast.Name)}
