"""Adaptive steps of many runs at once: every lane has a time, a step and an error of its own.

All lanes try a step together, each its own; those whose error is too large stay where they are and try a
smaller one next. A lane whose run has ended takes the next run, so that none waits for its neighbours. Values
inside a step come from the method's dense output, as in single runs (runtime/steps.py, runtime/dense.py).

No lane sees another: a run's numbers do not depend on which runs are its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from armillary.ensembles.lanes_frame import LaneFrame, lengths
from armillary.ensembles.plan import DIVERGED, FINISHED, KEPT, LOOKED, TOO_MANY_STEPS, TOO_SMALL, Look
from armillary.program.program import Program
from armillary.runtime.code import WHOLE, Operand, Value, Variable
from armillary.runtime.steps import EPSILON
from armillary.runtime.tableau import Tableau

WHOLES = ("count", "stride")
ADDRESSES = ("settings", "atol", "times", "want", "place", "halt")
SETTINGS = ("t0", "t_end", "step", "rtol", "max_step", "max_steps")

# One number per lane: time and next step; the step just taken; the error control's memory; how the run ends;
# the next row: its number, time, use; the run in this lane (−1: none); whether it ended, or has just begun.
LANE = (
    "t", "h", "t_old", "h_taken", "error", "error_old", "after_rejection", "tried", "status", "filled", "due",
    "wanted", "own", "done", "restart", "flag",
)  # fmt: skip


def rooms_of(program: Program, tableau: Tableau, looks: Sequence[Look]) -> dict[str, int]:
    """Work vectors and their lengths."""
    rooms = lengths(program, looks)
    states = rooms["state"]
    derivatives = tableau.stages + 1 + len(tableau.extra_c)
    names = ["trial", "base", "point", "tolerance", "ratio", "ratio_low"]
    names += [f"k{j}" for j in range(derivatives)] + [f"F{i}" for i in range(3 + len(tableau.dense))]
    return rooms | dict.fromkeys(names, states) | {"shown": rooms["slots"]} | dict.fromkeys(LANE, 1)


class AdaptiveSteps(LaneFrame):
    """The loop for a method that chooses its steps."""

    def __init__(
        self, program: Program, tableau: Tableau, looks: Sequence[Look], history: Sequence[int], lanes: int
    ) -> None:
        rooms = rooms_of(program, tableau, looks)
        super().__init__(program, tableau, looks, lanes, rooms, WHOLES, ADDRESSES)
        self.history, self.rooms = history, rooms
        self.stride = self.whole_argument("stride")
        self.setting = {name: self.outside("settings")[i] for i, name in enumerate(SETTINGS)}
        self.next = Variable(self, self.whole(0))
        self.prepared = Variable(self, self.whole(0))
        self["own"], self["done"] = -1.0, 1.0
        with self.each(self.states) as m:
            self.room("tolerance")[m] = self.spread(self.outside("atol")[m])
        with self.repeat() as loop:
            with self.when(self.outside("halt")[0].differs(0.0)):
                loop.leave()
            with self.when(self.any(self["done"].differs(0.0))):
                self.refill()
            with self.when(~self.any(self["own"] >= 0.0)):
                loop.leave()
            with self.when(self.any(self["restart"].differs(0.0))):
                self.begin()
            self.step()
        self.give()

    def __getitem__(self, name: str) -> Value:
        """A number of each lane."""
        return self.room(name)[0]

    def __setitem__(self, name: str, value: Operand) -> None:
        self.room(name)[0] = value

    def put(self, where: Value, name: str, value: Operand) -> None:
        """A number of each lane renewed where a condition holds."""
        self[name] = self.choose(where, value, self[name])

    # ------------------------------------------------------------ which run is where

    def refill(self) -> None:
        """Runs that ended are given back, and their lanes take the next ones."""
        with self.each(self.lanes) as lane:
            self.flags = ()
            with self.when(self.lanes_of("done")[lane].differs(0.0)):
                with self.when(self.lanes_of("own")[lane] >= 0.0):
                    self.give_back(lane)
                self.lanes_of("own")[lane] = -1.0
                self.lanes_of("done")[lane] = 0.0
                self.lanes_of("restart")[lane] = 0.0
                with self.when(self.next.get() < self.whole_argument("count")):
                    self.take(lane)
        self.precompute()

    def column(self, name: str, lane: Value, run: Value, back: bool) -> None:
        """The numbers of a run, between a lane and the arrays of all."""
        with self.each(self.rooms[name]) as i:
            inside, outside = i * self.lanes + lane, i * self.stride + run
            if back:
                self.outside(f"all_{name}")[outside] = self.lanes_of(name)[inside]
            else:
                self.lanes_of(name)[inside] = self.outside(f"all_{name}")[outside]

    def give_back(self, lane: Value) -> None:
        run = self.as_whole(self.lanes_of("own")[lane])
        for name in ("state", "memory", "slots"):
            self.column(name, lane, run, back=True)
        self.outside("all_status")[run] = self.lanes_of("status")[lane]
        self.outside("all_stops")[run] = self.lanes_of("t")[lane]

    def take(self, lane: Value) -> None:
        run = self.next.get()
        for name in ("parameters", "state", "memory", "slots"):
            self.column(name, lane, run, back=False)
        start, step = self.setting["t0"], self.least(self.setting["step"], self.setting["max_step"])
        fresh: dict[str, Operand] = {
            "own": run.to_real(),
            "restart": 1.0,
            "t": start,
            "t_old": start,
            "h": step,
            "h_taken": 1.0,
        }
        fresh |= {"error": 0.0, "error_old": 1e-4, "after_rejection": 0.0, "tried": 0.0, "filled": 0.0}
        for name, value in fresh.items():
            self.lanes_of(name)[lane] = value
        self.next_row(lane, self.whole(0))
        self.next.set(run + 1)

    def as_whole(self, value: Value) -> Value:
        return Value(self, self.builder.fptosi(value.raw, WHOLE))

    def next_row(self, lane: Value, row: Value) -> None:
        self.lanes_of("due")[lane] = self.outside("times")[row]
        self.lanes_of("wanted")[lane] = self.outside("want")[row]

    # ------------------------------------------------------------ the beginning of a run

    def begin(self) -> None:
        """Derivative, first step and first row of runs that have just been taken."""
        fresh = self["restart"].differs(0.0)
        self.derivatives(self["t"], "state", "trial")
        self.blend(self.states, fresh, "trial", "k0")
        wrong = fresh & (self.not_finite("k0") | self.not_finite("state"))
        with self.when(self.setting["step"].equals(0.0)):
            self.put(fresh, "h", self.first_step())
        self["restart"] = 0.0
        self.rows(fresh & ~wrong)
        self.end(wrong, DIVERGED)
        self.end(fresh & ~wrong & (self["t"] >= self.setting["t_end"]), FINISHED)

    def end(self, where: Value, status: int) -> None:
        self.put(where, "status", status)
        self.put(where, "done", 1.0)

    def first_step(self) -> Value:
        """The first step, from the sizes of y, of k₀ = f(t, y) and of a difference of f (HNW II.4)."""
        t, rtol, largest_step = self["t"], self.setting["rtol"], self.setting["max_step"]
        state, k0, tolerance = (self.room(name) for name in ("state", "k0", "tolerance"))

        def size(entry: str, less: str | None = None) -> Value:
            def square(m: Value) -> Value:
                value = self.room(entry)[m]
                value = value - self.room(less)[m] if less else value
                ratio = value / (tolerance[m] + rtol * self.magnitude(state[m]))
                return ratio * ratio

            return self.root(self.total(self.states, square) / max(self.states, 1))

        size_y, size_f = size("state"), size("k0")
        tiny = (size_y < 1e-5) | (size_f < 1e-5)
        guess = self.choose(tiny, 1e-6, 0.01 * size_y / self.choose(tiny, 1.0, size_f))
        guess = self.least(self.least(guess, largest_step), self.setting["t_end"] - t)
        with self.each(self.states) as m:
            self.room("stage")[m] = state[m] + guess * k0[m]
        self.derivatives(t + guess, "stage", "trial")
        largest = self.most(size("trial", less="k0") / guess, size_f)
        flat = largest <= 1e-15
        second = self.power(0.01 / self.choose(flat, 1.0, largest), 1.0 / self.tableau.order)
        second = self.choose(flat, self.most(1e-6, 1e-3 * guess), second)
        return self.least(self.least(second, 100.0 * guess), largest_step)

    # ------------------------------------------------------------ a step

    def step(self) -> None:
        """A step of every lane, of its own size; accepted if its error norm is at most one."""
        tableau, control = self.tableau, self.tableau.control
        assert control is not None
        t, h, t_end, largest_step = self["t"], self["h"], self.setting["t_end"], self.setting["max_step"]
        active = (self["own"] >= 0.0) & self["done"].equals(0.0)
        tiny = active & ~(h > 16.0 * EPSILON * self.magnitude(t))
        strange = ~(self["error"] < inf)
        self.end(tiny & strange, DIVERGED)
        self.end(tiny & ~strange, TOO_SMALL)
        moving = active & ~tiny
        remaining = t_end - t
        last = remaining <= self.least(1.01 * h, (1 + 1e-9) * largest_step)
        h = self.choose(last, remaining, h)
        t_new = self.choose(last, t_end, t + h)
        for j in range(1, tableau.stages):
            self.combine("state", h, tableau.a[j], "stage")
            self.derivatives(t + tableau.c[j] * h, "stage", f"k{j}")
        self.combine("state", h, tableau.b, "trial")
        if tableau.end_enters_error:
            self.derivatives(t_new, "trial", f"k{tableau.stages}")
        error = self.error_norm(h)
        self.put(moving, "error", error)
        self.put(moving, "tried", self["tried"] + 1.0)
        good = moving & (error <= 1.0)
        bad = moving & ~(error <= 1.0)

        grown = self.power(error, control.exponent)
        shorter = self.least(grown / control.safety, 1.0 / control.least)
        # Not a number, or beyond all bounds: the estimate says nothing of how far to go back.
        self.put(bad, "h", self.choose(error < inf, h / shorter, 0.1 * h))
        factor = grown / control.safety
        if control.beta:
            factor = factor / self.power(self["error_old"], control.beta)
        proposal = h / self.most(1.0 / control.most, self.least(1.0 / control.least, factor))
        proposal = self.choose(self["after_rejection"].equals(1.0), self.least(proposal, h), proposal)
        self.put(good, "h", self.least(proposal, largest_step))
        self.put(good, "error_old", self.most(error, 1e-4))
        self["after_rejection"] = self.choose(good, 0.0, self.choose(bad, 1.0, self["after_rejection"]))
        with self.when(self.any(good)):
            self.accept(good, t_new, h)
        going = active & self["done"].equals(0.0)
        self.end(going & (self["tried"] >= self.setting["max_steps"]), TOO_MANY_STEPS)

    def error_norm(self, h: Value) -> Value:
        """As of single runs: see ``_error_norm`` in runtime/steps.py."""
        state, trial, tolerance = (self.room(name) for name in ("state", "trial", "tolerance"))
        ratios = [self.room(name) for name in ("ratio", "ratio_low")[: len(self.tableau.errors)]]
        with self.each(self.states) as m:
            largest = self.most(self.magnitude(state[m]), self.magnitude(trial[m]))
            scale = tolerance[m] + self.setting["rtol"] * largest
            for ratio, weights in zip(ratios, self.tableau.errors, strict=True):
                ratio[m] = h * self.weighted(weights, m) / scale
        squares = [self.total(self.states, lambda m, r=r: r[m] * r[m]) for r in ratios]  # type: ignore[misc]
        unless_finite = self.total(self.states, lambda m: 0.0 * trial[m])
        if len(squares) == 1:
            mean = squares[0] / max(self.states, 1)
        else:
            high, low = squares
            norm = high + 0.01 * low
            mean = high * high / (self.choose(norm.equals(0.0), 1.0, norm) * max(self.states, 1))
        return self.root(mean) + unless_finite

    def accept(self, good: Value, t_new: Value, h: Value) -> None:
        """The trial becomes the state in lanes where it is good; then the rows inside the step."""
        last = f"k{self.tableau.stages}"
        with self.each(self.states) as m:
            state = self.room("state")[m]
            self.room("base")[m] = state
            self.room("point")[m] = self.choose(good, self.room("trial")[m], state)
        if self.program.quaternions:
            self.generated("normalise", t_new, "point", "constants", "memory")
        self.blend(self.states, good, "point", "state")
        if not self.tableau.end_enters_error:
            self.derivatives(t_new, "state", last)
        self.put(good, "t_old", self["t"])
        self.put(good, "h_taken", h)
        self.put(good, "t", t_new)
        self.prepared.set(0)
        self.rows(good)
        self.blend(self.states, good, last, "k0")
        self.end(good & (self["t"] >= self.setting["t_end"]), FINISHED)

    # ------------------------------------------------------------ rows

    def rows(self, where: Value) -> None:
        """All rows due up to the present time, in lanes where a condition holds."""
        with self.repeat() as loop:
            pending = where & (self["due"] <= self["t"])
            with self.when(~self.any(pending)):
                loop.leave()
            inside = pending & (self["due"] < self["t"])
            with self.each(self.states) as m:
                self.room("point")[m] = self.room("state")[m]
            with self.when(self.any(inside)):
                self.probe(inside)
            self.outputs(self["due"], "point")
            if self.looks:
                self.shown(pending)
            self["flag"] = self.choose(pending, 1.0, 0.0)
            with self.each(self.lanes) as lane:
                self.flags = ()
                with self.when(self.lanes_of("flag")[lane].differs(0.0)):
                    self.row_taken(lane)

    def shown(self, pending: Value) -> None:
        """The row to the metrics of the lanes that are to see it."""
        count = self.rooms["slots"]
        with self.each(count) as i:
            self.room("shown")[i] = self.room("slots")[i]
        self.look(self["due"], "shown")
        self.blend(count, pending & (self["wanted"] >= float(LOOKED)), "shown", "slots")

    def row_taken(self, lane: Value) -> None:
        """The row of one lane kept, if it is to be, and the next one awaited."""
        filled, wanted = self.lanes_of("filled")[lane], self.lanes_of("wanted")[lane]
        row, run = self.as_whole(filled), self.as_whole(self.lanes_of("own")[lane])
        if self.history:
            with self.when(wanted.equals(float(KEPT)) | wanted.equals(float(KEPT + LOOKED))):
                first = self.as_whole(self.outside("place")[row]) * len(self.history)
                for k, column in enumerate(self.history):
                    value = self.lanes_of("out")[lane + column * self.lanes]
                    self.outside("all_rows")[(first + k) * self.stride + run] = value
        self.lanes_of("filled")[lane] = filled + 1.0
        self.next_row(lane, row + 1)

    def probe(self, inside: Value) -> None:
        """The states inside the step just taken, into ``point``, in lanes where a row lies there."""
        with self.when(self.prepared.get().equals(0)):
            self.prepare()
            self.prepared.set(1)
        theta = (self["due"] - self["t_old"]) / self["h_taken"]
        factors = [theta, 1.0 - theta]
        F = [self.room(f"F{i}") for i in range(3 + len(self.tableau.dense))]
        with self.each(self.states) as m:
            nest = F[-1][m]
            for i in reversed(range(1, len(F))):
                nest = F[i - 1][m] + factors[i % 2] * nest
            self.room("stage")[m] = self.room("base")[m] + theta * nest
        if self.program.quaternions:
            self.generated("normalise", self["due"], "stage", "constants", "memory")
        self.blend(self.states, inside, "stage", "point")

    def prepare(self) -> None:
        """The coefficients F of the step just taken; see runtime/tableau.py."""
        tableau, h, t_old = self.tableau, self["h_taken"], self["t_old"]
        for j, (c, weights) in enumerate(
            zip(tableau.extra_c, tableau.extra_a, strict=True), tableau.stages + 1
        ):
            self.combine("base", h, weights, "stage")
            self.derivatives(t_old + c * h, "stage", f"k{j}")
        first, last = self.room("k0"), self.room(f"k{tableau.stages}")
        F = [self.room(f"F{i}") for i in range(3 + len(tableau.dense))]
        with self.each(self.states) as m:
            rise = self.room("state")[m] - self.room("base")[m]
            bend = h * first[m] - rise
            F[0][m] = rise
            F[1][m] = bend
            F[2][m] = rise - h * last[m] - bend
            for vector, weights in zip(F[3:], tableau.dense, strict=True):
                vector[m] = h * self.weighted(weights, m)
