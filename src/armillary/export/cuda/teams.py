"""Derivatives that several threads compute together, a branch of the mechanism each.

A thread that holds a whole run keeps its state, a stage and the sum of the stages in registers, and what an
evaluation needs at a time; of a hexapod that is more than the 255 registers that it has, and the rest goes to
local memory. Threads of a *team* share it out along branches that are alike (program/lanes): a pack's
operation is done once, each thread with the numbers of its own branch, and so the states of branches are held
by one thread each. What is not in packs, such as the base's motion, all threads of a team compute and hold.

A pack of w lanes in a team of n threads, w ≤ n: thread i holds lane i mod w. Values pass between lanes by
``from_lane`` (a shuffle of the warp), and ``across`` (its butterfly) where lanes are added up.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from armillary.algebra.expression import Expr
from armillary.algebra.walk import symbols
from armillary.export.c.model import INPUTS, RESULT
from armillary.export.c.text import Signature, counts, function_text, passed
from armillary.export.cuda.sections import SectionWriter
from armillary.export.cuda.team_writer import TeamWriter, by_lane
from armillary.export.text.files.template import fill, template
from armillary.export.text.printing.layout import wrapped
from armillary.llvm.sections import cut, plain_angles
from armillary.program.branch_packs import Column, meant
from armillary.program.pack_choice import in_lanes, packed
from armillary.program.program import ProgramSection

SIZES = {"double": 8, "float": 4}
REGISTERS = {"double": 255, "float": 168}  # of a thread; see BLOCKS in ensemble.py

# Bytes beyond the registers up to which one thread is best: about the first-level cache of a multiprocessor.
# Measured on an H200, two threads against one, in double precision: an octopod whose values go 1,230 KB
# beyond the registers is 2.3 times as fast (with four threads 4.7 times), a hexapod (610) 3.8, a quadruped
# (300) 2.5, a hub with two wings (140) 0.7 times, since both threads compute the hub's motion. In single
# precision the hexapod (470) is 1.6, a Stewart platform (284) 1.5, ANYmal (273) 0.92, the quadruped (220)
# 0.95 times as fast.
CACHE = 280_000
MOST_ROOM = 200_000  # of shared memory, which is taken from that cache
LONGEST = 8000  # nodes of an evaluation in one function: nvcc takes 20 s for 7,000, with pieces or teams


# What a kernel says where a thread makes a run by itself.
_ALONE = {
    "at": "i", "place": "i", "whole": "y", "time": "grid[n]", "running": "", "finished": "FINISHED",
    "lane": "", "teams": "",
}  # fmt: skip


@dataclass(frozen=True)
class Team:
    """Threads that make a run of a program together.

    ``section`` has the derivatives with packs, and ``held`` the states that each number of a thread is: one
    that all threads hold, or one per lane.
    """

    writer: SectionWriter
    threads: int
    section: ProgramSection
    held: tuple[Column, ...]

    @classmethod
    def of(cls, writer: SectionWriter, threads: int) -> Team:
        """States in columns that packs take whole, or that are the rates of such, are shared out, the others
        not.
        """
        program = writer.program
        alike, section = in_lanes(program.alike, threads), program.derivatives
        if alike:
            section = packed(section, alike, writer.places, own_sines=True)
        taken = {column for pack in section.packs for column in pack.operands}
        rates = dict(zip(program.state, map(meant, section.results), strict=True))
        taken |= {tuple([rates[s] for s in column]) for column in alike if column in taken}
        columns = [column for column in alike if column in taken]
        apart = {s for column in columns for s in column}
        return cls(writer, threads, section, (*columns, *((s,) for s in program.state if s not in apart)))

    def function(self) -> str:
        """Rates of what a thread holds, from that and the number of its lane."""
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
        return own.with_signals(function_text(signature, text, lines, passed(signature)))

    def room(self, real: str, block: int, blocks: int, most: int) -> int:
        """Bytes of shared memory, at most so many, in which a block keeps the state and the sum of stages; 0
        where it has none. Measured on an H200: in double precision a hexapod is then 1.25 times and a
        quadruped 1.07 times as fast; in single precision neither gains.
        """
        size = 2 * len(self.held) * block * SIZES[real]
        return size if self.threads > 1 and real == "double" and size <= min(most, MOST_ROOM // blocks) else 0

    def values(self, room: bool) -> dict[str, str]:
        """What the kernel says of the threads of a run; with ``room``, of arrays in shared memory."""
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
                "places": "\n".join(wrapped(", ".join(map(str, places)), 100, "    ", "    ")),
                "needed": self._gathering(needed, stride),
                "whole": self._gathering({*program.state}, stride),
                "part": self._shared_out(changed, stride),
            },
        )
        return {
            "at": f"i{stride}",
            "place": "places[i * TEAM + lane]",
            "whole": "whole",
            "time": "ended == RUNNING ? grid[n] : t",
            "running": " && ended == RUNNING",
            "finished": "ended == RUNNING ? FINISHED : ended",
            "lane": ", lane",
            "teams": teams,
        }

    @cached_property
    def _places(self) -> dict[Expr, int]:
        """Those of states in the whole state."""
        return {s: i for i, s in enumerate(self.writer.program.state)}

    def _gathering(self, states: Set[Expr], stride: str) -> str:
        """These states from what threads hold."""
        lines = []
        for k, column in enumerate(self.held):
            for lane, s in enumerate(column):
                if s in states:
                    own, count = f"y[{k}{stride}]", len(column)
                    value = own if count == 1 else f"from_lane({own}, {lane}, {count})"
                    lines.append(f"    whole[{self._places[s]}] = {value};")
        return "\n".join(lines)

    def _shared_out(self, states: Set[Expr], stride: str) -> str:
        """What threads hold of these states."""
        lines = []
        for k, column in enumerate(self.held):
            if not states.isdisjoint(column):
                own = f"y[{k}{stride}]"
                chosen = [f"whole[{self._places[s]}]" if s in states else own for s in column]
                lines.append(f"    {own} = {by_lane(chosen)};")
        return "\n".join(lines)

    def numbers(self) -> int:
        """The most numbers that a thread needs at a time: those of an evaluation in its order, a pack's as
        one, the state and the sum of stages.
        """
        section = self.section
        home = {node: pack.lanes[0] for pack in section.packs for node in pack.lanes}
        home |= {s: column[0] for column in self.held for s in column}
        place: dict[Expr, int] = {}  # of what is computed, in order
        last: dict[Expr, int] = {}  # use
        for node in section.nodes:
            if node.kind != "let":
                now = place.setdefault(home.get(node, node), len(place))
                last.update({home.get(a, a): now for a in map(meant, node.args)})
        last.update({home.get(a, a): len(place) for a in map(meant, section.results)})
        program = self.writer.program
        given = {*program.state, *program.memory, *[program.constants[i] for i in self.writer.own]}
        change = [0] * (len(place) + 2)
        for value, end in last.items():
            if value in place or value in given:
                change[place.get(value, 0)] += 1
                change[end + 1] -= 1
        return max(accumulate(change)) + 2 * len(self.held)


def best_team(writer: SectionWriter, real: str, resident: int) -> Team:
    """The smallest team whose values are in registers and caches, where so many threads are ``resident`` on a
    multiprocessor; one thread where none is, or where more threads would only repeat what it does.
    """
    alone = best = Team.of(writer, 1)
    least = _beyond(alone, real, resident)
    for threads in (2, 4):
        if least <= CACHE or len(alone.section.nodes) > LONGEST:
            break
        team = Team.of(writer, threads)
        beyond = _beyond(team, real, resident)
        if team.section.packs and beyond < least:
            best, least = team, beyond
    return best


def _beyond(team: Team, real: str, resident: int) -> int:
    """Bytes of all threads' values that registers do not hold."""
    numbers = team.numbers() + (len(team.held) if real == "float" else 0)
    return resident * max(0, SIZES[real] * numbers - 4 * REGISTERS[real])
