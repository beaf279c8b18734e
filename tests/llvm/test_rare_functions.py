"""Long functions that rarely run are translated in a module of their own, beside the optimised one."""

from __future__ import annotations

import ctypes

import pytest

from armillary.llvm import jit

TEXT = """declare double @llvm.fabs.f64(double) nounwind
@numbers = internal constant [2 x double] [double 3.0, double 4.0]
@second = internal constant { ptr } { ptr @numbers }
define internal double @twice(double %x) nounwind {
  %y = fmul double %x, 2.0
  ret double %y
}
define internal double @rarely(double %x) noinline optnone nounwind {
  %numbers = load ptr, ptr @second
  %at = getelementptr inbounds double, ptr %numbers, i64 1
  %four = load double, ptr %at
  %y = call double @twice(double %x)
  %z = call double @llvm.fabs.f64(double %y)
  %sum = fadd double %z, %four
  ret double %sum
}
define double @usual(double %x) nounwind {
  %y = call double @rarely(double %x)
  %z = call double @twice(double %y)
  %n = load double, ptr @numbers
  %sum = fadd double %z, %n
  ret double %sum
}
"""


@pytest.mark.parametrize("much", [0, 1_000_000])
def test_both_modules_call_each_other_and_share_constants(much: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "_MUCH", much)
    _, rare = jit._take_rare_functions(TEXT)
    assert bool(rare) is (much == 0)
    assert ("define double @rarely" in rare) is (much == 0)
    code = jit.engine("", lambda: [TEXT], 2, jit.UNBRANCHED)
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(code.get_function_address("usual"))
    assert function(-5.0) == 2.0 * (2.0 * 5.0 + 4.0) + 3.0


BRANCHES = """define internal double @rarely(double %x) noinline optnone nounwind {
  %below = fcmp olt double %x, 0.0
  br i1 %below, label %less, label %more, !prof !0
less:
  ret double -1.0
more:
  ret double 1.0
}
define double @usual(double %x) nounwind {
  %y = call double @rarely(double %x)
  ret double %y
}
!0 = !{!1, i32 1, i32 1000}
!1 = !{!"branch_weights"}
!2 = !{!"unused"}
"""


def test_rare_functions_keep_the_weights_of_their_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of some models with contacts did not compile: rare functions lacked the weights' definition.

    LLVM accepts a node in place of the first operand only where it is text, so `!1` is inlined here.
    """
    monkeypatch.setattr(jit, "_MUCH", 0)
    text = BRANCHES.replace("!{!1,", '!{!"branch_weights",')
    _, rare = jit._take_rare_functions(text)
    assert '!0 = !{!"branch_weights", i32 1, i32 1000}' in rare
    assert "unused" not in rare
    assert "!1 = " in jit._take_rare_functions(BRANCHES)[1]  # metadata of metadata
    code = jit.engine("", lambda: [text], 2, jit.UNBRANCHED)
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(code.get_function_address("usual"))
    assert (function(-5.0), function(5.0)) == (-1.0, 1.0)


def test_objects_are_packed_without_loss() -> None:
    parts = [b"", b"one", bytes(range(256)) * 3]
    assert jit._unpack(jit._pack(parts)) == parts
