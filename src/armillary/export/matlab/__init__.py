"""Exported MATLAB, which Octave can run, too: a package folder of functions for one system.

This module writes all files. solver.py fills in ``simulate.txt``, the template of the solver; ``test.txt`` is
the template of the self-test.

MATLAB has no conditional expression, its min and max ignore NaN, and roots and logarithms of negative numbers
are complex. Helper functions replace these; each file ends with the helpers that it calls.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from armillary.algebra.arguments import flag
from armillary.algebra.block_functions import BlockFunction
from armillary.algebra.tables import Piecewise
from armillary.export.matlab.solver import assembly_text, change_values, contact_files, solver_values
from armillary.export.text.body import SectionText, Step, closing, field_names
from armillary.export.text.configurations import change_functions, contact_sources
from armillary.export.text.description import StateDescription, Stored, initial_text, reference_text
from armillary.export.text.files import (
    example_timing,
    fill,
    head,
    helpers,
    helpers_called_in,
    note,
    operations_text,
    readme_tables,
    template,
    write_folder,
)
from armillary.export.text.printer import Operand, Printer, list_items, one_line, wrap_statement
from armillary.export.text.source import SectionFunction, Sections, Source, features, make_source
from armillary.export.text.start import AssemblySource, StartSource
from armillary.program.equations import DerivedEquations

__all__ = ["export"]


KEYWORDS = (
    "break case catch classdef continue else elseif end for function global if otherwise parfor persistent "
    "return spmd switch try while do until end_try_catch endif endwhile endfor endfunction unwind_protect"
)
# Functions that generated files call; a variable with such a name would hide one.
_CALLED = (
    "double sin cos tan tanh atan atan2 exp abs floor ceil rem Inf NaN true false zeros setdiff fieldnames "
    "isempty isnan error"
)


class MatlabPrinter(Printer):
    """Printer of expressions in MATLAB; ``package`` has the functions of lookup tables."""

    keywords = frozenset(f"{KEYWORDS} {_CALLED}".split())
    functions = {  # noqa: RUF012
        "sqrt": "root", "log": "logarithm", "asin": "arcsine", "acos": "arccosine", "pow": "real_power",
        "min": "least", "max": "most", "sign": "signum", "mod": "modulo",
    }  # fmt: skip
    comparisons = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "~="}  # noqa: RUF012
    negation = "~"
    specials = ("NaN", "Inf", "(-Inf)")
    truth_number = "double({})"
    choosing = "choose({test}, {yes}, {no})"

    def __init__(self, package: str) -> None:
        super().__init__()
        self.package = package

    def element(self, array: str, index: int) -> str:
        return f"{array}({index + 1})"

    def block(self, block: BlockFunction) -> str:
        return f"{self.package}.{super().block(block)}"

    def table(self, table: Piecewise, arguments: Sequence[Operand]) -> Operand:
        return Operand(f"{self.package}.{super().table(table, arguments).text}")


def table_function(name: str, table: Piecewise, width: int) -> str:
    """Return a lookup table as a function file: its data, then the lookup."""
    arguments = ("x", "y")[: table.arity]
    lines = [
        f"function value = {name}({', '.join(arguments)})",
        f"% Table '{one_line(table.name)}': a piecewise polynomial.",
    ]
    lines.append("persistent breaks coefficients")
    lines.append("if isempty(breaks)")
    lines.append("  breaks = {};")
    for a, places in enumerate(table.breaks):
        lines += [
            f"  breaks{{{a + 1}}} = [ ...",
            *list_items([repr(float(v)) for v in places], width, " " * 4, " ..."),
        ]
        lines[-1] += "];"
    # One matrix per cell: a row per power of the first argument, a column per power of the last.
    shape = table.coefficients.shape
    degrees = shape[table.arity :]
    cells = table.coefficients.reshape(-1, *((1, *degrees) if table.arity == 1 else degrees))
    for i, cell in enumerate(cells):
        rows = "; ".join(" ".join(repr(float(v)) for v in row) for row in cell)
        lines.append(f"  coefficients{{{i + 1}}} = [{rows}];")
    outside = ", ".join(f"'{o}'" for o in table.outside)
    lines += ["end", f"value = lookup(breaks, coefficients, {{{outside}}}, [{', '.join(arguments)}]);", "end"]
    return "\n".join(lines) + "\n"


WIDTH = 120
RESERVED = ("choose", "least", "most", "root", "lookup", "horner", "p", "about", "given", "start", "values")


def export(
    equations: DerivedEquations,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    configurations: bool | None = None,
    stiff: bool = False,
) -> Path:
    """Write a folder with a package of functions for this one system, an example, a test and a README.

    ``stiff``: the solver also has the methods rodas5p and rodas3, with the partial derivatives of the rates.
    """
    made = make_source(equations, configurations, passes=True, stiff=flag(stiff, "stiff="), sparse=True)
    d, has = made.description, features(made)
    package = package_name(made.stem)
    sections = Sections(made, MatlabPrinter(package), (*RESERVED, package))
    duration, step = example_timing(made)
    values = {
        "package": package,
        "title": d.name,
        "version": d.version,
        "duration": f"{duration:g}",
        "step": f"{step:g}",
        **solver_values(made, has, package),
        **_jump_times(made),
        "set_places": "; ".join(str(bool(set_)).lower() for set_ in made.set_places),
        **(change_values(made, package) if made.changing else {}),
        "kind": " ".join(str(kind + 1) for kind in made.masses.kinds) if made.masses else "",
        "owners": " ".join(str(c + 1) for c in made.masses.owners) if made.masses else "",
    }

    def fill_file(name: str) -> str:
        return fill(template(__package__, name), values, has)

    setting = "\n".join(f"p.{name} = values({i + 1});" for i, name in enumerate(_parameter_fields(made)))
    functions = _function_files(made, sections, package)
    functions["simulate"] = fill_file("simulate.txt")
    files: dict[str, str] = {f"+{package}/{name}.m": text for name, text in functions.items()}
    for other in made.others:
        inner = Sections(other, sections.printer, (*RESERVED, package))
        own = _equation_files(other, inner, package, f"{package}.configuration{other.prefix}")
        files |= {f"+{package}/+configuration{other.prefix}/{name}.m": text for name, text in own.items()}
    for table, name in sections.printer.tables.items():
        files[f"+{package}/{name}.m"] = _with_helpers(table_function(name, table, WIDTH))
    contacts = contact_files(contact_sources(sections.printer.blocks))
    files |= {f"+{package}/{name}.m": text for name, text in contacts.items()}
    files |= {
        f"run_{package}.m": fill_file("run.txt"),
        f"test_{package}.m": fill(template(__package__, "test.txt"), values | {"set": setting}, has),
        "reference.txt": reference_text(made.reference),
        "README.md": "\n".join([fill_file("readme.txt").rstrip("\n"), *readme_tables(d)]) + "\n",
    }
    return write_folder(path, files, force=force)


def _jump_times(made: Source) -> dict[str, str]:
    """Return the times at which data of inputs bend, then infinity, and whether the data jump there."""
    stops = made.program.stops
    values = {
        "jump_times": "; ".join([*(repr(t) for t, _ in stops), "Inf"]),
        "jump_hard": "; ".join([*(str(jumps).lower() for _, jumps in stops), "true"]),
    }
    return {
        name: "\n".join(wrap_statement(text, WIDTH - 20, "", "    ", " ...")) for name, text in values.items()
    }


def package_name(stem: str) -> str:
    """Return a package name that no variable of the files around the package hides."""
    texts = [
        template(__package__, f"{name}.txt") for name in ("simulate", "normalise", "assembled", "run", "test")
    ]
    code = " ".join(line.partition("%")[0] for text in texts for line in text.splitlines())
    taken = {*KEYWORDS.split(), *re.findall(r"[A-Za-z]\w*", code)}
    return f"{stem}_system" if stem in taken else stem


def _with_helpers(text: str) -> str:
    return text + "".join(f"\n{helper}" for helper in helpers_called_in(helpers(__package__), text))


def _parameter_fields(made: Source) -> tuple[str, ...]:
    """Return the field names of the parameters in their structure."""
    return field_names((p.name for p in made.description.parameters), KEYWORDS.split())


def _section_function(f: SectionFunction, sections: Sections) -> str:
    body = sections.body(f.section)
    lines = [f"function {f.out} = {f.name}(t, state, constants, memory) %#ok<INUSD>"]
    lines += [
        f"% {f.name.upper()}  {f.about}: {operations_text(body.section.operations)}.",
        *_section_lines(body),
    ]
    lines += _results(f.out, body.results, f.labels)
    return _with_helpers("\n".join([*lines, "end"]) + "\n")


def _equation_files(made: Source, sections: Sections, package: str, own: str) -> dict[str, str]:
    """Return files of one configuration's sections, which are in the package ``own``."""
    program = made.program
    found = {"precompute": _precompute(made, sections, package)}
    found |= {f.name: _section_function(f, sections) for f in (*made.functions, *made.corrections)}
    if program.fire:
        found["fire"] = _fire_function(made, sections)
    if program.normalises:
        values = {
            "package": own,
            **closing(),
            "corrected": " ".join(str(i + 1) for i in program.corrected),
            "sizes": " ".join(made.correction_sizes("constants({})", 1, repr)),
            "renewed": "\n".join(
                wrap_statement(" ".join(str(i + 1) for i in program.renewed), WIDTH - 20, "", "    ", " ...")
            ),
        }
        found["normalise"] = fill(template(__package__, "normalise.txt"), values, features(made))
    return found | {f.name: _section_function(f, sections) for f in change_functions(made)}


def _function_files(made: Source, sections: Sections, package: str) -> dict[str, str]:
    found = {
        "parameters": _parameter_function(made),
        "names": _names_function(made),
        "initial_state": _initial_state(made),
        "initial_memory": _initial_memory(made),
        **_equation_files(made, sections, package, package),
    }
    if (checked := made.physical) is not None:
        body = sections.body(checked.section)
        words = list_items([_string_literal(text) for text in checked.texts], WIDTH, "    ", " ...")
        found["check_physical"] = _with_helpers("\n".join([
            "function check_physical(p)",
            "% CHECK_PHYSICAL  An error where a mass, moment of inertia or armature is negative.",
            *_parameter_lines(made, body), *_section_lines(body),
            *_results("found", body.results, checked.texts),
            "words = { ...", *words[:-1], f"{words[-1]}}};",
            "i = find(found < 0, 1);", "if ~isempty(i)",
            "  error('%s is %g with these parameters; it must be 0 or more', words{i}, found(i));",
            "end", "end", "",
        ]))  # fmt: skip
    if (masses := made.masses) is not None:
        body = sections.body(masses.section)
        lines = [
            "function out = pivot_shares(t, state, p, memory) %#ok<INUSD>",
            "% PIVOT_SHARES  Pivots of the mass matrix, as shares of its diagonal; 0: a motion has no mass.",
            *_parameter_lines(made, body),
            *_section_lines(body),
            *_results("out", body.results, masses.section.labels),
        ]
        found["pivot_shares"] = _with_helpers("\n".join([*lines, "end"]) + "\n")
    if made.start is not None:
        found["started"] = _write_start(made, made.start, sections)
    if (loops := made.assembly) is not None:
        about = "Gaps of the loops, elements of J, elements of N, sizes of gaps"
        size = str(len(loops.section.results))
        labels = loops.section.labels
        geometry = SectionFunction(loops.section, "geometry", about, labels, "numbers", size)
        found["geometry"] = _section_function(geometry, sections)
        found["assembled"] = assembly_text(loops, package, _string_literal)
        found["first_guess"] = _first_guess(loops)
    return found


def _first_guess(loops: AssemblySource) -> str:
    """Return the function with the coordinates from which loops are closed."""
    lines = [
        "function q = first_guess()",
        "% FIRST_GUESS  Coordinates from which a search for closed loops starts.",
    ]
    lines += wrap_statement(f"q = [{'; '.join(map(repr, loops.first))}];", WIDTH, "", "    ", " ...")
    return "\n".join([*lines, "end"]) + "\n"


def _section_lines(body: SectionText) -> list[str]:
    """Return the inputs and assignments of a section."""
    lines = [
        f"{i.name} = {i.array}({i.index + 1});" for i in body.inputs if i.array not in ("", "parameters")
    ]
    return lines + [line for step in body.steps for line in _step_statements(step)]


def _step_statements(step: Step) -> list[str]:
    """Return an assignment, or a call of a block function."""
    if (call := step.block) is None:
        return _assignment(step.name, step.text)
    lines = [f"{call.given} = zeros({len(call.arguments)}, 1);"]
    for i, text in enumerate(call.arguments):
        if text != "0.0":
            lines += _assignment(f"{call.given}({i + 1})", text)
    return [*lines, f"{step.name} = {call.function}({call.given});"]


def _assignment(name: str, text: str, label: str = "") -> list[str]:
    lines = wrap_statement(f"{name} = {text};", WIDTH, "", "    ", " ...")
    if label and len(lines[-1]) + len(label) + 4 <= WIDTH:
        lines[-1] += f"  % {label}"
    elif label:
        lines.insert(0, f"% {label}")
    return lines


def _results(out: str, texts: Sequence[str], labels: Sequence[str]) -> list[str]:
    lines = [f"{out} = zeros({len(texts)}, 1);"]
    for i, (text, label) in enumerate(zip(texts, labels, strict=True)):
        lines += _assignment(f"{out}({i + 1})", text, "" if text == label else label)
    return lines


def _parameter_function(made: Source) -> str:
    d = made.description
    lines = ["function p = parameters()"]
    lines += [
        f"% {line}".rstrip() for line in head(d, "PARAMETERS", "parameters in the units stated with them.")
    ]
    lines.append("p = struct();")
    for name, parameter in zip(_parameter_fields(made), d.parameters, strict=True):
        value = "NaN" if parameter.default is None else repr(parameter.default)
        missing = "no default; " if parameter.default is None else ""
        comment = missing + note(parameter.units, parameter.about)
        lines.append(f"p.{name} = {value};" + (f"  % {comment}" if comment else ""))
    return "\n".join([*lines, "end"]) + "\n"


def _precompute(made: Source, sections: Sections, package: str) -> str:
    body = sections.body(made.program.precompute)
    lines = ["function constants = precompute(p) %#ok<INUSD>"]
    lines.append(
        f"% PRECOMPUTE  Constants from parameters, once per run: {operations_text(body.section.operations)}."
    )
    lines += [
        f"unknown = setdiff(fieldnames(p), fieldnames({package}.parameters()));",
        "if ~isempty(unknown)",
        "  error('there is no parameter %s', unknown{1});",
        "end",
    ]
    names = _parameter_fields(made)
    for name, parameter in zip(names, made.description.parameters, strict=True):
        if parameter.default is None and parameter.needed:
            lines += [
                f"if isnan(p.{name})",
                f"  error('parameter {name} has no default: set p.{name}');",
                "end",
            ]
    lines += _parameter_lines(made, body)
    lines += [line for step in body.steps for line in _assignment(step.name, step.text)]
    lines += _results("constants", body.results, [c.data.name for c in made.program.constants])
    return _with_helpers("\n".join([*lines, "end"]) + "\n")


def _string_literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _names_function(made: Source) -> str:
    """Return the function with all names, units, and data of events."""
    d = made.description
    lines = [
        "function about = names()",
        "% NAMES  States, memory, outputs and events in the order of their vectors.",
    ]
    columns = {
        "states": [s.name for s in d.starts],
        "state_units": [s.units for s in d.starts],
        "memory": [m.name for m in d.memory],
        "outputs": [o.name for o in d.outputs],
        "output_units": [o.units for o in d.outputs],
        "events": [e.name for e in d.events],
    }
    if made.masses is not None:
        columns["weak_masses"] = list(made.masses.texts)
    for name, values in columns.items():
        listing = list_items([_string_literal(value) for value in values], WIDTH, "    ", " ...")
        lines += (
            [f"about.{name} = {{ ...", *listing[:-1], f"{listing[-1]}}};"]
            if listing
            else [f"about.{name} = {{}};"]
        )
    if d.events:
        directions = "; ".join(str(e.direction) for e in d.events)
        lines.append(f"about.event_direction = [{directions}];  % -1: falling, 1: rising, 0: both")
        for name, flags in (
            ("stops", [e.stop for e in d.events]),
            ("hidden", [e.hidden for e in d.events]),
            ("guards", [e.guard for e in d.events]),
        ):
            lines.append(f"about.event_{name} = [{'; '.join(str(f).lower() for f in flags)}];")
    return "\n".join([*lines, "end"]) + "\n"


def _replacement_statements(
    what: str, vector: str, items: Sequence[StateDescription] | Sequence[Stored]
) -> list[str]:
    """Return statements that set elements by name from the arguments, converted from their stated units."""
    listing = list_items([_string_literal(item.name) for item in items], WIDTH, "    ", " ...")
    factors = " ".join(repr(item.factor) for item in items)
    converted = "*factors(place)" if any(item.factor != 1.0 for item in items) else ""
    lines = ["names = { ...", *listing[:-1], f"{listing[-1]}}};"] if listing else ["names = {};"]
    if converted:
        lines += wrap_statement(f"factors = [{factors}];", WIDTH, "", "    ", " ...")
    return [
        *lines,
        "for i = 1:2:numel(varargin)",
        "  place = find(strcmp(varargin{i}, names));",
        "  if isempty(place)",
        f"    error('there is no {what} ''%s''; there are %s', varargin{{i}}, strjoin(names, ', '));",
        "  end",
        f"  {vector}(place) = varargin{{i + 1}}{converted};",
        "end",
    ]


def _initial_state(made: Source) -> str:
    states = made.description.starts
    lines = ["function state = initial_state(varargin)"]
    lines.append(
        "% INITIAL_STATE  The initial state; values by name over it: initial_state('name', value, ...)."
    )
    lines.append(f"state = zeros({len(states)}, 1);")
    for i, s in enumerate(states):
        lines.append(f"state({i + 1}) = {initial_text(s, repr)};  % {note(s.name, s.units, s.about)}")
    placed = made.start.placed if made.start is not None else {}
    lines += _replacement_statements("state", "state", states)
    for body in dict.fromkeys(placed.values()):
        own = ", ".join(_string_literal(states[i].name) for i in placed if placed[i] == body)
        lines += [
            f"if any(ismember(varargin(1:2:end), {{{own}}}))",
            "  error('start_mass_centre places the mass centre of ''%s'': leave out %s', "
            f"{_string_literal(body)}, strjoin({{{own}}}, ', '));",
            "end",
        ]
    return "\n".join([*lines, "end"]) + "\n"


def _initial_memory(made: Source) -> str:
    memory = made.description.memory
    lines = ["function memory = initial_memory(start, varargin) %#ok<INUSL>"]
    lines.append(
        "% INITIAL_MEMORY  Memory and inputs at the start of a run; clocks are set one period after it."
    )
    lines.append("% Values by name over it: initial_memory(start, 'name', value, ...).")
    lines.append(f"memory = zeros({len(memory)}, 1);")
    for i, m in enumerate(memory):
        value = initial_text(m, repr) if m.period is None else f"start + {m.period!r}"
        lines.append(f"memory({i + 1}) = {value};  % {note(m.name, m.units, m.about)}")
    return "\n".join([*lines, *_replacement_statements("memory or input", "memory", memory), "end"]) + "\n"


def _write_start(made: Source, start: StartSource, sections: Sections) -> str:
    """Return the function that computes the first memory and state of a run from given values."""
    body = sections.body(start.section)
    lines = [
        "function [new_memory, new_state] = started(t, state, p, memory) %#ok<INUSD>",
        "% STARTED  Memory and state of the first step from the values that are given.",
        *_parameter_lines(made, body),
        *_section_lines(body),
        *_renew_memory_and_state(made, body),
    ]
    return _with_helpers("\n".join([*lines, "end"]) + "\n")


def _renew_memory_and_state(made: Source, body: SectionText) -> list[str]:
    """Return the assignments of new memory and state."""
    d, count = made.description, len(made.description.memory)
    memory = _results("new_memory", body.results[:count], [m.name for m in d.memory])
    return [*memory, *_results("new_state", body.results[count:], [s.name for s in d.states])]


def _parameter_lines(made: Source, body: SectionText) -> list[str]:
    """Return assignments of parameters that a section reads, in the units of the equations."""
    names, lines = _parameter_fields(made), []
    for i in body.inputs:
        if i.array == "parameters":
            factor = made.description.parameters[i.index].factor
            lines.append(f"{i.name} = p.{names[i.index]}" + ("" if factor == 1.0 else f"*{factor!r}") + ";")
    return lines


def _fire_function(made: Source, sections: Sections) -> str:
    """Return one local function per event, and the function that calls one by event number."""
    d = made.description
    lines = ["function [new_memory, new_state] = fire(k, t, state, constants, memory)"]
    lines += ["% FIRE  Memory and state after event k.", "switch k"]
    for k in range(len(made.program.fire)):
        lines += [
            f"  case {k + 1}",
            f"    [new_memory, new_state] = fire_{k + 1}(t, state, constants, memory);",
        ]
    lines += ["  otherwise", "    error('there is no event %d', k);", "end", "end", ""]
    for k, section in enumerate(made.program.fire):
        body = sections.body(section)
        lines += [
            "",
            f"function [new_memory, new_state] = fire_{k + 1}(t, state, constants, memory) %#ok<INUSD>",
        ]
        lines += [
            f"% Event '{d.events[k].name}': {operations_text(section.operations)}.",
            *_section_lines(body),
        ]
        lines += [*_renew_memory_and_state(made, body), "end"]
    return _with_helpers("\n".join(lines) + "\n")
