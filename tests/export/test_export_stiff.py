"""Linearly implicit methods of exported programs: the rows of the process."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import armillary as arm
from armillary.errors import ArmillaryError
from armillary.program import rate_columns as partial_rates
from armillary.program.equations import derived_equations
from tests.export import adaptive_programs as adaptive
from tests.export.fmi.fmu_models import need_compiler
from tests.export.fmi.host import simulate_fmu
from tests.export.fortran_programs import make
from tests.export.matlab_programs import OCTAVE, octave
from tests.export.rust_programs import cargo, needs_cargo
from tests.export.wasm_modules import NODE, run_node
from tests.systems.cable import cable

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not installed")
FLAGS = ["-std=c99", "-O0", "-Wall", "-Wextra", "-Werror"]


def _rows(folder: Path, settings: str) -> np.ndarray:
    """Rows of a program in C, built from all its files but that of tests."""
    if not (folder / "program").exists():
        files = sorted(f.name for f in folder.glob("*.c") if f.name != "test.c")
        adaptive.ran(["cc", *FLAGS, *files, "-o", "program", "-lm"], folder)
    (folder / "now.toml").write_text(settings)
    return adaptive.table(adaptive.ran(["./program", "now.toml"], folder))


@needs_cc
def test_rows_in_c_are_those_of_the_process(tmp_path: Path) -> None:
    """With Euler parameters, a memory and an event that sets it; with exact partial derivatives."""
    folder = adaptive.equations().export("c", tmp_path / "toy", stiff=True)
    assert "toy_partial_rates" in (folder / "toy.h").read_text()
    found, run = _rows(folder, adaptive.run_file("rodas5p")), adaptive.process("rodas5p")
    np.testing.assert_allclose(found[:, 1:], run.values, rtol=0, atol=adaptive.ROOM)
    assert len(run.events) > 2
    fixed = '[run]\nmethod = "rodas3"\nduration = 1.0\nstep = 0.01\n'
    wanted = adaptive.model().simulate(1.0, method="rodas3", step=0.01)
    np.testing.assert_allclose(_rows(folder, fixed)[:, 1:], wanted.values, rtol=0, atol=1e-10)


@cache
def clutch() -> arm.Equations:
    """A clutch that grips at 0.3 s and lets go at 0.6 s, and a decay of 1 ms beside it."""
    s = arm.System("toy")
    A = s.body("A", joint=arm.Revolute("z"), mass=1, inertia=(1, 1, 0.5))
    B = s.body("B", A, arm.Revolute("z"), mass=1, inertia=(1, 1, 0.3))
    s.state("heat", "1000*(A.u1*A.u1 - heat)")
    s.moment("motor", "2 - 0.1*B.u1 + 0.01*heat", s.ground.z, on=B, reaction=A)
    s.event("grip", "t - 0.3", lock=B.q1)
    s.event("release", "t - 0.6", unlock=B.q1)
    s.start({"A.u1": 3.0, "B.u1": -1.0})
    return s.derive()


@cache
def run_of_clutch(method: str) -> arm.Run:
    """The run of the process, by rodas5p or by rodas3 in steps of 10 ms."""
    chosen = {"step": 0.01} if method == "rodas3" else {"rtol": 1e-7, "atol": 1e-9}
    return clutch().compile().simulate(1.0, method=method, sample=0.05, **chosen)


_CLUTCH = '[run]\nmethod = "rodas5p"\nduration = 1.0\nsample = 0.05\nrtol = 1e-7\natol = 1e-9\n'


@needs_cc
def test_locks_and_stiff_reactions_in_c_and_python_are_those_of_the_process(tmp_path: Path) -> None:
    run = run_of_clutch("rodas5p")
    found = _rows(clutch().export("c", tmp_path / "toy", stiff=True), _CLUTCH)
    np.testing.assert_allclose(found[:, 1:], run.values, rtol=0, atol=1e-9)
    module = clutch().export("python", tmp_path / "module", stiff=True)
    np.testing.assert_allclose(_in_python(module, _CLUTCH)[:, 1:], run.values, rtol=0, atol=1e-9)
    assert run.info["steps"] < 400 and [e.name for e in run.events] == ["grip", "release"]


def _in_python(folder: Path, settings: str, *options: str) -> np.ndarray:
    """Rows of a module, in whatever dialect."""
    (folder / "now.toml").write_text(settings)
    [module] = [f for f in folder.glob("*.py") if not f.name.startswith("test_")]
    adaptive.ran([sys.executable, *options, module.name, "now.toml"], folder)
    return adaptive.table((folder / "now.csv").read_text())


def _in_fortran(folder: Path, stem: str, settings: str) -> np.ndarray:
    if not (folder / stem).exists():
        done = make(folder, stem)
        assert done.returncode == 0, done.stderr
    (folder / "now.nml").write_text(f"&run {settings} /\n")
    adaptive.ran([f"./{stem}", "now.nml", "now.csv"], folder)
    return adaptive.table((folder / "now.csv").read_text())


@pytest.mark.skipif(shutil.which("gfortran") is None, reason="gfortran is not installed")
def test_rows_in_fortran_are_those_of_the_process(tmp_path: Path, sparse: None) -> None:
    """Locks with dense equations, and sparse ones."""
    folder = clutch().export("fortran", tmp_path / "toy", stiff=True)
    adaptive_run = "duration = 1.0, sample = 0.05, rtol = 1e-7, atol = 1e-9, method = 'rodas5p'"
    found = _in_fortran(folder, "toy", adaptive_run)
    np.testing.assert_allclose(found[:, 1:], run_of_clutch("rodas5p").values, rtol=0, atol=1e-9)
    found = _in_fortran(folder, "toy", "duration = 1.0, sample = 0.05, step = 0.01, method = 'rodas3'")
    np.testing.assert_allclose(found[:, 1:], run_of_clutch("rodas3").values, rtol=0, atol=1e-10)
    folder = cable(3).derive().export("fortran", tmp_path / "cable", stiff=True)
    found = _in_fortran(folder, "cable", adaptive_run.replace("1.0", "0.2", 1))
    np.testing.assert_allclose(found[:, 1:], run_of_cable("rodas5p").values, rtol=0, atol=1e-9)


def _in_matlab(folder: Path, stem: str, settings: str) -> np.ndarray:
    rows = "for i = 1:numel(r.time), printf('%.17g', r.time(i)); printf(',%.17g', r.values(i, :)); "
    told = octave(folder, f"r = {stem}.simulate({settings}); {rows} printf('\\n'); end").stdout
    return adaptive.table("names\n" + told)


@pytest.mark.skipif(OCTAVE is None, reason="Octave is not installed")
def test_rows_in_matlab_are_those_of_the_process(tmp_path: Path, sparse: None) -> None:
    """Locks with dense equations, and sparse ones."""
    folder = clutch().export("matlab", tmp_path / "toy", stiff=True)
    found = _in_matlab(
        folder, "toy", "1.0, [], 'sample', 0.05, 'rtol', 1e-7, 'atol', 1e-9, 'method', 'rodas5p'"
    )
    np.testing.assert_allclose(found[:, 1:], run_of_clutch("rodas5p").values, rtol=0, atol=1e-9)
    folder = cable(3).derive().export("matlab", tmp_path / "cable", stiff=True)
    found = _in_matlab(folder, "cable", "0.2, 0.01, 'sample', 0.05, 'method', 'rodas3'")
    np.testing.assert_allclose(found[:, 1:], run_of_cable("rodas3").values, rtol=0, atol=1e-10)


_ROWS_IN_RUST = """\
use {stem}::*;
fn main() {{
    let mut run = Run::new(&PARAMETER_VALUES, 0.0, {duration}, 0.01);
    run.begin();
    let mut count = 0;
    loop {{
        if run.at_grid && count % 5 == 0 {{
            let mut out: [Real; OUTPUTS] = [0.0; OUTPUTS];
            {outputs}(run.t, &run.state, &run.constants, &run.memory, &mut out);
            println!("{{:?}}", out);
        }}
        count += run.at_grid as i32;
        if run.status != RUNNING {{ break }}
        run.step();
    }}
}}
"""


@needs_cargo
@pytest.mark.parametrize("name", ["toy", "cable"])
def test_rows_in_rust_are_those_of_the_process(name: str, tmp_path: Path, sparse: None) -> None:
    """Locks with dense equations, and sparse ones, in equal steps by rodas3."""
    run = run_of_clutch("rodas3") if name == "toy" else run_of_cable("rodas3")
    equations = clutch() if name == "toy" else cable(3).derive()
    folder = equations.export("rust", tmp_path / name, precision="double", method="rodas3")
    (folder / "examples").mkdir()
    outputs = "outputs" if name == "cable" else "outputs_of"
    text = _ROWS_IN_RUST.format(stem=name, duration=run.time[-1], outputs=outputs)
    if name == "toy":
        text = text.replace("outputs_of(", "outputs_of(run.configuration, ")
    (folder / "examples" / "rows.rs").write_text(text)
    told = cargo(folder, "run", "--example", "rows").splitlines()
    found = np.array([json.loads(line) for line in told])
    np.testing.assert_allclose(found[: len(run.values)], run.values, rtol=0, atol=1e-10)


@needs_cc
def test_programs_for_microcontrollers_step_by_rodas3(tmp_path: Path) -> None:
    """In single precision: the cable, whose fastest motion takes 0.4 ms, in steps of 10 ms."""
    folder = cable(3).derive().export("c", tmp_path / "small", profile="embedded", method="rodas3")
    assert "rodas3" in (folder / "README.md").read_text()
    (folder / "rows.c").write_text(
        '#include "cable_solver.h"\n#include <stdio.h>\nstatic cable_run run;\nint main(void)\n{\n'
        "    cable_setup(&run, cable_parameter_values, 0.0f, 0.2f, 0.01f);\n    cable_begin(&run);\n"
        "    while (run.status == CABLE_RUNNING)\n        cable_step(&run);\n"
        '    for (int i = 0; i < CABLE_STATES; i++)\n        printf("%.9g\\n", (double)run.state[i]);\n'
        "    return 0;\n}\n"
    )
    files = [str(f.relative_to(folder)) for f in sorted(folder.glob("src/*.c"))]
    adaptive.ran(["cc", *FLAGS, "-Isrc", "rows.c", *files, "-o", "rows", "-lm"], folder)
    found = [float(x) for x in adaptive.ran(["./rows"], folder).split()]
    final = run_of_cable("rodas3").final
    wanted = [final[s.data.name] for s in derived_equations(cable(3).derive()).program.state]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-4)


@pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
def test_rows_of_modules_for_browsers_are_those_of_the_process(tmp_path: Path, sparse: None) -> None:
    """Locks with dense equations, and sparse ones."""
    for name, equations, run in (
        ("toy", clutch(), run_of_clutch("rodas5p")),
        ("cable", cable(3).derive(), run_of_cable("rodas5p")),
    ):
        folder = equations.export("wasm", tmp_path / name, methods=["rodas5p"])
        settings = "{ sample: 0.05, rtol: 1e-7, atol: 1e-9 }"
        values = "Object.values(run.values).map((column) => Array.from(column))"
        program = f'import {{ load }} from "./{name}.js";\nconst model = await load();\n'
        program += (
            f"const run = model.simulate({run.time[-1]}, {settings});\nconsole.log(JSON.stringify({values}));"
        )
        found = np.array(run_node(folder, program)).T
        np.testing.assert_allclose(found, run.values, rtol=0, atol=1e-9)


def test_steps_in_jax_are_those_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of 1 ms by rodas5p; without events, one of 10 ms by rodas3."""
    jax = pytest.importorskip("jax")
    start = dict(zip(("A.q1", "B.q1", "A.u1", "B.u1", "heat"), (0.3, -0.1, 2.5, 0.1, 6.0), strict=True))
    step = {"step": 1e-3, "rtol": 1e6, "atol": 1e6}  # any error is tolerated, so that there is only one
    wanted = clutch().compile().simulate(1e-3, method="rodas5p", initial=start, sample=1e-3, **step)
    assert wanted.info["steps"] == 1
    folder = clutch().export("jax", tmp_path / "toy", stiff=True)
    monkeypatch.syspath_prepend(str(folder))
    module = importlib.import_module("toy")
    constants = module.precompute(module.Parameters())
    given = {"method": module.RODAS5P, "state": jax.numpy.array([*start.values()])}
    given["all_constants"] = module.empty_run()["all_constants"].at[0, : len(constants)].set(constants)
    found = module.stages(module.empty_run() | given, 0.0, 1e-3)
    np.testing.assert_allclose(found["trial"], [wanted.final[name] for name in start], rtol=0, atol=1e-12)
    folder = cable(3).derive().export("jax", tmp_path / "cable", stiff=True)
    monkeypatch.syspath_prepend(str(folder))
    module = importlib.import_module("cable")
    wanted = cable(3).derive().compile().simulate(0.01, method="rodas3", step=0.01)
    states = [s.data.name for s in derived_equations(cable(3).derive()).program.state]
    given = jax.numpy.array([wanted[name][0] for name in states])
    found = module.rodas3(0.0, given, 0.01, module.precompute(module.Parameters()), jax.numpy.zeros(0))
    np.testing.assert_allclose(found, [wanted.final[name] for name in states], rtol=0, atol=1e-12)


def test_programs_have_stiff_methods_where_they_are_wanted(tmp_path: Path) -> None:
    folder = adaptive.equations().export("c", tmp_path / "plain")
    assert "rodas" not in "".join(f.read_text() for f in folder.iterdir() if f.is_file())
    with pytest.raises(ArmillaryError, match="embedded"):
        adaptive.equations().export("c", tmp_path / "small", profile="embedded", stiff=True)


def test_rows_in_python_are_those_of_the_process(tmp_path: Path) -> None:
    folder = adaptive.equations().export("python", tmp_path / "toy", stiff=True)
    found, run = adaptive.in_python(folder, "rodas5p"), adaptive.process("rodas5p")
    np.testing.assert_allclose(found[:, 1:], run.values, rtol=0, atol=adaptive.ROOM)


def test_methods_that_change_over_are_not_exported(tmp_path: Path) -> None:
    """The watch of stiffness is part of the process alone: "auto" would be rodas5p by another name."""
    folder = adaptive.equations().export("python", tmp_path / "toy", stiff=True)
    assert '"auto"' not in (folder / "toy.py").read_text()


@cache
def run_of_cable(method: str) -> arm.Run:
    """The run of the process, whose equations are dense here."""
    chosen = {"step": 0.01} if method == "rodas3" else {"rtol": 1e-7, "atol": 1e-9}
    return cable(3).derive().compile().simulate(0.2, method=method, sample=0.05, **chosen)


@pytest.fixture
def sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equations of steps are sparse in small systems too; runs of the process before that are dense."""
    run_of_cable("rodas5p"), run_of_cable("rodas3")
    monkeypatch.setattr(partial_rates, "_SMALL", 0)
    monkeypatch.setattr(partial_rates, "_is_quicker", lambda *_: True)


@pytest.mark.parametrize("language", ["python", pytest.param("c", marks=needs_cc)])
def test_rows_with_sparse_equations_are_those_of_the_process(
    language: str, tmp_path: Path, sparse: None
) -> None:
    folder = cable(3).derive().export(language, tmp_path / "toy", stiff=True)
    settings = _CLUTCH.replace("1.0", "0.2")
    found = _rows(folder, settings) if language == "c" else _in_python(folder, settings, "-I", "-S")
    np.testing.assert_allclose(found[:, 1:], run_of_cable("rodas5p").values, rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", ["rodas5p", "rodas3"])
def test_fmus_step_by_stiff_methods(method: str, tmp_path: Path) -> None:
    """A decay of 10 µs to cos t, in communication steps of 0.1 s: y = cos t but for a part of 1e-5."""
    need_compiler()
    s = arm.System("decay")
    s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.state("y", "1e5*(cos(t) - y)", initial=1.0)
    s.output("found", "y")
    path = s.derive().export("fmu", tmp_path / "decay.fmu", method=method, step=0.01, rtol=1e-6, atol=1e-8)
    found = simulate_fmu(path, stop_time=1.0, output_interval=0.1, output=["found"])
    np.testing.assert_allclose(found["found"], np.cos(found["time"]), rtol=0, atol=2e-5)


def test_methods_are_fields_in_matlab(tmp_path: Path) -> None:
    folder = clutch().export("matlab", tmp_path / "toy", stiff=True)
    text = "\n".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.m"))
    assert "METHOD_" not in text and {"r.is.rodas5p", "r.is.rodas3"} <= set(re.findall(r"r\.is\.\w+", text))
