"""The main program in Fortran: a namelist group for each kind of value that a run may change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from armillary.export.fortran.printer import literal
from armillary.export.fortran.solver import fortran_settings
from armillary.export.text.features import features
from armillary.export.text.files.heading import note
from armillary.export.text.files.runfile import example_timing
from armillary.export.text.files.settings import run_keys
from armillary.export.text.files.template import fill, template
from armillary.export.text.names import fields
from armillary.export.text.printing.layout import listed
from armillary.export.text.source import Source
from armillary.runtime.solver.methods import exported_methods, method_names

WIDTH = 130


@dataclass(frozen=True)
class NamelistEntry:
    """A value of a group: its name there, its place in the program, its example, and what it means."""

    name: str
    place: str
    value: float
    about: str
    factor: float = 1.0  # from the units of the file to those of the place
    required: bool = False


# What the subroutines that read groups hold besides the group's names. Other variables of the program end
# with an underscore, which no name of a model does.
_LOCAL = ("missing", "dp", "abs", "run", "parameters", "initial", "inputs", "memory")


def names(wished: Iterable[str]) -> tuple[str, ...]:
    """Names in a group of a run file."""
    return fields(wished, _LOCAL, folded=True)


def parameter_fields(made: Source) -> tuple[str, ...]:
    """Names of the parameters, in their type and in run files."""
    return names(p.name for p in made.description.parameters)


def groups(made: Source) -> dict[str, list[NamelistEntry]]:
    """The groups of a run file besides &run."""
    d = made.description
    states = zip(names(s.name for s in d.starts), d.starts, strict=True)
    placed = made.start.placed if made.start is not None else {}
    stored = list(enumerate(zip(names(m.name for m in d.memory), d.memory, strict=True)))

    def memory(inputs: bool) -> list[NamelistEntry]:
        return [
            NamelistEntry(name, f"stored_({i + 1})", m.initial / m.factor, note(m.units, m.about), m.factor)
            for i, (name, m) in stored
            if m.input is inputs and m.plain
        ]

    found = {
        "parameters": [
            NamelistEntry(
                name, f"p_%{name}", v, note(p.units, p.about), required=p.default is None and p.needed
            )
            for name, p, v in zip(parameter_fields(made), d.parameters, made.values, strict=True)
        ],
        "initial": [
            NamelistEntry(name, f"state_({i + 1})", x.initial / x.factor, note(x.units, x.about), x.factor)
            for i, (name, x) in enumerate(states)
            if i not in placed
        ],
        "inputs": memory(True),
        "memory": memory(False),
    }
    return {name: entries for name, entries in found.items() if entries}


def program_text(made: Source) -> str:
    """The program: groups read, a run made, rows written."""
    found = groups(made)
    titles = ["run", *found]
    places = 0 if made.assembly is None else len(made.assembly.coordinates)
    values = {
        "module": made.stem,
        "title": made.description.name,
        "version": made.description.version,
        "method_words": method_names(True, "'"),
        **fortran_settings(),
        "groups": ", ".join(f"&{name}" for name in titles),
        "quoted": ", ".join(f"'{name}'" for name in titles),
        "reads": "\n".join(f"  call read_{name}()" for name in found),
        "readers": "".join(
            _reader(name, entries, places if name == "initial" else 0) for name, entries in found.items()
        ),
        "changes": "\n".join(
            f"  changed = changed .or. abs(p_%{name} - default%{name}) > 0.0_dp"
            for name in parameter_fields(made)
        ),
    }
    return fill(template(__package__, "program.txt"), values, features(made))


def _reader(group: str, entries: Sequence[NamelistEntry], places: int) -> str:
    """The subroutine that reads one group; for the first ``places`` it notes whether they are given."""
    listing = listed([e.name for e in entries], WIDTH, " " * 6, " &")
    lines = ["", f"  subroutine read_{group}()", "    integer :: code_", "    real(dp) :: &", *listing]
    lines += [f"    namelist /{group}/ &", *listing]
    lines += [
        f"    {e.name} = missing" if k < places else f"    {e.name} = {e.place}" + _times(e.factor, "/")
        for k, e in enumerate(entries)
    ]
    lines += ["    rewind (unit_)", f"    read (unit_, nml={group}, iostat=code_, iomsg=message_)"]
    lines.append(f"    call check_('{group}', code_, message_)")
    for e in entries:
        if e.required:
            lines.append(
                f"    if (.not. {e.name} > missing) call fail_('&{group} needs {e.name}: it has no default')"
            )
    for k, e in enumerate(entries):
        lines += [f"    given_({k + 1}) = {e.name} > missing"] if k < places else []
        noted = f"if (given_({k + 1})) " if k < places else ""
        lines.append(f"    {noted}{e.place} = {e.name}" + _times(e.factor, "*"))
    return "\n".join([*lines, f"  end subroutine read_{group}"]) + "\n"


def _times(factor: float, operator: str) -> str:
    return "" if factor == 1.0 else f"{operator}{literal(factor)}"


def example_namelist(made: Source) -> str:
    """A run file with all defaults."""
    duration, step = example_timing(made)
    lines = [f"! A run of {made.description.name}. What is left out keeps its default.", "&run"]
    first, *others = [f"'{m.name}'" for m in exported_methods(adaptive=True)]
    method = f"  method = {first}  ! or {', '.join(others)}"
    lines += [f"  duration = {duration!r}", f"  step = {step!r}", method]
    lines += ["  sample = 0.0  ! seconds between rows; 0: a row at the end of each step"]
    known = {key.key: key.default for key in run_keys()}
    tolerances = ", ".join(f"{name} = {known[name]!r}" for name in ("rtol", "atol"))
    lines += [f"  {tolerances}  ! of methods that choose their steps, and max_step, max_steps", "/"]
    for group, entries in groups(made).items():
        lines += ["", f"&{group}", *_lines(entries), "/"]
    return "\n".join(lines) + "\n"


def _lines(entries: Iterable[NamelistEntry]) -> list[str]:
    return [f"  {e.name} = {e.value!r}" + (f"  ! {e.about}" if e.about else "") for e in entries]


def parameter_assignments(made: Source) -> str:
    """Parameters from the array `values`, for the test."""
    return "\n".join(f"  p%{name} = values({i + 1})" for i, name in enumerate(parameter_fields(made)))
