"""The layout of an exported Fortran module, and of the folder around it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from armillary.export.fortran.assembly import assembly_data, assembly_text
from armillary.export.fortran.configurations import changes_module, sections_of
from armillary.export.fortran.lines import pieces, short_lines
from armillary.export.fortran.printer import FortranPrinter, literal, table_function
from armillary.export.fortran.program import (
    example_namelist,
    parameter_assignments,
    parameter_fields,
    program_text,
)
from armillary.export.fortran.solver import solver_values
from armillary.export.text.body import SectionText
from armillary.export.text.configurations import SENTENCE, change_functions
from armillary.export.text.description import StateDescription, Stored
from armillary.export.text.features import features
from armillary.export.text.files.folder import write_folder
from armillary.export.text.files.heading import head, note, operations_text, readme_tables
from armillary.export.text.files.template import fill, template
from armillary.export.text.helpers import helpers, needed
from armillary.export.text.layout import bytes_of, listed, partial_sums, wrapped
from armillary.export.text.selftest.numbers import reference_text
from armillary.export.text.source import SectionFunction, Sections, Source, source
from armillary.export.text.start.physical import Physical
from armillary.export.text.start.start import StartSource
from armillary.program.equations import DerivedEquations
from armillary.program.form.program import ProgramSection

WIDTH = 130
_PIECE = 50  # bytes of a constant in one line: all of them may be quotes, which are written twice
LONGEST = 20_000  # characters of a statement: it may have 255 continuation lines
RESERVED = (
    "parameters_t", "run_t", "precompute", "derivatives", "outputs", "events", "update", "fire", "normalise",
    "unit_length", "correct", "rates", "unused", "missing", "n_states", "n_outputs", "n_memory", "n_events",
    "n_constants", "state_names", "output_names", "event_names", "event_direction", "event_stops",
    "event_hidden", "event_guards", "equal", "nonzero",
    "least", "most", "signum", "piece", "horner", "p",
)  # fmt: skip
_ARGUMENTS = {
    "state": "state(n_states)", "constants": "constants(n_constants)", "memory": "memory(n_memory)"
}  # fmt: skip


def export(
    equations: DerivedEquations,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    configurations: bool | None = None,
) -> Path:
    """A folder with modules and a program for this one system, a Makefile, a run file, a test, a README.

    ``configurations``: whether it holds the equations of all configurations that runs can meet, so that they
    lock and unlock joints and exchange dependent speeds (None: where events lock or unlock).
    """
    made = source(equations, configurations, recloses=True)
    stem, has, d = made.stem, features(made), made.description
    sections = Sections(made, FortranPrinter(), RESERVED)
    values = {"module": stem, "title": d.name, "version": d.version, "parameters": str(len(d.parameters))}
    values["set_parameters"] = parameter_assignments(made)
    values |= solver_values(has) | {"jumps": "\n".join(_jumps(made)), "set_places": _set_places(made)}
    values["left"] = "'// &\n        '".join(pieces(SENTENCE, 90))

    def filled(name: str) -> str:
        return fill(template(__package__, name), values, has)

    return write_folder(
        path,
        {
            f"{stem}_model.f90": short_lines(model_text(made, sections)),
            **({f"{stem}_changes.f90": short_lines(_changes(made))} if made.others else {}),
            f"{stem}_solver.f90": short_lines(filled("solver.txt")),
            f"{stem}.f90": short_lines(program_text(made)),
            f"test_{stem}.f90": short_lines(filled("test.txt")),
            "reference.txt": reference_text(made.reference),
            "run.nml": example_namelist(made),
            "Makefile": filled("makefile.txt"),
            "README.md": "\n".join([filled("readme.txt").rstrip("\n"), *readme_tables(d)]) + "\n",
        },
        force=force,
    )


def model_text(made: Source, sections: Sections) -> str:
    """The module of the equations: parameters, names, and a pure subroutine per section."""
    d, stem = made.description, made.stem
    lines = [f"! {line}".rstrip() for line in head(d, f"{stem}_model.f90", "the equations of motion.")]
    lines += ["!", "! Parameters and outputs are in the units stated with them. All subroutines are pure."]
    data = ["  implicit none", "  private", *_public(made), "", *_data(made)]
    return "\n".join([*lines, _module(f"{stem}_model", data, _functions(made, sections), sections)])


def _changes(made: Source) -> str:
    """The modules of further configurations, and the one through which runs call all of them."""
    texts = []
    for other in made.others:
        sections = Sections(other, FortranPrinter(), RESERVED)
        data = [
            f"  use {made.stem}_model, only: parameters_t",
            "  implicit none",
            "  private",
            "  public :: &",
        ]
        data += [*listed(sections_of(other), WIDTH, "    ", " &"), _sizes(other)]
        texts.append(_module(f"{made.stem}_model{other.prefix}", data, _equations(other, sections), sections))
    return "\n".join([*texts, changes_module(made, _array)])


def _module(name: str, data: Sequence[str], functions: Sequence[str], sections: Sections) -> str:
    """A module of subroutines, with the tables and the small functions that they call."""
    text = "\n".join(functions)
    tables = "\n".join(table_function(name, t, WIDTH) for t, name in sections.printer.tables.items())
    called = "\n".join(needed(helpers(__package__), text + tables))
    words = ("ieee_is_nan", "ieee_value", "ieee_quiet_nan", "ieee_positive_inf", "ieee_negative_inf")
    used = [w for w in words if w in text + tables + called]
    lines = [f"module {name}", "  use, intrinsic :: iso_fortran_env, only: dp => real64"]
    if used:
        lines.append(f"  use, intrinsic :: ieee_arithmetic, only: {', '.join(used)}")
    return "\n".join([*lines, *data, "", "contains", "", text, tables + called, f"end module {name}"]) + "\n"


def _public(made: Source) -> list[str]:
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
    if "configurations" in has:
        names += [name for name in sections_of(made) if name not in names]
    names += ["started"] if "start" in has else []
    names += ["check_physical", "physical_names"] if "physical" in has else []
    if "masses" in has:
        names += ["pivot_shares", "n_pivots", "n_kinds", "kind_of", "weak_masses", "six_digits"]
    lines = listed(names, WIDTH, "    ", " &")
    return ["  public :: &", *lines]


def _data(made: Source) -> list[str]:
    """Sizes, names, the parameters as a type, and the initial values."""
    d = made.description
    lines = [_sizes(made)]
    lines.append(
        "  real(dp), parameter :: missing = -huge(1.0_dp)  ! in place of a default where there is none"
    )
    lines += _names("state_names", "n_states", [s.name for s in d.starts])
    if (masses := made.masses) is not None:
        lines.append(f"  integer, parameter :: n_pivots = {len(masses.texts)}, n_kinds = {masses.kind_count}")
        kinds = [str(kind + 1) for kind in masses.kinds]
        lines += _array(
            "integer", "kind_of(n_states)", kinds, "the kind of speeds that a state is one of; 0: none"
        )
        lines += _names("weak_masses", "n_pivots", masses.texts)
    if made.physical is not None:
        lines += _names("physical_names", str(len(made.physical.texts)), made.physical.texts)
    lines += _names("output_names", "n_outputs", [o.name for o in d.outputs])
    if d.events:
        lines += _names("event_names", "n_events", [e.name for e in d.events])
        directions = [str(e.direction) for e in d.events]
        lines += _array("integer", "event_direction(n_events)", directions, "-1: falling, 1: rising, 0: both")
        stops = [".true." if e.stop else ".false." for e in d.events]
        lines += _array("logical", "event_stops(n_events)", stops, "whether the run ends there")
        hidden = [".true." if e.hidden else ".false." for e in d.events]
        lines += _array("logical", "event_hidden(n_events)", hidden, "whether reports leave it out")
        if any(e.guard for e in d.events):
            guards = [".true." if e.guard else ".false." for e in d.events]
            lines += _array(
                "logical",
                "event_guards(n_events)",
                guards,
                "whether it guards the choice of dependent speeds",
            )
    if made.assembly is not None:
        lines += assembly_data(made.assembly, _array, _names)
    lines += ["", "  type :: parameters_t"]
    for name, p in zip(parameter_fields(made), d.parameters, strict=True):
        default = "missing" if p.default is None else literal(p.default)
        comment = note(p.units, p.about)
        lines.append(f"    real(dp) :: {name} = {default}" + (f"  ! {comment}" if comment else ""))
    return [*lines, "  end type parameters_t"]


def _sizes(made: Source) -> str:
    d, program = made.description, made.program
    sizes = {"n_states": len(d.states), "n_outputs": len(d.outputs), "n_memory": len(d.memory)}
    sizes["n_constants"] = len(program.constants)
    if d.events:
        sizes["n_events"] = len(d.events)
    if program.changes:
        sizes["n_motion"] = len(program.motion)
    return f"  integer, parameter :: {', '.join(f'{name} = {n}' for name, n in sizes.items())}"


def _jumps(made: Source) -> list[str]:
    """Times at which data of inputs bend, with infinity at their end, and whether they jump there."""
    if not (stops := made.program.stops):
        return []
    size = len(stops) + 1
    times = [*(literal(t) for t, _ in stops), "huge(1.0_dp)"]
    hard = [*(".true." if jumps else ".false." for _, jumps in stops), ".true."]
    lines = _array("real(dp)", f"jump_time({size})", times, "Times at which data of inputs bend.")
    return lines + _array("logical", f"jump_hard({size})", hard, "Whether they jump there.")


def _set_places(made: Source) -> str:
    """Which coordinates events set, event by event."""
    flags = [".true." if set_ else ".false." for set_ in made.set_places]
    about = "Coordinates that events set: loops are closed anew after that."
    return "\n".join(_array("logical", f"sets_place({len(flags)})", flags, about)) if flags else ""


def _names(name: str, size: str, names: Sequence[str]) -> list[str]:
    longest = max((len(n.encode()) for n in names), default=1)
    quoted = [_quoted(n) for n in names]
    start = f"  character(len={longest}), parameter :: {name}({size}) = [character(len={longest}) ::"
    if not quoted:
        return [start + "]"]
    lines = listed(quoted, WIDTH, "    ", " &")
    lines[-1] += "]"
    return [start + " &", *lines]


def _quoted(text: str) -> str:
    """A character constant; a long one in pieces, for lines have at most 132 bytes."""
    return "// &\n      ".join("'" + piece.replace("'", "''") + "'" for piece in pieces(text, _PIECE))


def _array(kind: str, declared: str, values: Sequence[str], comment: str) -> list[str]:
    lines = listed(values, WIDTH, "    ", " &")
    return [f"  ! {comment}", f"  {kind}, parameter :: {declared} = [ &", *lines[:-1], lines[-1] + "]"]


# ---------------------------------------------------------------- subroutines


def _section(f: SectionFunction, sections: Sections) -> str:
    body = sections.body(f.section)
    targets = [(f"{f.out}({i + 1})", text) for i, text in enumerate(body.results)]
    return _subroutine(f.name, f.about, body, [f"{f.out}({f.size})"], targets, f.labels)


def _equations(made: Source, sections: Sections) -> list[str]:
    """The sections that every configuration has, and those of its changes."""
    program = made.program
    texts = [_precompute(made, sections), *(_section(f, sections) for f in made.functions)]
    for k, section in enumerate(program.fire):
        texts.append(_fire(k, section, made, sections))
    if program.fire:
        cases = "\n".join(
            f"    case ({k})\n      call fire_{k}(t, state, constants, memory, new_memory, new_state)"
            for k in range(1, len(program.fire) + 1)
        )
        texts.append(_FIRE.replace("CASES", cases))
    texts += [_section(f, sections) for f in made.corrections]
    if program.quaternions or program.corrected:
        indent = " " * (6 if program.corrected else 4)
        values = {
            "corrected": ", ".join(str(i + 1) for i in program.corrected),
            "count": str(len(program.corrected)),
            "sizes": ", ".join(made.correction_sizes("constants({})", 1, literal)),
            "units": str(4 * len(program.quaternions)),
            "place": "\n".join(
                f"{indent}state({q + 1}:{q + 4}) = unit({4 * i + 1}:{4 * i + 4})"
                for i, q in enumerate(program.quaternions)
            ),
        }
        texts.append(fill(template(__package__, "normalise.txt"), values, features(made)))
    return texts + [_section(f, sections) for f in change_functions(program)]


def _functions(made: Source, sections: Sections) -> list[str]:
    texts = [_initial(made), *_equations(made, sections)]
    if (loops := made.assembly) is not None:
        about = "Gaps of the loops, elements of J, elements of N, sizes of gaps"
        labels = loops.section.labels
        geometry = SectionFunction(loops.section, "geometry", about, labels, "numbers", "n_numbers")
        texts.append(_section(geometry, sections))
        texts.append(assembly_text(loops, _quoted))
    if made.start is not None:
        texts.append(_started(made, made.start, sections))
    if (checked := made.physical) is not None:
        texts.append(_physical(made, checked, sections))
    if (masses := made.masses) is not None:
        body = sections.body(masses.section)
        about = "What is left of the pivots of the mass matrix, of the inertias that they are made of"
        targets = [(f"out({i + 1})", text) for i, text in enumerate(body.results)]
        given = _parameter_values(made) or ["0.0_dp"]
        labels = masses.section.labels
        texts.append(_subroutine("pivot_shares", about, body, ["out(n_pivots)"], targets, labels, given))
        texts += [] if made.assembly is not None else [template(__package__, "six_digits.txt")]
    return texts


def _subroutine(
    name: str,
    about: str,
    body: SectionText,
    outs: Sequence[str],
    targets: Sequence[tuple[str, str]],
    labels: Sequence[str],
    parameters: Sequence[str] = (),
) -> str:
    """A section with the usual arguments: time, state, constants and memory; with ``parameters``, their
    values as texts, these in place of constants.
    """
    plain = [out.partition("(")[0] for out in outs]
    given = {"p" if parameters and a == "constants" else a: size for a, size in _ARGUMENTS.items()}
    if name in ("enter", "impulse", "ratings"):
        given["state"] = "state(n_motion)"
    used = {{"": "t", "parameters": "p"}.get(i.array, i.array) for i in body.inputs}
    idle = [a for a in ("t", *given) if a not in used]
    lines = [f"  ! {about}: {operations_text(body.section.operations)}."]
    lines.append(f"  pure subroutine {name}(t, {', '.join(given)}, {', '.join(plain)})")
    if parameters:
        lines.append("    type(parameters_t), intent(in) :: p")
    lines.append(f"    real(dp), intent(in) :: t, {', '.join(given[a] for a in given if a != 'p')}")
    lines.append(f"    real(dp), intent(out) :: {', '.join(outs)}")
    inputs = [i for i in body.inputs if i.array]
    lines += _declared([*(i.name for i in inputs), *(s.name for s in body.steps)])
    lines += [f"    associate (unused => {a})\n    end associate" for a in idle]
    for i in inputs:
        value = parameters[i.index] if i.array == "parameters" else f"{i.array}({i.index + 1})"
        lines.append(f"    {i.name} = {value}")
    lines += _steps(body)
    for (target, text), label in zip(targets, labels, strict=True):
        lines += _assignment(target, text, "" if text == label else label)
    return "\n".join([*lines, f"  end subroutine {name}"]) + "\n"


def _declared(names: Sequence[str]) -> list[str]:
    """Declarations of locals, a few hundred to a statement."""
    lines: list[str] = []
    for start in range(0, len(names), 400):
        part = listed(names[start : start + 400], WIDTH, " " * 16, " &")
        lines += ["    real(dp) :: " + part[0].strip(), *part[1:]]
    return lines


def _steps(body: SectionText) -> Iterable[str]:
    return [line for step in body.steps for line in _assignment(step.name, step.text)]


def _assignment(name: str, text: str, label: str = "") -> list[str]:
    first, *others = partial_sums(text, LONGEST)
    lines = wrapped(f"{name} = {first}", WIDTH, " " * 4, " " * 8, " &")
    for part in others:
        lines += wrapped(f"{name} = {name}{part}", WIDTH, " " * 4, " " * 8, " &")
    if label and bytes_of(lines[-1]) + bytes_of(label) + 4 <= WIDTH:
        lines[-1] += f"  ! {label}"
    elif label:
        lines.insert(0, f"    ! {label}")
    return lines


def _precompute(made: Source, sections: Sections) -> str:
    body = sections.body(made.program.precompute)
    lines = [f"  ! Constants from parameters, once per run: {operations_text(body.section.operations)}."]
    lines += ["  pure subroutine precompute(p, constants)", "    type(parameters_t), intent(in) :: p"]
    lines.append("    real(dp), intent(out) :: constants(n_constants)")
    lines += _declared([*(i.name for i in body.inputs), *(s.name for s in body.steps)])
    if not body.inputs:
        lines.append("    associate (unused => p)\n    end associate")
    values = _parameter_values(made)
    lines += [f"    {i.name} = {values[i.index]}" for i in body.inputs]
    lines += _steps(body)
    labels = [c.data.name for c in made.program.constants]
    if not labels:
        lines.append("    constants = 0.0_dp  ! there are none")
    for k, (text, label) in enumerate(zip(body.results, labels, strict=True)):
        lines += _assignment(f"constants({k + 1})", text, "" if text == label else label)
    return "\n".join([*lines, "  end subroutine precompute"]) + "\n"


def _parameter_values(made: Source) -> list[str]:
    """Parameters in the units of the equations."""
    factors = ("" if p.factor == 1.0 else f"*{literal(p.factor)}" for p in made.description.parameters)
    return [f"p%{name}{factor}" for name, factor in zip(parameter_fields(made), factors, strict=True)]


def _physical(made: Source, checked: Physical, sections: Sections) -> str:
    """What must not be negative, and the first of it that is."""
    body, values = sections.body(checked.section), _parameter_values(made)
    lines = ["  ! Which mass, moment of inertia or armature is negative (0: none), and its value."]
    lines += ["  pure subroutine check_physical(p, which, value)", "    type(parameters_t), intent(in) :: p"]
    lines += ["    integer, intent(out) :: which", "    real(dp), intent(out) :: value"]
    lines.append(f"    real(dp) :: found({len(body.results)})")
    lines += _declared([*(i.name for i in body.inputs), *(s.name for s in body.steps)])
    lines += [f"    {i.name} = {values[i.index]}" for i in body.inputs]
    lines += _steps(body)
    for k, (text, label) in enumerate(zip(body.results, checked.texts, strict=True)):
        lines += _assignment(f"found({k + 1})", text, label)
    lines += [f"    do which = 1, {len(body.results)}", "      value = found(which)"]
    lines += ["      if (value < 0.0_dp) return", "    end do", "    which = 0", "    value = 0.0_dp"]
    return "\n".join([*lines, "  end subroutine check_physical"]) + "\n"


def _inside(item: StateDescription | Stored) -> str:
    """An initial value in the units of the equations, as its value in the stated ones times a factor."""
    if item.factor == 1.0:
        return literal(item.initial)
    return f"{literal(item.initial / item.factor)}*{literal(item.factor)}"


def _initial(made: Source) -> str:
    """The initial state and memory, as functions."""
    d = made.description
    what = "The values that a run starts from." if made.start is not None else "The initial state."
    lines = [f"  ! {what}", "  pure function initial_state() result(state)"]
    lines.append("    real(dp) :: state(n_states)")
    for k, s in enumerate(d.starts):
        lines.append(f"    state({k + 1}) = {_inside(s)}  ! {note(s.name, s.units, s.about)}")
    lines += [
        "  end function initial_state",
        "",
        "  ! The memory at the start of a run; clocks one period later.",
    ]
    lines += ["  pure function initial_memory(start) result(memory)", "    real(dp), intent(in) :: start"]
    lines.append("    real(dp) :: memory(n_memory)")
    if not any(m.period is not None for m in d.memory):
        lines.append("    associate (unused => start)\n    end associate")
    if not d.memory:
        lines.append("    memory = 0.0_dp")
    for k, m in enumerate(d.memory):
        value = _inside(m) if m.period is None else f"start + {literal(m.period)}"
        lines.append(f"    memory({k + 1}) = {value}  ! {note(m.name, m.units, m.about)}")
    return "\n".join([*lines, "  end function initial_memory"]) + "\n"


def _fire(k: int, section: ProgramSection, made: Source, sections: Sections) -> str:
    about = f"Memory and state after event '{made.description.events[k].name}'"
    return _renewing(f"fire_{k + 1}", about, section, made, sections)


def _started(made: Source, start: StartSource, sections: Sections) -> str:
    """What the start of a run computes from the values that are given."""
    about = "Memory and state of the first step from the values that are given"
    # A type without components has no value to be given: there are parameters, for inertia is one.
    return _renewing("started", about, start.section, made, sections, _parameter_values(made) or ["0.0_dp"])


def _renewing(
    name: str,
    about: str,
    section: ProgramSection,
    made: Source,
    sections: Sections,
    parameters: Sequence[str] = (),
) -> str:
    """A section of new memory and state."""
    body, d = sections.body(section), made.description
    count = len(d.memory)
    targets = [
        (f"new_memory({i + 1})" if i < count else f"new_state({i + 1 - count})", text)
        for i, text in enumerate(body.results)
    ]
    labels = [*(m.name for m in d.memory), *(s.name for s in d.states)]
    if not count:  # a result of no numbers must be set all the same
        targets.insert(0, ("new_memory", "0.0_dp"))
        labels.insert(0, "there is none")
    outs = ["new_memory(n_memory)", "new_state(n_states)"]
    return _subroutine(name, about, body, outs, targets, labels, parameters)


_FIRE = """  ! Memory and state after event k.
  pure subroutine fire(k, t, state, constants, memory, new_memory, new_state)
    integer, intent(in) :: k
    real(dp), intent(in) :: t, state(n_states), constants(n_constants), memory(n_memory)
    real(dp), intent(out) :: new_memory(n_memory), new_state(n_states)
    select case (k)
CASES
    case default
      new_memory = memory
      new_state = state
    end select
  end subroutine fire
"""
