"""Differences of two runs, against numbers worked out by hand."""

from __future__ import annotations

import json

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
    assert table["a"][:5] == ("a", "m", 2.0, 0.25, 1.0)
    assert table.only_there == ("c",) and table.only_here == ()
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


def test_instants_that_differ_by_more_than_rounding_are_not_the_same():
    here, there = run([0.0, 1.0, 2.0], a=[0.0, 1.0, 2.0]), run([0.0, 1.00001, 2.0], a=[0.0, 1.00001, 2.0])
    table = here.compare(there, interpolate=False)
    assert table.instants == 2 and table["a"].absolute == 0.0


def test_nan_and_infinity():
    here = run([0.0, 1.0], same=[np.nan, np.inf], nan=[np.nan, 1.0], inf=[np.inf, 1.0])
    there = run([0.0, 1.0], same=[np.nan, np.inf], nan=[2.0, 1.0], inf=[-np.inf, 1.0])
    table = here.compare(there)
    assert table["same"].absolute == 0.0
    assert np.isnan(table["nan"].absolute) and np.isnan(table["nan"].relative) and table["nan"].time == 0.0
    assert table["inf"].absolute == table["inf"].relative == np.inf


def test_the_table_is_printed_in_columns_with_a_verdict():
    here, there = (
        run([0.0, 1.0], same=[2.0, 2.0], height=[0.0, 1.0]),
        run([0.0, 1.0], same=[2.0, 2.0], height=[0.0, 1.25]),
    )
    assert str(here.compare(there)).split("\n") == [
        "largest differences at 2 instants",
        "output  units   absolute   relative  allowed  at time",
        "height  m      2.500e-01  2.000e-01  1.3e-09        1  differs",
        "same    m      0.000e+00  0.000e+00  2.0e-09        0",
        "the runs differ: 1 of 2 outputs exceed their tolerance, worst height",
    ]
    assert str(here.compare(here)).endswith("the runs are equal in all 2 common outputs")


def test_the_worst_comes_first_and_tolerances_decide():
    here = run([0.0, 1.0], a=[1.0, 1.0], b=[1.0, 1.0], c=[10.0, 10.0], d=[np.nan, 1.0])
    there = run([0.0, 1.0], a=[1.0, 1.01], b=[1.0, 1.1], c=[10.0, 10.5], d=[1.0, 1.0])
    table = here.compare(there)
    assert [d.name for d in table] == ["d", "b", "c", "a"] and not table.agree
    wide = here.compare(there, "a", "b", "c", rtol=0.1)
    assert wide.agree and wide.verdict == "the runs agree in all 3 common outputs"
    # c differs by 0.5 of 10.5: 1 % is not enough, nor 1 % and 0.39, but 1 % and 0.4 are.
    assert not here.compare(there, "c", rtol=0.01)["c"].agrees
    assert not here.compare(there, "c", tolerances={"[bc]": (0.01, 0.39)}).agree
    assert here.compare(there, "c", tolerances={"c": (0.01, 0.4)}).agree
    assert here.compare(there, "?", tolerances={"a": 0.01, "*": 0.1})["a"].allowed == pytest.approx(0.0101)


def test_units_of_one_dimension_are_converted():
    here, there = run([0.0, 1.0], units="m", a=[0.0, 3.048]), run([0.0, 1.0], units="ft", a=[0.0, 11.0])
    table = here.compare(there)
    assert table["a"].units == "m" and table["a"].absolute == pytest.approx(0.3048, rel=1e-12)
    assert table.notes == ("'a' is converted from ft to m",)
    assert run([0.0], units="-", a=[1.0]).compare(run([0.0], units="", a=[1.0])).notes == ()


def test_runs_sampled_at_other_times_are_interpolated_with_a_note():
    coarse, fine = np.linspace(0.0, 1.0, 11), np.linspace(-0.5, 0.95, 1451) + 2e-4
    table = run(coarse, a=coarse**2).compare(run(fine, a=fine**2))
    # h²|y″|/8 = 1e-6·2/8 between the samples of the finer run, which is the one interpolated
    assert table.instants == 10 and table["a"].absolute <= 2.5e-7 and table["a"].absolute > 1e-8
    assert table.notes[0] == "compared from 0 to 0.9502 s, which both runs cover"
    assert "the run there is interpolated, to about 3e-07" in table.notes[1]
    assert "the run here is interpolated" in run(fine, a=fine**2).compare(run(coarse, a=coarse**2)).notes[1]
    with pytest.raises(ArmillaryError, match="no instant in common"):
        run(coarse, a=coarse).compare(run(fine, a=fine), interpolate=False)


def test_runs_backward_in_time():
    time = np.linspace(0.0, -1.0, 5)
    assert (
        run(time, a=time**2)
        .compare(run(time[::-1], a=time[::-1] ** 2))
        .verdict.startswith("the runs are equal")
    )


def test_parameters_that_differ_are_told():
    here, there = (
        Run("x", [0.0], [[1.0]], ("a",), parameters={"k": 1.0, "m": value, own: 1.0})
        for value, own in ((2.0, "p"), (3.0, "q"))
    )
    table = here.compare(there)
    assert table.parameters == {"m": (2.0, 3.0), "p": (1.0, None), "q": (None, 1.0)}
    assert "parameter m: 2 here, 3 there\nparameter p: 1 here, none there" in str(table)


def test_a_comparison_is_plain_data_for_scripts():
    here, there = run([0.0, 1.0], a=[1.0, np.inf], b=[1.0, 1.0]), run([0.0, 1.0], a=[1.0, 1.0], b=[1.0, 1.0])
    data = json.loads(json.dumps(here.compare(there).as_dict(), allow_nan=False))
    assert data["agree"] is False and data["differences"][0]["absolute"] == "inf"
    assert [d["name"] for d in data["differences"]] == ["a", "b"] and data["instants"] == 2


def test_what_cannot_be_compared():
    base = run([0.0, 1.0], a=[0.0, 1.0])
    with pytest.raises(ArmillaryError, match="no output in common"):
        base.compare(run([0.0, 1.0], b=[0.0, 1.0]))
    with pytest.raises(ArmillaryError, match="no instant in common"):
        base.compare(run([2.25, 2.75], a=[0.0, 1.0]))
    with pytest.raises(ArmillaryError, match="no instant in common"):
        base.compare(Run("x", [], np.empty((0, 1)), ("a",), {"a": "m"}))
    with pytest.raises(UnitsError, match="'a' cannot be compared: it is in 'm' here and in 'kg' there"):
        base.compare(run([0.0, 1.0], units="kg", a=[0.0, 1.0]))
    with pytest.raises(UnitsError, match="'a' cannot be converted from 'blob' to 'm'"):
        base.compare(run([0.0, 1.0], units="blob", a=[0.0, 1.0]))
    with pytest.raises(ArmillaryError, match=r"has no output 'aa\*'"):
        base.compare(base, "aa*")
    with pytest.raises(ArmillaryError, match=r"the comparison has no output 'A'; did you mean 'a'\?"):
        base.compare(base)["A"]
