"""Sections of a program as Fortran subroutines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from armillary.export.fortran.printer import WIDTH, character_constant, literal
from armillary.export.fortran.solver import assembly_text, fortran_settings
from armillary.export.text.body import SectionText, Step, closing, field_names
from armillary.export.text.configurations import change_functions
from armillary.export.text.description import initial_text
from armillary.export.text.files import example_timing, fill, note, operations_text, run_keys, template
from armillary.export.text.printer import bytes_of, list_items, partial_sums, wrap_statement
from armillary.export.text.source import SectionFunction, Sections, Source, features
from armillary.export.text.start import Physical, StartSource
from armillary.program.program import ProgramSection
from armillary.solver.methods.method_text import exported_methods, method_names

# The main program in Fortran: a namelist group for each kind of value that a run may change.


@dataclass(frozen=True)
class NamelistEntry:
    """A value in a namelist group: its name, its variable in the program, an example and its meaning."""

    name: str
    place: str
    value: float
    about: str
    factor: float = 1.0  # from units in the file to units of the variable
    required: bool = False


# Local names of the subroutines that read groups. All other variables of the program end with an underscore,
# as no name of a model does.
_LOCAL = ("missing", "dp", "abs", "run", "parameters", "initial", "inputs", "memory")


def group_names(wished: Iterable[str]) -> tuple[str, ...]:
    """Return valid and unique names for a group of a run file."""
    return field_names(wished, _LOCAL, folded=True)


def parameter_fields(made: Source) -> tuple[str, ...]:
    """Return the names of the parameters, in their derived type and in run files."""
    return group_names(p.name for p in made.description.parameters)


def groups(made: Source) -> dict[str, list[NamelistEntry]]:
    """Return the groups of a run file besides &run."""
    d = made.description
    states = zip(group_names(s.name for s in d.starts), d.starts, strict=True)
    placed = made.start.placed if made.start is not None else {}
    stored = list(enumerate(zip(group_names(m.name for m in d.memory), d.memory, strict=True)))

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
    """Return the main program, which reads the groups, makes a run and writes rows."""
    found = groups(made)
    titles = ["run", *found]
    places = 0 if made.assembly is None else len(made.assembly.coordinates)
    values = {
        "module": made.stem,
        "title": made.description.name,
        "version": made.description.version,
        "method_words": method_names(True, "'", stiff=made.stiff),
        **fortran_settings(made.stiff),
        "groups": ", ".join(f"&{name}" for name in titles),
        "quoted": ", ".join(f"'{name}'" for name in titles),
        "reads": "\n".join(f"  call read_{name}()" for name in found),
        "readers": "".join(
            _group_reader(name, entries, places if name == "initial" else 0)
            for name, entries in found.items()
        ),
        "changes": "\n".join(
            f"  changed = changed .or. abs(p_%{name} - default%{name}) > 0.0_dp"
            for name in parameter_fields(made)
        ),
    }
    return fill(template(__package__, "program.txt"), values, features(made))


def _group_reader(group: str, entries: Sequence[NamelistEntry], places: int) -> str:
    """Return the subroutine that reads one group and notes which of its first ``places`` values are given."""
    listing = list_items([e.name for e in entries], WIDTH, " " * 6, " &")
    lines = ["", f"  subroutine read_{group}()", "    integer :: code_", "    real(dp) :: &", *listing]
    lines += [f"    namelist /{group}/ &", *listing]
    lines += [
        f"    {e.name} = missing" if k < places else f"    {e.name} = {e.place}" + _scaled_by(e.factor, "/")
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
        lines.append(f"    {noted}{e.place} = {e.name}" + _scaled_by(e.factor, "*"))
    return "\n".join([*lines, f"  end subroutine read_{group}"]) + "\n"


def _scaled_by(factor: float, operator: str) -> str:
    return "" if factor == 1.0 else f"{operator}{literal(factor)}"


def example_namelist(made: Source) -> str:
    """Return a run file with all defaults."""
    duration, step = example_timing(made)
    lines = [f"! A run of {made.description.name}. Omitted entries keep their defaults.", "&run"]
    first, *others = [f"'{m.name}'" for m in exported_methods(adaptive=True)]
    method = f"  method = {first}  ! or {', '.join(others)}"
    lines += [f"  duration = {duration!r}", f"  step = {step!r}", method]
    lines += ["  sample = 0.0  ! seconds between rows; 0: a row at the end of each step"]
    known = {key.key: key.default for key in run_keys()}
    tolerances = ", ".join(f"{name} = {known[name]!r}" for name in ("rtol", "atol"))
    lines += [f"  {tolerances}  ! of methods that choose their steps, and max_step, max_steps", "/"]
    for group, entries in groups(made).items():
        lines += ["", f"&{group}", *_entry_lines(entries), "/"]
    return "\n".join(lines) + "\n"


def _entry_lines(entries: Iterable[NamelistEntry]) -> list[str]:
    return [f"  {e.name} = {e.value!r}" + (f"  ! {e.about}" if e.about else "") for e in entries]


def parameter_assignments(made: Source) -> str:
    """Return assignments of parameters from the array `values`, for the test."""
    return "\n".join(f"  p%{name} = values({i + 1})" for i, name in enumerate(parameter_fields(made)))


LONGEST = 20_000  # most characters of a statement, which may have 255 continuation lines
_ARGUMENTS = {
    "state": "state(n_states)", "constants": "constants(n_constants)", "memory": "memory(n_memory)"
}  # fmt: skip


def _section_subroutine(f: SectionFunction, sections: Sections) -> str:
    body = sections.body(f.section)
    targets = [(f"{f.out}({i + 1})", text) for i, text in enumerate(body.results)]
    return _subroutine(f.name, f.about, body, [f"{f.out}({f.size})"], targets, f.labels)


def section_texts(made: Source, sections: Sections) -> list[str]:
    """Return the subroutines of one configuration's sections."""
    program = made.program
    texts = [_precompute(made, sections), *(_section_subroutine(f, sections) for f in made.functions)]
    for k, section in enumerate(program.fire):
        texts.append(_fire_subroutine(k, section, made, sections))
    if program.fire:
        cases = "\n".join(
            f"    case ({k})\n      call fire_{k}(t, state, constants, memory, new_memory, new_state)"
            for k in range(1, len(program.fire) + 1)
        )
        texts.append(_FIRE.replace("CASES", cases))
    texts += [_section_subroutine(f, sections) for f in made.corrections]
    if program.normalises:
        values = {
            "corrected": ", ".join(str(i + 1) for i in program.corrected),
            **closing(),
            "count": str(len(program.corrected)),
            "sizes": ", ".join(made.correction_sizes("constants({})", 1, literal)),
            "renewed": str(len(program.renewed)),
            "renewed_places": "\n".join(_place_lines(program.renewed)),
        }
        texts.append(fill(template(__package__, "normalise.txt"), values, features(made)))
    return texts + [_section_subroutine(f, sections) for f in change_functions(made)]


def _place_lines(renewed: Sequence[int]) -> list[str]:
    """Return lines with the elements of an array of state indices."""
    return list_items([str(i + 1) for i in renewed], WIDTH, " " * 6, " &")


def function_texts(made: Source, sections: Sections) -> list[str]:
    texts = [_initial_functions(made), *section_texts(made, sections)]
    if (loops := made.assembly) is not None:
        about = "Gaps of the loops, elements of J, elements of N, sizes of gaps"
        labels = loops.section.labels
        geometry = SectionFunction(loops.section, "geometry", about, labels, "numbers", "n_numbers")
        texts.append(_section_subroutine(geometry, sections))
        texts.append(assembly_text(loops, character_constant))
    if made.start is not None:
        texts.append(_write_start(made, made.start, sections))
    if (checked := made.physical) is not None:
        texts.append(_physical_check(made, checked, sections))
    if (masses := made.masses) is not None:
        body = sections.body(masses.section)
        about = "Pivots of the mass matrix, as shares of its diagonal"
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
    """Return a section with the usual arguments: time, state, constants and memory.

    ``parameters``: if given, the expressions of parameter values; the argument p then replaces constants.
    """
    plain = [out.partition("(")[0] for out in outs]
    given = {"p" if parameters and a == "constants" else a: size for a, size in _ARGUMENTS.items()}
    if name in ("enter", "impulse", "adjust", "ratings"):
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
    lines += _declare_locals([*(i.name for i in inputs), *_locals(body)])
    lines += [f"    associate (unused => {a})\n    end associate" for a in idle]
    for i in inputs:
        value = parameters[i.index] if i.array == "parameters" else f"{i.array}({i.index + 1})"
        lines.append(f"    {i.name} = {value}")
    lines += _step_lines(body)
    for (target, text), label in zip(targets, labels, strict=True):
        lines += _assignment(target, text, "" if text == label else label)
    return "\n".join([*lines, f"  end subroutine {name}"]) + "\n"


def _declare_locals(names: Sequence[str]) -> list[str]:
    """Return declarations of locals, at most 400 per statement."""
    lines: list[str] = []
    for start in range(0, len(names), 400):
        part = list_items(names[start : start + 400], WIDTH, " " * 16, " &")
        lines += ["    real(dp) :: " + part[0].strip(), *part[1:]]
    return lines


def _locals(body: SectionText) -> list[str]:
    """Return the locals to declare: names of assignments, and arrays of block functions."""
    names = []
    for step in body.steps:
        if (call := step.block) is None:
            names.append(step.name)
        else:
            names += [f"{call.given}({len(call.arguments)})", f"{step.name}({call.results})"]
    return names


def _step_lines(body: SectionText) -> Iterable[str]:
    return [line for step in body.steps for line in _step_statements(step)]


def _step_statements(step: Step) -> list[str]:
    """Return an assignment, or a call of a block function.

    A call's arguments are assigned one by one, since a statement has at most 255 continuation lines.
    """
    if (call := step.block) is None:
        return _assignment(step.name, step.text)
    zero = literal(0.0)
    lines = [f"    {call.given} = {zero}"]
    for i, text in enumerate(call.arguments):
        if text != zero:
            lines += _assignment(f"{call.given}({i + 1})", text)
    return [*lines, f"    call {call.function}({call.given}, {step.name})"]


def _assignment(name: str, text: str, label: str = "") -> list[str]:
    first, *others = partial_sums(text, LONGEST)
    lines = wrap_statement(f"{name} = {first}", WIDTH, " " * 4, " " * 8, " &")
    for part in others:
        lines += wrap_statement(f"{name} = {name}{part}", WIDTH, " " * 4, " " * 8, " &")
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
    lines += _declare_locals([*(i.name for i in body.inputs), *_locals(body)])
    if not body.inputs:
        lines.append("    associate (unused => p)\n    end associate")
    values = _parameter_values(made)
    lines += [f"    {i.name} = {values[i.index]}" for i in body.inputs]
    lines += _step_lines(body)
    labels = [c.data.name for c in made.program.constants]
    if not labels:
        lines.append("    constants = 0.0_dp  ! there are none")
    for k, (text, label) in enumerate(zip(body.results, labels, strict=True)):
        lines += _assignment(f"constants({k + 1})", text, "" if text == label else label)
    return "\n".join([*lines, "  end subroutine precompute"]) + "\n"


def _parameter_values(made: Source) -> list[str]:
    """Return expressions of the parameters in the units of the equations."""
    factors = ("" if p.factor == 1.0 else f"*{literal(p.factor)}" for p in made.description.parameters)
    return [f"p%{name}{factor}" for name, factor in zip(parameter_fields(made), factors, strict=True)]


def _physical_check(made: Source, checked: Physical, sections: Sections) -> str:
    """Return the subroutine that finds the first negative quantity among masses, inertias and armatures."""
    body, values = sections.body(checked.section), _parameter_values(made)
    lines = ["  ! Which mass, moment of inertia or armature is negative (0: none), and its value."]
    lines += ["  pure subroutine check_physical(p, which, value)", "    type(parameters_t), intent(in) :: p"]
    lines += ["    integer, intent(out) :: which", "    real(dp), intent(out) :: value"]
    lines.append(f"    real(dp) :: found({len(body.results)})")
    lines += _declare_locals([*(i.name for i in body.inputs), *_locals(body)])
    lines += [f"    {i.name} = {values[i.index]}" for i in body.inputs]
    lines += _step_lines(body)
    for k, (text, label) in enumerate(zip(body.results, checked.texts, strict=True)):
        lines += _assignment(f"found({k + 1})", text, label)
    lines += [f"    do which = 1, {len(body.results)}", "      value = found(which)"]
    lines += ["      if (value < 0.0_dp) return", "    end do", "    which = 0", "    value = 0.0_dp"]
    return "\n".join([*lines, "  end subroutine check_physical"]) + "\n"


def _initial_functions(made: Source) -> str:
    """Return the functions for the initial state and the initial memory."""
    d = made.description
    what = "The values that a run starts from." if made.start is not None else "The initial state."
    lines = [f"  ! {what}", "  pure function initial_state() result(state)"]
    lines.append("    real(dp) :: state(n_states)")
    for k, s in enumerate(d.starts):
        lines.append(f"    state({k + 1}) = {initial_text(s, literal)}  ! {note(s.name, s.units, s.about)}")
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
        value = initial_text(m, literal) if m.period is None else f"start + {literal(m.period)}"
        lines.append(f"    memory({k + 1}) = {value}  ! {note(m.name, m.units, m.about)}")
    return "\n".join([*lines, "  end function initial_memory"]) + "\n"


def _fire_subroutine(k: int, section: ProgramSection, made: Source, sections: Sections) -> str:
    about = f"Memory and state after event '{made.description.events[k].name}'"
    return _renewal_subroutine(f"fire_{k + 1}", about, section, made, sections)


def _write_start(made: Source, start: StartSource, sections: Sections) -> str:
    """Return the subroutine that computes the first memory and state of a run from given values."""
    about = "Memory and state of the first step from the values that are given"
    # The derived type of parameters is never empty, since each inertia is a parameter.
    return _renewal_subroutine(
        "started", about, start.section, made, sections, _parameter_values(made) or ["0.0_dp"]
    )


def _renewal_subroutine(
    name: str,
    about: str,
    section: ProgramSection,
    made: Source,
    sections: Sections,
    parameters: Sequence[str] = (),
) -> str:
    """Return a subroutine that computes new memory and state."""
    body, d = sections.body(section), made.description
    count = len(d.memory)
    targets = [
        (f"new_memory({i + 1})" if i < count else f"new_state({i + 1 - count})", text)
        for i, text in enumerate(body.results)
    ]
    labels = [*(m.name for m in d.memory), *(s.name for s in d.states)]
    if not count:  # also an array of length zero must be set
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
