"""Steps of many runs at once, up to events; each lane has its own time, step and error.

The functions `advance` and `settle` of armillary.solver define a step and its end. All lanes go through them
together, each with its own numbers, so a lane whose error is too large stays at its time and tries a smaller
step next. A lane whose run has ended takes the next run, so that no lane waits for its neighbours. A row (a
time at which outputs are kept or update metrics) inside a step comes from the method's dense output.

A run that does not advance in its first steps is left to a single run, which finds the reason.

Lanes are independent: a run's numbers do not depend on the runs in other lanes.

With events, each run has the record and the workspace of the compiled loop for single runs
(solver/llvm/layout.py). A lane takes a run that is ready for a step. If a step fails, or an event function
changes its sign in it or comes close to zero, the lane gives the run back as it was before this step; the
single run's loop then makes the step and handles its failure or event. A lane takes only runs in which no
event function is zero.

If there are kinematic loops, each lane corrects its coordinates as often as its run needs. The single run's
loop then also makes the steps after which constraints that lose rank are examined, and steps so large that
they may jump over a singular configuration.

Fixed steps lead from grid point to grid point, at which all rows are due; each lane has its own grid point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from armillary.ensembles.engines.engine import LEFT_OVER
from armillary.ensembles.engines.lane_steps import ADDRESSES, SETTINGS, LaneFrame, lengths
from armillary.ensembles.plan import KEPT, MEASURED, Plan
from armillary.llvm.building.builder import Local, Operand, Span, Value
from armillary.llvm.building.emitter import REAL, WHOLE, Raw
from armillary.program.equations import DerivedEquations
from armillary.solver.llvm.functions import not_finite
from armillary.solver.llvm.lanes import LaneSolver
from armillary.solver.llvm.layout import FIELDS, LoopShape, Phase, Reason
from armillary.solver.thresholds import (
    BELIEVED,
    EPSILON,
    FIRST_STEPS,
    LEAST_ERROR,
    NOWHERE,
    RESOLVED_ADAPTIVE,
    RESOLVED_FIXED,
    SHORT_STEPS,
    UNSOUND,
    UNSOUND_ADAPTIVE,
    WEAK_RANK,
)

WANTED = ("advance", "settle", "set_nests", "dense_state")  # functions of armillary.solver
KEPT_VECTORS = ("state", "trial", "k0", "g_start", "k_before")

# Numbers of each lane. Most are fields of its run's record, with the same names (solver/record.py). Others
# are the time of the next row (due) and its purpose (wanted), the number of the run in this lane (own;
# −1: none), and whether the run is left to a single run (released); flag is for intermediate results.
LANE = (
    *("t", "h", "t_old", "h_taken", "error_old", "after_rejection", "steps", "rejected", "status", "phase"),
    *("restart", "choose_step", "filled", "due", "wanted", "own", "released", "flag"),
)


def rooms_of(plan: Plan) -> dict[str, int]:
    """Return the lengths of the work vectors by name."""
    rooms, tableau = lengths(plan), plan.method.coefficients
    states = rooms["state"]
    names = ["trial", "base", "point", "atol", "tolerated", "ratio", "ratio_low"]
    names += tableau.vectors
    if tableau.multistep:
        names.append("k_before")
        rooms["h_before"] = 1
    if plan.program.row_rates:
        rooms["rated"] = states + len(plan.program.row_rates)
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
        super().__init__(plan, lanes, rooms or rooms_of(plan), addresses)
        # Rows are computed as soon as a step is accepted, when the state is that at the step's end.
        self.places["finish"] = self.places["state"]
        self.solver = self.functions(WANTED if plan.method.adaptive else WANTED[:2])
        # Without events nothing restarts at the end of a step.
        self.after_step = self.functions(["settle"], {"restart": False, "choose_step": False})
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

    def functions(self, wanted: Sequence[str], facts: Mapping[str, bool] | None = None) -> LaneSolver:
        """Return functions of the solver, for this loop."""
        return self.lane_solver(
            wanted,
            dict.fromkeys(self.features, True),
            dict.fromkeys(("Reals", "N_EVENTS"), self.n_events),
            {"end_at_small_step": end_at_small_step, "rank_may_fall": rank_may_fall},
            facts=facts,
            kept=KEPT_VECTORS,
        )

    def rank_may_fall(self, t_new: Value, h: Value) -> Value:
        """Return the lanes in which constraints may lose rank in a step: without events, none."""
        return self.of_kind(self.kind, 0.0).differs(0.0)

    def goes_on(self) -> Value:
        """Return the lanes whose run, if there is one, has not ended and is not left over."""
        return self["status"].equals(float(Reason.RUNNING)) & self["released"].equals(0.0)

    def __getitem__(self, name: str) -> Value:
        """Return a number of each lane, or one for all."""
        return self.setting[name] if name in SETTINGS else self.vector(name)[0]

    # ------------------------------------------------------------ the runs of the lanes

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
            self.rows(arrived, "k_end")
            self.after_step("settle", where=arrived)
        self.leave_still_runs(active)

    def leave_still_runs(self, active: Value) -> None:
        """Emit: leave to single runs those runs that have not advanced in their first steps."""
        tried = self["steps"] + self["rejected"]
        least = NOWHERE * (self["t_end"] - self["t0"])
        nowhere = self["t"] - self["t0"] < self.least(least, SHORT_STEPS * self["max_step"])
        self.put(active & self.goes_on() & nowhere & tried.equals(float(FIRST_STEPS)), "released", 1.0)

    # ------------------------------------------------------------ rows

    def rows(self, where: Value, rates: str = "k0") -> None:
        """Emit: make all rows due up to the present time, in lanes where a condition holds; ``rates`` names
        the rates of the present state.
        """
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
            self.outputs(self["due"], "point", rates=rates)
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


# Parts of a run's workspace that a lane also has, and the parts among them that a lane changes.
_ROOM = ("state", "memory", "k0", "sign", "g_start")
_CHANGED = ("state", "k0", "g_start")
# Fields of a record, real numbers, that a lane takes and gives back: with adaptive and with fixed steps.
_REALS = ("t", "h", "error_old")
_FIXED = ("t",)
# Fields of a record that are zero if the next thing to do is a step.
_CALM = ("restart", "pending", "changing", "choose_step", "passing", "continues")


class StepsBetweenEvents(AdaptiveSteps):
    """The loop for the program of one configuration, on records and workspaces of the single run's loop.

    ``shape`` describes that loop.
    """

    features = ("BETWEEN_EVENTS",)

    def __init__(
        self,
        plan: Plan,
        lanes: int,
        shape: LoopShape,
        configuration: int,
        equations: DerivedEquations,
        rank: int | None = None,
    ) -> None:
        """``configuration`` is the number of the configuration with ``equations``, in which runs must be.

        ``rank`` is the number of the event function for the rank of constraints, if there is one.
        """
        self.offsets, self.room_length = shape.layout()
        self.n_events, self.rank, self.configuration = len(plan.program.events.results), rank, configuration
        self.equations = equations
        self.coordinates = shape.changes.coordinates if shape.changes else 0
        self.interpolates = plan.method.adaptive
        self.kept_reals: tuple[str, ...] = _REALS if plan.method.adaptive else _FIXED
        self.room_parts: tuple[str, ...] = _ROOM
        self.changed_parts: tuple[str, ...] = _CHANGED
        if plan.method.coefficients.multistep:
            self.kept_reals += ("h_before",)
            self.room_parts, self.changed_parts = (*_ROOM, "k_before"), (*_CHANGED, "k_before")
        rooms = rooms_of(plan) | dict.fromkeys(("g", "g_start", "sign"), self.n_events)
        rooms |= dict.fromkeys(("look", "index"), 1)
        rooms["per_size"] = rooms["state"]
        addresses = ("visited", *ADDRESSES, "run_controls", "run_rooms")
        super().__init__(plan, lanes, rooms, addresses)

    def events(self, t: Value, state: Span) -> None:
        self.call_program("events", t, state, "constants", "memory", "g")

    # ------------------------------------------------------------ the runs of the lanes

    def take(self, lane: Value) -> None:
        """Emit: take the next run that is ready, if there is one."""
        with self.repeat() as loop:
            with self.when(self.next.get() >= self.whole_argument("count")):
                loop.leave()
            run = self.outside("visited")[self.next.get()].to_whole()
            self.next.set(self.next.get() + 1)
            with self.when(self.is_ready(run)):
                self.take_run(lane, run)
                loop.leave()

    def is_ready(self, run: Value) -> Value:
        """Return whether a run is ready for a step of lanes.

        It must be in this configuration, with nothing else to do at its time, with no event function at zero,
        and at a grid point if steps are fixed.
        """
        ready = self.count(run, "phase").equals(int(Phase.READY))
        ready = ready & self.count(run, "configuration").equals(self.configuration)
        for name in (*_CALM, "met_singularity") if self.interpolates else _CALM:
            ready = ready & self.count(run, name).equals(0)
        t, look, across, short_end = (self.field(run, name) for name in ("t", "look", "across", "short_end"))
        h = self.field(run, "h" if self.interpolates else "step")
        ready = ready & (look.equals(-inf) | (look > t)) & (across <= 0.0) & (short_end <= t)
        ready = ready & (h <= self.field(run, "resolved"))
        if not self.interpolates:
            ready = ready & self.count(run, "at_grid").equals(1)
        signs = Local(self, self.real(1.0))
        with self.each(self.n_events) as k:
            sign = self.outside("run_rooms")[self._at(run, "sign") + k]
            signs.set(self.choose(sign.differs(0.0), signs.get(), 0.0))
        return ready & signs.get().differs(0.0)

    def take_run(self, lane: Value, run: Value) -> None:
        for name in ("parameters", "slots"):
            self.column(name, lane, run, back=False)
        for name in self.room_parts:
            with self.each(self.rooms[name]) as i:
                self.lanes_of(name)[i * self.lanes + lane] = self.outside("run_rooms")[
                    self._at(run, name) + i
                ]
        fresh: dict[str, Operand] = {name: self.field(run, name) for name in (*self.kept_reals, "look")}
        steps, rejected, filled = (self.count(run, name) for name in ("steps", "rejected", "filled"))
        fresh |= {"steps": steps.to_real(), "rejected": rejected.to_real(), "choose_step": 0.0}
        fresh |= {"filled": filled.to_real(), "after_rejection": self.count(run, "after_rejection").to_real()}
        fresh |= {"own": run.to_real(), "t_old": fresh["t"], "h_taken": 1.0}
        fresh["index"] = self.count(run, "index").to_real()
        for name, value in fresh.items():
            self.lanes_of(name)[lane] = value
        self.next_row(lane, filled)

    def give_back(self, lane: Value) -> None:
        run = self.lanes_of("own")[lane].to_whole()
        self.column("slots", lane, run, back=True)
        for name in self.changed_parts:
            with self.each(self.rooms[name]) as i:
                self.outside("run_rooms")[self._at(run, name) + i] = self.lanes_of(name)[
                    i * self.lanes + lane
                ]
        names = ("steps", "rejected", "filled", "after_rejection", "index")
        counts = {name: self.lanes_of(name)[lane].to_whole() for name in names}
        # The single run's loop repeats a failed step, and finds its status.
        finished = self.lanes_of("status")[lane].equals(float(Reason.FINISHED))
        counts["status"] = self.choose(finished, float(Reason.FINISHED), 0.0).to_whole()
        for name, value in counts.items():
            self.builder.store(value.raw, self._field(run, name))
        for name in self.kept_reals:
            self.builder.store(self.lanes_of(name)[lane].raw, self._field(run, name))

    def precompute(self, constants: str = "constants") -> None:
        """Emit: compute constants, and ``per_size``: 1 / size of each state that turns constraint rows."""
        super().precompute(constants)
        if self.rank is None:
            return
        usual = self.equations.reduction.state_sizes(self.equations.system)
        turns = self.equations.turns_rows
        for m in range(self.states):
            place = self.equations.size_constants.get(m)
            known = self.of_kind(self.kind, usual[m] if m < len(usual) else 1.0)
            size = known if place is None else self.vector("constants")[place]
            self.vector("per_size")[m] = (turns[m] if m < len(turns) else 0.0) / size

    def _at(self, run: Value, name: str) -> Value:
        """Return the index at which a vector in a run's workspace begins."""
        return run * self.room_length + self.offsets[name]

    def _field(self, run: Value, name: str) -> Raw:
        return self.builder.place(self.given["run_controls"], (run * len(FIELDS) + FIELDS[name]).raw, WHOLE)

    def field(self, run: Value, name: str) -> Value:
        return Value(self, self.builder.load(self._field(run, name), REAL))

    def count(self, run: Value, name: str) -> Value:
        return Value(self, self.builder.load(self._field(run, name), WHOLE))

    def begin(self) -> None:
        """Emit nothing: a run that a lane takes already has its derivative and its next step."""

    def leave_still_runs(self, active: Value) -> None:
        """Emit: leave to single runs those that have not advanced in their first steps under error control.

        The single run's loop makes the same check after the same number of steps, and ends such runs.
        """
        if self.interpolates:
            super().leave_still_runs(active)

    # ------------------------------------------------------------ rank of constraints

    def rank_may_fall(self, t_new: Value, h: Value) -> Value:
        """Return the lanes in which constraints may lose rank in a step, or are examined after it."""
        if self.rank is None:
            return super().rank_may_fall(t_new, h)
        ulp = EPSILON * self.most(self.magnitude(self["t"]), self.magnitude(t_new))
        weak = self.vector("g")[self.rank] <= 1e-6 * WEAK_RANK
        looks = weak & (t_new >= self["look"] - 16.0 * ulp)
        fast, quickens = self.rates_of_motion()
        long = ~((h * fast < BELIEVED) & (h * h * quickens < 2.0 * BELIEVED))  # see ``pace_of_looks``
        return looks | long | self.is_coarse(h * fast, self.rank)

    def is_coarse(self, motion: Value, rank: int) -> Value:
        """Return the lanes whose motion within the step is too large to resolve a turn of constraint rows.

        See ``resolve_weakness`` of solver/forecasts.py.
        """
        left = self.vector("g_start")[rank] + WEAK_RANK
        part = RESOLVED_ADAPTIVE if self.interpolates else RESOLVED_FIXED
        coarse = (left < WEAK_RANK) & (motion * motion > part * part * self.most(left, UNSOUND))
        return coarse & (left > UNSOUND_ADAPTIVE) if self.interpolates else coarse

    def rates_of_motion(self) -> tuple[Value, Value]:
        """Return the largest speed and acceleration of each lane's run, divided by the sizes of states."""
        fast, quickens = (Local(self, self.of_kind(self.kind, 0.0)) for _ in range(2))
        rates, per_size = self.vector("k0"), self.vector("per_size")
        for largest, first, count in (
            (fast, 0, self.coordinates),
            (quickens, self.coordinates, self.states - self.coordinates),
        ):
            with self.each(count) as m:
                rate = self.magnitude(rates[m + first]) * per_size[m + first]
                largest.set(self.most(rate, largest.get()))
        return fast.get(), quickens.get()
