"""The configurations of a system, found from its events and loops, and the sections of their changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.errors import ModelError
from armillary.mechanics.constraints import loop_motion
from armillary.program.configurations import RATINGS, ConfigurationTable, lock_sets, with_changes
from armillary.program.targets.targets import DEPENDENT_SPEEDS, POOR_PIVOT
from armillary.runtime.models.compilation import compile_equations
from armillary.runtime.models.instance import ChangeCode, Changes, Instance, rated_choices
from armillary.runtime.models.parameters import parameter_table
from armillary.runtime.start.initial import Place
from armillary.stages.model import Model
from examples import array_deployment, bowling_ball, five_bar, four_bar, rolling_disc, slider_crank

# ---------------------------------------------------------------- sets of locked speeds


def discs(count: int = 3) -> arm.System:
    """Discs on one axis, each turning on the one before."""
    s = arm.System("discs")
    parent: Any = None
    for k in range(count):
        parent = s.body(f"D{k}", parent, arm.Revolute("z"), mass=1, inertia=(1, 1, 0.1 * (k + 1)))
    return s


def clutch() -> arm.System:
    s = discs(2)
    s.event("grip", "t - 1", lock="D1.q1")
    s.event("release", "t - 2", unlock="D1.q1")
    return s


def apart() -> arm.System:
    """Three brakes that close by themselves: any of them may be first."""
    s = discs()
    for k in range(3):
        s.event(f"brake {k}", f"D{k}.q1 - {k + 1}", lock=f"D{k}.q1")
    return s


def exchanged() -> arm.System:
    """One event locks what another releases at the same instant; both are held through the impulse."""
    s = discs()
    s.lock("D1.q1")
    s.event("caught", "D2.q1 - 1", direction=1, lock="D2.q1")
    s.event("let go", "D2.q1 - 1", direction=1, unlock="D1.q1")
    return s


def latched() -> arm.System:
    """What watches a locked joint alone cannot happen; a stop ends the run, so nothing follows it."""
    s = discs()
    s.lock("D0.q1")
    s.event("beyond", "D0.q1 - 1", unlock="D1.q1", lock="D2.q1")
    s.event("later", "D1.q1 - 1", lock="D1.q1")
    s.event("end", "D2.q1 - 1", lock="D2.q1", stop=True)
    return s


def kicked() -> arm.System:
    """An event that sets the coordinate of a locked joint may lead another expression past zero."""
    s = latched()
    s.event("moved", "D1.q1 - 0.5", set={"D0.q1": 2.0})
    return s


def either_way() -> arm.System:
    """Downwards both events happen at once, upwards one: the other never happens alone."""
    s = discs()
    s.event("passed", "D0.q1 - 1", lock="D1.q1")
    s.event("back", "D0.q1 - 1", direction=-1, lock="D2.q1")
    return s


SETS: dict[Callable[[], arm.System], list[str]] = {
    discs: [""],
    clutch: ["", "D1"],
    apart: ["", "D0", "D1", "D2", "D0 D1", "D0 D2", "D1 D2", "D0 D1 D2"],
    exchanged: ["D1", "D2", "D1 D2"],
    latched: ["D0", "D0 D1"],
    either_way: ["", "D1", "D1 D2"],
    kicked: ["D0", "D0 D1", "D0 D2", "D0 D1 D2"],
    array_deployment.system: ["panel1 panel2 panel3", "panel2 panel3", "panel1 panel3", "panel1 panel2"],
}


@pytest.mark.parametrize("system", SETS, ids=lambda f: f"{f.__module__.rpartition('.')[2]}.{f.__name__}")
def test_lock_sets_are_those_that_events_can_reach(system: Callable[[], arm.System]) -> None:
    found = [
        " ".join(sorted(u.removesuffix(".u1") for u in locked)) for locked in lock_sets(system()).reasons
    ]
    assert sorted(found) == sorted(SETS[system])
    assert found[0] == SETS[system][0]  # where runs start


def test_an_impulse_holds_what_is_released_at_the_same_instant() -> None:
    found = lock_sets(exchanged())
    assert found.of_impulses == {frozenset({"D1.u1", "D2.u1"})}
    table = exchanged().derive().configurations
    assert [set(locked) for locked in table.groups] == [{"D1.u1"}, {"D2.u1"}, {"D1.u1", "D2.u1"}]


# ---------------------------------------------------------------- the table


def test_the_table_lists_reasons_operations_and_what_follows() -> None:
    table = array_deployment.system().derive("kane").configurations
    assert len(table) == 4
    assert [entry.impulse for entry in table] == [True, False, False, False]
    assert table.following(1) == {"'panel1 latches' and 'panel2 is released'": 2}
    assert table.following(3) == {"'panel3 latches'": 0}
    text = str(table)
    assert "as derived" in text and "event 'launch locks open' unlocks panel1.u1" in text
    for entry in table:
        operations = table.equations(entry.number).operations
        assert f"{operations.additions}  {operations.multiplications}" in text
    assert table._repr_html_().count("<tr>") == 5
    assert repr(table) == "ConfigurationTable('array deployment': 4 in 4 lock sets)"


def test_beyond_the_limit_the_first_are_kept_and_the_rest_is_named() -> None:
    equations = apart().derive()
    assert len(equations.configurations) == 8
    table = equations.find_configurations(limit=3)
    assert equations.configurations is table
    assert [" ".join(entry.locked) for entry in table] == ["", "D0.u1", "D1.u1"]
    assert len(table.left_out) == 5
    with pytest.raises(ModelError, match=r"export needs all configurations of 'discs', and 8 .* 'brake 2'"):
        table.require_all("export")


@pytest.mark.parametrize(
    ("system", "count"),
    [(rolling_disc.system, 1), (slider_crank.system, 1), (four_bar.system, 2), (bowling_ball.system, 3)],
    ids=["constant pivots", "slider-crank", "four-bar", "ball in a slot"],
)
def test_loops_have_as_many_choices_as_their_positions_need(
    system: Callable[[], arm.System], count: int
) -> None:
    """A slider-crank's crank always determines the rest; a four-bar's coupler and follower have dead centres.
    The spin of a ball in a slot may be about any axis.
    """
    table = system().derive().configurations
    assert len(table) == count
    assert len({frozenset(entry.dependents) for entry in table}) == count


@pytest.mark.parametrize(("refused", "least"), [(1, 3), (2, 2)])
def test_a_choice_that_cannot_be_eliminated_does_not_hide_others(
    refused: int, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other places, tried in the same round, propose other choices. LAPACK's rounding decides whether a third
    choice is found after the third one was refused.
    """
    tried: list[Any] = []
    choose = loop_motion.choose_elimination

    def refuse(system: Any, sampled: Any, configuration: Any) -> Any:
        if configuration not in tried:
            tried.append(configuration)
        if tried.index(configuration) == refused:
            raise ModelError("no elimination")
        return choose(system, sampled, configuration)

    monkeypatch.setattr(loop_motion, "choose_elimination", refuse)
    assert len(bowling_ball.system().derive().configurations) >= least


# ---------------------------------------------------------------- sections


@cache
def linkage() -> tuple[ConfigurationTable, arm.System]:
    """A five-bar linkage: any two of its four angles can be independent somewhere."""
    s = five_bar.system()
    return s.derive().configurations, s


def changes(table: ConfigurationTable, number: int) -> Changes:
    equations = table.equations(number)
    values = parameter_table(core_of(equations))
    return Changes(ChangeCode(equations.program), lambda: values.inside(values.values(None)))


@cache
def compiled(number: int) -> Model:
    return compile_equations(linkage()[0].equations(number))


@cache
def place() -> tuple[float, np.ndarray, np.ndarray]:
    """Time, motion and memory somewhere on the way of the five-bar."""
    table, s = linkage()
    model = s.derive().compile()
    run = model.simulate(0.3, sample=0.1)
    state = np.array([run[name][-1] for name in (*model.coordinate_names, *model.speed_names)])
    memory = np.empty(0)
    return 0.3, changes(table, 0).leave(0.3, model.state(state.tolist()), memory), memory


def test_entering_a_configuration_takes_the_speeds_as_they_are() -> None:
    table, _ = linkage()
    t, motion, memory = place()
    for entry in table:
        there = changes(table, entry.number)
        state = there.enter(t, motion, memory)
        names = [
            *(q.data.name for q in table.system.coordinates),
            *(u.data.name for u in table.system.speeds),
        ]
        own = table.equations(entry.number)
        assert state.tolist() == [motion[names.index(x)] for x in (*own.coordinates, *own.speeds)]
        assert there.leave(t, state, memory) == pytest.approx(motion, abs=1e-11)


def test_all_choices_have_the_accelerations_of_redundant_coordinates() -> None:
    table, s = linkage()
    t, motion, memory = place()
    n, names = len(s.coordinates), [u.data.name for u in s.speeds]
    redundant = s.derive("redundant").compile()
    given = dict(zip([q.data.name for q in s.coordinates], motion[:n], strict=True))
    given |= dict(zip(names, motion[n:], strict=True))
    expected = redundant.joint_accelerations(t, redundant.state(given))
    for entry in table:
        equations = table.equations(entry.number)
        state = changes(table, entry.number).enter(t, motion, memory)
        rates = compiled(entry.number).derivatives(t, state)[n:]
        assert rates == pytest.approx([expected[name] for name in equations.speeds], rel=1e-8, abs=1e-8)


def test_ratings_tell_how_fast_dependent_speeds_are() -> None:
    """It is at most 1/max(1, |A|²), where A by NumPy follows from the speeds that single freedoms give; and
    at most the quality that runs watch, so that a choice is good where its rating is.
    """
    table, _ = linkage()
    t, motion, memory = place()
    n = len(table.system.coordinates)
    rated = rated_choices(core_of(table.derived), frozenset())
    assert rated is not None and rated.configurations == tuple(entry.configuration for entry in table)
    here = Place(t, motion[:n], motion[n:], memory, np.empty(0))
    constants = rated.code.constants(changes(table, 0).inside())
    ratings = rated.code.call(RATINGS, t, motion, constants, memory)
    for entry in table:
        there, own = changes(table, entry.number), table.equations(entry.number)
        names = [u.data.name for u in table.system.speeds]
        columns = []
        for k in range(len(own.speeds)):
            state = np.concatenate([motion[:n], np.eye(len(own.speeds))[k]])
            columns.append(there.leave(t, state, memory)[n:])
        A = np.array(columns).T[[names.index(d) for d in entry.dependents]]
        found = ratings[entry.number]
        assert 0.0 < found <= 1.0 / max(1.0, float(np.max(A**2))) * (1 + 1e-9)
        watching = Instance(core_of(compiled(entry.number)), None)
        event = watching.model.watched_index[DEPENDENT_SPEEDS]
        quality = watching.events(t, watching.pack_state(here), memory)[event] + POOR_PIVOT
        assert found <= quality * (1 + 1e-9)


def test_all_configurations_are_compiled_at_once() -> None:
    model = clutch().derive().compile()
    assert model.compile_configurations() == 2
    kept = dict(core_of(model).configuration_models)
    run = model.simulate(3.0, sample=0.5, initial={"D0.u1": 1.0})
    assert len(run.events) == 2
    assert core_of(model).configuration_models == kept


def test_sections_of_changes_are_made_once_and_only_where_joints_move_bodies() -> None:
    s = arm.System("two links")
    first = s.body("first", joint=arm.Revolute("z"), com=(1, 0, 0), mass=1, inertia=0)
    s.body("second", first, arm.Revolute("z"), at=(1, 0, 0), com=(1, 0, 0), mass=1, inertia=0)
    plain = s.derive("kane")
    changed = with_changes(core_of(plain))
    assert changed.program.changes and not plain.program.changes
    assert with_changes(changed) is changed
    absolute = core_of(s.derive("redundant"))
    assert not absolute.joints_move_bodies and with_changes(absolute) is absolute
