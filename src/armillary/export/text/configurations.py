"""Data of the solver in exported code: configurations, linearly implicit steps and contacts.

Configurations: sizes and tables of all configurations of a system, which a run reads when it changes its
configuration (solver/changes.py), and the functions by which it leaves one configuration and enters another.

Linearly implicit steps (solver/linearly_implicit.py): sizes and tables of the equations that they solve.

Contacts: the algorithm is in mechanics/contact/problem.py; the printer of each language writes it. Here are
sizes, tables and lengths of vectors for the contacts of one system, and the block functions that sections
call: each takes an array of arguments and returns an array of results.

Names of the contact solver begin with ``contact``, since other solvers have functions of the same names.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

from armillary.algebra.block_functions import BlockFunction
from armillary.export.text.solver_printer import CONSTRAINT_GEOMETRY, called_section
from armillary.export.text.source import SectionFunction, Source
from armillary.mechanics.contact.blocks import FIELDS, ContactBlock
from armillary.program.equations import DerivedEquations
from armillary.program.program import Program
from armillary.program.sparse_rates import TABLES as _OF_STRUCTURE
from armillary.program.sparse_rates import SparseStructure
from armillary.runtime.models.run_changes import (
    across_tables,
    change_shape,
    configuration_numbers,
    groups_of,
    partition_numbers,
    speed_kinds,
    system_numbers,
)
from armillary.solver.language.language import NONE
from armillary.solver.language.translator import Field, Solver, SolverFunction, read_contacts
from armillary.solver.tables import AT_END, EXPORTED, INDICES, NESTS, OF_PASSING, STAGES, TABLES
from armillary.solver.thresholds import LOOKS

_OTHER_SPEEDS = "from here on other dependent speeds are needed, which this program does not hold"
_OTHER_CONFIGURATION = (
    "the run needs a configuration that this program lacks, or comes to a place where constraints "
    "lose rank, or an event sets speeds that contradict each other; Armillary itself would go on, or say why "
    "not"
)
_ABOUT = {
    "ratings": "Rating at a motion of each choice of dependent speeds with the same locks; 1 is the best",
    "leave": "The motion of a state: all coordinates, all speeds, states of the user's own",
    "enter": "The state of a motion",
    "impulse": "All speeds of a motion after the locks of this configuration have closed",
    "adjust": "The smallest changes of speeds with which a motion satisfies the constraints",
}
_GEOMETRY = "Elements of the matrix J of the constraints"
_OF_EVENTS = [t.name for t in TABLES if t.sizes == ("events",)]

# Names of sizes and tables that the described functions for changes of configuration read.
OF_CHANGES = (
    *("N_CONFIGURATIONS", "N_STATES", "N_EVENTS", "N_OWN_EVENTS", "N_COORDINATES", "N_SPEEDS", "N_LOCKABLE"),
    *("N_MEMBERS", "N_SETTINGS", "N_OWN_MOTION"),
    *("N_ROWS", "N_JACOBIAN", "N_ELEMENTS", "N_STAGES", "N_NESTS", "N_LOOKS", "N_OUTPUTS"),
    *EXPORTED,
)
# Numbers of the roles of events, and of outcomes near a loss of rank.
WORDS = {
    word: str(number)
    for words in (
        ("ORDINARY", "LOCKING", "CHOOSES", "WEAKENS", "ELSEWHERE", "ADJUSTS"),
        ("HAPPENS", "PASSES", "REFUSED", "FLIPS"),
    )
    for number, word in enumerate(words)
}
# Lengths of vectors by their kind, as names of sizes.
CHANGE_EXTENTS = {
    "States": "N_STATES", "Motion": "N_MOTION", "Speeds": "N_SPEEDS", "Locks": "N_LOCKABLE",
    "Ratings": "N_MEMBERS", "Geometry": "N_ELEMENTS", "Jacobian": "N_JACOBIAN", "RowReals": "N_ROWS",
    "Slopes": "N_SLOPES", "Nests": "N_ALL_NESTS", "OutputFlags": "N_OUTPUTS",
    **dict.fromkeys(("Reals", "Wholes", "Truths"), "N_EVENTS"),
}  # fmt: skip


def left_text(has: Collection[str]) -> str:
    """Return the message of a run that a program with the features ``has`` cannot continue."""
    return _OTHER_CONFIGURATION if "configurations" in has else _OTHER_SPEEDS


def change_functions(made: Source) -> list[SectionFunction]:
    """Return the sections by which runs change their configuration, as functions with named results."""
    program = made.program
    found = [(s, _ABOUT[s.name]) for s in program.changes]
    found += [(made.constraint_geometry, _GEOMETRY)] if made.passing else []
    return [
        SectionFunction(s, called_section(s.name), about, s.labels, "out", str(len(s.results)))
        for s, about in found
    ]


def has_function(program: Program, passing: bool = False) -> dict[str, bool]:
    """Return whether a configuration has each of the optional functions."""
    found = {
        "events": bool(program.events.results),
        "update": bool(program.update.results),
        "fire": bool(program.fire),
        "normalise": program.normalises,
        "partial_rates": bool(program.partial_rates),
    }
    changes = {s.name for s in program.changes}
    return found | {name: name in changes for name in _ABOUT} | {CONSTRAINT_GEOMETRY: passing}


@dataclass(frozen=True)
class SolverTables:
    """Sizes and tables for the solver, by the names of solver/language/language.py.

    A table of configurations has the numbers of one configuration after the other. A size belongs to the
    largest configuration, or to data that all configurations share.
    """

    sizes: dict[str, int]
    tables: Mapping[str, Sequence[int]]
    reals: dict[str, list[float]] = field(default_factory=dict)

    def counted_from(self, first: int, code: str | None = None) -> dict[str, list[int]]:
        """Return the tables for a language whose indices begin with ``first``, so that NONE is ``first`` − 1.

        With ``code``, return only the tables that this text reads.
        """
        read = None if code is None else code.lower()
        return {
            name: [v + first if name in INDICES or name in TABLE_NAMES else v for v in values]
            for name, values in self.tables.items()
            if read is None or any(f"{name.lower()}{bracket}" in read for bracket in "[(")
        }


def change_tables(source: Source) -> SolverTables:
    """Return the numbers of all configurations of a system."""
    every = [source.equations, *(other.equations for other in source.others)]
    return tables_of(every, source.passing, recloses=True)


def tables_of(
    every: Sequence[DerivedEquations], passing: bool = False, recloses: bool = False
) -> SolverTables:
    """Return the sizes and tables of configurations between which runs can change.

    ``passing``: the tables include the numbers for steps across singular configurations. ``recloses``: loops
    are closed again after events.
    """
    sizes = change_sizes(every, passing)
    _, lockable = change_shape(every[0])
    numbers = [configuration_numbers(e, lockable, recloses) for e in every]
    tables: dict[str, list[int]] = {}
    for name in numbers[0]:
        width = sizes["N_EVENTS"] if name in _OF_EVENTS else 0
        tables[name.upper()] = [v for own in numbers for v in _pad(own[name], width, 0)]
    tables |= {name.upper(): values for name, values in common_numbers(every, lockable).items()}
    reals = {name.upper(): values for name, values in state_tables(every).items()}
    if not passing:
        return SolverTables(sizes, tables, reals)
    tables |= {name.upper(): values for name, values in passing_numbers(every).items()}
    across = {name.upper(): values for name, values in across_tables().items()}
    return SolverTables(sizes, tables, reals | across)


def state_tables(every: Sequence[DerivedEquations]) -> dict[str, list[float]]:
    """Return two tables with a row of N_OWN_MOTION numbers for each configuration.

    They hold the sizes of states with the default parameters, and 1 for states that change the directions of
    constraints.
    """
    width = change_sizes(every)["N_OWN_MOTION"]
    found = {
        "state_size": [e.reduction.state_sizes(e.system) for e in every],
        "turns_rows": [e.turns_rows for e in every],
    }
    return {
        name: [x for own in rows for x in (*own, *[1.0] * (width - len(own)))] for name, rows in found.items()
    }


def passing_numbers(every: Sequence[DerivedEquations]) -> dict[str, list[int]]:
    """Return the tables of whole numbers for steps across singular configurations."""
    numbers = [partition_numbers(e) for e in every]
    room = {name.removeprefix("N_").lower(): size for name, size in change_sizes(every, True).items()}
    found = {
        t.name: [v for own in numbers for v in _pad(own[t.name], t.length(room, 1), 0)] for t in OF_PASSING
    }
    at_end = [int(i == AT_END) for i in range(STAGES)]
    found["first_element"] = [0] * len(every)
    return found | {"speed_kind": speed_kinds(every[0].system), "at_end": at_end}


def change_sizes(every: Sequence[DerivedEquations], passing: bool = False) -> dict[str, int]:
    """Return the sizes of the largest configuration, and of common data."""
    shape, lockable = change_shape(every[0])
    programs = [e.program for e in every]
    found = {
        "N_CONFIGURATIONS": len(every),
        "N_STATES": max(len(p.state) for p in programs),
        "N_EVENTS": max(1, *(len(e.targets.watched) for e in every)),
        "N_OWN_EVENTS": shape.own_events,
        "N_CONSTANTS": max(1, *(len(p.constants) for p in programs)),
        "N_COORDINATES": shape.coordinates,
        "N_SPEEDS": shape.speeds,
        "N_MOTION": shape.motion,
        "N_SETTINGS": shape.settings,
        "N_OWN_MOTION": shape.motion - shape.settings - shape.adjusting,
        "N_LOCKABLE": len(lockable),
        "N_MEMBERS": _members(every),
    }
    if not passing:
        return found
    return found | {
        "N_ROWS": shape.rows,
        "N_JACOBIAN": shape.rows * shape.speeds,
        "N_ELEMENTS": max(*(len(e.reduction.layout.jacobian) if e.reduction.layout else 0 for e in every), 1),
        "N_OUTPUTS": len(programs[0].outputs.results),
        "N_STAGES": STAGES,
        "N_NESTS": NESTS,
        "N_LOOKS": len(LOOKS),
        "N_SLOPES": STAGES * found["N_STATES"],
        "N_ALL_NESTS": NESTS * found["N_STATES"],
    }


def common_numbers(every: Sequence[DerivedEquations], lockable: Sequence[str]) -> dict[str, list[int]]:
    """Return tables that all configurations share.

    They are the groups of configurations with the same locks, whether each configuration has an impulse, and
    numbers of the system.
    """
    groups, numbered = groups_of(every), {e.configuration: c for c, e in enumerate(every)}
    own = [[numbered[c] for c in groups.get(e.configuration.locked, ())] for e in every]
    return {
        "group_size": [len(group) for group in own],
        "member": [c for group in own for c in _pad(group, _members(every), NONE)],
        "strikes": [int(any(s.name == "impulse" for s in e.program.changes)) for e in every],
        **system_numbers(every[0].system, lockable),
    }


def _members(every: Sequence[DerivedEquations]) -> int:
    """Return the largest number of configurations with the same locks.

    It is 1 if there are no groups, since some languages have no empty arrays.
    """
    return max((len(group) for group in groups_of(every).values()), default=1)


def _pad(values: Sequence[int], length: int, by: int) -> list[int]:
    return [*values, *[by] * (length - len(values))]


# Only programs of one configuration have sparse equations; with several, they are dense.

# Lengths of vectors by their kind, as names of sizes.
IMPLICIT_EXTENTS = {
    "StateNumbers": "N_STATES", "Partials": "N_PARTIALS",
    "Entries": "N_PARTIALS", "Factors": "N_FACTORS", "Unknowns": "N_UNKNOWNS",
}  # fmt: skip
TABLE_NAMES = tuple(name.upper() for name in _OF_STRUCTURE)


def implicit_tables(source: Source) -> SolverTables:
    """Return the sizes and tables for linearly implicit methods; empty if the program has no such methods."""
    if not source.stiff:
        return SolverTables({}, {})
    every = (source, *source.others)
    return SolverTables(_sizes(every), _tables([one.program.structure for one in every]))


def partial_count(source: Source) -> int:
    """Return the number of partial derivatives, or of the differences computed in their place."""
    made = source.program.partial_rates
    states = len(source.program.state)
    return len(made[0].results) if made else states * (states + 1)


def _sizes(every: Sequence[Source]) -> dict[str, int]:
    sizes = {"N_PARTIALS": max(map(partial_count, every))}
    found = [s for s in (one.program.structure for one in every) if s is not None]
    if found:
        sizes["N_UNKNOWNS"] = max(s.unknowns for s in found)
        sizes["N_ENTRIES"] = max(len(s.entry_column) for s in found)
        sizes["N_FACTORS"] = max(len(s.column) for s in found)
    return sizes


def _tables(every: Collection[SparseStructure | None]) -> dict[str, tuple[int, ...]]:
    found = [s for s in every if s is not None]
    return {name.upper(): v for s in found for name, v in s.tables().items() if name != "extent"}


# Other names for fields of the record that are keywords of some language.
_OTHER_FIELDS = {"static": "static_friction", "free": "free_motion", "size": "row_size"}
# Thresholds in single precision, whose roundings are 5e8 times as large.
SINGLE = {
    "CONTACT_SOFT": 1e-3, "CONTACT_PRECISE": 2e-6, "CONTACT_MASSLESS": 2e-6, "CONTACT_ADMISSIBLE": 1e-5,
    "CONTACT_HOLDS": 1e-3, "CONTACT_REDUNDANT_ROW": 1e-5, "CONTACT_NEARLY": 1e-2, "CONTACT_STRAIGHT": 1e-5,
}  # fmt: skip


@dataclass(frozen=True)
class Passage:
    """A copy between an array, from index ``first`` on, and a vector of the record."""

    field: str
    first: int
    length: int


@dataclass(frozen=True, eq=False)
class ContactSource:
    """The solver for a group of contacts that have the same sizes and tables."""

    called: Mapping[str, ContactBlock]  # block functions, by the names that sections call
    tag: str  # at the end of names, if a program has several such solvers

    @property
    def block(self) -> ContactBlock:
        """One of the block functions; all have the same sizes, vectors and tables."""
        return next(iter(self.called.values()))

    @cached_property
    def solver(self) -> Solver:
        """The functions of the algorithm."""
        return _contact_solver(tuple(block.entry for block in self.called.values()), self.tag)

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes by their names in the described functions."""
        return dict(self.block.sizes)

    @cached_property
    def lengths(self) -> dict[str, int]:
        """Lengths of vectors by their kinds, at least 1."""
        return {FIELDS[name]: max(1, length) for name, length in self.block.vectors.items()}

    def whole_tables(self, first: int) -> dict[str, list[int]]:
        """Return the tables for a language whose indices begin with ``first``; NONE becomes ``first`` − 1."""
        counts = ("SLIP_END",)
        return {
            name: [i + (0 if name in counts else first) for i in numbers]
            for name, numbers in self.block.tables.items()
        }

    def entry(self, name: str) -> str:
        """Return the name of the solver's function that is the entry of a block function."""
        return _contact_function(self.called[name].entry, self.tag)

    def takes(self, name: str) -> list[Passage]:
        """Return the copies of a block function's arguments to the record, in order."""
        return _passages(self.called[name], self.called[name].takes)

    def gives(self, name: str) -> list[Passage]:
        """Return the copies of a block function's results from the record, in order."""
        return _passages(self.called[name], self.called[name].gives)


def contact_sources(blocks: Mapping[BlockFunction, str], code: str = "") -> list[ContactSource]:
    """Return the solvers for the block functions in a text, or of the whole program without a text."""
    groups: dict[object, dict[str, ContactBlock]] = {}
    for block, name in blocks.items():
        assert isinstance(block, ContactBlock), block
        kind = tuple(block.sizes.items()), tuple(block.tables.items())
        group = groups.setdefault(kind, {})
        if not code or f"{name}(" in code:
            group[name] = block
    tags = ("" if k == 1 else f"_{k}" for k in range(1, len(groups) + 1))
    return [ContactSource(called, tag) for called, tag in zip(groups.values(), tags, strict=True) if called]


def contact_constants(sources: Sequence[ContactSource], precision: str = "double") -> dict[str, float]:
    """Return the numbers that the solvers of a program read, for a precision."""
    found = {name: value for source in sources for name, value in source.solver.constants.items()}
    return found | {k: v for k, v in SINGLE.items() if k in found} if precision == "single" else found


def _passages(block: ContactBlock, fields: Sequence[str]) -> list[Passage]:
    found, first = [], 0
    for name in fields:
        found.append(Passage(_OTHER_FIELDS.get(name, name), first, block.vectors[name]))
        first += block.vectors[name]
    return found


def _contact_function(function: str, tag: str) -> str:
    return f"contact_{function}{tag}"


@cache
def _contact_solver(entries: tuple[str, ...], tag: str) -> Solver:
    """Return some entry functions and all functions that they call, under new names.

    The result is cached, since renaming took a third of the time to export a plank to C.
    """
    return _rename_functions(read_contacts(entries), tag)


def _rename_functions(solver: Solver, tag: str) -> Solver:
    """Return the solver with functions under names that nothing else in a program has."""
    functions: dict[str, SolverFunction] = {}
    comments: dict[ast.stmt, str] = {}
    names = _Names(solver, tag)
    for f in solver.functions.values():
        memo: dict[int, object] = {}
        body = _with_own_indices([names.visit(node) for node in deepcopy(list(f.body), memo)])
        for node, comment in solver.comments.items():
            copied = memo.get(id(node))
            if isinstance(copied, ast.stmt):
                comments[copied] = comment
        name = names.functions[f.name]
        functions[name] = replace(f, name=name, body=body, locals=_types(body))
    fields = [Field(_OTHER_FIELDS.get(f.name, f.name), f.type, f.about) for f in solver.fields]
    constants = {names.constants[name]: value for name, value in solver.constants.items()}
    return Solver(fields, functions, constants, comments)


def _with_own_indices(body: list[ast.stmt]) -> list[ast.stmt]:
    """Rename loop variables that have the name of another local; return the statements.

    Some languages have a type for indices and allow only one declaration of a name in a function.
    """
    taken = {name for name, kind in _types(body).items() if kind != "index"}
    nodes = [node for statement in body for node in ast.walk(statement)]
    for node in reversed([node for node in nodes if isinstance(node, ast.For)]):  # inner loops first
        if isinstance(node.target, ast.Name) and (name := node.target.id) in taken:
            inside = [n for statement in node.body for n in ast.walk(statement)]
            for n in [node.target, *inside]:
                if isinstance(n, ast.Name) and n.id == name:
                    n.id = f"{name}_index"
    return body


def _types(body: Sequence[ast.stmt]) -> dict[str, str]:
    """Return the types of locals; a declared type takes precedence over the index of a loop."""
    found: dict[str, str] = {}
    for node in [node for statement in body for node in ast.walk(statement)]:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = ast.unparse(node.annotation)
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            found.setdefault(node.target.id, "index")
    return found


class _Names(ast.NodeTransformer):
    """Renames functions, constants and fields of the record."""

    def __init__(self, solver: Solver, tag: str) -> None:
        self.functions = {name: _contact_function(name, tag) for name in solver.functions}
        self.constants = {name: f"CONTACT_{name}" for name in solver.constants}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.functions.get(node.id) or self.constants.get(node.id) or node.id
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        node.attr = _OTHER_FIELDS.get(node.attr, node.attr)
        return node
