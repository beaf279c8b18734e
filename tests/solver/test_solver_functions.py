"""Single functions of the solver, written in a part of Python, and run as Python on small records."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.export.embedded.step_cost import (
    implicit_operations,
    look_ahead_operations,
    singular_value_operations,
)
from armillary.mechanics.constraints.dependent_speeds import partition
from armillary.program.passes.graph import Operations
from armillary.runtime.models.derivative_legs import DerivativeLegs
from armillary.solver import assembly, changes, choices, events, forecasts, passages, rows

Names = Callable[..., None]


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Names:
    """Gives values to the names that a module of the solver has from the language."""

    def give(module: ModuleType, **names: Any) -> None:
        for name, value in names.items():
            monkeypatch.setattr(module, name, value, raising=False)

    return give


@pytest.mark.parametrize(
    ("t0", "t_end", "sample", "rows_so_far", "due"),
    [
        (0.0, 0.3, 0.1, 0, 0.0),
        (0.0, 0.3, 0.1, 2, 0.2),
        (0.0, 0.3, 0.1, 3, 0.3),  # the end itself, not 3 · 0.1 = 0.30000000000000004
        (0.0, 0.3, 0.1, 4, math.inf),
        (0.0, 0.35, 0.1, 3, 3 * 0.1),  # the end is on no row
        (0.0, 0.35, 0.1, 4, math.inf),
        (5.0, 6.0, 0.25, 4, 6.0),
        (5.0, 6.0, 0.25, 1, 5.25),
    ],
)
def test_rows_are_due_at_multiples_and_at_the_end(
    t0: float, t_end: float, sample: float, rows_so_far: int, due: float, given: Names
) -> None:
    given(rows, floor=math.floor)
    run = SimpleNamespace(every_step=False, t0=t0, t_end=t_end, sample=sample, rows=rows_so_far)
    assert rows.next_due(run) == due
    run.every_step = True
    assert rows.next_due(run) == math.inf


@pytest.mark.parametrize(
    ("values", "holds"),
    [
        ((2.0, -1.0), True),
        ((2.0, 1.0), False),  # the second has changed its sign
        ((0.0, -1.0), False),  # on zero
        ((math.nan, -1.0), False),
        ((2.0, -1e-12), False),  # at its mean rate, zero a little after the step, where times count as one
    ],
)
def test_signs_hold_where_no_event_can_happen_in_a_step_or_right_after_it(
    values: tuple[float, float], holds: bool, given: Names
) -> None:
    given(events, N_EVENTS=2)
    run = SimpleNamespace(g=np.array(values), g_start=np.array([2.1, -1.1]), sign=np.array([1, -1]))
    assert events.signs_hold(run, 1e-3, 1e-12) == holds
    run.sign[1] = 0
    assert not events.signs_hold(run, 1e-3, 1e-12)  # an event that has just fired has no sign


@pytest.mark.parametrize(("speed", "rate", "far"), [(9.0, 0.0, False), (11.0, 0.0, True), (0.0, 201.0, True)])
def test_a_step_is_far_from_the_motion_that_forecasts_believe(
    speed: float, rate: float, far: bool, given: Names
) -> None:
    """The second coordinate, a wheel's, turns no constraint and never counts."""
    turns, sizes = np.array([1.0, 0.0, 1.0]), np.ones(3)
    given(forecasts, N_COORDINATES=2, N_STATES=3, TURNS_ROWS=turns, STATE_SIZE=sizes)
    assert forecasts.moves_far(SimpleNamespace(k0=np.array([speed, 1e6, rate])), 0.1) == far


def test_a_loss_of_rank_is_forecast_where_the_strength_is_zero(given: Names) -> None:
    """Strengths (t₀ − t)(1 + c t) are parabolas, which the forecast continues to t₀ however far it looks; the
    seven looks at most are those that the operations of embedded programs count, with their rates and one
    rate more.
    """
    looks: list[float] = []

    def events_of(strength_at: Callable[[float], float]) -> Callable[..., np.ndarray]:
        def events(t: float, state: np.ndarray) -> np.ndarray:
            looks.append(t)
            return np.array([strength_at(t) ** 2 - forecasts.WEAK_RANK])

        return events

    names = {"N_COORDINATES": 1, "N_STATES": 2, "TURNS_ROWS": np.ones(2), "STATE_SIZE": np.ones(2)}
    given(forecasts, sqrt=math.sqrt, below=lambda i, n: i < n, derivatives=lambda t, x: np.array([1.0, 0.0]))
    given(forecasts, **names, INFINITY=math.inf, PASSING=False, RANK_EVENT=[0])
    counts = []
    for ahead in (1e-6, 3e-5, 2e-4, 2e-3, 0.1, 0.9):
        for bend in (-0.4, 0.0, 0.8):
            given(forecasts, events=events_of(lambda t, t0=ahead, c=bend: (t0 - t) * (1 + c * t)))
            run = SimpleNamespace(t=0.0, state=np.zeros(2), k0=np.array([1.0, 0.0]), configuration=0)
            looks.clear()
            found = forecasts.rank_lost_after(run)
            assert found == pytest.approx(ahead, rel=1e-3), (ahead, bend)
            counts.append(len(looks))
    distances = math.ceil(math.log10(forecasts.LOOK_FAR / forecasts.LOOK_NEAR))  # each a tenth of the last
    assert 3 < max(counts) <= 1 + 2 * distances == 7
    given(forecasts, events=events_of(lambda t: 0.1 + t))  # that rises
    assert forecasts.rank_lost_after(run) == math.inf
    given(forecasts, events=events_of(lambda t: 1.5 - t))  # farther than is believed
    assert forecasts.rank_lost_after(run) == math.inf
    s = arm.System("ball")
    ball = s.body("ball", joint=arm.Prismatic("z"), mass=1, inertia=0)
    s.event("mark", ball.q1 * ball.u1 - 1)
    program = s.derive().program
    rates, marks = program.derivatives.operations, program.events.operations
    stated = look_ahead_operations(program)
    assert (
        marks.multiplications
        and stated.multiplications == 8 * rates.multiplications + 7 * marks.multiplications
    )
    assert stated.additions == 8 * rates.additions + 7 * marks.additions


_COUNTED_KINDS = {"add": "additions", "sub": "additions", "mul": "multiplications", "truediv": "divisions"}


class Counted(float):
    """A number that counts the operations with it."""

    counts: ClassVar[Counter[str]] = Counter()

    @classmethod
    def counting(cls, kind: str, operation: Callable[..., float]) -> Callable[..., float]:
        def counted(*given: float) -> float:
            cls.counts[kind] += 1
            return cls(operation(*map(float, given)))

        return counted

    def __neg__(self) -> Counted:
        return Counted(-float(self))


for name, kind in _COUNTED_KINDS.items():
    setattr(Counted, f"__{name}__", Counted.counting(kind, getattr(float, f"__{name}__")))
    setattr(Counted, f"__r{name}__", Counted.counting(kind, getattr(float, f"__r{name}__")))


@pytest.mark.parametrize(("count", "speeds"), [(1, 4), (3, 5), (4, 4)])
def test_the_operations_of_a_singular_value_are_those_that_are_counted(
    count: int, speeds: int, given: Names
) -> None:
    """With turns of every pair of rows in two sweeps; with enough sweeps, the value is that of NumPy."""
    J = np.random.default_rng(3).normal(size=(count, speeds))
    names = {"N_ROWS": count, "N_SPEEDS": speeds, "FIRST": 0, "NONE": -1, "INFINITY": math.inf}
    names |= {"SPEED_OF_ROW": range(count), "SPEED_KIND": [0] * speeds, "NOISE": 1e-9}
    names |= {"at": lambda i, size, j: i * size + j, "sqrt": Counted.counting("functions", math.sqrt)}
    for module in (choices, passages):
        given(module, **names)
    run = SimpleNamespace(jacobian=list(map(Counted, J.ravel())), left=[Counted()] * J.size)
    run.size, run.right, run.length = [0.0] * speeds, [Counted()] * count, [1.0] * count
    for angle, sweeps in ((-1.0, 2), (choices.RIGHT_ANGLE, 30)):
        given(choices, RIGHT_ANGLE=angle, MOST_SWEEPS=sweeps)
        Counted.counts.clear()
        passages.measure_lengths(run)
        found = passages.least_singular_value(run)
        if angle < 0.0:
            assert Operations(**Counted.counts) == singular_value_operations(count, speeds, sweeps)
    unit = J / np.linalg.norm(J, axis=1, keepdims=True)
    assert found == pytest.approx(np.linalg.svd(unit, compute_uv=False)[-1], rel=1e-9)


@pytest.mark.parametrize("power", [15, 25, 1 / 15])
def test_events_are_located_in_few_evaluations_from_either_side(power: float, given: Names) -> None:
    """Crossings of xᵖ − 0.4ᵖ and of its negative, to the last digits: 28 evaluations at most. Bisection alone
    takes 52, and the secant keeps one end on such functions; without halving its value 35 are needed.
    """
    looks: list[float] = []

    def events_inside(run: Any, x: float) -> None:
        looks.append(x)
        run.g = [run.side * (x**power - 0.4**power)]

    given(
        events, events_inside=events_inside, differs=lambda a, b: a != b, sign_of=lambda g: (g > 0) - (g < 0)
    )
    for side in (1.0, -1.0):
        looks.clear()
        run = SimpleNamespace(t_old=0.0, h_taken=1.0, sign=[-side], side=side)
        assert events.locate(run, 0, 0.0, 1.0) == pytest.approx(0.4, abs=1e-14)
        assert len(looks) <= 30


def test_only_crossings_in_the_direction_of_an_event_are_looked_for_beyond_a_step(given: Names) -> None:
    """All functions are about to change their sign: those count whose sign is not zero and whose direction,
    if they have one, is the one in which they go.
    """
    cases = list(product((-1, 0, 1), (-1, 0, 1)))  # directions, signs

    def events_inside(run: Any, x: float) -> None:
        assert x == 0.5 + 1e-9
        run.g = [-1e-12 * (sign or 1) for _, sign in cases]

    given(
        events,
        N_EVENTS=len(cases),
        DIRECTION=[direction for direction, _ in cases],
        closeness=lambda run: 1e-9,
        events_inside=events_inside,
        sign_of=lambda g: (g > 0) - (g < 0),
        isnan=math.isnan,
        events=lambda t, state: [1e-12 * sign for _, sign in cases],
    )
    run = SimpleNamespace(
        g=[1e-12 * sign for _, sign in cases],
        g_start=[float(sign) for _, sign in cases],
        sign=[sign for _, sign in cases],
        crossed=[0] * len(cases),
        h_taken=0.5,
        t=1.0,
        finish=[],
    )
    assert events.look_beyond(run)
    found = [case for case, crossed in zip(cases, run.crossed, strict=True) if crossed == 2]
    assert found == [(-1, 1), (0, -1), (0, 1), (1, -1)]


@pytest.mark.parametrize(
    ("locks", "unlocks", "possible", "after"),
    [
        ([True, False], [False, True], True, [True, False]),
        ([True, True], [False, False], True, [True, True]),
        ([False, False], [False, False], True, [False, True]),
        ([False, True], [False, True], False, None),  # one event locks what another releases
        ([True, True], [True, False], False, None),
    ],
)
def test_events_of_one_instant_that_contradict_each_other_are_not_met(
    locks: list[bool], unlocks: list[bool], possible: bool, after: list[bool] | None, given: Names
) -> None:
    """Two joints, of which the second is locked: one event locks, another releases."""
    given(
        changes,
        LOCKING_EVENTS=True, N_LOCKABLE=2, N_EVENTS=2, N_OWN_EVENTS=0, LOCKED=[False, True],
        ELSEWHERE=0, LOCKING=1, ROLE=[1, 1], LOCKS=[*locks, False, False], UNLOCKS=[False, False, *unlocks],
        at=lambda k, width, j: k * width + j,
    )  # fmt: skip
    names = ("after", "closing", "opening", "setting", "held")
    run = SimpleNamespace(crossed=[1, 1], **{name: [False, False] for name in names})
    assert changes.read_requests(run) == possible
    assert after is None or run.after == after


@pytest.mark.parametrize(
    ("t", "grid_point"),
    [(1.0, 1.0), (1.0 + 3 * 0.1, 1.3), (1.3 + 1e-15, 1.3), (1.3 + 1e-6, 1.4), (1.301, 1.4), (1.399999, 1.4)],
)
def test_legs_of_fixed_steps_return_to_the_grid(t: float, grid_point: float) -> None:
    """The grid is that of the run's start; a time as close to one of its points as rounding is there."""
    runner = SimpleNamespace(grid=0.1, t0=1.0)
    assert DerivativeLegs._on_grid(runner, t) == pytest.approx(grid_point, abs=1e-12)
    assert DerivativeLegs._on_grid(SimpleNamespace(grid=0.0, t0=1.0), t) == t


@dataclass
class Settings:
    t0: float
    t_end: float
    sample: np.ndarray
    max_steps: int


def test_the_steps_of_all_legs_are_counted_together() -> None:
    """Rejected ones as well; rows that are due at the place where a leg begins are its first ones."""
    parts = [SimpleNamespace(steps=5, rejected=2), SimpleNamespace(steps=11, rejected=1)]
    runner = SimpleNamespace(
        settings=Settings(0.0, 9.0, np.array([]), 100),
        legs=SimpleNamespace(parts=parts),
        place=SimpleNamespace(t=2.0),
        near=1e-9,
    )
    part = DerivativeLegs._part(runner, 4.0, np.array([2.0 + 1e-10, 3.0]))
    assert (part.t0, part.t_end, part.max_steps) == (2.0, 4.0, 100 - 19)
    assert part.sample.tolist() == [2.0, 3.0]


@pytest.mark.parametrize(("small", "all_kept"), [(1.0, True), (0.01, False)])
def test_speeds_are_chosen_as_in_derivations_modes_last(small: float, all_kept: bool, given: Names) -> None:
    """Random rows of length one, in which joints have factors as large as modes or small ones: the choice is
    that of `partition`, which gives up a mode only where joints alone are far worse.
    """
    rng = np.random.default_rng(5)
    count, speeds, modal, kept = 2, 6, {3, 4, 5}, []

    class Copies(SimpleNamespace):
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value.copy() if isinstance(value, np.ndarray) else value)

    for module in (choices,):
        given(
            module, N_ROWS=count, N_SPEEDS=speeds, at=lambda i, n, j: i * n + j, below=lambda i, n: i < n,
            sqrt=math.sqrt, measure_rows=lambda run, state: None, SPEED_OF_ROW=[-1] * count,
            IS_MODAL=[j in modal for j in range(speeds)],
        )  # fmt: skip
    for _ in range(20):
        J = rng.normal(size=(count, speeds)) * np.where([j in modal for j in range(speeds)], 1.0, small)
        J /= np.linalg.norm(J, axis=1, keepdims=True)
        numbers = {
            name: np.zeros(speeds, dtype=int)
            for name in ("row_taken", "speed_taken", "pair_row", "pair_speed", "preferred", "allowed")
        }
        run = Copies(jacobian=J.ravel(), left=J.ravel(), right=np.zeros(count), pairs=0, **numbers)
        assert choices.choose_speeds(run, None)
        found = list(zip(run.pair_row[: run.pairs].tolist(), run.pair_speed.tolist(), strict=False))
        assert found == partition(J, np.ones(speeds), (), (), modal)
        kept.append(modal.isdisjoint(speed for _, speed in found))
    assert all(kept) is all_kept


def test_a_configuration_has_a_choice_if_it_has_the_same_pairs_in_the_same_order(given: Names) -> None:
    """Rows 1 and 0 with speeds 4 and 2; the place after the last pair is empty in both."""
    given(choices, N_ROWS=3, NONE=-1, at=lambda c, n, s: c * n + s, below=lambda i, n: i < n)
    pairs = [(1, 4), (0, 2), (-1, -1)]
    others = [pairs, [(1, 4), (0, 3), (-1, -1)], [(1, 4), (2, 2), (-1, -1)], [(0, 2), (1, 4), (-1, -1)],
              [(1, 4), (0, 2), (2, 5)]]  # fmt: skip
    steps = [pair for configuration in others for pair in configuration]
    given(choices, ROW_OF_STEP=[row for row, _ in steps], SPEED_OF_STEP=[speed for _, speed in steps])
    run = SimpleNamespace(pairs=2, pair_row=[1, 0, 7], pair_speed=[4, 2, 7])
    found = [choices.has_choice(run, c) for c in range(len(others))]
    assert found == [True, False, False, False, False]


@pytest.mark.parametrize(("gap", "residual", "hold"), [
    (0.9, 0.9, True), (-0.9, 0.0, True), (1.1, 0.0, False), (-1.1, 0.0, False), (math.nan, 0.0, False),
    (0.0, 1.1, True), (0.0, 11.1, False), (0.0, -11.1, False), (0.0, math.nan, False),
])  # fmt: skip
def test_constraints_hold_where_gaps_and_residuals_are_small(
    gap: float, residual: float, hold: bool, given: Names
) -> None:
    """In bounds: residuals of speeds are measured in the largest speed and one, 1 + 9."""
    given(assembly, look=lambda run: None, at=lambda i, n, j: i * n + j, isnan=math.isnan)
    given(assembly, N_SPEEDS=2, N_ROWS=2, N_GAPS=2, KNOWN_OF=[2, 3])
    bound = assembly.BROKEN
    numbers = [0.0, gap * bound, 0.0, -5.0 + residual * bound]
    run = SimpleNamespace(numbers=numbers, speed=[-9.0, 5.0], change=[3.0, 3.0], broken=[0.0, 0.0])
    run.jacobian = [0.0, 0.0, 0.0, 1.0]
    assert assembly.constraints_hold(run) is hold


@pytest.mark.parametrize("enters", [True, False])
def test_a_shorter_step_ends_with_the_rates_at_its_own_end(enters: bool, given: Names) -> None:
    """From the state before; rates that enter the error are those before coordinates are normalised."""
    asked: list[tuple[float, str]] = []

    def derivatives(t: float, state: str) -> float:
        asked.append((t, state))
        return t

    def stages(run: Any, t: float, h: float) -> None:
        assert (run.state, t, h) == ("base", 2.0, 0.25)
        run.trial = "reached"

    def normalise(t: float, state: str) -> str:
        assert t == 2.25
        return f"normalised {state}"

    given(events, stages=stages, derivatives=derivatives, normalise=normalise)
    given(events, end_enters_error=lambda run: enters)
    run = SimpleNamespace(state="end", base="base", t_old=2.0, h_taken=1.0, prepared=True)
    events.land(run, 0.25)
    assert asked == [(2.25, "reached" if enters else "normalised reached")]
    assert (run.k_end, run.h_taken, run.prepared) == (2.25, 0.25, False)
    assert run.state == run.finish == "normalised reached"


def test_an_implicit_step_counts_differences_factors_and_solutions() -> None:
    """With n = 2: three evaluations and four quotients; factors and, for each of eight stages, a solution."""
    s = arm.System("s")
    body = s.body("b", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.moment("drag", "-0.1*b.u1", s.ground.z, on=body)
    program = core_of(s.derive()).program
    once = program.derivatives.operations
    found = implicit_operations(program, 8)
    assert found.functions - 3 * once.functions == 2
    assert found.additions - 3 * once.additions == 4 + (2 + 4) + 8 * 4
    assert found.divisions - 3 * once.divisions == 4 + 4 + 8 * 2
