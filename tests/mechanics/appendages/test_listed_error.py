"""The error of the report's listings, made on purpose: it gives the numbers that were printed as Fig. 9.

`IF(EPS(M,K).EQ.0)` stands for `IF(EPS(M,JQ).EQ.0)` in all three listings: the path to the label K of the
appendage in place of that of its body, JQ = F(K,1) + 1. Labels of bodies start at 1 with the reference body.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from armillary.program.formalisms import jpl_blocks
from armillary.program.formalisms.jpl_formulations import solve
from armillary.program.formalisms.jpl_vehicle import Vehicle
from armillary.verification.cases.spacecraft import STATES
from armillary.verification.rows import columns, example, largest
from tests.mechanics.appendages.comparison import differences
from tests.mechanics.appendages.vehicles import vehicle
from tests.verification.common import ACCELERATIONS, assert_near, reference

DATA = reference("jpl_spinning_rotor")


@pytest.fixture
def as_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    def carried(
        vehicle: Vehicle, ends: Sequence[int], appendages: Sequence[jpl_blocks.ModalColumns], number: int
    ) -> list[bool]:
        return [vehicle.beyond(a, number) for a in ends]  # label K: body K − 1, counted from 0

    monkeypatch.setattr(jpl_blocks, "connection_carries", carried)


@pytest.mark.usefixtures("as_listed")
def test_the_listed_statement_gives_the_accelerations_as_listed() -> None:
    found = []
    for state in DATA["random_states"]["cases"]:
        at = vehicle(DATA["inputs"], DATA["inputs"]["appendages"], state)
        found += differences(solve(at, "mbdyfr"), state["result"]["as_listed"])
    assert_near(largest(found), 0.0, ACCELERATIONS, "as listed")


@pytest.mark.usefixtures("as_listed")
def test_the_listed_statement_gives_the_run_as_listed() -> None:
    """To 1e-6 of each variable's size: the report's modes, in the stored run, have seven digits."""
    rotor = example("jpl_spinning_rotor")
    model = rotor.system().derive("mbdyfr").compile()
    run = model.simulate(9.5, sample=0.1, initial=rotor.START, rtol=1e-10, atol=1e-12)
    expected = columns(DATA["trajectory_as_listed"], "rows")
    for name in ("W1", "W2", "W3", "GM2D", "DT2A", "ET2B"):
        wanted = np.asarray(expected[name])[: len(run)]
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(run[STATES[name]], wanted, rtol=0, atol=1e-5 * scale, err_msg=name)
