"""Memory of compilations: what LLVM makes on the way is freed, also what llvmlite 0.50 forgets."""

from __future__ import annotations

import ctypes
import gc
import platform
import threading

import pytest

import armillary as arm
from armillary.llvm import jit

pytestmark = pytest.mark.optimised

# The fields of glibc's mallinfo2 (malloc/malloc.h), of which two are requested below.
FIELDS = (
    "arena",
    "ordblks",
    "smblks",
    "hblks",
    "hblkhd",
    "usmblks",
    "fsmblks",
    "uordblks",
    "fordblks",
    "keepcost",
)
LEFT_BEHIND = 1024  # bytes per compilation; without the care that `jit` takes 50,000


class MallInfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in FIELDS]


@pytest.fixture
def allocated():
    """Bytes that malloc has given out and not got back."""
    try:
        mallinfo = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        pytest.skip("this C library has no mallinfo2")
    mallinfo.restype = MallInfo

    def measure() -> int:
        gc.collect()
        info = mallinfo()
        return info.uordblks + info.hblkhd

    return measure


def product(seed: int, factors: int = 60) -> str:
    """LLVM text of a function with constants that no other seed has."""
    lines = [f"  %x{k + 1} = fmul double %x{k}, {1.0 + seed + k / 64:.17e}" for k in range(factors)]
    return "\n".join(["define double @f(double %x0) {", *lines, f"  ret double %x{factors}", "}"])


@pytest.mark.parametrize(
    "compiled",
    [
        lambda text: jit.Compiled(text),
        lambda text: jit.engine("", lambda: [text, "declare double @f(double)"], 3, jit.Passes(3)),
    ],
    ids=["programs", "loops"],
)
def test_a_compilation_leaves_less_than_a_kilobyte_behind(compiled, allocated, monkeypatch):
    monkeypatch.setenv("ARMILLARY_CACHE", "off")
    for seed in range(10):
        compiled(product(seed))
    before, count = allocated(), 30
    for seed in range(10, 10 + count):
        compiled(product(seed))
    assert (allocated() - before) / count < LEFT_BEHIND


def test_features_of_the_processor_can_be_taken_away(monkeypatch):
    """So that one machine shows the numbers of another: here x·y + z with one rounding, and with two."""
    text = (
        "define double @f(double %x, double %y, double %z) {\n"
        "  %p = fmul contract double %x, %y\n  %s = fadd contract double %p, %z\n  ret double %s\n}"
    )
    x = 1.0 + 2.0**-30
    kind = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * 3)
    always = platform.machine().lower() in ("aarch64", "arm64")  # no processor of these lacks it
    optional = jit.features().get("fma", False)
    held = jit.Compiled(text)
    assert kind(held.address("f"))(x, x, -1.0) == 2.0**-29 + (2.0**-60 if always or optional else 0.0)
    monkeypatch.setenv("ARMILLARY_CPU", "-fma, -fma4, -avx512f")
    assert not jit.features().get("fma", False)
    held = jit.Compiled(text)
    assert kind(held.address("f"))(x, x, -1.0) == 2.0**-29


def test_a_thread_with_a_stack_too_small_for_llvm_gets_an_error_and_one_that_finds_code_runs() -> None:
    """LLVM would end the process. Once a model has run, a stack of 256 KB is enough for its runs."""
    s = arm.System("pendulum")
    s.body("bob", joint=arm.Revolute("z"), com=(0, -1, 0), mass=1, inertia=0)
    s.gravity(9.81, -s.ground.y)
    model = s.derive().compile()
    here = model.simulate(0.1, step=1e-2, initial={"bob.q1": 0.5}).final["bob.q1"]
    found: list[object] = []

    def compile_in_thread() -> None:
        try:
            jit.Compiled(product(7))
        except arm.ArmillaryError as problem:
            found.append(str(problem))

    def run_in_thread() -> None:
        found.append(model.simulate(0.1, step=1e-2, initial={"bob.q1": 0.5}).final["bob.q1"])

    before = threading.stack_size(256 * 1024)
    try:
        for work in (compile_in_thread, run_in_thread):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
    finally:
        kept = threading.stack_size(before)
    assert kept == 256 * 1024  # compiling leaves the size for other threads as it is
    assert len(found) == 2 and "a stack of 256 KB are too small" in str(found[0]) and found[1] == here
