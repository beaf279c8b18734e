"""Vector operations of an interior-point iteration as compiled routines.

    measure     violation, slope of the Lagrangian, products of gaps and duals
    prepare     Σ, the slope of the barrier function, and the right-hand side of a step
    aim         the step of the bounds' duals, and the longest steps that keep gaps and duals positive
    move        a trial point, and its gaps
    accept      take the trial point; keep duals near the central path

The bounds are one list, first all lower and then all upper ones: ``bounded`` has their variables. A gap is
the distance from a bound; gaps, duals and their steps have one number per bound.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from armillary.llvm.building.builder import Local, Value
from armillary.llvm.building.emitter import NOTHING, IRModule
from armillary.llvm.building.routines import Routine, RoutineLayout, RoutineMethod, compiled_method, routine

SETTINGS = ("mu", "size", "fraction", "dual", "near")
FOUND = ("violation", "whole", "slope", "most", "least", "rows", "bounds", "longest", "dual", "rate")
LAYOUT = RoutineLayout(
    numbers=("variables", "rows", "free", "slacks", "elements", "lows", "bounds"),
    addresses=(
        *("settings", "found"),
        *("x", "y", "duals", "gradient", "jacobian", "c"),
        *("jacobian_rows", "jacobian_columns", "slacked", "bounded", "bound"),
        *("pulled", "rest", "sigma", "slope", "right"),
        *("step", "dual_step", "gaps", "trial", "trial_gaps"),
    ),
)


def text() -> str:
    """Return the LLVM text of all routines, ``armillary_interior_NAME(fields)``."""
    module = IRModule()
    for name, write in ROUTINES.items():
        f = routine(module, LAYOUT, f"interior_{name}", NOTHING, public=True)
        write(f)
        f.give()
    return str(module)


def _setting(f: Routine, name: str) -> Value:
    return f.vector("settings")[SETTINGS.index(name)]


def _put(f: Routine, name: str, value: Value) -> None:
    f.vector("found")[FOUND.index(name)] = value


def _each_bound(f: Routine, write: object) -> None:
    """Write a loop over lower bounds and one over upper bounds: ``write(b, variable, sign)``."""
    assert callable(write)
    for first, end, sign in ((f.whole(0), f["lows"], 1.0), (f["lows"], f["bounds"], -1.0)):
        with f.span(first, end) as b:
            write(b, f.index("bounded", b), sign)


def _find_gaps(f: Routine, point: str, gaps: str) -> None:
    x, found, bound = f.vector(point), f.vector(gaps), f.vector("bound")

    def write(b: Value, i: Value, sign: float) -> None:
        found[b] = sign * (x[i] - bound[b])

    _each_bound(f, write)


def _largest(f: Routine, count: Value, name: str) -> tuple[Value, Value]:
    """Return the largest magnitude in a vector, infinite if an element is not finite, and their sum."""
    values, most, whole = f.vector(name), Local(f, f.real(0.0)), Local(f, f.real(0.0))
    with f.each(count) as i:
        size = f.magnitude(values[i])
        most.set(f.most(size, most.get()))
        whole.set(whole.get() + size)
    return f.choose(whole.get() < float("inf"), most.get(), float("inf")), whole.get()


def _measure(f: Routine) -> None:
    n, m = f["variables"], f["rows"]
    y, gradient, jacobian = f.vector("y"), f.vector("gradient"), f.vector("jacobian")
    pulled, rest, duals, gaps = f.vector("pulled"), f.vector("rest"), f.vector("duals"), f.vector("gaps")
    with f.each(n) as i:
        pulled[i] = 0.0
    with f.each(f["elements"]) as e:
        i = f.index("jacobian_columns", e)
        pulled[i] = pulled[i] + jacobian[e] * y[f.index("jacobian_rows", e)]
    with f.each(f["slacks"]) as s:
        pulled[f["free"] + s] = f.real(0.0) - y[f.index("slacked", s)]
    with f.each(n) as i:
        rest[i] = gradient[i] + pulled[i]
    _find_gaps(f, "x", "gaps")
    most, least = Local(f, f.real(float("-inf"))), Local(f, f.real(float("inf")))

    def bound(b: Value, i: Value, sign: float) -> None:
        rest[i] = rest[i] - sign * duals[b]
        product = gaps[b] * duals[b]
        most.set(f.most(product, most.get()))
        least.set(f.least(product, least.get()))

    _each_bound(f, bound)
    _put(f, "most", most.get())
    _put(f, "least", least.get())
    violation, whole = _largest(f, m, "c")
    _put(f, "violation", violation)
    _put(f, "whole", whole)
    _put(f, "slope", _largest(f, n, "rest")[0])
    _put(f, "rows", _largest(f, m, "y")[1])
    _put(f, "bounds", _largest(f, f["bounds"], "duals")[1])


def _prepare(f: Routine) -> None:
    n, mu = f["variables"], _setting(f, "mu")
    sigma, slope, gradient, right = (f.vector(v) for v in ("sigma", "slope", "gradient", "right"))
    duals, gaps, pulled, c = f.vector("duals"), f.vector("gaps"), f.vector("pulled"), f.vector("c")
    with f.each(n) as i:
        sigma[i] = 0.0
        slope[i] = gradient[i]

    def bound(b: Value, i: Value, sign: float) -> None:
        inverse = f.real(1.0) / gaps[b]
        sigma[i] = sigma[i] + duals[b] * inverse
        slope[i] = slope[i] - sign * mu * inverse

    _each_bound(f, bound)
    with f.each(n) as i:
        right[i] = slope[i] + pulled[i]
    with f.each(f["rows"]) as r:
        right[n + r] = c[r]


def _aim(f: Routine) -> None:
    """Emit: negate ``step``, which holds the solution of the linear system; find the duals' step."""
    n, mu, fraction = f["variables"], _setting(f, "mu"), _setting(f, "fraction")
    step, dual_step, gaps = f.vector("step"), f.vector("dual_step"), f.vector("gaps")
    duals, slope = f.vector("duals"), f.vector("slope")
    with f.each(n + f["rows"]) as i:
        step[i] = f.real(0.0) - step[i]
    longest, dual, rate = (Local(f, f.real(number)) for number in (1.0, 1.0, 0.0))

    def shorten(length: Local, gap: Value, change: Value) -> None:
        with f.when(change < 0.0):
            length.set(f.least(fraction * gap / (f.real(0.0) - change), length.get()))

    def bound(b: Value, i: Value, sign: float) -> None:
        change = sign * step[i]
        inverse = f.real(1.0) / gaps[b]
        dual_step[b] = mu * inverse - duals[b] - duals[b] * inverse * change
        shorten(longest, gaps[b], change)
        shorten(dual, duals[b], dual_step[b])

    _each_bound(f, bound)
    with f.each(n) as i:
        rate.set(rate.get() + slope[i] * step[i])
    for name, found in (("longest", longest), ("dual", dual), ("rate", rate)):
        _put(f, name, found.get())


def _move(f: Routine) -> None:
    x, step, trial, size = f.vector("x"), f.vector("step"), f.vector("trial"), _setting(f, "size")
    with f.each(f["variables"]) as i:
        trial[i] = x[i] + size * step[i]
    _find_gaps(f, "trial", "trial_gaps")


def _accept(f: Routine) -> None:
    """Emit: replace point, multipliers and duals by their values after the step."""
    x, y, trial, step = f.vector("x"), f.vector("y"), f.vector("trial"), f.vector("step")
    duals, dual_step, gaps = f.vector("duals"), f.vector("dual_step"), f.vector("gaps")
    n, size, dual = f["variables"], _setting(f, "size"), _setting(f, "dual")
    mu, near = _setting(f, "mu"), _setting(f, "near")
    with f.each(n) as i:
        x[i] = trial[i]
    with f.each(f["rows"]) as r:
        y[r] = y[r] + size * step[n + r]
    _find_gaps(f, "x", "gaps")
    with f.each(f["bounds"]) as b:
        centre = mu / f.most(gaps[b], 1e-300)
        moved = f.most(duals[b] + dual * dual_step[b], centre / near)
        duals[b] = f.least(moved, centre * near)


ROUTINES = {"measure": _measure, "prepare": _prepare, "aim": _aim, "move": _move, "accept": _accept}


@cache
def method() -> RoutineMethod:
    """Return the compiled routines, made once for all models."""
    names = [f"interior_{name}" for name in ROUTINES]
    return compiled_method("interior point", text, [Path(__file__)], names, of_all_models=True)
