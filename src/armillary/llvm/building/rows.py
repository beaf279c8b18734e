"""Loops over rows as LLVM text: a generated function at many places in one call."""

from __future__ import annotations

_LOOP = """
define void @{name}_rows({given}i64 %n, {strides}, {arrays}) nounwind {{
start:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %row, label %end
row:
  %i = phi i64 [ 0, %start ], [ %next, %row ]
{body}
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %row, label %end
end:
  ret void
}}
"""

_TIMED = ("times", "states", "constants", "memories", "outs")
_CONSTANTS = ("parameters", "constants")


def function_rows(name: str) -> str:
    """``name``_rows(n, strides of time, state, constants, memory and out, then these arrays).

    A stride is the number of reals from one row to the next, 0 for what all rows share.
    """
    return _loop(name, _TIMED, timed=True)


def precompute_rows() -> str:
    """precompute_rows(n, strides of parameters and constants, then these arrays)."""
    return _loop("precompute", _CONSTANTS, timed=False)


def rows_by_address() -> str:
    """The same loops for functions of any model: armillary_function_rows and armillary_precompute_rows, whose
    first argument is the address of the function.
    """
    given = "ptr %function, "
    return _loop("armillary_function", _TIMED, timed=True, given=given) + _loop(
        "armillary_precompute", _CONSTANTS, timed=False, given=given
    )


def _loop(name: str, arrays: tuple[str, ...], *, timed: bool, given: str = "") -> str:
    body, passed = [], []
    for k, array in enumerate(arrays):
        body += [
            f"  %o{k} = mul nsw i64 %i, %s{k}",
            f"  %p{k} = getelementptr inbounds double, ptr %{array}, i64 %o{k}",
        ]
        passed.append(f"ptr %p{k}")
    if timed:
        body.append("  %t = load double, ptr %p0")
        passed[0] = "double %t"
    body.append(f"  call void {'%function' if given else f'@{name}'}({', '.join(passed)})")
    return _LOOP.format(
        name=name,
        given=given,
        strides=", ".join(f"i64 %s{k}" for k in range(len(arrays))),
        arrays=", ".join(f"ptr %{array}" for array in arrays),
        body="\n".join(body),
    )
