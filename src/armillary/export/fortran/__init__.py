"""Exported Fortran 2008: modules without globals and a program that reads namelists, for one system.

This file writes the model's module. solver.py fills in the template ``solver.txt`` of the solver,
subroutines.py writes the procedures and the main program, ``test.txt`` is the template of the self-test.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from armillary.algebra.arguments import flag
from armillary.export.fortran.printer import (
    WIDTH,
    FortranPrinter,
    character_constant,
    cut_text,
    literal,
    short_lines,
    table_function,
)
from armillary.export.fortran.solver import (
    assembly_data,
    changes_module,
    contact_data,
    contact_procedures,
    sections_of,
    solver_values,
)
from armillary.export.fortran.subroutines import (
    example_namelist,
    function_texts,
    parameter_assignments,
    parameter_fields,
    program_text,
    section_texts,
)
from armillary.export.text.configurations import contact_sources, left_text, partial_count
from armillary.export.text.description import reference_text
from armillary.export.text.files import (
    fill,
    head,
    helpers,
    helpers_called_in,
    note,
    readme_tables,
    template,
    write_folder,
)
from armillary.export.text.printer import list_items
from armillary.export.text.source import Sections, Source, features, make_source
from armillary.program.equations import DerivedEquations

__all__ = ["export"]


RESERVED = (
    "parameters_t", "run_t", "precompute", "derivatives", "outputs", "events", "update", "fire", "normalise",
    "renew_states", "correct", "rates", "unused", "missing", "n_states", "n_outputs", "n_memory", "n_events",
    "n_constants", "n_partials", "partial_rates", "state_names", "output_names", "event_names",
    "event_direction", "event_stops", "event_hidden", "event_guards", "equal", "nonzero",
    "smaller_of", "larger_of", "signum", "piece", "horner", "p",
)  # fmt: skip


def export(
    equations: DerivedEquations,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    configurations: bool | None = None,
    stiff: bool = False,
) -> Path:
    """Write a folder with modules and a program for one system, a Makefile, a run file, a test and a README.

    ``stiff``: the solver also has the methods rodas5p and rodas3, with the partial derivatives of the rates.
    """
    made = make_source(equations, configurations, passes=True, stiff=flag(stiff, "stiff="), sparse=True)
    stem, has, d = made.stem, features(made), made.description
    sections = Sections(made, FortranPrinter(), RESERVED)
    values = {"module": stem, "title": d.name, "version": d.version, "parameters": str(len(d.parameters))}
    values["set_parameters"] = parameter_assignments(made)
    values |= solver_values(made, has, _array_lines) | {
        "jumps": "\n".join(_jump_times(made)),
        "set_places": _set_places(made),
    }
    values["left"] = "'// &\n        '".join(cut_text(left_text(has), 90))

    def fill_file(name: str) -> str:
        return fill(template(__package__, name), values, has)

    return write_folder(
        path,
        {
            f"{stem}_model.f90": short_lines(model_text(made, sections)),
            **({f"{stem}_changes.f90": short_lines(_change_modules(made))} if made.changing else {}),
            f"{stem}_solver.f90": short_lines(fill_file("solver.txt")),
            f"{stem}.f90": short_lines(program_text(made)),
            f"test_{stem}.f90": short_lines(fill_file("test.txt")),
            "reference.txt": reference_text(made.reference),
            "run.nml": example_namelist(made),
            "Makefile": fill_file("makefile.txt"),
            "README.md": "\n".join([fill_file("readme.txt").rstrip("\n"), *readme_tables(d)]) + "\n",
        },
        force=force,
    )


def model_text(made: Source, sections: Sections) -> str:
    """Return the module of the equations: parameters, names, and a pure subroutine per section."""
    d, stem = made.description, made.stem
    lines = [f"! {line}".rstrip() for line in head(d, f"{stem}_model.f90", "the equations of motion.")]
    lines += ["!", "! Parameters and outputs are in the units stated with them. All subroutines are pure."]
    data = ["  implicit none", "  private", *_public_names(made), "", *_data_lines(made)]
    return "\n".join([*lines, _module(f"{stem}_model", data, function_texts(made, sections), sections)])


def _change_modules(made: Source) -> str:
    """Return modules of further configurations, and the module through which runs call all of them."""
    texts = []
    for other in made.others:
        sections = Sections(other, FortranPrinter(), RESERVED)
        data = [
            f"  use {made.stem}_model, only: parameters_t",
            "  implicit none",
            "  private",
            "  public :: &",
        ]
        data += [*list_items(sections_of(other), WIDTH, "    ", " &"), _size_parameters(other)]
        texts.append(
            _module(f"{made.stem}_model{other.prefix}", data, section_texts(other, sections), sections)
        )
    return "\n".join([*texts, changes_module(made, _array_lines)])


def _module(name: str, data: Sequence[str], functions: Sequence[str], sections: Sections) -> str:
    """Return a module of subroutines, with the tables and the small functions that they call."""
    text = "\n".join(functions)
    contacts = contact_sources(sections.printer.blocks)
    data = [*data, *contact_data(contacts, _array_lines)]
    text = "\n".join([text, *([contact_procedures(contacts), ""] if contacts else [])])
    tables = "\n".join(table_function(name, t, WIDTH) for t, name in sections.printer.tables.items())
    called = "\n".join(helpers_called_in(helpers(__package__), text + tables))
    words = ("ieee_is_nan", "ieee_value", "ieee_quiet_nan", "ieee_positive_inf", "ieee_negative_inf")
    used = [w for w in words if w in text + tables + called]
    lines = [f"module {name}", "  use, intrinsic :: iso_fortran_env, only: dp => real64"]
    if used:
        lines.append(f"  use, intrinsic :: ieee_arithmetic, only: {', '.join(used)}")
    return "\n".join([*lines, *data, "", "contains", "", text, tables + called, f"end module {name}"]) + "\n"


def _public_names(made: Source) -> list[str]:
    names = ["parameters_t", "missing", "n_states", "n_outputs", "n_memory", "n_constants", "state_names"]
    names += ["output_names", "initial_state", "initial_memory", "precompute", "derivatives", "outputs"]
    has = features(made)
    if "loops" in has:
        names += ["assemble", "open_loops_text", "n_gaps", "n_places", "first_guess", "whole_state"]
    if "events" in has:
        names += [
            "n_events",
            "event_names",
            "event_direction",
            "event_stops",
            "event_hidden",
            "events",
            "fire",
        ]
    if "guard" in has:
        names.append("event_guards")
    names += [name for name in ("update", "normalise") if name in has]
    if "implicit" in has and not made.changing:
        names += ["n_partials", *(["partial_rates"] if made.program.partial_rates else [])]
    if "configurations" in has:
        names += [name for name in sections_of(made) if name not in names]
    names += ["started"] if "start" in has else []
    names += ["check_physical", "physical_names"] if "physical" in has else []
    if "masses" in has:
        names += ["pivot_shares", "n_pivots", "n_kinds", "kind_of", "weak_masses", "six_digits"]
        names += ["pivot_of"] if made.changing else []
    lines = list_items(names, WIDTH, "    ", " &")
    return ["  public :: &", *lines]


def _data_lines(made: Source) -> list[str]:
    """Return the sizes, tables of names, and the type of parameters with their defaults."""
    d = made.description
    lines = [_size_parameters(made)]
    lines.append("  real(dp), parameter :: missing = -huge(1.0_dp)  ! for parameters without a default")
    lines += _name_array("state_names", "n_states", [s.name for s in d.starts])
    if (masses := made.masses) is not None:
        lines.append(f"  integer, parameter :: n_pivots = {len(masses.texts)}, n_kinds = {masses.kind_count}")
        kinds = [str(kind + 1) for kind in masses.kinds]
        lines += _array_lines(
            "integer", f"kind_of({len(kinds)})", kinds, "the kind of speeds that a state is one of; 0: none"
        )
        if made.changing:
            owners = [str(c + 1) for c in masses.owners]
            lines += _array_lines("integer", "pivot_of(n_pivots)", owners, "the configuration of each pivot")
        lines += _name_array("weak_masses", "n_pivots", masses.texts)
    if made.physical is not None:
        lines += _name_array("physical_names", str(len(made.physical.texts)), made.physical.texts)
    lines += _name_array("output_names", "n_outputs", [o.name for o in d.outputs])
    if d.events:
        lines += _name_array("event_names", "n_events", [e.name for e in d.events])
        directions = [str(e.direction) for e in d.events]
        lines += _array_lines(
            "integer", "event_direction(n_events)", directions, "-1: falling, 1: rising, 0: both"
        )
        stops = [".true." if e.stop else ".false." for e in d.events]
        lines += _array_lines("logical", "event_stops(n_events)", stops, "whether the run ends there")
        hidden = [".true." if e.hidden else ".false." for e in d.events]
        lines += _array_lines("logical", "event_hidden(n_events)", hidden, "whether reports leave it out")
        if any(e.guard for e in d.events):
            guards = [".true." if e.guard else ".false." for e in d.events]
            lines += _array_lines(
                "logical",
                "event_guards(n_events)",
                guards,
                "whether it guards the choice of dependent speeds",
            )
    if made.assembly is not None:
        lines += assembly_data(made.assembly, _array_lines, _name_array)
    lines += ["", "  type :: parameters_t"]
    for name, p in zip(parameter_fields(made), d.parameters, strict=True):
        default = "missing" if p.default is None else literal(p.default)
        comment = note(p.units, p.about)
        lines.append(f"    real(dp) :: {name} = {default}" + (f"  ! {comment}" if comment else ""))
    return [*lines, "  end type parameters_t"]


def _size_parameters(made: Source) -> str:
    d, program = made.description, made.program
    sizes = {"n_states": len(d.states), "n_outputs": len(d.outputs), "n_memory": len(d.memory)}
    sizes["n_constants"] = len(program.constants)
    if d.events:
        sizes["n_events"] = len(d.events)
    if made.stiff:
        sizes["n_partials"] = partial_count(made)
    if program.changes:
        sizes["n_motion"] = len(program.motion)
    return f"  integer, parameter :: {', '.join(f'{name} = {n}' for name, n in sizes.items())}"


def _jump_times(made: Source) -> list[str]:
    """Return the times at which data of inputs bend, then infinity, and whether the data jump there."""
    if not (stops := made.program.stops):
        return []
    size = len(stops) + 1
    times = [*(literal(t) for t, _ in stops), "huge(1.0_dp)"]
    hard = [*(".true." if jumps else ".false." for _, jumps in stops), ".true."]
    lines = _array_lines("real(dp)", f"jump_time({size})", times, "Times at which data of inputs bend.")
    return lines + _array_lines("logical", f"jump_hard({size})", hard, "Whether they jump there.")


def _set_places(made: Source) -> str:
    """Return a table of whether each event sets each coordinate."""
    flags = [".true." if set_ else ".false." for set_ in made.set_places]
    about = "Coordinates that events set: loops are closed again after that."
    return "\n".join(_array_lines("logical", f"sets_place({len(flags)})", flags, about)) if flags else ""


def _name_array(name: str, size: str, names: Sequence[str]) -> list[str]:
    longest = max((len(n.encode()) for n in names), default=1)
    constants = [character_constant(n) for n in names]
    start = f"  character(len={longest}), parameter :: {name}({size}) = [character(len={longest}) ::"
    if not constants:
        return [start + "]"]
    lines = list_items(constants, WIDTH, "    ", " &")
    lines[-1] += "]"
    return [start + " &", *lines]


def _array_lines(kind: str, declared: str, values: Sequence[str], comment: str) -> list[str]:
    lines = list_items(values, WIDTH, "    ", " &")
    return [f"  ! {comment}", f"  {kind}, parameter :: {declared} = [ &", *lines[:-1], lines[-1] + "]"]
