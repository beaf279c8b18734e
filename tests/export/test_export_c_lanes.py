"""Exported C on vectors: the numbers of the process for each width and cut; no vectors unless wanted."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.export.c import program_files
from armillary.export.text.source import exported_equations, make_source
from armillary.runtime.models.compilation import compile_equations
from tests.export.c_programs import CC, Library
from tests.export.conformance import equations
from tests.systems.walker import derived

pytestmark = pytest.mark.skipif(CC is None, reason="no C compiler (cc)")


@pytest.mark.parametrize(("lanes", "piece"), [(2, 150), (4, 10**9)])
def test_vectors_change_nothing_but_rounding(
    lanes: int, piece: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Legs that are alike up to numbers and signs, with choices, roots and sines of sums on lanes."""
    monkeypatch.setattr("armillary.export.c.arranged.PIECE", piece)
    legs = exported_equations(core_of(derived(wheel=lanes == 2)))
    model = compile_equations(legs)
    for name, text in program_files(make_source(legs), lanes).items():
        (tmp_path / name).write_text(text)
    code = (tmp_path / "walker.c").read_text()
    assert f"are on vectors of {lanes} doubles, for GCC and Clang" in code
    assert f"const lanes_{lanes} z" in code
    assert ("walker_derivatives_2(" in code) == (piece == 150)
    library, parameters = Library(tmp_path), np.array([float(v) for v in model.parameters.values()])
    constants = library.constants(parameters, len(legs.program.constants))
    rng = np.random.default_rng(3)
    for _ in range(5):
        state = rng.uniform(-1, 1, len(legs.program.state))
        expected = model.derivatives(0.0, state)
        at = SimpleNamespace(t=0.0, state=state, memory=np.zeros(0))
        found = library.call("derivatives", at, constants, len(state))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.max(np.abs(expected)))


def test_vectors_are_written_where_they_are_wanted_and_pay() -> None:
    walker, tables = make_source(core_of(derived(wheel=False))), make_source(core_of(equations("tables")))
    assert "const lanes_2 z" in program_files(walker)["walker.c"]
    assert "are on vectors of" not in program_files(walker, 1)["walker.c"]
    assert "lanes" not in "".join(program_files(tables, 4).values())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lanes": 3}, "lanes=3: give 2 or 4, the doubles of a vector, or 1 for no vectors"),
        ({"lanes": True}, "lanes=True: give 2 or 4"),
        ({"lanes": 2, "profile": "embedded"}, "profile='embedded' have no vectors"),
    ],
)
def test_wrong_widths_are_refused(options: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(arm.ArmillaryError, match=message):
        derived(wheel=False).export("c", tmp_path / "walker", **options)


def test_the_command_line_takes_the_width(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from armillary.cli.app import app

    command = f"export c bouncing_ball -o {tmp_path / 'ball'} --lanes"
    done = CliRunner().invoke(app, [*command.split(), "4"])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, [*command.split(), "3"])
    assert done.exit_code == 2, done.output
    assert "lanes=3" in done.output
