"""Outputs: quantities of interest, computed at each sample."""

from __future__ import annotations

from armillary.algebra.arguments import text
from armillary.algebra.units import parse_unit
from armillary.errors import ModelError
from armillary.model.description import Description
from armillary.model.reading.argument_types import ExpressionLike, UnitText, Words
from armillary.model.reading.expressions import check_dimension, read_expression
from armillary.model.recording.records import OutputRecord
from armillary.model.recording.verbs import EntryForm, verb


@verb(EntryForm("outputs", key="value", argument="expression"))
def output(
    system: Description,
    name: str,
    expression: ExpressionLike,
    *,
    units: UnitText | None = None,
    about: Words = "",
) -> None:
    """A quantity of interest, computed at each sample and labelled with units and description."""
    if text(name, "the name of an output", ModelError) in system.outputs:
        raise ModelError(f"output '{name}' exists already; choose another name")
    text(about, f"the description of output '{name}'", ModelError)
    states = [*system.moving(), *(m.symbol for m in system.memories.values())]
    if name in ("t", "time") or any(name == s.data.name for s in states):
        raise ModelError(f"output '{name}': every run has a column of that name; choose another name")
    value = read_expression(system, expression, f"output '{name}'")
    scale = 1.0
    if units is not None:
        unit = parse_unit(units)
        check_dimension(system, value, unit.dimension, f"output '{name}' in {units}")
        scale = 1.0 / system.units.factor(unit)
    system.outputs[name] = OutputRecord(
        name, value, units if units is not None else system.units.unit_text(value.dimension), about, scale
    )
