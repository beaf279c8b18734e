"""Exported C on vectors: the numbers of the process for each width and cut; no vectors unless wanted."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.export.c import program_files
from armillary.export.c.arranged import name_of, vector_functions
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


_LOOPS = """
#define LOOP(name, n, call) \\
    void name##_##n(long count, const double *a, const double *b, double *out) \\
    {{ \\
        for (long i = 0; i < count; i += n) {{ \\
            lanes_##n x, y, found; \\
            __builtin_memcpy(&x, a + i, sizeof x); \\
            __builtin_memcpy(&y, b + i, sizeof y); \\
            (void)y; \\
            found = call; \\
            __builtin_memcpy(out + i, &found, sizeof found); \\
        }} \\
    }}
{loops}
"""


@pytest.mark.parametrize("lanes", [2, 4])
def test_functions_of_vectors_are_those_of_the_library(lanes: int, tmp_path: Path) -> None:
    """Arctangents and sines to 3 units of the last place; comparisons and choices treat NaN as C does."""
    calls = {name: f"{name_of(name, lanes)}(x)" for name in ("atan", "sine", "cosine", "size", "not")}
    calls |= {
        f: f"{name_of(f, lanes)}(x, y)"
        for f in ("greater", "lesser", "and", "or", "lt", "le", "gt", "ge", "eq", "ne")
    }
    calls["select"] = f"{name_of('select', lanes)}(x, y, x)"
    types = [
        f"typedef {kind} {name}_{lanes} __attribute__((vector_size({8 * lanes})));"
        for name, kind in (("lanes", "double"), ("bits", "long long"))
    ]
    small = "#define SMALL static inline __attribute__((always_inline))"
    loops = "\n".join(f"LOOP({name}, {lanes}, {call})" for name, call in calls.items())
    code = _LOOPS.format(loops=loops)
    (tmp_path / "f.c").write_text("\n".join([*types, small, vector_functions(code), code]))
    command = [str(CC), "-O1", "-ffp-contract=fast", "-shared", "-fPIC", "-o", "f.so", "f.c"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    library = ctypes.CDLL(str(tmp_path / "f.so"))

    def found(name: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        out = np.empty_like(a)
        getattr(library, f"{name}_{lanes}")(
            ctypes.c_long(len(a)), *(ctypes.c_void_p(x.ctypes.data) for x in (a, b, out))
        )
        return out

    special = [0.0, -0.0, 0.5, -0.5, 2.0, 1.0, np.inf, -np.inf, np.nan, 1e-300, -1e-300, 1e300]
    rng = np.random.default_rng(5)
    x = np.array([*special, *rng.uniform(-3, 3, 500), *np.exp(rng.uniform(-40, 40, 500))])
    np.testing.assert_array_max_ulp(found("atan", x, x), np.arctan(x), 3)
    assert np.signbit(found("atan", x, x))[1]
    angles = np.append(rng.uniform(-50, 50, 998), [0.0, 1e-9])
    for name, function in (("sine", np.sin), ("cosine", np.cos)):
        expected = function(angles)
        error = np.abs(found(name, angles, angles) - expected)
        assert np.max(error / np.spacing(np.abs(expected))) < 3.5
    a, b = (g.ravel() for g in np.meshgrid(special, special))
    with np.errstate(invalid="ignore"):
        expected_values = {
            "size": np.abs(a), "not": a == 0, "and": (a != 0) & (b != 0), "or": (a != 0) | (b != 0),
            "greater": np.maximum(a, b), "lesser": np.minimum(a, b), "select": np.where(a != 0, b, a),
            "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b, "eq": a == b, "ne": a != b,
        }  # fmt: skip
    for name, values in expected_values.items():
        np.testing.assert_array_equal(found(name, a, b), values, err_msg=name)


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
