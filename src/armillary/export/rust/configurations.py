"""Further configurations of a system in Rust: a module for each, and one with the tables that changes read
and a function for each section that calls that of a configuration.
"""

from __future__ import annotations

from armillary.export.rust.model import RustModel
from armillary.export.rust.printer import RustPrinter
from armillary.export.text.configurations import TRUTHS, change_tables, has_function
from armillary.export.text.printing.layout import one_line, wrapped
from armillary.export.text.printing.solver_printer import CONSTRAINT_GEOMETRY
from armillary.export.text.source import Source

_GIVEN = "t: Real, state: &[Real; {}], constants: &[Real; CONSTANTS], memory: &[Real; MEMORY]"
# Sections: the length of what they take for a state, and of their results; what these are beyond those of a
# configuration.
_SECTIONS = {
    "derivatives": ("STATES", "STATES", "0.0"),
    "outputs": ("STATES", "OUTPUTS", "0.0"),
    "events": ("STATES", "EVENTS", "1.0"),
    "update": ("STATES", "MEMORY", "0.0"),
    "leave": ("STATES", "MOTION", "0.0"),
    "enter": ("MOTION", "STATES", "0.0"),
    "impulse": ("MOTION", "SPEEDS", "0.0"),
    "adjust": ("MOTION", "SPEEDS", "0.0"),
    "ratings": ("MOTION", "MEMBERS", "0.0"),
}


def configuration_files(model: RustModel) -> dict[str, str]:
    """Modules of further configurations; none where there is one."""
    if not model.source.changing:
        return {}
    files = {"src/changes.rs": _changes(model.source, model.printer)}
    for other in model.source.others:
        own = RustModel(other, model.precision)
        head = f"//! {one_line(other.description.name)}: configuration {other.prefix[1:]}"
        uses = "use crate::math::*;\nuse crate::model::*;\nuse crate::Real;\n"
        files[f"src/configuration{other.prefix}.rs"] = "\n".join([head, "", uses, own.functions()])
    return files


def _changes(made: Source, printer: RustPrinter) -> str:
    lines = [
        "//! Configurations: other joints locked, other dependent speeds. The numbers of each, one after the",
        "//! other; sections by the number of a configuration.",
        "",
        "use crate::model::*;",
        "use crate::Real;",
        "",
    ]
    found = change_tables(made)
    for name, values in found.tables.items():
        kind = "bool" if name in TRUTHS else "i32"
        numbers = ", ".join(str(bool(v)).lower() if name in TRUTHS else str(v) for v in values)
        lines += wrapped(f"pub static {name}: [{kind}; {len(values)}] = [{numbers}];", 110, "", "    ")
    for name, reals in found.reals.items():
        text = ", ".join(map(printer.literal, reals))
        lines += wrapped(f"pub static {name}: [Real; {len(reals)}] = [{text}];", 110, "", "    ")
    given = "t, state, constants, memory"
    sections = _SECTIONS | ({CONSTRAINT_GEOMETRY: ("STATES", "ELEMENTS_ROOM", "0.0")} if made.passing else {})
    for name, (state, size, beyond) in sections.items():
        arguments = f"c: i32, {_GIVEN.format(state)}, out: &mut [Real; {size}]"
        lines += _function(made, name, arguments, [f"*out = [{beyond}; {size}];"], f"{given}, out")
    new = "new_memory: &mut [Real; MEMORY], new_state: &mut [Real; STATES]"
    start = ["*new_memory = *memory;", "*new_state = *state;"]
    arguments = f"c: i32, event: i32, {_GIVEN.format('STATES')}, {new}"
    lines += _function(made, "fire", arguments, start, f"event, {given}, new_memory, new_state")
    arguments = f"c: i32, {_GIVEN.format('STATES')}".replace("state: &", "state: &mut ")
    lines += _function(made, "normalise", arguments, [], given)
    arguments = "c: i32, parameters: &[Real; PARAMETERS], constants: &mut [Real; CONSTANTS]"
    lines += _function(made, "precompute", arguments, [], "parameters, constants")
    return "\n".join([*lines, ""])


def _function(made: Source, name: str, arguments: str, start: list[str], given: str) -> list[str]:
    """A section of a configuration, where it has it."""
    cases = [
        f"        {c} => crate::{f'configuration{one.prefix}' if c else 'model'}::{name}({given}),"
        for c, one in enumerate((made, *made.others))
        if has_function(one.program, made.passing).get(name, True)
    ]
    head = wrapped(f"pub fn {name}_of({arguments}) {{", 110, "", "    ")
    body = [f"    {line}" for line in start]
    return ["", *head, *body, "    match c {", *cases, "        _ => {}", "    }", "}"]
