"""Batches on a GPU, without one: the kernel's source compiled as C++, behind a stand-in for CuPy."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.algebra.arguments import core_of
from armillary.ensembles.engines.gpu_engine import Device
from armillary.ensembles.engines.gpu_runs import FixedSteps
from armillary.ensembles.plan import plan
from armillary.errors import ArmillaryError, MissingExtraError
from armillary.export.cuda.kernels import kernel
from armillary.settings import RunSettings
from armillary.stages.model import Model
from armillary.verification.rows import largest
from tests.ensembles.batch_systems import everything, example
from tests.ensembles.fake_cupy import CXX, Module, compiled
from tests.llvm.exact_sines import error_in_ulps, sine_and_cosine
from tests.systems.closing_five_bar import closing_five_bar

NVCC = shutil.which("nvcc")
needs_compiler = pytest.mark.skipif(CXX is None, reason="no C++ compiler (c++)")
RANDOM = np.random.default_rng(6)


@pytest.fixture(autouse=True)
def numbers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same random numbers for a test whatever ran before it."""
    monkeypatch.setitem(globals(), "RANDOM", np.random.default_rng(6))


@cache
def small_car() -> Model:
    s = import_module("examples.car").system()
    s.small("RB.q1", "RB.u1", "NRB.u2", "NRB.u3")
    return s.derive().compile()


@cache
def tumbling() -> Model:
    """A free body with Euler parameters, spun by a moment that follows time and attitude."""
    s = arm.System("tumbler")
    b = s.body(
        "b", joint=arm.Free(), com=(0.1, 0.02, -0.03), mass=2.0, inertia=(0.3, 0.2, 0.15, 0.01, 0, 0.02)
    )
    s.gravity(9.81, -s.ground.z)
    s.moment("tau", "-0.2*b.u4 + 0.1*sin(2*t)*b.q5", b.x, on=b)
    return s.derive().compile()


def spread(model: Model, names: list[str], n: int = 3) -> dict[str, np.ndarray]:
    """Parameters within a tenth of their defaults."""
    return {name: model.parameters[name] * RANDOM.uniform(0.9, 1.1, n) for name in names}


def some_speeds(model: Model, n: int = 3) -> dict[str, np.ndarray]:
    return {name: RANDOM.uniform(-1, 1, n) for name in model.speed_names}


def worst_difference(model: Model, t_end: float, given: dict[str, Any], **how: Any) -> float:
    """The largest difference between runs on the card and single ones, relative to a column's largest value,
    or to 0.01 where it is smaller: gaps of loops, and a tilt that is the difference of two angles.
    """
    batch = model.simulate_batch(t_end, progress=False, device="gpu", **given, **how).check()
    differences = []
    for i in (0, batch.runs - 1):
        one = {kind: {name: v[i] for name, v in values.items()} for kind, values in given.items()}
        run = model.simulate(t_end, progress=False, **one, **how)
        np.testing.assert_array_equal(batch.time, run.time)
        for name in model.output_names:
            scale = max(float(np.max(np.abs(run[name]))), 0.01)
            assert np.all(np.isfinite(batch[name][i]))
            differences.append(float(np.max(np.abs(batch[name][i] - run[name]))) / scale)
    return largest(differences)


CASES: dict[str, tuple[Any, dict[str, Any], float, float]] = {
    "arm": (lambda: example("stanford_arm"), {"parameters": ["MB", "L1", "K1"], "speeds": True}, 0.1, 1e-3),
    "car": (small_car, {"parameters": ["STEER"]}, 1.0, 5e-3),
    "tumbler": (tumbling, {"speeds": True}, 0.2, 1e-3),
    "functions, tables, memory": (everything, {"parameters": ["k"]}, 0.2, 1e-3),
    "closed loop": (lambda: example("four_bar"), {"parameters": ["BM"]}, 0.3, 5e-3),
}


@needs_compiler
@pytest.mark.parametrize("name", CASES)
@pytest.mark.optimised
def test_runs_are_those_of_the_process(name: str, card: Module) -> None:
    """In double precision, to rounding: four ulps of a column's largest value in every step."""
    make, vary, t_end, step = CASES[name]
    model = make()
    given: dict[str, Any] = {"parameters": spread(model, vary.get("parameters", []))}
    if "speeds" in vary:
        given["initial"] = some_speeds(model)
    found = worst_difference(model, t_end, given, step=step, sample=10 * step)
    assert found < 4 * 2.0**-52 * round(t_end / step)
    assert card.launches >= 1


@needs_compiler
def test_angles_that_change_much_in_a_step_have_whole_sines(card: Module) -> None:
    """A pendulum that winds up from 1 to 40 rad/s: in some step its angle changes by more than 1/64, from
    where on series for small changes would be wrong by up to 1e-4.
    """
    s = arm.System("winding pendulum")
    bob = s.body("bob", joint=arm.Revolute("y"), com=(0, 0, -1.0), mass=1.0, inertia=0)
    s.gravity(9.81, -s.ground.z)
    s.moment("drive", "10", s.ground.y, on=bob)
    s.memory("steps", 0.0, update="steps + 1")
    s.output("seen", "steps")
    model = s.derive().compile()
    given = {"initial": {"bob.u1": np.array([1.0, 5.0, -1.0])}}
    assert worst_difference(model, 4.0, given, step=0.01, sample=0.5) < 4 * 2.0**-52 * 400
    program = model.equations.program
    assert all("how = loop ? WHOLE" in kernel(program, (), 4, p).text for p in ("double", "single"))
    assert "WHOLE" not in kernel(program, (), 4, "fast").text
    how: dict[str, Any] = {"step": 0.04, "sample": 0.4, "outputs": model.coordinate_names, **given}
    exact = model.simulate_batch(4.0, device="cpu", **how)["bob.q1"]
    found = model.simulate_batch(4.0, device="gpu", precision="single", **how)["bob.q1"]
    assert np.max(np.abs(found - exact)) < 5e-7 * np.max(np.abs(exact))


@needs_compiler
def test_midpoint_and_a_last_step_that_is_shorter(card: Module) -> None:
    model = example("stanford_arm")
    given = {"initial": {"B.q1": np.array([1.5, 1.6])}}
    found = worst_difference(model, 0.0204, given, step=1e-3, method="midpoint")
    assert found < 4 * 2.0**-52 * 21
    assert card.launches == 2  # one for each length of step


@needs_compiler
def test_single_precision_does_not_add_up_its_rounding(card: Module) -> None:
    """Spacecraft 2 after 2000 steps: coordinates and speeds to 3e-7 of their largest values; without what is
    carried along from step to step it is 3e-6.
    """
    model = example("spacecraft_2")
    names = [*model.coordinate_names, *model.speed_names]
    given: dict[str, Any] = {"initial": some_speeds(model), "outputs": names}
    exact, found = (
        model.simulate_batch(2.0, step=1e-3, sample=0.1, device=device, precision=precision, **given)
        for device, precision in (("cpu", "double"), ("gpu", "single"))
    )
    errors = [np.max(np.abs(found[n] - exact[n])) / np.max(np.abs(exact[n])) for n in names]
    assert 1e-9 < largest(errors) < 3e-7  # it is not double after all


@needs_compiler
def test_every_metric_is_the_process_s(card: Module) -> None:
    model = everything()
    metrics = {
        "last": "final(reach)", "low": "minimum(reach)", "high": "maximum(A.u1)", "mean": "mean(A.u1)",
        "rms": "rms(B.u1)", "up": "crossing(A.u1, 0.3, rising)", "down": "crossing(B.q1, 0)",
        "never": "crossing(reach, 100)", "bins": "histogram(A.u1, -1, 1, 7)",
    }  # fmt: skip
    given: dict[str, Any] = {
        "parameters": {"k": np.linspace(4, 6, 5)},
        "metrics": metrics,
        "outputs": ["seen"],
    }
    cpu, gpu = (model.simulate_batch(3.0, step=0.01, device=d, **given) for d in ("cpu", "gpu"))
    for name in metrics:
        np.testing.assert_allclose(gpu[name], cpu[name], rtol=1e-11, atol=1e-13)
    assert (
        np.all(np.isnan(gpu["never"]))
        and np.all(np.isfinite(gpu["down"]))
        and np.all(gpu["bins"].sum(1) > 50)
    )
    np.testing.assert_allclose(gpu["seen"], cpu["seen"], rtol=1e-11)
    assert gpu.info["registers"] == 64 and gpu.info["evaluations_per_second"] > 0


@needs_compiler
@pytest.mark.parametrize(("precision", "rtol", "late"), [("double", 1e-12, 1e-9), ("single", 1e-6, 0.011)])
def test_a_run_that_diverges_stays_where_it_was(
    precision: str, rtol: float, late: float, card: Module
) -> None:
    """ẍ = x³ from rest: x → ∞ at t = 1.854/x₀, before the end only for the second. Single precision ends at
    3e38, which is reached a step earlier.
    """
    s = arm.System("runaway")
    a = s.body("a", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.parameter("k", 1.0, units="N/m3")
    s.force("f", "k*a.q1^3", s.ground.x, at=a.com)
    model = s.derive().compile()
    given: dict[str, Any] = {
        "initial": {"a.q1": np.array([0.5, 2.0, 0.6])},
        "outputs": ["a.q1"],
        "sample": 0.5,
    }
    cpu, gpu = (
        model.simulate_batch(3.0, step=0.01, metrics={"end": "final(a.q1)"}, device=d, precision=p, **given)
        for d, p in (("cpu", "double"), ("gpu", precision))
    )
    assert list(gpu.status) == list(cpu.status) == ["finished", "diverged", "finished"]
    np.testing.assert_array_equal(np.isnan(gpu["a.q1"]), np.isnan(cpu["a.q1"]))
    np.testing.assert_allclose(gpu["a.q1"], cpu["a.q1"], rtol=rtol)
    np.testing.assert_allclose(gpu["end"], cpu["end"], rtol=rtol)
    assert gpu.t_stop == pytest.approx(cpu.t_stop, abs=late)
    assert gpu.t_stop[1] == pytest.approx(0.927, abs=0.03)


@needs_compiler
def test_large_numbers_in_single_precision_are_finite(card: Module) -> None:
    """Changes of 1e20 in a step, whose products exceed all numbers of single precision: q = q₀ + u t."""
    s = arm.System("far")
    s.body("a", joint=arm.Joint(translate=["x", "y"]), mass=1.0, inertia=0)
    model = s.derive().compile()
    speeds = {"a.u1": 1e22, "a.u2": -1e22}
    batch = model.simulate_batch(
        0.1, step=0.01, initial=speeds, runs=2, outputs=["a.q1"], device="gpu", precision="single"
    ).check()
    np.testing.assert_allclose(batch["a.q1"][:, -1], 1e21, rtol=1e-6)


@needs_compiler
@pytest.mark.parametrize("many", [1, 1000], ids=["on the card", "by the process"])
def test_runs_that_change_their_configuration(
    many: int, card: Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few of them are made by the process; many by another kernel, which exchanges dependent speeds."""
    monkeypatch.setattr("armillary.ensembles.engines.gpu_runs.MANY", many)
    model = closing_five_bar()
    speed = model.speed_names[0]
    given = {"initial": {speed: np.array([0.0, 1.0])}}
    assert worst_difference(model, 0.7, given, step=1e-3, sample=0.1) < 1e-12
    assert (
        "configurations" in model.simulate(0.7, step=1e-3, initial={speed: 1.0}).info
    )  # else this tested nothing
    assert card.launches == (2 if many == 1 else 1)
    # The choice of the description is poor at these starts, and is exchanged at once.
    given = {"initial": {"A.q1": np.array([-2.5, 3.0]), speed: np.array([2.0, 1.0])}}
    run = model.simulate(0.1, step=0.02, initial={"A.q1": 3.0, speed: 1.0})
    assert run.info["configurations"].startswith("t = 0 s")
    assert worst_difference(model, 0.1, given, step=0.02) < 1e-12


@needs_compiler
def test_more_runs_than_memory_are_made_in_chunks(card: Module) -> None:
    model = small_car()
    given: dict[str, Any] = {"parameters": {"STEER": np.linspace(0.5, 1.5, 1100)}, "step": 0.1}
    whole = model.simulate_batch(1.0, device="gpu", **given)
    launches, card.memory = card.launches, 1_000_000
    parts = model.simulate_batch(1.0, device="gpu", **given)
    assert card.launches - launches > 2
    np.testing.assert_array_equal(parts["r"], whole["r"])
    card.memory = 1000
    with pytest.raises(ArmillaryError, match="more than the GPU has free; keep fewer samples"):
        model.simulate_batch(1.0, device="gpu", **given)


def test_large_results_come_in_pieces(card: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through less page-locked memory than they need, and from single to double precision."""
    monkeypatch.setattr("armillary.ensembles.engines.gpu_engine._SMALL", 100)
    monkeypatch.setattr("armillary.ensembles.engines.gpu_engine._STAGED", 256)
    for kind in (np.float64, np.float32, np.int32):
        sent = np.arange(3 * 71).reshape(3, 71).astype(kind)
        found = Device().fetch(card.asarray(sent))
        assert found.dtype == (np.int32 if kind is np.int32 else np.float64)
        np.testing.assert_array_equal(found, sent)


# ---------------------------------------------------------------- sines


@cache
def sines(folder: Path, real: str) -> Any:
    """sine_cosine of the kernel, on arrays."""
    text = kernel(example("stanford_arm").equations.program, (), 4, real).text
    text += """
extern "C" void sincos_of(long long n, const real *x, real *s, real *c)
{
    for (long long i = 0; i < n; i++)
        sine_cosine(x[i], s + i, c + i);
}
"""
    library = compiled(text, folder)

    def of(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        s, c = np.empty_like(x), np.empty_like(x)
        library.sincos_of(ctypes.c_longlong(len(x)), *(ctypes.c_void_p(a.ctypes.data) for a in (x, s, c)))
        return s, c

    return of


@needs_compiler
def test_sines_in_double_precision(tmp_path: Path) -> None:
    """Below 1.5 ulp; near multiples of π/2, where the result is small, below 1e-31 times the multiple."""
    multiples = np.arange(1, 500) * (np.pi / 2)
    angles = [RANDOM.uniform(-s, s, 1500) for s in (1.0, 10.0, 1e5, 1e12)]
    x = np.concatenate([*angles, multiples, np.nextafter(multiples, 0), [0.0, 1e-300, -1e-8]])
    found = sines(tmp_path, "double")(x)
    for angle, s, c in zip(x, *found, strict=True):
        for value, exact in zip((s, c), sine_and_cosine(float(angle)), strict=True):
            if exact:
                lost = 1e-31 * abs(angle) / abs(float(exact)) / 2.0**-53
                assert error_in_ulps(float(value), exact) < 1.5 + lost


@needs_compiler
def test_sines_in_single_precision(tmp_path: Path) -> None:
    """Absolute error below 1.5e-7; near 0 the sine's relative error below 2⁻²³."""
    x = np.concatenate([RANDOM.uniform(-s, s, 20000) for s in (1e-3, 2.0, 10.0, 1e3, 1e5)]).astype(np.float32)
    s, c = (a.astype(float) for a in sines(tmp_path, "single")(x))
    wide = x.astype(float)
    assert np.max(np.abs(s - np.sin(wide))) < 1.5e-7 and np.max(np.abs(c - np.cos(wide))) < 1.5e-7
    small = np.abs(wide) < 0.5
    assert np.max(np.abs(s - np.sin(wide))[small] / np.abs(np.sin(wide[small]))) < 2.0**-23


# ---------------------------------------------------------------- without a card, or not for one


def test_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    told = r"runs on a GPU need cupy: pip install 'armillary\[gpu\]' \(.*\), or run with device='cpu'"
    with pytest.raises(MissingExtraError, match=told):
        small_car().simulate_batch(1.0, step=0.1, runs=2, device="gpu")


@pytest.mark.parametrize(
    ("error", "driver", "message"),
    [
        ("cudaErrorNoDevice: no CUDA-capable device is detected", 13000, "finds no GPU on this machine"),
        (
            "cudaErrorInsufficientDriver: CUDA driver version is insufficient",
            0,
            "finds no GPU on this machine",
        ),
        ("cudaErrorInsufficientDriver: CUDA driver version is insufficient", 12000, "driver .* is too old"),
    ],
)
def test_without_a_card(error: str, driver: int, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise RuntimeError(error)

    runtime = SimpleNamespace(getDeviceCount=refuse, driverGetVersion=lambda: driver)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    with pytest.raises(ArmillaryError, match=message):
        small_car().simulate_batch(1.0, step=0.1, runs=2, device="gpu")


def test_code_that_cuda_refuses_is_told(card: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> None:
        raise RuntimeError("k.cu(3): error: identifier is undefined\nmore")

    monkeypatch.setattr(card, "RawModule", refuse, raising=False)
    with pytest.raises(
        ArmillaryError, match=r"CUDA cannot compile the code of 'car': .*identifier is undefined"
    ):
        FixedSteps(plan(core_of(small_car()), RunSettings(1.0, step=0.1), runs=2))


@pytest.mark.skipif(NVCC is None, reason="no CUDA compiler (nvcc)")
@pytest.mark.parametrize("precision", ["double", "fast"])
def test_nvcc_takes_the_source(precision: str, tmp_path: Path) -> None:
    p = plan(
        core_of(everything()), RunSettings(1.0, step=0.1), parameters={"k": np.ones(2)},
        metrics=["histogram(reach, 0, 1, 3)"],
    )  # fmt: skip
    text = kernel(p.program, p.starts.varying, 4, precision, (0,)).text
    (tmp_path / "kernel.cu").write_text(text)
    command = [str(NVCC), "-std=c++14", "-ptx", "-arch=sm_80", "kernel.cu", "-o", "kernel.ptx"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert ".visible .entry runs" in (tmp_path / "kernel.ptx").read_text()
