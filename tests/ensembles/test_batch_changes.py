"""Batches of runs that change their configuration: by compiled code, equal to single runs."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from armillary.algebra.arguments import core_of
from armillary.ensembles.engines.table import PythonEngine
from armillary.stages.model import Model
from tests.ensembles.batch_systems import worst_difference
from tests.systems.changing_configurations import I1, I2, clutch
from tests.systems.changing_links import changing

RUNS = 40


@pytest.fixture
def singly(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the runs that are made in Python."""
    made: list[int] = []
    make_run = PythonEngine.make_run

    def counted(engine: PythonEngine, starts: Any, i: int, column: int, outcome: Any) -> None:
        made.append(i)
        make_run(engine, starts, i, column, outcome)

    monkeypatch.setattr(PythonEngine, "make_run", counted)
    return made


@cache
def clutches(formalism: str) -> Model:
    """Two discs that grip at t = 1 and let go at t = 2; a run ends where the first has turned by 15 rad."""
    s = clutch()
    s.event("enough", "A.q1 - 15", stop=True)
    return s.derive(formalism).compile()


@pytest.mark.parametrize("formalism", ["kane", "momentum"])
@pytest.mark.parametrize("how", [{"sample": 0.5}, {"step": 0.01}], ids=["adaptive", "rk4"])
def test_clutches_share_their_angular_momentum(
    formalism: str, how: dict[str, Any], singly: list[int]
) -> None:
    """ω = (I₁ω₁ + I₂ω₂)/(I₁ + I₂) while they grip, whatever the motor did before; then it works again."""
    chance = np.random.default_rng(3)
    w1, w2 = chance.uniform(1.0, 4.0, RUNS), chance.uniform(-4.0, 0.0, RUNS)
    torque = chance.uniform(-0.5, 0.5, RUNS)
    w1[-1], w2[-1], torque[-1] = 9.0, 1.0, 0.0
    batch = clutches(formalism).simulate_batch(
        3.0, parameters={"torque": torque}, initial={"A.u1": w1, "B.u1": w2 - w1}, progress=False,
        outputs=["A.u1", "L"], **how,
    )  # fmt: skip
    assert batch.info["engine"] == "scalar" and len(singly) <= 1
    together = (I1 * w1 + I2 * w2) / (I1 + I2)
    held = (batch.time > 1.0 + 1e-9) & (batch.time < 2.0 - 1e-9)
    shown = batch["A.u1"][:, held]
    np.testing.assert_allclose(shown[:-1], np.tile(together[:-1, None], (1, held.sum())), rtol=1e-9)
    last = together - torque / I1
    np.testing.assert_allclose(batch["A.u1"][:-1, -1], last[:-1], rtol=1e-9)
    np.testing.assert_allclose(batch["L"][:-1, -1], (I1 * w1 + I2 * w2)[:-1], rtol=1e-9)
    assert list(batch.status[:-1]) == ["finished"] * (RUNS - 1)
    # 9 rad in the first second, 6 more at ω together while they grip.
    assert batch.status[-1] == "event" and batch.t_stop[-1] == pytest.approx(1.0 + 6.0 / together[-1])
    number = 0 if formalism == "momentum" else 2  # of A.u1 in the state, where it is one
    if number:
        np.testing.assert_allclose(batch.final_state[:-1, number], last[:-1], rtol=1e-9)


def test_exchanges_of_dependent_speeds_are_those_of_single_runs(singly: list[int]) -> None:
    """Configurations that the first runs have not met are learnt on the way; results are equal to the last
    bit, in any order of runs.
    """
    model = changing()
    model = model.equations.compile()  # no run has met anything yet
    given = {"initial": {"A.u1": np.linspace(5.5, 6.5, RUNS)}}
    assert worst_difference(model, 1.2, given, [0, 20, 39], sample=0.1) == 0.0
    assert len(core_of(model).configuration_models) > 2
    assert len(singly) < RUNS / 2
    singly.clear()
    assert worst_difference(model, 1.2, given, [10, 39], sample=0.1) == 0.0
    assert not singly  # after 1.2 s some come near a place where constraints lose rank


def test_a_start_with_a_poor_choice_of_dependent_speeds_is_that_of_a_single_run(singly: list[int]) -> None:
    """Some runs start where others than the described choice are good, and exchange them at once, as single
    runs do: the error of fixed steps depends on the choice. The first run meets none of this.
    """
    model = changing()
    model = model.equations.compile()
    given = {"initial": {"A.q1": np.array([1.0, -2.5, 3.0, -3.0, 2.9, 1.5]), "B.u1": np.full(6, 3.0)}}
    for t_end, how in ((0.08, {"step": 0.02}), (0.08, {"step": 0.02}), (0.3, {"step": 0.02}), (0.3, {})):
        assert worst_difference(model, t_end, given, [*range(6)], sample=0.02, **how) < 1e-14
    assert len(core_of(model).configuration_models) > 2
    runs = [
        model.simulate(0.02, initial={"A.q1": q, "B.u1": 3.0}, step=0.02) for q in given["initial"]["A.q1"]
    ]
    at_once = [run.info.get("configurations", "").startswith("t = 0 s") for run in runs]
    assert not at_once[0] and sum(at_once) >= 2  # else this tested nothing
