"""CUDA code of derivatives that a team of threads computes together, one branch of the mechanism per thread.

A thread that makes a run by itself keeps the state, a stage, the sum of the stages and the live values of an
evaluation in registers. For a hexapod these need more than the thread's 255 registers, and the rest is in
local memory. The threads of a *team* share the work of similar branches. A pack is an operation that occurs
in each of these branches (program/branch_packs.py): every thread does it once, with the numbers of its own
branch, and holds the states of this branch. All threads of a team compute and hold the values that are in no
pack, such as the base's motion.

If a pack has w lanes and a team n ≥ w threads, thread i holds lane i mod w. ``from_lane`` (a shuffle of the
warp) reads the value of another lane; ``across`` (a butterfly shuffle) adds lanes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, count

from armillary.algebra.expression import Expr
from armillary.algebra.functions import cos, sin
from armillary.algebra.walk import symbols
from armillary.export.c.model import INPUTS, RESULT
from armillary.export.c.printer import GROUP, WIDTH, Signature, argument_names, comment, counts, function_text
from armillary.export.cuda.device_functions import SectionWriter
from armillary.export.text.body import Place
from armillary.export.text.files import fill, template
from armillary.export.text.printer import ATOM, CHOICE, SUM, wrap_statement
from armillary.export.text.printer import Operand as Printed
from armillary.llvm.instructions import Operand, Places
from armillary.llvm.module import Module
from armillary.llvm.node_writer import Terms
from armillary.llvm.pack_writer import PackWriter, Vector
from armillary.llvm.pieces import Cut, cut, plain_angles
from armillary.program.branch_packs import Column, Pack, strip_lets
from armillary.program.packs import in_lanes, pack_section
from armillary.program.program import ProgramSection
from armillary.untyped import Given

# `TeamWriter` overrides methods of llvm/pack_writer.py and its bases: they write operations in C instead of
# LLVM's language. The value of a pack is the value of the thread's own lane.

_WORD = re.compile(r"[A-Za-z_]\w*")


class TeamWriter(PackWriter):
    """A writer of one thread's C assignments; a value is a name or a number, perhaps with a minus."""

    def __init__(self, own: SectionWriter, found: Cut, columns: Sequence[Column]) -> None:
        held: dict[Expr, Place] = {}
        self.column_of: dict[Expr, tuple[Column, int]] = {}
        for i, column in enumerate(columns):
            if len(column) == 1:
                held[column[0]] = ("state", i)
            self.column_of |= {s: (column, i) for s in column if len(column) > 1}
        others = {s: p for s, p in own.places.items() if p[0] != "state"}
        given: Places = {s: p if p[0] else "t" for s, p in {**others, **held}.items()}
        super().__init__(
            Module(), given, found.crossing, found.arrival, None, found.fused, set(), found.packs,
            found.together, {},
        )  # fmt: skip
        self.printer, self.number = own.printer, self._number
        self._names = own.namer.copy().number_names("z")
        # Inputs have the same names as in other functions.
        names = own.identifiers
        self._inputs = {f"{p[0]}[{p[1]}]": names[s] for s, p in given.items() if isinstance(p, tuple)}
        self._made: dict[int, str] = {}  # the variable that each line declares
        self._known: dict[str, str] = {}  # variables, by their expressions
        self._both: dict[str, tuple[str, str]] = {}
        self._groups = count(1)
        self._stores: list[tuple[str, int]] = []

    def text(self, targets: Sequence[str], labels: Sequence[str]) -> list[str]:
        """Return the lines of the function, without unused values."""
        stores = [f"    {targets[i]} = {value}; /* {comment(labels[i])} */" for value, i in self._stores]
        wanted = set(_WORD.findall("\n".join(stores)))
        kept: list[str] = []
        for i in range(len(self.lines) - 1, -1, -1):
            if self._made.get(i) is None or self._made[i] in wanted:
                wanted.update(_WORD.findall(self.lines[i]))
                kept.append(self.lines[i])
        lines = [part for line in reversed(kept) for part in wrap_statement(line, WIDTH, "    ", "        ")]
        return [*lines, *stores]

    def plain_vector(self, column: Column) -> str:
        """Return the value of a column (one node per lane): the nodes themselves, not their negatives."""
        nodes = tuple(map(strip_lets, column))
        return self.value(nodes[0]) if len(nodes) == 1 else self._vector(nodes, plain=True)[0]

    # ---------------------------------------------------------------- operations

    def emit(self, operation: str) -> str:
        name = self._made[len(self.lines)] = self._inputs.get(operation) or next(self._names)
        self.lines.append(f"const double {name} = {operation};")
        return name

    def _number(self, value: float) -> str:
        return self.printer.number(value).text

    def arithmetic(self, operation: str, a: Operand, b: Operand, flags: str = "") -> str:
        sign = {"fadd": "+", "fsub": "-", "fmul": "*"}[operation]
        return self.emit(f"{self.operand(a)} {sign} {self.operand(b)}")

    def div(self, a: Operand, b: Operand) -> str:
        inverse = self.emit(f"reciprocal({self.operand(b)})")
        return inverse if a == self.number(1.0) else self.mul(a, inverse)

    def neg(self, a: str) -> str:
        return a[1:] if a.startswith("-") else f"-{a}"

    def multiply_add(self, a: str, b: str, c: str) -> str:
        return self.emit(f"{c} - {a[1:]} * {b}" if a.startswith("-") else f"{a} * {b} + {c}")

    def runs(self, terms: Terms, value: str | None) -> tuple[Terms, str | None]:
        return terms, value

    def call(self, intrinsic: str, *arguments: Given) -> str:
        return self._called_with(lambda given: self.printer.function(intrinsic, given), arguments)

    def library_call(self, name: str, *args: str) -> str:
        return self._called_with(lambda given: self.printer.function(name, given), args)

    def function_value(self, node: Expr, args: list[str]) -> str:
        return self._called_with(lambda given: self.printer.call(node, given), args)

    def _called_with(self, called: Callable[[list[Printed]], Printed], args: Sequence[str]) -> str:
        given = [Printed(a, SUM if a.startswith("-") else ATOM) for a in args]
        return self.emit(self.printer.at(called(given), CHOICE))

    def sines(self, angles: list[Expr], values: list[str]) -> None:
        k, n = next(self._groups), len(angles)
        if n == 1:
            self.lines.append(f"double sines_{k}[1], cosines_{k}[1];")
            self.lines.append(f"sine_cosine({values[0]}, sines_{k}, cosines_{k});")
        else:
            given = ", ".join([*values, *["0.0"] * (GROUP - n)])
            self.lines.append(f"double sines_{k}[{GROUP}], cosines_{k}[{GROUP}];")
            self.lines.append(f"sines_cosines({given}, sines_{k}, cosines_{k});")
        for i, angle in enumerate(angles):
            self.values[sin(angle)] = self.emit(f"sines_{k}[{i}]")
            self.values[cos(angle)] = self.emit(f"cosines_{k}[{i}]")

    def sine_pack(self, pack: Pack, angles: str) -> str:
        if angles not in self._both:
            k = next(self._groups)
            self.lines.append(f"double sines_{k}, cosines_{k};")
            self.lines.append(f"sine_cosine({angles}, &sines_{k}, &cosines_{k});")
            self._both[angles] = f"sines_{k}", f"cosines_{k}"
        return self._both[angles][("sin", "cos").index(pack.lanes[0].data)]

    # ---------------------------------------------------------------- states of a thread

    def store(self, value: str, array: str, index: int, kind: str = "") -> None:
        self._stores.append((value, index))

    def find_value(self, node: Expr) -> str:
        if node not in self.column_of:
            return super().find_value(node)
        column, i = self.column_of[node]
        return self.lane(self.load("state", i), column.index(node), len(column))

    def _gather_column(self, column: Column) -> Vector:
        first = column[0]
        if first in self.column_of:
            states, i = self.column_of[first]
            plain, held = (1,) * len(column), self.load("state", i)
            if states == column:
                return held, plain
            if {*column} <= {*states}:
                return self.chosen_lanes(held, [states.index(s) for s in column], len(states)), plain
        return super()._gather_column(column)

    def load(self, array: str, index: int, kind: str = "") -> str:
        return self._declare_once(f"{array}[{index}]")

    def load_vector(self, array: str, index: int, count: int) -> str:
        return self.together([self.load(array, index + i) for i in range(count)])

    def _declare_once(self, text: str) -> str:
        """Return the variable of an expression; declare it at its first use."""
        if text not in self._known:
            self._known[text] = self.emit(text)
        return self._known[text]

    # ---------------------------------------------------------------- lanes of other threads

    def lane(self, vector: str, lane: int, count: int) -> str:
        return self._declare_once(f"from_lane({vector}, {lane}, {count})")

    def chosen_lanes(self, vector: str, places: Sequence[int], count: int) -> str:
        chosen = by_lane([str(i) for i in places])
        return self._declare_once(f"from_lane({vector}, {chosen}, {count})")

    def together(self, values: list[str]) -> str:
        return values[0] if len({*values}) == 1 else self._declare_once(by_lane(values))

    def splat(self, value: str, count: int) -> str:
        return value

    def lane_numbers(self, values: tuple[float, ...]) -> str:
        return self.together([self._number(v) for v in values])

    def _add_lanes(self, packs: list[Pack], coefficients: dict[Expr, float]) -> str:
        width = max([len(p.lanes) for p in packs])
        value = ""
        while width > 1:
            here = [p for p in packs if len(p.lanes) == width]
            terms = [(self._vector(p.lanes), tuple([coefficients[n] for n in p.lanes])) for p in here]
            if value:
                terms.append(((value, (1,) * width), (1.0,) * width))
            total, _ = self._add_vectors(terms, None, vote=False)
            width //= 2
            value = self.emit(f"across({total}, {width})")
        return value

    @contextmanager
    def vectors_of(self, count: int, *, loading: bool = False) -> Iterator[None]:
        yield  # a thread's value of a vector is a single number


def by_lane(values: Sequence[str]) -> str:
    """Return a C expression that chooses one of 1, 2 or 4 values by the thread's lane."""
    if len({*values}) == 1:
        return values[0]
    if len(values) == 2:
        return f"lane & 1 ? {values[1]} : {values[0]}"
    low, high = by_lane(values[:2]), by_lane(values[2:])
    return f"lane & 2 ? ({high}) : ({low})"


SIZES = {"double": 8, "float": 4}
REGISTERS = {"double": 255, "float": 168}  # of a thread; see BLOCKS in kernels.py

# If fewer bytes of values than this are outside the registers of a multiprocessor, a run is fastest with one
# thread. The number is about the size of the first-level cache.
# Measured on an H200: KB outside the registers, and the speed with two threads over the speed with one.
#
#     double precision    octopod 1,230 KB 2.3 (with four threads 4.7), hexapod 610 KB 3.8,
#                         quadruped 300 KB 2.5, hub with two wings 140 KB 0.7
#     single precision    hexapod 470 KB 1.6, Stewart platform 284 KB 1.5, ANYmal 273 KB 0.92,
#                         quadruped 220 KB 0.95
#
# The hub is slower because both threads compute its motion.
CACHE = 280_000
MOST_ROOM = 200_000  # most bytes of shared memory on a multiprocessor; they are taken from its cache
# Most nodes of a section for a team. nvcc takes 20 s for 7,000 nodes, whether their code is cut into pieces
# or written for a team.
LONGEST = 8000


# Texts of a kernel in which one thread makes a run by itself.
_ALONE = {
    "at": "i", "place": "i", "whole": "y", "time": "grid[n]", "running": "", "finished": "FINISHED",
    "more": "", "rates": "rate", "teams": "",
}  # fmt: skip


@dataclass(frozen=True)
class Team:
    """Threads that make a run of a program together.

    ``section`` has the derivatives with packs. ``held`` has a column for each number of the state that a
    thread holds: one state, which all threads hold, or a state for each lane.
    """

    writer: SectionWriter
    threads: int
    section: ProgramSection
    held: tuple[Column, ...]

    @classmethod
    def of(cls, writer: SectionWriter, threads: int) -> Team:
        """Return a team of ``threads`` threads.

        Columns of similar states that are operands of packs, or rates of such columns, are distributed: each
        thread holds one state of the column. All threads hold all other states.
        """
        program = writer.program
        alike, section = in_lanes(program.alike, threads), program.derivatives
        if alike:
            section = pack_section(section, alike, writer.places, own_sines=True)
        taken = {column for pack in section.packs for column in pack.operands}
        rates = dict(zip(program.state, map(strip_lets, section.results), strict=True))
        taken |= {tuple([rates[s] for s in column]) for column in alike if column in taken}
        columns = [column for column in alike if column in taken]
        apart = {s for column in columns for s in column}
        return cls(writer, threads, section, (*columns, *((s,) for s in program.state if s not in apart)))

    def function(self) -> str:
        """Return the C function of the rates of the states that a thread holds, for its lane."""
        section, program, own = self.section, self.writer.program, self.writer
        found = cut(section, len(section.nodes) + 1, loading=False)
        [nodes] = found.pieces
        writer = TeamWriter(own, found, self.held)
        writer.trigonometry([a for a in plain_angles(section) if a not in writer.column_of])
        for node in nodes:
            writer.node(node)
        rates = dict(zip(program.state, section.results, strict=True))
        labels = dict(zip(program.state, section.labels, strict=True))
        for i, column in enumerate(self.held):
            writer.store(writer.plain_vector(tuple([rates[s] for s in column])), "out", i)
        about = [", ".join([labels[s] for s in column]) for column in self.held]
        targets = [f"out[{i}]" for i in range(len(self.held))]
        signature = Signature(f"{own.stem}_derivatives", f"{INPUTS}, {RESULT}, int lane", targets)
        lines = writer.text(targets, about)
        text = f"Rates of the state: {counts(section.operations)}."
        return own.with_signals(function_text(signature, text, lines, argument_names(signature)))

    def room(self, real: str, block: int, blocks: int, most: int) -> int:
        """Return the bytes of shared memory for the state and the sum of stages of a block.

        The result is 0 if these numbers stay in registers, for example if they need more than ``most`` bytes.
        Measured on an H200: with shared memory a hexapod is 1.25 times and a quadruped 1.07 times as fast in
        double precision; in single precision neither gains.
        """
        size = 2 * len(self.held) * block * SIZES[real]
        return size if self.threads > 1 and real == "double" and size <= min(most, MOST_ROOM // blocks) else 0

    def values(self, room: bool) -> dict[str, str]:
        """Return the texts of the kernel that depend on the team; ``room``: arrays are in shared memory."""
        if self.threads == 1:
            return _ALONE
        program = self.writer.program
        places = [self._places[column[i % len(column)]] for column in self.held for i in range(self.threads)]
        changed = {program.state[i] for i in program.renewed}
        changed |= {program.state[i] for i in program.corrected}
        sections = program.update, program.events, program.normalise, program.correct
        needed = changed.union(symbols(*[result for one in sections for result in one.results]))
        stride = " * BLOCK" if room else ""
        teams = fill(
            template(__package__, "teams.txt"),
            {
                "team": str(self.threads),
                "places": "\n".join(wrap_statement(", ".join(map(str, places)), 100, "    ", "    ")),
                "needed": self._gather_states(needed, stride),
                "whole": self._gather_states({*program.state}, stride),
                "rates": self._gather_states({program.state[i] for i, _ in program.row_rates}, ""),
                "part": self._distribute_states(changed, stride),
            },
        )
        return {
            "at": f"i{stride}",
            "place": "places[i * TEAM + lane]",
            "whole": "whole",
            "time": "ended == RUNNING ? grid[n] : t",
            "running": " && ended == RUNNING",
            "finished": "ended == RUNNING ? FINISHED : ended",
            "more": ", lane",
            "rates": "rates",
            "teams": teams,
        }

    @cached_property
    def _places(self) -> dict[Expr, int]:
        """Indices of states in the whole state."""
        return {s: i for i, s in enumerate(self.writer.program.state)}

    def _gather_states(self, states: Set[Expr], stride: str) -> str:
        """Return statements that gather some states from all threads into the array ``whole``."""
        lines = []
        for k, column in enumerate(self.held):
            for lane, s in enumerate(column):
                if s in states:
                    own, count = f"y[{k}{stride}]", len(column)
                    value = own if count == 1 else f"from_lane({own}, {lane}, {count})"
                    lines.append(f"    whole[{self._places[s]}] = {value};")
        return "\n".join(lines)

    def _distribute_states(self, states: Set[Expr], stride: str) -> str:
        """Return statements that set each thread's part of some states from the array ``whole``."""
        lines = []
        for k, column in enumerate(self.held):
            if not states.isdisjoint(column):
                own = f"y[{k}{stride}]"
                chosen = [f"whole[{self._places[s]}]" if s in states else own for s in column]
                lines.append(f"    {own} = {by_lane(chosen)};")
        return "\n".join(lines)

    def live_numbers(self) -> int:
        """Return the largest number of values that a thread must keep at one time.

        These are the values of an evaluation that later nodes use (a pack counts as one value), the state and
        the sum of stages.
        """
        section = self.section
        home = {node: pack.lanes[0] for pack in section.packs for node in pack.lanes}
        home |= {s: column[0] for column in self.held for s in column}
        place: dict[Expr, int] = {}  # order in which values are computed
        last: dict[Expr, int] = {}  # order of the last operation that uses a value
        for node in section.nodes:
            if node.kind != "let":
                now = place.setdefault(home.get(node, node), len(place))
                last.update({home.get(a, a): now for a in map(strip_lets, node.args)})
        last.update({home.get(a, a): len(place) for a in map(strip_lets, section.results)})
        program = self.writer.program
        given = {*program.state, *program.memory, *[program.constants[i] for i in self.writer.own]}
        change = [0] * (len(place) + 2)
        for value, end in last.items():
            if value in place or value in given:
                change[place.get(value, 0)] += 1
                change[end + 1] -= 1
        return max(accumulate(change)) + 2 * len(self.held)


def best_team(writer: SectionWriter, real: str, resident: int) -> Team:
    """Return the smallest team whose values fit in registers and caches, else the team that spills least.

    ``resident`` is the number of threads on a multiprocessor. Return one thread if more would only repeat its
    work, or if the section is longer than LONGEST.
    """
    alone = best = Team.of(writer, 1)
    least = _spilled_bytes(alone, real, resident)
    for threads in (2, 4):
        if least <= CACHE or len(alone.section.nodes) > LONGEST:
            break
        team = Team.of(writer, threads)
        beyond = _spilled_bytes(team, real, resident)
        if team.section.packs and beyond < least:
            best, least = team, beyond
    return best


def _spilled_bytes(team: Team, real: str, resident: int) -> int:
    """Return the bytes of all resident threads' values that do not fit in registers."""
    numbers = team.live_numbers() + (len(team.held) if real == "float" else 0)
    return resident * max(0, SIZES[real] * numbers - 4 * REGISTERS[real])
