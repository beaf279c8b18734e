"""Fixed steps of many runs at once, as LLVM code: a vector of runs goes through all its steps, then the next.

For each block of as many runs as a vector holds:

    constants from parameters; then at each grid point t₀ … t_end
        update memory; outputs, where a row is due: kept, shown to the metrics, or both
        the stages of the method and the state at the next grid point; unit Euler parameters

A run whose state is no longer finite stays where it was (DIVERGED) while its neighbours go on. Arrays hold
quantities row by row and runs column by column, ``stride`` columns in all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from armillary.backends.llvm import lanes_module
from armillary.backends.writer import Module
from armillary.ensembles.accumulating import look_function
from armillary.ensembles.plan import DIVERGED, FINISHED, Look
from armillary.program.program import Program
from armillary.runtime.tableau import Row, Tableau

KEPT, LOOKED, KNOWN = 1, 2, 4  # what a row is for, at a grid point

_ARGUMENTS = (
    "i64 %blocks, i64 %stride, i64 %last, ptr noalias %grid, ptr noalias %steps, ptr noalias %due, "
    "ptr noalias %all_parameters, ptr noalias %all_states, ptr noalias %all_memory, ptr noalias %all_rows, "
    "ptr noalias %all_slots, ptr noalias %all_status, ptr noalias %all_stops, ptr noalias %room"
)


def lanes_text(
    program: Program, tableau: Tableau, looks: tuple[Look, ...], history: tuple[int, ...], lanes: int
) -> str:
    """The module with its one visible function, ``runs``; see ``_ARGUMENTS``."""
    module = lanes_module(program, lanes)
    if looks:
        look_function(module, looks)
    loop = _Loop(module, program, tableau, looks, history)
    loop.write()
    head = f"void @runs({_ARGUMENTS})"
    module.define(head, "\n".join(loop.lines))
    return module.text().replace("define void @", "define internal void @").replace(
        f"define internal {head}", f"define {head}"
    )


def rooms(
    program: Program, tableau: Tableau, looks: tuple[Look, ...]
) -> dict[str, tuple[int, int]]:
    """Where each vector of the work room starts, and its length, in vectors."""
    states, memory = len(program.state), len(program.memory)
    sizes = {
        "parameters": len(program.parameters),
        "constants": len(program.constants),
        "state": states,
        "memory": memory,
        "new_memory": memory,
        "stage": states,
        "out": len(program.outputs.results),
        "slots": sum(len(look.metric.start) for look in looks),
    }
    sizes |= {f"k{j}": states for j in range(tableau.stages)}
    found, place = {}, 0
    for name, size in sizes.items():
        found[name] = (place, size)
        place += max(size, 1)
    found["end"] = (place, 0)
    return found


class _Loop:
    """Lines of ``runs``."""

    def __init__(
        self,
        module: Module,
        program: Program,
        tableau: Tableau,
        looks: tuple[Look, ...],
        history: tuple[int, ...],
    ) -> None:
        self.module, self.program, self.tableau = module, program, tableau
        self.looks, self.history = looks, history
        self.rooms = rooms(program, tableau, looks)
        self.v, self.flag = module.real, module.truth
        self.lines: list[str] = []
        self.count = 0

    # ------------------------------------------------------------ writing

    def emit(self, operation: str) -> str:
        self.count += 1
        name = f"%x{self.count}"
        self.lines.append(f"  {name} = {operation}")
        return name

    def do(self, line: str) -> None:
        self.lines.append(f"  {line}")

    def label(self, name: str) -> str:
        self.count += 1
        return f"{name}{self.count}"

    def begin(self, label: str) -> None:
        self.do(f"br label %{label}")
        self.lines.append(f"{label}:")

    @contextmanager
    def each(self, count: str | int) -> Iterator[str]:
        """A loop over 0 … count − 1."""
        index = self.emit_at_top("alloca i64")
        self.do(f"store i64 0, ptr {index}")
        test, body, done = (self.label(name) for name in ("test", "body", "done"))
        self.begin(test)
        i = self.emit(f"load i64, ptr {index}")
        more = self.emit(f"icmp slt i64 {i}, {count}")
        self.do(f"br i1 {more}, label %{body}, label %{done}")
        self.lines.append(f"{body}:")
        yield i
        self.do(f"store i64 {self.emit(f'add i64 {i}, 1')}, ptr {index}")
        self.do(f"br label %{test}")
        self.lines.append(f"{done}:")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        yes, done = self.label("when"), self.label("done")
        self.do(f"br i1 {condition}, label %{yes}, label %{done}")
        self.lines.append(f"{yes}:")
        yield
        self.begin(done)

    def emit_at_top(self, operation: str) -> str:
        """A line at the beginning of the function, where LLVM wants its variables."""
        self.count += 1
        name = f"%x{self.count}"
        self.lines.insert(0, f"  {name} = {operation}")
        return name

    # ------------------------------------------------------------ numbers

    def element(self, array: str, i: str | int) -> str:
        """The address of a vector of the work room."""
        return self.emit(f"getelementptr inbounds {self.v}, ptr %{array}, i64 {i}")

    def load(self, array: str, i: str | int) -> str:
        return self.emit(f"load {self.v}, ptr {self.element(array, i)}, align 8")

    def store(self, value: str, array: str, i: str | int) -> None:
        self.do(f"store {self.v} {value}, ptr {self.element(array, i)}, align 8")

    def outside(self, array: str, row: str | int) -> str:
        """The address of this block's runs in a row of an array."""
        start = self.emit(f"mul i64 {row}, %stride")
        return self.emit(f"getelementptr inbounds double, ptr %{array}, i64 {self.emit(f'add i64 {start}, %run')}")

    def copied(self, source: str, target: str, count: int) -> None:
        with self.each(count) as i:
            self.store(self.load(source, i), target, i)

    def splat(self, scalar: str) -> str:
        one = self.emit(f"insertelement {self.v} poison, double {scalar}, i64 0")
        lanes = self.module.lanes
        return self.emit(f"shufflevector {self.v} {one}, {self.v} poison, <{lanes} x i32> zeroinitializer")

    def point(self, array: str, i: str) -> str:
        """A number of the grid, the same for all lanes."""
        place = self.emit(f"getelementptr inbounds double, ptr %{array}, i64 {i}")
        return self.splat(self.emit(f"load double, ptr {place}"))

    def call(self, name: str, t: str, *arrays: str) -> None:
        passed = ", ".join(f"ptr %{array}" for array in arrays)
        self.do(f"call void @{name}({self.v} {t}, {passed})")

    # ------------------------------------------------------------ the loop

    def write(self) -> None:
        for name, (place, _) in self.rooms.items():
            self.do(f"%{name} = getelementptr inbounds {self.v}, ptr %room, i64 {place}")
        with self.each("%blocks") as block:
            self.do(f"%run = mul i64 {block}, {self.module.lanes}")
            self.taken()
            self.motion()
            self.given_back()
        top = [line for line in self.lines if "= alloca" in line]
        self.lines = top + [line for line in self.lines if "= alloca" not in line]

    def taken(self) -> None:
        """Parameters, state and memory of the block's runs."""
        program = self.program
        for array, source, count in (
            ("parameters", "all_parameters", len(program.parameters)),
            ("state", "all_states", len(program.state)),
            ("memory", "all_memory", len(program.memory)),
            ("slots", "all_slots", self.rooms["slots"][1]),
        ):
            with self.each(count) as i:
                value = self.emit(f"load {self.v}, ptr {self.outside(source, i)}, align 8")
                self.store(value, array, i)
        self.do("call void @precompute(ptr %parameters, ptr %constants)")

    def given_back(self) -> None:
        program = self.program
        for array, target, count in (
            ("state", "all_states", len(program.state)),
            ("memory", "all_memory", len(program.memory)),
            ("slots", "all_slots", self.rooms["slots"][1]),
        ):
            with self.each(count) as i:
                self.do(f"store {self.v} {self.load(array, i)}, ptr {self.outside(target, i)}, align 8")
        for value, target in (("%status", "all_status"), ("%stop", "all_stops")):
            found = self.emit(f"load {self.v}, ptr {value}, align 64")
            self.do(f"store {self.v} {found}, ptr {self.outside(target, 0)}, align 8")

    def motion(self) -> None:
        module, v = self.module, self.v
        for name, kind in (("status", v), ("stop", v), ("alive", v), ("n", "i64"), ("row", "i64")):
            self.lines.insert(0, f"  %{name} = alloca {kind}, align 64")
        self.do(f"store {v} {module.number(FINISHED)}, ptr %status, align 64")
        self.do(f"store {v} {module.number(1.0)}, ptr %alive, align 64")
        self.do(f"store {v} {self.point('grid', '%last')}, ptr %stop, align 64")
        self.do("store i64 0, ptr %n")
        self.do("store i64 0, ptr %row")
        again, over = self.label("again"), self.label("over")
        self.begin(again)
        n = self.emit("load i64, ptr %n")
        t = self.point("grid", n)
        ended = self.emit(f"icmp sge i64 {n}, %last")
        updated = bool(self.program.update.results)
        if updated:
            self.call("update", t, "state", "constants", "memory", "new_memory")
            with self.when(self.emit(f"icmp slt i64 {n}, %last")):
                self.copied("new_memory", "memory", len(self.program.memory))
        if self.program.outputs.results:
            self.row_due(n, t, "new_memory" if updated else "memory")
        step = self.label("step")
        self.do(f"br i1 {ended}, label %{over}, label %{step}")
        self.lines.append(f"{step}:")
        self.step(n, t)
        next_n = self.emit(f"add i64 {n}, 1")
        self.do(f"store i64 {next_n}, ptr %n")
        alive = self.emit(f"fcmp une {v} {self.emit(f'load {v}, ptr %alive, align 64')}, {module.number(0.0)}")
        some = self.reduced("or", alive)
        self.do(f"br i1 {some}, label %{again}, label %{over}")
        self.lines.append(f"{over}:")

    def reduced(self, how: str, flags: str) -> str:
        lanes = self.module.lanes
        name = f"llvm.vector.reduce.{how}.v{lanes}i1"
        self.module.need(name, lambda: f"declare i1 @{name}({self.flag})")
        return self.emit(f"call i1 @{name}({self.flag} {flags})")

    def row_due(self, n: str, t: str, memory: str) -> None:
        """Outputs at a grid point where a row is due."""
        place = self.emit(f"getelementptr inbounds i8, ptr %due, i64 {n}")
        due = self.emit(f"load i8, ptr {place}")
        with self.when(self.emit(f"icmp ne i8 {due}, 0")):
            self.call("outputs", t, "state", "constants", memory, "out")
            if self.looks:
                shown = self.emit(f"and i8 {due}, {LOOKED}")
                with self.when(self.emit(f"icmp ne i8 {shown}, 0")):
                    self.do(f"call void @look({self.v} {t}, ptr %out, ptr %slots)")
            if self.history:
                kept = self.emit(f"and i8 {due}, {KEPT}")
                with self.when(self.emit(f"icmp ne i8 {kept}, 0")):
                    self.keep()

    def keep(self) -> None:
        """A row of the histories; of runs that go on no more, NaN."""
        alive = self.emit(f"load {self.v}, ptr %alive, align 64")
        gone = self.emit(f"fcmp oeq {self.v} {alive}, {self.module.number(0.0)}")
        nan = self.module.number(float("nan"))
        row = self.emit("load i64, ptr %row")
        first = self.emit(f"mul i64 {row}, {len(self.history)}")
        for place, column in enumerate(self.history):
            value = self.load("out", column)
            shown = self.emit(f"select {self.flag} {gone}, {self.v} {nan}, {self.v} {value}")
            target = self.outside("all_rows", self.emit(f"add i64 {first}, {place}"))
            self.do(f"store {self.v} {shown}, ptr {target}, align 8")
        self.do(f"store i64 {self.emit(f'add i64 {row}, 1')}, ptr %row")

    # ------------------------------------------------------------ one step

    def step(self, n: str, t: str) -> None:
        tableau, states = self.tableau, len(self.program.state)
        h = self.point("steps", n)
        self.call("derivatives", t, "state", "constants", "memory", "k0")
        for j in range(1, tableau.stages):
            self.combined(h, tableau.a[j], "stage")
            part = self.emit(f"fmul {self.v} {h}, {self.module.number(tableau.c[j])}")
            self.call(
                "derivatives", self.emit(f"fadd {self.v} {t}, {part}"),
                "stage", "constants", "memory", f"k{j}",
            )  # fmt: skip
        finite = self.combined(h, tableau.b, "stage", check=True)
        self.settled(t, finite)
        with self.each(states) as i:
            alive = self.emit(f"load {self.v}, ptr %alive, align 64")
            gone = self.emit(f"fcmp oeq {self.v} {alive}, {self.module.number(0.0)}")
            old, new = self.load("state", i), self.load("stage", i)
            self.store(self.emit(f"select {self.flag} {gone}, {self.v} {old}, {self.v} {new}"), "state", i)
        if self.program.quaternions:
            following = self.emit(f"add i64 {n}, 1")
            self.call("normalise", self.point("grid", following), "state", "constants", "memory")

    def combined(self, h: str, weights: Row, target: str, check: bool = False) -> str:
        """target = state + h Σⱼ wⱼ kⱼ; if asked, 0 for each lane whose target is finite, else NaN."""
        v, number = self.v, self.module.number
        if check:
            sum_ = self.emit_at_top(f"alloca {v}, align 64")
            self.do(f"store {v} {number(0.0)}, ptr {sum_}, align 64")
        with self.each(len(self.program.state)) as i:
            total = ""
            for j, weight in enumerate(weights):
                if weight:
                    part = self.emit(f"fmul contract {v} {number(weight)}, {self.load(f'k{j}', i)}")
                    total = self.emit(f"fadd contract {v} {total}, {part}") if total else part
            scaled = self.emit(f"fmul contract {v} {h}, {total}")
            value = self.emit(f"fadd contract {v} {self.load('state', i)}, {scaled}")
            self.store(value, target, i)
            if check:
                part = self.emit(f"fmul contract {v} {value}, {number(0.0)}")
                so_far = self.emit(f"load {v}, ptr {sum_}, align 64")
                self.do(f"store {v} {self.emit(f'fadd contract {v} {so_far}, {part}')}, ptr {sum_}, align 64")
        return self.emit(f"load {v}, ptr {sum_}, align 64") if check else ""

    def settled(self, t: str, finite: str) -> None:
        """Lanes whose step was not finite: they end here."""
        v, number = self.v, self.module.number
        wrong = self.emit(f"fcmp une {v} {finite}, {number(0.0)}")
        with self.when(self.reduced("or", wrong)):
            alive = self.emit(f"load {v}, ptr %alive, align 64")
            were = self.emit(f"fcmp une {v} {alive}, {number(0.0)}")
            now = self.emit(f"and {self.flag} {wrong}, {were}")
            for name, value in (("status", number(DIVERGED)), ("stop", t), ("alive", number(0.0))):
                old = self.emit(f"load {v}, ptr %{name}, align 64")
                new = self.emit(f"select {self.flag} {now}, {v} {value}, {v} {old}")
                self.do(f"store {v} {new}, ptr %{name}, align 64")
