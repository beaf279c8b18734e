"""The main program in Fortran: a namelist group for each kind of value that a run may change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from armillary.backends.fortran.printer import literal
from armillary.backends.text.features import features
from armillary.backends.text.heading import note
from armillary.backends.text.layout import listed
from armillary.backends.text.runfile import example_timing
from armillary.backends.text.source import Sections, Source
from armillary.backends.text.template import fill, template

WIDTH = 130


@dataclass(frozen=True)
class Entry:
    """A value of a group: its name there, its place in the program, its example, and what it means."""

    name: str
    place: str
    value: float
    about: str
    factor: float = 1.0  # from the units of the file to those of the place
    required: bool = False


def groups(made: Source, sections: Sections) -> dict[str, list[Entry]]:
    """The groups of a run file besides &run."""
    d, program, of = made.description, made.program, sections.identifiers.of
    parameters = zip(program.parameters, d.parameters, made.values, strict=True)
    states = zip(program.state, d.states, strict=True)
    stored = [(i, s, m) for i, (s, m) in enumerate(zip(program.memory, d.memory, strict=True))]

    def memory(inputs: bool) -> list[Entry]:
        return [
            Entry(of[s], f"memory({i + 1})", m.initial / m.factor, note(m.units, m.about), m.factor)
            for i, s, m in stored
            if m.input is inputs and m.period is None
        ]

    found = {
        "parameters": [
            Entry(of[s], f"p%{of[s]}", v, note(p.units, p.about), required=p.default is None and p.needed)
            for s, p, v in parameters
        ],
        "initial": [
            Entry(of[s], f"state({i + 1})", x.initial / x.factor, note(x.units, x.about), x.factor)
            for i, (s, x) in enumerate(states)
        ],
        "inputs": memory(True),
        "memory_values": memory(False),
    }
    return {name: entries for name, entries in found.items() if entries}


def program_text(made: Source, sections: Sections) -> str:
    """The program: groups read, a run made, rows written."""
    found = groups(made, sections)
    names = ["run", *found]
    values = {
        "module": made.stem,
        "title": made.description.name,
        "version": made.description.version,
        "groups": ", ".join(f"&{name}" for name in names),
        "quoted": ", ".join(f"'{name}'" for name in names),
        "reads": "\n".join(f"  call read_{name}()" for name in found),
        "readers": "".join(_reader(name, entries) for name, entries in found.items()),
    }
    return fill(template(__package__, "program.txt"), values, features(made))


def _reader(group: str, entries: Sequence[Entry]) -> str:
    """The subroutine that reads one group."""
    names = listed([e.name for e in entries], WIDTH, " " * 6, " &")
    lines = ["", f"  subroutine read_{group}()", "    integer :: code", "    real(dp) :: &", *names]
    lines += [f"    namelist /{group}/ &", *names]
    lines += [f"    {e.name} = {e.place}" + _times(e.factor, "/") for e in entries]
    lines += ["    rewind (unit)", f"    read (unit, nml={group}, iostat=code, iomsg=message)"]
    lines.append(f"    call check('{group}', code, message)")
    for e in entries:
        if e.required:
            lines.append(
                f"    if (.not. {e.name} > missing) call fail('&{group} needs {e.name}: it has no default')"
            )
    lines += [f"    {e.place} = {e.name}" + _times(e.factor, "*") for e in entries]
    return "\n".join([*lines, f"  end subroutine read_{group}"]) + "\n"


def _times(factor: float, operator: str) -> str:
    return "" if factor == 1.0 else f"{operator}{literal(factor)}"


def example_namelist(made: Source, sections: Sections) -> str:
    """A run file with all defaults."""
    duration, step = example_timing(made)
    lines = [f"! A run of {made.description.name}. What is left out keeps its default.", "&run"]
    lines += [f"  duration = {duration!r}", f"  step = {step!r}", "  method = 'rk4'  ! or 'midpoint'"]
    lines += ["  sample = 0.0  ! seconds between rows; 0: a row at the end of each step", "/"]
    for group, entries in groups(made, sections).items():
        lines += ["", f"&{group}", *_lines(entries), "/"]
    return "\n".join(lines) + "\n"


def _lines(entries: Iterable[Entry]) -> list[str]:
    return [f"  {e.name} = {e.value!r}" + (f"  ! {e.about}" if e.about else "") for e in entries]


def parameter_assignments(made: Source, sections: Sections) -> str:
    """Parameters from the array `values`, for the test."""
    of = sections.identifiers.of
    return "\n".join(f"  p%{of[s]} = values({i + 1})" for i, s in enumerate(made.program.parameters))
