"""What outputs are measured in, and what errors and pictures of results name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.analysis.fitting.outcome import rounded_to_error
from armillary.cli.app import app
from armillary.export.fmi.c_sources import _table_lines
from armillary.viewer.appearance import Appearance


def pendulum(name: str = "pendulum") -> arm.System:
    s = arm.System(name)
    bob = s.body("bob", joint=arm.Revolute("y"), mass=1.0, inertia=(0.1,) * 3, com=(0, 0, -1))
    s.gravity(9.81, -s.ground.z)
    s.force("push", 2.0, bob.x, at=bob)
    s.moment("twist", 0.5, bob.y, on=bob)
    return s


def test_loads_are_shown_in_units_of_force_and_of_moment() -> None:
    run = pendulum().derive().compile().simulate(0.1, sample=0.1)
    assert (run.units["push"], run.units["twist"]) == ("N", "N*m")


def test_runs_without_a_common_output_name_the_outputs_asked_for() -> None:
    one = pendulum().derive().compile().simulate(0.1, sample=0.1)
    with pytest.raises(arm.ArmillaryError, match=r"have no output of bob\.q1 in common"):
        one.compare(_single_slide(), "bob.q1")
    with pytest.raises(arm.ArmillaryError, match="have no output in common"):
        one.compare(_single_slide())


def _single_slide() -> arm.Run:
    s = arm.System("slide")
    s.body("block", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    return s.derive().compile().simulate(0.1, sample=0.1)


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (1.23456, 0.012, "1.235"),
        (1e-8 / 3, 1.2e-8, "0.000000003"),
        (1e-9 / 3, 1.2e-9, "3.3e-10"),
        (123456.7, 230.0, "123460"),
    ],
)
def test_values_end_at_the_second_digit_of_their_errors(value: float, error: float, shown: str) -> None:
    assert rounded_to_error(value, error) == shown


def test_held_signals_are_drawn_as_steps() -> None:
    for how, style in (("hold", "steps-post"), ("linear", "default")):
        figure = arm.Signal([0.0, 1.0, 2.0], [1.0, 3.0, 2.0], interpolation=how).plot()
        assert figure.axes[0].lines[0].get_drawstyle() == style


def test_tables_with_one_text_have_a_line_per_entry() -> None:
    assert _table_lines("Row", "rows", ['{"a", 1}', "{0, 2}"]) == [
        "const Row rows[] = {", '    {"a", 1},', "    {0, 2},", "};",
    ]  # fmt: skip
    assert _table_lines("int", "counts", ["1", "2"]) == ["const int counts[] = {1, 2};"]


def test_a_saved_run_takes_no_duration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    system = pendulum()
    system.save("swing.toml")
    system.derive().compile().simulate(0.1, sample=0.05).save("swing.csv")
    done = CliRunner().invoke(app, ["view", "swing.toml", "swing.csv", "--duration", "2"])
    assert done.exit_code != 0
    assert "--duration is for a new run" in done.output


def test_solids_of_two_equal_moments_are_cylinders_of_that_length() -> None:
    """A long rod and a flat disc: radius and length from mass and moments."""
    for radius, length in ((0.05, 1.0), (0.5, 0.04)):
        s = arm.System("solid")
        around, across = 3.0 * radius**2 / 2, 3.0 * (3 * radius**2 + length**2) / 12
        body = s.body("b", joint=arm.Free(), mass=3.0, inertia=(across, across, around))
        (part,) = [p for p in Appearance(core_of(s.derive()), {}).parts(body) if p["kind"] == "cylinder"]
        assert np.isclose(part["radius"], radius, rtol=1e-9) and np.isclose(part["length"], length, rtol=1e-9)
        assert np.allclose(np.abs(part["axis"]), (0, 0, 1), atol=1e-9)
