"""All configurations of a system as data: the sizes and tables that the described changes of a run read
(runtime/solver/changes.py), and the functions by which a run leaves one configuration and enters another.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from armillary.export.text.solver_printer import CONSTRAINT_GEOMETRY, called_section
from armillary.export.text.source import SectionFunction, Source
from armillary.program.equations import DerivedEquations
from armillary.program.program import Program
from armillary.runtime.language.language import NONE
from armillary.runtime.loop.layout import AT_END, NESTS, STAGES
from armillary.runtime.loop.thresholds import LOOKS
from armillary.runtime.models.run_changes import (
    across_tables,
    change_shape,
    configuration_numbers,
    groups_of,
    partition_numbers,
    speed_kinds,
    system_numbers,
)

_OTHER_SPEEDS = "from here on other dependent speeds are needed, which this program does not hold"
_OTHER_CONFIGURATION = (
    "the run needs a configuration that this program does not hold, or comes to a place where constraints "
    "lose rank, or an event sets speeds that contradict each other; Armillary itself would go on, or say why "
    "not"
)
_ABOUT = {
    "ratings": "How good each choice of dependent speeds with the same locks is at a motion: 1 at best",
    "leave": "The motion of a state: all coordinates, all speeds, states of the user's own",
    "enter": "The state of a motion",
    "impulse": "All speeds after the locks of this configuration have closed in a motion",
    "adjust": "The smallest changes of speeds with which a motion satisfies the constraints",
}
_GEOMETRY = "Elements of the matrix J of the constraints"
# Tables by the names of runtime/language/language.py, with those of run_changes.py where they differ.
_OTHER_NAMES = {
    "ends": "STOPS", "locked": "LOCKED_IN", "choice": "CHOICE_EVENT", "rank": "RANK_EVENT",
    "used": "USED_STATES", "watched": "WATCHED_EVENTS",
}  # fmt: skip
_WIDTHS = dict.fromkeys(("role", "direction", "ends", "lands"), "N_EVENTS")
# Tables of truth values.
TRUTHS = (
    *("STOPS", "LANDS", "LOCKED_IN", "LOCKS", "UNLOCKS", "STRIKES", "SETS", "MOVES", "AT_END"),
    "SETTING_ACTS",
)
_NUMBERS = (  # these begin with 0 or 1, as a language's indices do
    *("MEMBER", "CHOICE_EVENT", "RANK_EVENT", "SETTING_EVENT", "SETTING_SPEED"),
    *("ROW_OF", "SPEED_OF", "SPEED_OF_ROW", "SPEED_KIND"),
)
# Tables of places where constraints lose rank, of each configuration, and the lengths of their rows.
OF_PASSING = {
    "near_place": "N_EVENTS", "row_of": "N_ELEMENTS", "speed_of": "N_ELEMENTS", "speed_of_row": "N_ROWS",
    "elements": "",
}  # fmt: skip
ACROSS = tuple(name.upper() for name in across_tables())  # tables of reals

# Names of sizes and tables that the described changes read.
OF_CHANGES = (
    *("N_CONFIGURATIONS", "N_STATES", "N_EVENTS", "N_OWN_EVENTS", "N_COORDINATES", "N_SPEEDS", "N_LOCKABLE"),
    *("N_MEMBERS", "N_SETTINGS", "N_OWN_MOTION", "ROLE", "GROUP_SIZE", *TRUTHS, *_NUMBERS),
    *("N_ROWS", "N_JACOBIAN", "N_ELEMENTS", "N_STAGES", "N_NESTS", "N_LOOKS", "N_OUTPUTS"),
    *("NEAR_PLACE", "ELEMENTS", "FIRST_ELEMENT", "STATE_SIZE", *ACROSS),
)
# Words for what events do: to the configuration, and near a place where constraints lose rank.
WORDS = {
    word: number
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
    """Why a run has ended that needs more than a program holds which ``has`` these things."""
    return _OTHER_CONFIGURATION if "configurations" in has else _OTHER_SPEEDS


def change_functions(made: Source) -> list[SectionFunction]:
    """Return the change sections, with their results."""
    program = made.program
    found = [(s, _ABOUT[s.name]) for s in program.changes]
    found += [(made.constraint_geometry, _GEOMETRY)] if made.passing else []
    return [
        SectionFunction(s, called_section(s.name), about, s.labels, "out", str(len(s.results)))
        for s, about in found
    ]


def has_function(program: Program, passing: bool = False) -> dict[str, bool]:
    """Return for each optional function whether a configuration has it."""
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
class ChangeTables:
    """Sizes and tables of configurations, for the solver.

    Sizes are of the largest configuration and of common data, by the names of
    runtime/language/language.py; tables hold whole numbers, one configuration after the other.
    """

    sizes: dict[str, int]
    tables: dict[str, list[int]]
    reals: dict[str, list[float]] = field(default_factory=dict)

    def counted_from(self, first: int) -> dict[str, list[int]]:
        """Return the tables for a language whose indices begin with ``first``; NONE comes before it."""
        return {
            name: [v + first for v in values] if name in _NUMBERS else values
            for name, values in self.tables.items()
        }


def change_tables(source: Source) -> ChangeTables:
    """Return the numbers of all configurations of a system."""
    every = [source.equations, *(other.equations for other in source.others)]
    return tables_of(every, source.passing, recloses=True)


def tables_of(
    every: Sequence[DerivedEquations], passing: bool = False, recloses: bool = False
) -> ChangeTables:
    """Return the tables of configurations that have the sections of changes.

    ``passing``: with numbers for places where constraints lose rank. ``recloses``: loops are closed again
    after events.
    """
    sizes = change_sizes(every, passing)
    _, lockable = change_shape(every[0])
    numbers = [configuration_numbers(e, lockable, recloses) for e in every]
    tables: dict[str, list[int]] = {}
    for name in numbers[0]:
        width = sizes[_WIDTHS[name]] if name in _WIDTHS else 0
        tables[_table_name(name)] = [v for own in numbers for v in _pad(own[name], width, 0)]
    tables |= {_table_name(name): values for name, values in common_numbers(every, lockable).items()}
    reals = {"STATE_SIZE": state_size_table(every)}
    if not passing:
        return ChangeTables(sizes, tables, reals)
    tables |= {_table_name(name): values for name, values in passing_numbers(every).items()}
    across = {name.upper(): values for name, values in across_tables().items()}
    return ChangeTables(sizes, tables, reals | across)


def state_size_table(every: Sequence[DerivedEquations]) -> list[float]:
    """Sizes of states with the default parameters, in rows of the length N_OWN_MOTION."""
    width = change_sizes(every)["N_OWN_MOTION"]
    found = [e.reduction.state_sizes(e.system) for e in every]
    return [size for own in found for size in (*own, *[1.0] * (width - len(own)))]


def passing_numbers(every: Sequence[DerivedEquations]) -> dict[str, list[int]]:
    """Return the tables of whole numbers of places where constraints lose rank."""
    sizes, numbers = change_sizes(every, True), [partition_numbers(e) for e in every]
    found = {
        name: [v for own in numbers for v in _pad(own[name], sizes.get(width, 1), 0)]
        for name, width in OF_PASSING.items()
    }
    at_end = [int(i == AT_END) for i in range(STAGES)]
    found["first_element"] = [0] * len(every)
    return found | {"speed_kind": speed_kinds(every[0].system), "at_end": at_end}


def change_sizes(every: Sequence[DerivedEquations], passing: bool = False) -> dict[str, int]:
    """Sizes of the largest configuration, and of what all have in common."""
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
    """Groups of configurations with the same locks, where impulses act, and the numbers of the system."""
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

    It is 1 without groups, for languages without empty arrays.
    """
    return max((len(group) for group in groups_of(every).values()), default=1)


def _table_name(name: str) -> str:
    return _OTHER_NAMES.get(name, name.upper())


def _pad(values: Sequence[int], length: int, by: int) -> list[int]:
    return [*values, *[by] * (length - len(values))]
