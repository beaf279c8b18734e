"""LLVM text under construction: functions of sections, the helpers that they call, and shared values.

Values that several sections of one model need are computed by separate functions. In a model with contacts,
rows of contacts, their columns and free accelerations enter derivatives, outputs, events, the decision at an
event and the correction of drift. Repeated in each of these sections, they would be half of the code, and
LLVM's time grows with the code.

A group holds the values that the same sections need. If a group needs a value of another group, all its
sections need that value too. So groups of more sections come first, and no group needs a later one.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial

from armillary.algebra.block_functions import BlockFunction, is_block, is_block_part
from armillary.algebra.expression import Expr
from armillary.cache import digest
from armillary.llvm.instructions import LABEL_TEXT, Place, ValueTypes
from armillary.llvm.jit import Compiled, machine_code_key, machine_settings, prepare_llvm
from armillary.llvm.sines import sine_cosine_function
from armillary.program.branch_packs import strip_lets
from armillary.program.program import ProgramSection

LEAST = 400  # values are shared if that saves at least this number of repetitions; else calls cost more


@dataclass(frozen=True)
class SharedGroup:
    """Values in the array ``array``, for the sections ``users``."""

    array: str
    section: ProgramSection
    users: frozenset[str]
    needs: tuple[str, ...]  # arrays of other groups


@dataclass(frozen=True)
class SharedSections:
    """Groups in the order in which they are computed, the rest of each section, and the arrays of values."""

    groups: tuple[SharedGroup, ...] = ()
    rest: Mapping[str, ProgramSection] = field(default_factory=dict)
    places: Mapping[Expr, Place] = field(default_factory=dict)


def share_sections(sections: Mapping[str, ProgramSection]) -> SharedSections:
    """Return the common values of sections with blocks, and the rest of each section; return no groups if the
    common values are few.
    """
    users = _users_of_nodes(sections)
    if not any(is_block(node) for node in users):
        return SharedSections()
    together: dict[frozenset[str], list[Expr]] = defaultdict(list)
    for node, names in users.items():
        if len(names) > 1:
            together[names].append(node)
    if sum([len(nodes) * (len(names) - 1) for names, nodes in together.items()]) < LEAST:
        return SharedSections()
    home = {node: names for names, nodes in together.items() for node in nodes}
    wanted = _wanted_elsewhere(sections, users, home)
    order = sorted(together, key=lambda names: (-len(names), sorted(names)))
    places: dict[Expr, Place] = {}
    groups = []
    for k, names in enumerate(order):
        array, example = f"shared{k}", sections[min(names)]
        nodes = [n for n in example.nodes if home.get(n) is names]  # in the section's order, operands first
        at_hand = set(nodes)
        # Other sections may use parts of blocks that this one does not use.
        nodes += [n for n in together[names] if n not in at_hand]
        results = tuple([node for node in nodes if node in wanted])
        needs = sorted({str(places[a][0]) for n in nodes for x in n.args if (a := strip_lets(x)) in places})
        places |= {node: (array, i) for i, node in enumerate(results)}
        labels = ("",) * len(results)
        group = replace(example, name=array, labels=labels, results=results, nodes=tuple(nodes), packs=())
        groups.append(SharedGroup(array, group, names, tuple(needs)))
    rest = {
        name: replace(section, nodes=tuple([n for n in section.nodes if n not in home]))
        for name, section in sections.items()
    }
    return SharedSections(tuple(groups), rest, places)


def _users_of_nodes(sections: Mapping[str, ProgramSection]) -> dict[Expr, frozenset[str]]:
    """Return the sections that need each value; parts of a block stay with the block."""
    found: dict[Expr, set[str]] = {}
    for name, section in sections.items():
        for node in section.nodes:
            if node.kind != "let":
                found.setdefault(node, set()).add(name)
    for node, names in found.items():
        if is_block_part(node):
            names |= found[node.args[0]]
    known: dict[frozenset[str], frozenset[str]] = {}
    return {node: known.setdefault(key := frozenset(names), key) for node, names in found.items()}


def _wanted_elsewhere(
    sections: Mapping[str, ProgramSection],
    users: Mapping[Expr, frozenset[str]],
    home: Mapping[Expr, frozenset[str]],
) -> set[Expr]:
    """Return the shared values that enter other groups, the rest of a section, or its results."""
    wanted = {strip_lets(result) for section in sections.values() for result in section.results}
    for node in users:
        own = home.get(node)
        wanted |= {a for a in map(strip_lets, node.args) if a in home and home[a] is not own}
    return wanted & home.keys()


# A function of a vector's length that returns the name and the declaration of a function for such vectors.
Sines = Callable[[int], tuple[str, str]]
LIBRARY = {  # functions of the C library: number of arguments
    "sin": 1,
    "cos": 1,
    "tan": 1,
    "asin": 1,
    "acos": 1,
    "atan": 1,
    "atan2": 2,
    "exp": 1,
    "log": 1,
    "pow": 2,
    "tanh": 1,
}


@dataclass
class Module:
    """LLVM text under construction: functions, and each helper that they call, written once."""

    lanes: int = 1  # runs in a value
    registers: int = 0  # of the machine, for doubles; 0 if LLVM schedules the code
    encodes: str = ""  # instruction set of machine code that Armillary writes, if any
    call_lanes: int = 1  # elementary functions that one vector computes
    functions: list[str] = field(default_factory=list)
    helpers: dict[str, str] = field(default_factory=dict)
    compiled_sines: Sines | None = None
    shared: SharedSections = field(default_factory=SharedSections)
    copies: dict[object, str] = field(default_factory=dict)  # functions that copy shared values

    @property
    def real(self) -> str:
        """The type of a value."""
        return ValueTypes(self.lanes, self.lanes == 1).real

    @property
    def shared_arrays(self) -> set[str]:
        """The names of the arrays of shared values."""
        return {group.array for group in self.shared.groups}

    def need(self, name: str, make: Callable[[], str]) -> str:
        """Return the name of a helper, written on its first use."""
        if name not in self.helpers:
            self.helpers[name] = make()
        return name

    def sines(self, lanes: int) -> str:
        """Return the name of the function for sines and cosines of a vector."""
        if self.compiled_sines is not None:
            name, declared = self.compiled_sines(lanes)
            self.helpers[name] = declared
            return name
        return self.need(f"sincos{lanes}", partial(sine_cosine_function, f"sincos{lanes}", lanes))

    @property
    def attributes(self) -> str:
        """Attributes of every function; LLVM must not split vectors wider than it prefers."""
        width = 64 * self.lanes
        wide = (
            f' "prefer-vector-width"="{width}" "min-legal-vector-width"="{width}"' if self.lanes > 1 else ""
        )
        return f"nounwind{wide}"

    def define(self, head: str, body: str) -> None:
        """Append a function without a result."""
        self.functions.append(f"define {head} {self.attributes} {{\n{body}\n  ret void\n}}")

    def text(self) -> str:
        declared = [f"declare double @{f}({', '.join(['double'] * n)}) nounwind" for f, n in LIBRARY.items()]
        v, suffix = self.real, ValueTypes(self.lanes, self.lanes == 1).suffix
        declared += [
            f"declare {v} @llvm.{f}.{suffix}({v}) nounwind" for f in ("fabs", "sqrt", "floor", "ceil")
        ]
        declared.append(f"declare {v} @llvm.fmuladd.{suffix}({v}, {v}, {v}) nounwind")
        declared += [
            f"declare {v} @llvm.{f}.{suffix}({v}, {v}) nounwind" for f in ("minimum", "maximum", "copysign")
        ]
        likely = '!0 = !{!"branch_weights", i32 2000, i32 1}'
        head = _without_repeated_declarations("\n".join([*declared, *self.helpers.values()]))
        labels = [LABEL_TEXT] if self.registers else []
        return "\n".join([head, *self.functions, likely, *labels])


def _without_repeated_declarations(text: str) -> str:
    seen: set[str] = set()
    kept = []
    for line in text.split("\n"):
        if line.startswith("declare"):
            name = line[line.index("@") : line.index("(")]
            if name in seen:
                continue
            seen.add(name)
        kept.append(line)
    return "\n".join(kept)


# Calls of block functions (algebra/block_functions.py) in compiled code.
#
# A block works on vectors in a workspace, which the caller has on its stack. One compiled function serves all
# sizes: it reads sizes, offsets of vectors in the workspace, and tables from a constant record.
#
#     record    sizes, lengths of vectors, offsets of vectors, offsets of tables, the address of the tables
#
# The implementations are in later packages; each process compiles them once, and programs find them by name.

# By block: returns the symbol of the implementation in this process, which the first call compiles.
IMPLEMENTATIONS: dict[str, Callable[[], str]] = {}


def record_fields(
    block_sizes: Mapping[str, int], vectors: Mapping[str, int], tables: Mapping[str, object]
) -> list[str]:
    """Return the names of the fields of a record, in order."""
    lengths = [f"{name} length" for name in vectors]
    return [*block_sizes, *lengths, *vectors, *(f"{name} table" for name in tables), "tables"]


def vector_places(block: BlockFunction) -> dict[str, int]:
    """Return the offset of each vector in the workspace."""
    places, first = {}, 0
    for name, length in block.vectors.items():
        places[name] = first
        first += length
    return places


def workspace_length(block: BlockFunction) -> int:
    """Return the number of doubles in the workspace."""
    return max(1, sum(block.vectors.values()))


def record_text(block: BlockFunction, name: str) -> str:
    """Return the constant record of a block and its tables, as LLVM text."""
    starts, first = {}, 0
    for table, entries in block.tables.items():
        starts[f"{table} table"] = first
        first += len(entries)
    values = {
        **block.sizes,
        **{f"{vector} length": length for vector, length in block.vectors.items()},
        **vector_places(block),
        **starts,
    }
    fields = record_fields(block.sizes, block.vectors, block.tables)[:-1]
    numbers = ", ".join(f"double {float(x)!r}" for table in block.tables.values() for x in table)
    kinds = ", ".join([*["i64"] * len(fields), "ptr"])
    given = ", ".join([*(f"i64 {values[field]}" for field in fields), f"ptr @{name}_tables"])
    return (
        f"@{name}_tables = internal constant [{first} x double] [{numbers}]\n"
        f"@{name} = internal constant {{ {kinds} }} {{ {given} }}"
    )


# Sine functions for the quick tier are compiled once per process, not with every program: they took half of
# the compile time of a pendulum, and a third for four links.

_MAKING = threading.Lock()  # if two threads made the same module, LLVM might find the one that is freed


def compiled_sines(lanes: int) -> tuple[str, str]:
    """Return name and declaration of the function of ``lanes`` angles, which LLVM finds in this process."""
    with _MAKING:
        name, declaration, _ = _compile_sines(lanes, machine_settings())
    return name, declaration


@cache
def _compile_sines(lanes: int, settings: tuple[str, ...]) -> tuple[str, str, Compiled]:
    # The name identifies the code, since programs that call it are cached between processes.
    name = f"sincos{lanes}_{digest(machine_code_key(0))[:16]}"
    module = Module()
    module.need(name, partial(sine_cosine_function, name, lanes))
    vector = f"<{lanes} x double>"
    head = f"{{ {vector}, {vector} }} @{name}({vector}"
    code = Compiled(module.text().replace(f"define internal {head}", f"define {head}"))
    prepare_llvm().add_symbol(name, code.address(name))
    return name, f"declare {head}) nounwind", code
