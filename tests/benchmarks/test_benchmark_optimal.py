"""The benchmark of optimal motions: its shares of time, CasADi's program, and what it says without CasADi."""

import pytest

from benchmarks.optimal import PROBLEMS, casadi_program, measure_casadi, measure_ours, problem_rows


def test_without_casadi_the_reason_stands_in_its_place(capsys):
    (record,) = problem_rows(None, "CasADi is not installed", ["brachistochrone"])
    ours = record["ours"]
    assert ours["solved"] and ours["evaluation"] + ours["linear algebra"] <= ours["seconds"]
    assert record["ours by IPOPT"] == record["CasADi"] == {"missing": "CasADi is not installed"}
    assert "CasADi is not installed" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["brachistochrone", "cart-pole, time", "walker"])
def test_casadis_program_is_ours(name):
    casadi = pytest.importorskip("casadi", reason="CasADi is not installed")
    nlp, start, bounds = casadi_program(casadi, PROBLEMS[name])
    assert nlp["x"].numel() == len(start) and nlp["g"].numel() == len(bounds["lbg"])
    theirs = measure_casadi(casadi, PROBLEMS[name], 1)
    assert theirs["solved"] and theirs["cost"] == pytest.approx(
        measure_ours(PROBLEMS[name], "embedded", rounds=1)["cost"], rel=1e-6
    )
