"""Differences of two runs, against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from armillary.errors import ArmillaryError, UnitsError
from armillary.results import Run


def run(time, units="m", **outputs):
    values = np.column_stack(list(outputs.values()))
    return Run("x", time, values, tuple(outputs), dict.fromkeys(outputs, units))


def test_the_largest_difference_and_where_it_is():
    here = run([0.0, 1.0, 2.0], a=[0.0, 4.0, -8.0], b=[1.0, 1.0, 1.0])
    there = run([0.0, 1.0, 2.0], b=[1.0, 1.0, 1.0], a=[0.5, 2.0, -7.0], c=[0.0, 0.0, 0.0])
    table = here.compare(there)
    assert [difference.name for difference in table] == ["a", "b"] and len(table) == 2
    # |0 - 0.5|, |4 - 2|, |-8 + 7|: the largest is 2 at t = 1; the largest magnitude of either signal is 8.
    assert table["a"] == ("a", "m", 2.0, 0.25, 1.0)
    assert table["b"].absolute == table["b"].relative == 0.0


def test_runs_of_different_steps_meet_at_common_instants_only():
    fine = np.cumsum(np.full(10_001, 1e-4)) - 1e-4  # summed, so that rounding moves the instants
    coarse = np.linspace(0.0, 1.0, 11)
    table = run(fine, a=fine**2).compare(run(coarse, a=coarse**2))
    assert table.instants == 11
    # The rounding of the sum moves an instant by less than 1e-12, and t² there by twice that at most;
    # straight lines between the coarse samples would have been off by 0.1²/4 = 2.5e-3.
    assert table["a"].absolute < 2e-12
    assert run(coarse, a=coarse**2).compare(run(fine, a=fine**2)).instants == 11


def test_nan_and_infinity():
    here = run([0.0, 1.0], same=[np.nan, np.inf], nan=[np.nan, 1.0], inf=[np.inf, 1.0])
    there = run([0.0, 1.0], same=[np.nan, np.inf], nan=[2.0, 1.0], inf=[-np.inf, 1.0])
    table = here.compare(there)
    assert table["same"].absolute == 0.0
    assert np.isnan(table["nan"].absolute) and np.isnan(table["nan"].relative) and table["nan"].time == 0.0
    assert table["inf"].absolute == table["inf"].relative == np.inf


def test_the_table_is_printed_in_columns():
    here, there = run([0.0, 1.0], height=[0.0, 1.0]), run([0.0, 1.0], height=[0.0, 1.25])
    assert str(here.compare(there)).split("\n") == [
        "largest differences at 2 common instants",
        "output  units   absolute   relative  at time",
        "height  m      2.500e-01  2.000e-01        1",
    ]


def test_what_cannot_be_compared():
    base = run([0.0, 1.0], a=[0.0, 1.0])
    with pytest.raises(ArmillaryError, match="no output in common"):
        base.compare(run([0.0, 1.0], b=[0.0, 1.0]))
    with pytest.raises(ArmillaryError, match="no instant in common"):
        base.compare(run([0.25, 0.75], a=[0.0, 1.0]))
    with pytest.raises(ArmillaryError, match="no instant in common"):
        base.compare(Run("x", [], np.empty((0, 1)), ("a",), {"a": "m"}))
    with pytest.raises(UnitsError, match="'a' cannot be compared: it is in 'm' here and in 'ft' there"):
        base.compare(run([0.0, 1.0], units="ft", a=[0.0, 1.0]))
    with pytest.raises(ArmillaryError, match=r"no output 'A' was compared; did you mean 'a'\?"):
        base.compare(base)["A"]
