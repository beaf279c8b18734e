"""Steps of many runs at once, up to the step with an event.

Each run has the record and the workspace of the compiled loop for single runs (solver/llvm/layout.py). A
lane takes a run that is ready for a step, and gives it back, ready again, before a step that fails or in
which an event function changes its sign or comes close to zero. The single run's loop then makes that step
and decides. All event functions have signs when a lane takes a run.

If loops are closed, each lane corrects its coordinates as often as its run needs. The single run's loop
then also makes the steps after which weakening constraints are examined, and steps so large that they may
jump over a place of lost rank.

Fixed steps lead from grid point to grid point, at which all rows are due; each lane has its own grid point.
"""

from __future__ import annotations

from math import inf

from armillary.ensembles.engines.lane_control import ADDRESSES, AdaptiveSteps, rooms_of
from armillary.ensembles.plan import Plan
from armillary.llvm.building.builder import Local, Operand, Span, Value
from armillary.llvm.building.emitter import REAL, WHOLE, Raw
from armillary.program.equations import DerivedEquations
from armillary.solver.llvm.layout import FIELDS, LoopShape, Phase, Reason
from armillary.solver.thresholds import (
    BELIEVED,
    EPSILON,
    RESOLVED_ADAPTIVE,
    RESOLVED_FIXED,
    UNSOUND,
    UNSOUND_ADAPTIVE,
    WEAK_RANK,
)

# The parts of a run's workspace that a lane has, too, and those of them that a lane changes.
_ROOM = ("state", "memory", "k0", "sign", "g_start")
_CHANGED = ("state", "k0", "g_start")
_REALS = ("t", "h", "error_old")
_FIXED = ("t",)  # with fixed steps
# Fields of a record that are zero if the next thing to do is a step.
_CALM = ("restart", "pending", "changing", "choose_step", "passing", "continues")


class StepsBetweenEvents(AdaptiveSteps):
    """The loop for the program of one configuration, with the records and workspaces of a loop's shape."""

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
        self.generated("events", t, state, "constants", "memory", "g")

    # ------------------------------------------------------------ which run is where

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

        It must be in this configuration, with nothing else to do at its time, with signs of all event
        functions, and at a grid point if steps are fixed.
        """
        ready = self.count(run, "phase").equals(int(Phase.READY))
        ready = ready & self.count(run, "configuration").equals(self.configuration)
        for name in (*_CALM, "wary") if self.interpolates else _CALM:
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
        # The single run's loop repeats a failed step, and decides.
        finished = self.lanes_of("status")[lane].equals(float(Reason.FINISHED))
        counts["status"] = self.choose(finished, float(Reason.FINISHED), 0.0).to_whole()
        for name, value in counts.items():
            self.builder.store(value.raw, self._field(run, name))
        for name in self.kept_reals:
            self.builder.store(self.lanes_of(name)[lane].raw, self._field(run, name))

    def precompute(self, constants: str = "constants") -> None:
        """Emit: compute constants, and reciprocals of the sizes of states that turn constraints, by lanes."""
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
        """Emit nothing: a run that is taken has its derivative and its next step."""

    def leave_still_runs(self, active: Value) -> None:
        """Emit: leave over runs that have not advanced in their first steps under error control.

        The single run's loop asks the same after as many steps, and ends them.
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
        """Return the lanes whose motion within the step is too large to resolve a turn.

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
