"""Runs that several threads of a card make together, without a card: the kernel's source compiled as C++,
with lanes that take turns where they pass values to each other.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.export.cuda import teams
from armillary.export.cuda.device_functions import SectionWriter
from armillary.export.cuda.kernels import kernel
from armillary.export.cuda.teams import Team, best_team
from armillary.stages.model import Model
from armillary.verification.rows import largest
from benchmarks.branches import hexapod, quadruped
from tests.ensembles.batch_systems import example
from tests.ensembles.fake_cupy import CXX, Module
from tests.systems.changing_configurations import five_bar
from tests.systems.closing_five_bar import closing_five_bar

NVCC = shutil.which("nvcc")
needs_compiler = pytest.mark.skipif(CXX is None, reason="no C++ compiler (c++)")
RANDOM = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def numbers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same random numbers for a test whatever ran before it."""
    monkeypatch.setitem(globals(), "RANDOM", np.random.default_rng(7))


@pytest.fixture
def teams_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Module]:
    """CuPy's stand-in, with runs of so many threads each."""

    def of(threads: int) -> Module:
        chosen = "armillary.export.cuda.kernels.best_team"
        monkeypatch.setattr(chosen, lambda writer, real, resident: Team.of(writer, threads))
        module = Module(tmp_path / str(threads))
        monkeypatch.setitem(sys.modules, "cupy", module)
        return module

    return of


@cache
def starfish() -> Model:
    """A trunk with four arms that are alike and two fins, all with springs; steps are counted, and one arm
    has a parameter of its own.
    """
    s = arm.System("starfish")
    s.gravity(9.81, -s.ground.z)
    s.parameter("k", 30.0, units="N m/rad")
    s.parameter("far", 0.4, units="m")
    trunk = s.body("trunk", joint=arm.Free(velocity="body"), mass=4.0, inertia=(0.3, 0.2, 0.4))
    for i, (x, y) in enumerate(((0.3, 0.2), (0.3, -0.2), (-0.3, 0.2), (-0.3, -0.2))):
        reach = "far" if i == 1 else 0.4
        leg = s.body(
            f"arm{i}",
            trunk,
            arm.Revolute("x"),
            at=(x, y, 0),
            mass=1.0 + 0.1 * i,
            com=(0, y, reach),
            inertia=0,
        )
        s.moment(f"spring{i}", f"-k*arm{i}.q1 - 0.1*arm{i}.u1", leg.x, on=leg, reaction=trunk)
    for i, x in enumerate((0.5, -0.5)):
        fin = s.body(f"fin{i}", trunk, arm.Revolute("z"), at=(x, 0, 0), mass=0.5, com=(x, 0.1, 0), inertia=0)
        s.moment(f"wave{i}", f"-5*fin{i}.q1 + sin(3*t)", fin.z, on=fin, reaction=trunk)
    s.memory("steps", 0.0, update="steps + 1")
    s.output("seen", "steps + arm2.q1")
    return s.derive("recursive").compile()


def both(model: Model, t_end: float, **given: Any) -> tuple[Any, Any]:
    """A batch by the process and on the card."""
    cpu, gpu = (model.simulate_batch(t_end, progress=False, device=d, **given) for d in ("cpu", "gpu"))
    return cpu, gpu


def worst(cpu: Any, gpu: Any, names: Any) -> float:
    """The largest difference, relative to a column's largest value or 0.01."""
    for name in names:
        np.testing.assert_array_equal(np.isnan(gpu[name]), np.isnan(cpu[name]))
    sizes = [max(float(np.nanmax(np.abs(cpu[n]))), 0.01) for n in names]
    return largest(
        [float(np.nanmax(np.abs(gpu[n] - cpu[n]))) / size for n, size in zip(names, sizes, strict=True)]
    )


@needs_compiler
@pytest.mark.parametrize("threads", [2, 4])
def test_runs_of_teams_are_those_of_the_process(threads: int, teams_of: Callable[[int], Module]) -> None:
    """To rounding, with parameters of their own, memory that is renewed, metrics, and a third run that
    diverges while those beside it in its warp go on.
    """
    model, card = starfish(), teams_of(threads)
    initial = {name: RANDOM.uniform(-1, 1, 5) for name in model.speed_names}
    initial["trunk.u4"][2] = 1e200
    given: dict[str, Any] = {
        "initial": initial,
        "parameters": {"far": np.linspace(0.3, 0.5, 5), "k": np.linspace(20, 40, 5)},
        "outputs": [*model.output_names],
        "metrics": {"high": "maximum(arm1.q1)", "bins": "histogram(arm3.u1, -3, 3, 5)"},
    }
    cpu, gpu = both(model, 0.2, step=2e-3, sample=0.02, **given)
    assert gpu.info["threads_per_run"] == threads and card.launches == 1
    finished = ["finished", "finished", "diverged", "finished", "finished"]
    assert list(gpu.status) == list(cpu.status) == finished
    assert gpu.t_stop == pytest.approx(cpu.t_stop)
    assert worst(cpu, gpu, model.output_names) < 4 * 2.0**-52 * 100
    np.testing.assert_allclose(gpu["high"], cpu["high"], rtol=1e-12)
    np.testing.assert_array_equal(gpu["bins"], cpu["bins"])


def test_shared_memory_of_a_smaller_card() -> None:
    """A hexapod's thread holds 31 numbers: 2 · 31 · 128 · 8 bytes, which a card with 48 KiB has not."""
    program = hexapod().derive("recursive").program
    large, small = (kernel(program, (), 4, most_room=most) for most in (64 << 10, 48 << 10))
    assert (large.threads, large.room, small.threads, small.room) == (2, 63488, 2, 0)
    assert "__shared__" in large.text and "__shared__" not in small.text


@needs_compiler
def test_a_run_ends_where_the_branch_of_one_thread_diverges(teams_of: Callable[[int], Module]) -> None:
    """Two bodies with ẍ = x³ from rest; the second one's x → ∞ at t = 1.854/x₀ = 0.927 in the first run."""
    s = arm.System("runaways")
    for i in range(2):
        body = s.body(f"b{i}", joint=arm.Prismatic("x"), mass=1.0 + i, inertia=0)
        s.force(f"f{i}", f"{1 + i}*b{i}.q1^3", s.ground.x, at=body.com)
    model = s.derive().compile()
    teams_of(2)
    initial = {"b0.q1": np.array([0.5, 0.3]), "b1.q1": np.array([2.0, 0.4])}
    cpu, gpu = both(model, 2.0, step=0.01, sample=0.1, initial=initial)
    assert gpu.info["threads_per_run"] == 2
    assert list(gpu.status) == list(cpu.status) == ["diverged", "finished"]
    assert gpu.t_stop == pytest.approx(cpu.t_stop) and gpu.t_stop[0] == pytest.approx(0.927, abs=0.03)
    assert worst(cpu, gpu, ["b0.q1", "b1.q1"]) < 1e-12


@needs_compiler
def test_inputs_over_time_in_teams(teams_of: Callable[[int], Module]) -> None:
    """Each thread takes its input from its data. Names of the model are also those of the kernel's macros and
    functions.
    """
    s = arm.System("pushed")
    s.parameter("across", 60.0, units="N/m")
    s.parameter("TEAM", 2.0, units="N s/m")
    for i, push in enumerate(("lane", "from_lane")):
        s.input(push, units="N")
        body = s.body(f"b{i}", joint=arm.Prismatic("x"), mass=1.0 + i, inertia=0)
        s.force(f"f{i}", f"{push} - across*b{i}.q1 - TEAM*b{i}.u1", s.ground.x, at=body.com)
    model = s.derive().compile()
    teams_of(2)
    times, values = np.linspace(0, 0.5, 9), RANDOM.uniform(-1, 1, (2, 3, 9))
    inputs = {"lane": arm.Signal(times, values[0]), "from_lane": arm.Signal(times, values[1])}
    cpu, gpu = both(model, 0.5, step=0.01, sample=0.1, inputs=inputs, outputs=["b0.q1", "b1.q1"])
    assert gpu.info["threads_per_run"] == 2
    assert worst(cpu, gpu, ["b0.q1", "b1.q1"]) < 1e-12


@needs_compiler
def test_single_precision_in_teams(teams_of: Callable[[int], Module]) -> None:
    model = starfish()
    teams_of(4)
    given = {"initial": {name: RANDOM.uniform(-1, 1, 2) for name in model.speed_names}}
    cpu, gpu = (
        model.simulate_batch(0.2, step=2e-3, sample=0.1, device=d, precision=p, progress=False, **given)
        for d, p in (("cpu", "double"), ("gpu", "single"))
    )
    assert 1e-9 < worst(cpu, gpu, model.output_names) < 3e-6


@needs_compiler
def test_closed_loops_in_teams(teams_of: Callable[[int], Module]) -> None:
    """Two cranks that are alike: loops are closed after every step, and a run that has to exchange dependent
    speeds is left to the process.
    """
    model = closing_five_bar()
    assert model.equations.program.alike
    teams_of(2)
    speed = model.speed_names[0]
    cpu, gpu = both(model, 0.7, step=1e-3, sample=0.1, initial={speed: np.array([0.0, 1.0, 0.2])})
    assert gpu.info["threads_per_run"] == 2
    assert "configurations" in model.simulate(0.7, step=1e-3, initial={speed: 1.0}).info
    assert worst(cpu, gpu, model.output_names) < 1e-12


def test_a_team_repeats_only_what_is_not_in_branches() -> None:
    """Of six legs in pairs a thread of two holds three; what they need at a time falls from 425 numbers."""
    writer = SectionWriter(hexapod().derive("recursive").program, frozenset())
    alone, two = Team.of(writer, 1), Team.of(writer, 2)
    legs, base = 6 * 3 * 2, 13
    assert (len(alone.held), len(two.held)) == (legs + base, legs // 2 + base)
    assert {s for column in two.held for s in column} == {*writer.program.state}
    assert two.live_numbers() < 0.6 * alone.live_numbers()


@pytest.mark.parametrize(
    ("make", "double", "single"),
    [(hexapod, 2, 2), (quadruped, 2, 1), (lambda: example("stanford_arm"), 1, 1)],
    ids=["hexapod", "quadruped", "arm"],
)
def test_teams_where_registers_and_caches_do_not_suffice(make: Any, double: int, single: int) -> None:
    """Choices that were measured on a card."""
    made = make()
    program = (made.equations if isinstance(made, Model) else made.derive()).program
    writer = SectionWriter(program, frozenset())
    assert best_team(writer, "double", 256).threads == double
    assert best_team(writer, "float", 384).threads == single
    assert kernel(program, (), 4).threads == double


def test_teams_where_the_cache_is_exceeded_and_the_program_is_not_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bytes beyond the registers of one thread are compared with the cache; nvcc takes too long for more than
    ``LONGEST`` nodes.
    """
    writer = SectionWriter(quadruped().derive("recursive").program, frozenset())
    alone = Team.of(writer, 1)
    beyond, nodes = teams._spilled_bytes(alone, "double", 256), len(alone.section.nodes)

    def threads(cache: int, longest: int) -> int:
        monkeypatch.setattr(teams, "CACHE", cache)
        monkeypatch.setattr(teams, "LONGEST", longest)
        return best_team(writer, "double", 256).threads

    assert threads(beyond - 1, nodes) > 1
    assert threads(beyond, nodes) == 1 and threads(beyond - 1, nodes - 1) == 1


def test_threads_take_over_all_that_is_corrected_after_a_step() -> None:
    """Coordinates of closed loops and Euler parameters, each from its place in the whole state."""
    s = five_bar()
    for name in ("catch", "let go"):
        del s.events[name]
    s.body("ball", joint=arm.Spherical(), mass=1, inertia=(1, 2, 2.5))
    program = s.derive().program
    text = Team.of(SectionWriter(program, frozenset()), 2).values(room=False)["teams"]
    lines = [line for line in text.splitlines() if line.strip().startswith("y[")]
    taken = {int(i) for line in lines for i in re.findall(r"whole\[(\d+)\]", line)}
    assert program.corrected and program.quaternions
    assert taken == {*program.corrected, *(q + i for q in program.quaternions for i in range(4))}


@pytest.mark.skipif(NVCC is None, reason="no CUDA compiler (nvcc)")
def test_nvcc_takes_the_source_of_teams(tmp_path: Path) -> None:
    """Numbers of two threads, which are passed by halves, are added without a product: both have one sum."""
    program = starfish().equations.program
    (tmp_path / "team.cu").write_text(kernel(program, ("far",), 4, history=(0,), threads=2).text)
    command = [str(NVCC), "-std=c++14", "-ptx", "-arch=sm_80", "team.cu", "-o", "team.ptx"]
    subprocess.run(command, cwd=tmp_path, check=True)
    code = (tmp_path / "team.ptx").read_text()
    assert code.count("shfl.sync.bfly") == 2 * code.count("add.rn.f64") > 0
