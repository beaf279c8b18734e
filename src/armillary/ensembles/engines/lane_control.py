"""Adaptive steps of many runs at once: every lane has its own time, step and error.

All lanes try a step together, each its own; those whose error is too large stay where they are and try a
smaller one next: steps are chosen as in single runs. A lane whose run has ended takes the
next run, so that none waits for its neighbours. Values inside a step come from the method's dense output.

A run that does not advance in its first steps is left to a single run, which finds the reason.

Lanes are independent: a run's numbers do not depend on which runs are its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from armillary.ensembles.engines.engine import LEFT_OVER
from armillary.ensembles.engines.lane_steps import LaneFrame, lengths
from armillary.ensembles.plan import DIVERGED, FINISHED, KEPT, MEASURED, TOO_MANY_STEPS, TOO_SMALL, Plan
from armillary.llvm.building.builder import Local, Operand, Value
from armillary.runtime.loop.stepper import not_finite
from armillary.runtime.loop.thresholds.mass_thresholds import FIRST_STEPS, NOWHERE, SHORT_STEPS
from armillary.runtime.loop.thresholds.step_thresholds import LEAST_ERROR
from armillary.runtime.solver.language.lanes import LaneSolver

# Functions of the solver that the loop is made of.
_STEPS = ("stages",)
_CONTROL = ("error_norm", "first_step", "is_too_short", "reaches", "try_shorter", "choose_next")
_INSIDE = ("set_nests", "dense_state")

WHOLES = ("count", "stride")
ADDRESSES = ("settings", "atol", "times", "want", "place", "halt")
SETTINGS = ("t0", "t_end", "step", "rtol", "max_step", "max_steps")

# One number per lane: time and next step; the step just taken; the error control's memory; how the run ends;
# the next row: its number, time, use; the run in this lane (−1: none); whether it ended, or has just begun.
LANE = (
    "t", "h", "t_old", "h_taken", "error", "error_old", "after_rejection", "tried", "status", "filled", "due",
    "wanted", "own", "done", "restart", "flag",
)  # fmt: skip


def rooms_of(plan: Plan) -> dict[str, int]:
    """Work vectors and their lengths."""
    rooms, tableau = lengths(plan), plan.method.tableau
    assert tableau is not None
    states = rooms["state"]
    names = ["trial", "base", "point", "atol", "tolerated", "ratio", "ratio_low"]
    names += tableau.vectors
    return rooms | dict.fromkeys(names, states) | {"shown": rooms["slots"]} | dict.fromkeys(LANE, 1)


class AdaptiveSteps(LaneFrame):
    """The loop for a method that chooses its steps."""

    interpolates = True  # rows may lie inside steps

    def __init__(
        self,
        plan: Plan,
        lanes: int,
        rooms: Mapping[str, int] | None = None,
        addresses: Sequence[str] = ADDRESSES,
    ) -> None:
        super().__init__(plan, lanes, rooms or rooms_of(plan), WHOLES, addresses)
        self.stride = self.whole_argument("stride")
        self.setting = {name: self.outside("settings")[i] for i, name in enumerate(SETTINGS)}
        self.places["finish"] = self.places["state"]  # rows are found as soon as a step is accepted
        wanted = (*_STEPS, *_CONTROL, *_INSIDE) if plan.method.adaptive else _STEPS
        self.solver = LaneSolver(self, plan.method, wanted)
        self.next = Local(self, self.whole(0))
        self.prepared = Local(self, self.whole(0))
        self["own"], self["done"] = -1.0, 1.0
        with self.each(self.states) as m:
            self.vector("atol")[m] = self.spread(self.outside("atol")[m])
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
        """A number of each lane, or one for all."""
        return self.setting[name] if name in SETTINGS else self.vector(name)[0]

    # ------------------------------------------------------------ which run is where

    def refill(self) -> None:
        """Runs that ended are given back, and their lanes take the next ones."""
        with self.each(self.lanes) as lane:
            self.fuses = False
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
        run = self.lanes_of("own")[lane].to_whole()
        for name in ("state", "memory", "slots"):
            self.column(name, lane, run, back=True)
        self.outside("all_status")[run] = self.lanes_of("status")[lane]
        self.outside("all_stops")[run] = self.lanes_of("t")[lane]

    def take(self, lane: Value) -> None:
        run = self.next.get()
        for name in ("parameters", "state", "memory", "slots"):
            self.column(name, lane, run, back=False)
        start, step = self["t0"], self.least(self["step"], self["max_step"])
        fresh: dict[str, Operand] = {
            "own": run.to_real(),
            "restart": 1.0,
            "t": start,
            "t_old": start,
            "h": step,
            "h_taken": 1.0,
        }
        fresh |= {"error": 0.0, "error_old": LEAST_ERROR, "after_rejection": 0.0, "tried": 0.0, "filled": 0.0}
        for name, value in fresh.items():
            self.lanes_of(name)[lane] = value
        self.next_row(lane, self.whole(0))
        self.next.set(run + 1)

    def next_row(self, lane: Value, row: Value) -> None:
        self.lanes_of("due")[lane] = self.outside("times")[row]
        self.lanes_of("wanted")[lane] = self.outside("want")[row]

    # ------------------------------------------------------------ the beginning of a run

    def begin(self) -> None:
        """Derivative, first step and first row of runs that have just been taken."""
        fresh = self["restart"].differs(0.0)
        self.derivatives(self["t"], self.vector("state"), self.vector("trial"))
        self.blend(self.states, fresh, "trial", "k0")
        wrong = fresh & not_finite(self, self.vector("state"), self.vector("k0"))
        with self.when(self["step"].equals(0.0)):
            self.solver("first_step", where=fresh)
        self["restart"] = 0.0
        self.rows(fresh & ~wrong)
        self.end(wrong, DIVERGED)
        self.end(fresh & ~wrong & (self["t"] >= self["t_end"]), FINISHED)

    def end(self, where: Value, status: int) -> None:
        self.put(where, "status", status)
        self.put(where, "done", 1.0)

    # ------------------------------------------------------------ a step

    def step(self) -> None:
        """Take a step in every lane, each with its own size; accept it if its error norm is at most one."""
        tableau, t, h = self.tableau, self["t"], self["h"]
        active = (self["own"] >= 0.0) & self["done"].equals(0.0)
        tiny = active & self.solver("is_too_short", h)
        strange = ~(self["error"] < inf)
        self.end(tiny & strange, DIVERGED)
        self.end(tiny & ~strange, TOO_SMALL)
        moving = active & ~tiny
        last = self.solver("reaches", h, self["t_end"])
        h = self.choose(last, self["t_end"] - t, h)
        t_new = self.choose(last, self["t_end"], t + h)
        self.solver("stages", t, h)
        if tableau.end_enters_error:
            self.derivatives(t_new, self.vector("trial"), self.vector("k_end"))
        error = self.solver("error_norm", h)
        self.find_point(moving & (error <= 1.0), t_new)
        moving = moving & ~self.leaving(moving & (error <= 1.0), t_new, h)
        self.put(moving, "error", error)
        self.put(moving, "tried", self["tried"] + 1.0)
        good = moving & (error <= 1.0)
        bad = moving & ~(error <= 1.0)
        assert tableau.control is not None
        grown = self.power(error, tableau.control.exponent)
        self.solver("try_shorter", h, error, grown, where=bad)
        self.solver("choose_next", h, error, grown, where=good)
        with self.when(self.any(good)):
            self.accept(good, t_new, h)
        going = active & self["done"].equals(0.0)
        self.end(going & (self["tried"] >= self["max_steps"]), TOO_MANY_STEPS)
        least = NOWHERE * (self["t_end"] - self["t0"])
        nowhere = self["t"] - self["t0"] < self.least(least, SHORT_STEPS * self["max_step"])
        self.end(going & nowhere & self["tried"].equals(float(FIRST_STEPS)), LEFT_OVER)

    def find_point(self, good: Value, t_new: Value) -> None:
        """Set ``point`` to the state after the step in lanes with a good step; elsewhere to the state."""
        with self.each(self.states) as m:
            state = self.vector("state")[m]
            self.vector("point")[m] = self.choose(good, self.vector("trial")[m], state)
        self.normalise(t_new, "point")

    def leaving(self, good: Value, t_new: Value, h: Value) -> Value:
        """Lanes whose run is left before this step, although it is good."""
        return good & ~good

    def accept(self, good: Value, t_new: Value, h: Value) -> None:
        """Make ``point`` the state in lanes with a good step; then find the rows inside the step."""
        last = "k_end"
        if self.interpolates:
            with self.each(self.states) as m:
                self.vector("base")[m] = self.vector("state")[m]
            self.put(good, "t_old", self["t"])
            self.put(good, "h_taken", h)
            self.prepared.set(0)
        self.blend(self.states, good, "point", "state")
        if not self.tableau.end_enters_error:
            self.derivatives(t_new, self.vector("state"), self.vector(last))
        self.put(good, "t", t_new)
        self.rows(good)
        self.blend(self.states, good, last, "k0")
        self.end(good & (self["t"] >= self["t_end"]), FINISHED)

    # ------------------------------------------------------------ rows

    def rows(self, where: Value) -> None:
        """All rows due up to the present time, in lanes where a condition holds."""
        with self.repeat() as loop:
            pending = where & (self["due"] <= self["t"])
            with self.when(~self.any(pending)):
                loop.leave()
            inside = pending & (self["due"] < self["t"])
            if self.interpolates:
                with self.when(self.any(inside)):
                    self.interpolate()
                self.blend(self.states, ~inside, "state", "point")
            else:
                self.copy(self.states, self.vector("state"), self.vector("point"))
            self.outputs(self["due"], "point")
            if self.metrics:
                self.show_row(pending)
            self["flag"] = self.choose(pending, 1.0, 0.0)
            with self.each(self.lanes) as lane:
                self.fuses = False
                with self.when(self.lanes_of("flag")[lane].differs(0.0)):
                    self.finish_row(lane)

    def show_row(self, pending: Value) -> None:
        """The row to the metrics of the lanes that are to see it."""
        count = self.rooms["slots"]
        with self.each(count) as i:
            self.vector("shown")[i] = self.vector("slots")[i]
        self.update_metrics(self["due"], "shown")
        self.blend(count, pending & (self["wanted"] >= float(MEASURED)), "shown", "slots")

    def finish_row(self, lane: Value) -> None:
        """The row of one lane kept, if it is to be, and the next one awaited."""
        filled, wanted = self.lanes_of("filled")[lane], self.lanes_of("wanted")[lane]
        row, run = filled.to_whole(), self.lanes_of("own")[lane].to_whole()
        if self.history:
            with self.when(wanted.equals(float(KEPT)) | wanted.equals(float(KEPT + MEASURED))):
                first = self.outside("place")[row].to_whole() * len(self.history)
                for k, column in enumerate(self.history):
                    value = self.lanes_of("out")[lane + column * self.lanes]
                    self.outside("all_rows")[(first + k) * self.stride + run] = value
        self.lanes_of("filled")[lane] = filled + 1.0
        self.next_row(lane, row + 1)

    def interpolate(self) -> None:
        """The states inside the step just taken, into ``point``."""
        with self.when(self.prepared.get().equals(0)):
            self.solver("set_nests")
            self.prepared.set(1)
        self.solver("dense_state", (self["due"] - self["t_old"]) / self["h_taken"])
        self.normalise(self["due"], "point")
