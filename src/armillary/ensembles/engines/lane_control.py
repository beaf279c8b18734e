"""Steps of many runs at once; each lane has its own time, step and error.

The functions `advance` and `settle` of armillary.solver define a step and its end. All lanes go through them
together, each with its own numbers, so a lane whose error is too large stays at its time and tries a smaller
step next. A lane whose run has ended takes the next run, so that no lane waits for its neighbours. Rows
inside a step come from the method's dense output.

A run that does not advance in its first steps is left to a single run, which finds the reason.

Lanes are independent: a run's numbers do not depend on the runs in other lanes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from armillary.ensembles.engines.engine import LEFT_OVER
from armillary.ensembles.engines.lane_steps import LaneFrame, lengths
from armillary.ensembles.plan import KEPT, MEASURED, Plan
from armillary.llvm.building.builder import Local, Operand, Value
from armillary.solver.llvm.functions import not_finite
from armillary.solver.llvm.lanes import LaneSolver
from armillary.solver.llvm.layout import Phase, Reason
from armillary.solver.thresholds import FIRST_STEPS, LEAST_ERROR, NOWHERE, SHORT_STEPS

WANTED = ("advance", "settle", "set_nests", "dense_state")  # functions of armillary.solver
KEPT_VECTORS = ("state", "trial", "k0", "g_start", "k_before")

WHOLES = ("count", "stride")
ADDRESSES = ("settings", "atol", "times", "want", "place", "halt")
SETTINGS = ("t0", "t_end", "step", "rtol", "max_step", "max_steps")

# One number per lane: numbers of its run, as in the record of a run (solver/record.py); and the purpose of
# the next row, the run in this lane (−1: none), whether the run is left over, and work.
LANE = (
    *("t", "h", "t_old", "h_taken", "error_old", "after_rejection", "steps", "rejected", "status", "phase"),
    *("restart", "choose_step", "filled", "due", "wanted", "own", "released", "flag"),
)


def rooms_of(plan: Plan) -> dict[str, int]:
    """Return the work vectors and their lengths."""
    rooms, tableau = lengths(plan), plan.method.tableau
    assert tableau is not None
    states = rooms["state"]
    names = ["trial", "base", "point", "atol", "tolerated", "ratio", "ratio_low"]
    names += tableau.vectors
    if tableau.multistep:
        names.append("k_before")
        rooms["h_before"] = 1
    return rooms | dict.fromkeys(names, states) | {"shown": rooms["slots"]} | dict.fromkeys(LANE, 1)


class AdaptiveSteps(LaneFrame):
    """The loop for a method that chooses its steps."""

    interpolates = True  # rows may lie inside steps
    features: tuple[str, ...] = ()  # of the solver, besides those that the program determines
    n_events = 0

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
        self.method = plan.method
        self.solver = self.lane_solver(WANTED if plan.method.adaptive else WANTED[:2])
        # Without events nothing restarts at the end of a step.
        self.after_step = self.lane_solver(["settle"], {"restart": False, "choose_step": False})
        self.next = Local(self, self.whole(0))
        self.prepared = Local(self, self.whole(0))
        self["own"] = -1.0
        for name in ("status", "released"):
            self[name] = 0.0
        with self.each(self.states) as m:
            self.vector("atol")[m] = self.spread(self.outside("atol")[m])
        with self.repeat() as loop:
            with self.when(self.outside("halt")[0].differs(0.0)):
                loop.leave()
            free = self.any(self["own"] < 0.0) & (self.next.get() < self.whole_argument("count"))
            with self.when(free | self.any((self["own"] >= 0.0) & ~self.goes_on())):
                self.refill()
            with self.when(~self.any(self["own"] >= 0.0)):
                loop.leave()
            with self.when(self.any(self["restart"].differs(0.0))):
                self.begin()
            self.step()
        self.give()

    def lane_solver(self, wanted: Collection[str], facts: Mapping[str, bool] | None = None) -> LaneSolver:
        """Return functions of the solver, for this loop."""
        return LaneSolver(
            self,
            self.method,
            wanted,
            features=[*self.features, *(["NORMALISE"] if self.program.normalises else [])],
            facts=facts,
            kept=KEPT_VECTORS,
            sizes=dict.fromkeys(("Reals", "N_EVENTS"), self.n_events),
            given={"end_at_small_step": end_at_small_step, "rank_may_fall": rank_may_fall},
        )

    def rank_may_fall(self, t_new: Value, h: Value) -> Value:
        """Return the lanes in which constraints may lose rank in a step."""
        return self.of_kind(self.kind, 0.0).differs(0.0)

    def goes_on(self) -> Value:
        """Return the lanes whose run, if there is one, has not ended and is not left over."""
        return self["status"].equals(float(Reason.RUNNING)) & self["released"].equals(0.0)

    def __getitem__(self, name: str) -> Value:
        """Return a number of each lane, or one for all."""
        return self.setting[name] if name in SETTINGS else self.vector(name)[0]

    # ------------------------------------------------------------ which run is where

    def refill(self) -> None:
        """Emit: give ended runs back; their lanes take the next runs."""
        with self.each(self.lanes) as lane:
            self.fuses = False
            own = self.lanes_of("own")[lane]
            ended, released = (self.lanes_of(name)[lane].differs(0.0) for name in ("status", "released"))
            with self.when((own >= 0.0) & (ended | released)):
                self.give_back(lane)
                self.lanes_of("own")[lane] = -1.0
            with self.when(self.lanes_of("own")[lane] < 0.0):
                for name in ("status", "released", "restart"):
                    self.lanes_of(name)[lane] = 0.0
                with self.when(self.next.get() < self.whole_argument("count")):
                    self.take(lane)
        self.precompute()

    def column(self, name: str, lane: Value, run: Value, back: bool) -> None:
        """Emit: copy numbers of a run from the arrays of all runs to a lane, or ``back``."""
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
        released, status = self.lanes_of("released")[lane], self.lanes_of("status")[lane]
        status = self.choose(released.differs(0.0), float(LEFT_OVER), status - 1.0)  # as in ensembles/plan.py
        self.outside("all_status")[run] = status
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
        fresh |= {"error_old": LEAST_ERROR, "after_rejection": 0.0, "steps": 0.0, "rejected": 0.0}
        fresh |= {"filled": 0.0, "choose_step": self.choose(self["step"].equals(0.0), 1.0, 0.0)}
        for name, value in fresh.items():
            self.lanes_of(name)[lane] = value
        self.next_row(lane, self.whole(0))
        self.next.set(run + 1)

    def next_row(self, lane: Value, row: Value) -> None:
        self.lanes_of("due")[lane] = self.outside("times")[row]
        self.lanes_of("wanted")[lane] = self.outside("want")[row]

    # ------------------------------------------------------------ steps

    def begin(self) -> None:
        """Emit: compute derivative, first step and first row of runs that have just been taken."""
        fresh = self["restart"].differs(0.0)
        self.solver("settle", where=fresh)
        self.rows(fresh & self["status"].differs(float(Reason.DIVERGED)))

    def step(self) -> None:
        """Emit: try a step in every active lane."""
        active = (self["own"] >= 0.0) & self.goes_on()
        self["phase"] = float(Phase.READY)
        self.solver("advance", where=active)
        arrived = self["phase"].equals(float(Phase.ARRIVED))
        with self.when(self.any(arrived)):
            self.prepared.set(0)
            self.rows(arrived)
            self.after_step("settle", where=arrived)
        self.leave_still_runs(active)

    def leave_still_runs(self, active: Value) -> None:
        """Emit: leave over runs that have not advanced in their first steps."""
        tried = self["steps"] + self["rejected"]
        least = NOWHERE * (self["t_end"] - self["t0"])
        nowhere = self["t"] - self["t0"] < self.least(least, SHORT_STEPS * self["max_step"])
        self.put(active & self.goes_on() & nowhere & tried.equals(float(FIRST_STEPS)), "released", 1.0)

    # ------------------------------------------------------------ rows

    def rows(self, where: Value) -> None:
        """Emit: make all rows due up to the present time, in lanes where a condition holds."""
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
        """Emit: update the metrics of pending lanes whose row is for metrics."""
        count = self.rooms["slots"]
        with self.each(count) as i:
            self.vector("shown")[i] = self.vector("slots")[i]
        self.update_metrics(self["due"], "shown")
        self.blend(count, pending & (self["wanted"] >= float(MEASURED)), "shown", "slots")

    def finish_row(self, lane: Value) -> None:
        """Emit: keep the row of one lane if histories need it; set the time of the next row."""
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
        """Emit: set ``point`` to the states at the due times inside the last step."""
        with self.when(self.prepared.get().equals(0)):
            self.solver("set_nests")
            self.prepared.set(1)
        self.solver("dense_state", (self["due"] - self["t_old"]) / self["h_taken"])
        self.normalise(self["due"], "point")


def end_at_small_step(f: AdaptiveSteps, where: Value) -> None:
    """Emit: end runs whose step has become too small; lanes do not find the state that causes it."""
    wrong = not_finite(f, f.vector("trial"), f.vector("ratio"))
    f.put(where, "status", f.choose(wrong, float(Reason.DIVERGED), float(Reason.TOO_SMALL)))


def rank_may_fall(f: AdaptiveSteps, where: Value | None, t_new: Value, h: Value) -> Value:
    return f.rank_may_fall(t_new, h)
