"""The compiled search for an operating point, built once for all systems; `newton.py` has the method.

Its steps come from factors of the derivatives: factors_code.py.
"""

from __future__ import annotations

from collections.abc import Callable

from armillary.analysis.operating.search.factors_code import (
    emit_chord,
    emit_damped,
    emit_factorise,
    emit_turned,
    search_routine,
)
from armillary.llvm.building.builder import Local, Value
from armillary.llvm.building.emitter import NOTHING, REAL, IRModule
from armillary.llvm.building.routines import Routine

MET = 1e-9  # of the size of a condition: what is above this is not met
ROUNDING = 1e-15
NO_EFFECT = 1e-11  # singular value, as a part of the largest, of a direction without effect
NEWTON, REST = 80, 200  # steps
CHORD = 1e-3  # of the size of a condition: below this the last derivatives are good for another step
ROUNDED = 1e-13  # where such a step gains nothing, rounding is all that is left
OPEN = 1e-9  # singular value of a direction that the conditions leave open
EPSILON = 2.0**-52


def search_text() -> str:
    """The LLVM text of ``armillary_newton(fields)`` and the other entries."""
    module = IRModule()
    values, slopes = _emit_values(module), _emit_slopes(module)
    factorise, turned = emit_factorise(module), emit_turned(module)
    damped, chord = emit_damped(module), emit_chord(module, turned)
    _emit_newton(module, values, slopes, factorise, damped, turned, chord)
    _emit_outlook(module, slopes, factorise, turned)
    _emit_rest(module, values, slopes, factorise, turned)
    return str(module)


def _emit_values(module: IRModule) -> Routine:
    """`conditions()`: c at x, and |w (c − wanted)|²; the scaled residuals are left in r_trial."""
    f = search_routine(module, "conditions", REAL)
    c, r, wanted, weights = f.vector("c"), f.vector("r_trial"), f.vector("wanted"), f.vector("weights")
    f.evaluate("values", f.vector("settings")[0], f.vector("x"), c)
    with f.each(f["rows"]) as i:
        r[i] = (c[f.index("row_list", i)] - wanted[i]) * weights[i]
    f.give(f.sum(f["rows"], lambda i: r[i] * r[i]))
    return f


def _emit_slopes(module: IRModule) -> Routine:
    """`slopes()`: the derivatives C of all conditions by all columns, at x, by rows."""
    f = search_routine(module, "slopes", NOTHING)
    t, x, out, C = f.vector("settings")[0], f.vector("x"), f.vector("out"), f.vector("C")
    width = f["columns"]
    with f.when(f["directions"].equals(0)):
        f.evaluate("slopes", t, x, out)
        with f.each(f["entries"]) as k:
            C[f.index("flat", k)] = out[k]
    column, element = Local(f, f.whole(0)), Local(f, f.whole(0))
    with f.each(f["directions"]) as k:
        first, end = column.get(), f.index("direction_ends", k)
        with f.span(first, end) as j:
            x[width + f.index("direction_columns", j)] = 1.0
        f.evaluate("slopes", t, x, out)
        with f.span(first, end) as j:
            x[width + f.index("direction_columns", j)] = 0.0
        last = f.index("element_ends", k)
        with f.span(element.get(), last) as e:
            C[f.index("flat", e)] = out[f.index("element_rows", e)]
        column.set(end)
        element.set(last)
    f.give()
    return f


def _slope(f: Routine) -> Callable[[Value, Value], Value]:
    """A_ij of the conditions to be met and the unknowns."""
    C, sizes, weights = (f.vector(k) for k in ("C", "sizes", "weights"))

    def slope(i: Value, j: Value) -> Value:
        place = f.index("row_list", i) * f["columns"] + f.index("unknown_list", j)
        return C[place] * weights[i] * sizes[j]

    return slope


def _emit_outlook(module: IRModule, slopes: Routine, factorise: Routine, turned: Routine) -> Routine:
    """`outlook()`: C at x, and what part of each unknown is along directions which the rows leave open."""
    f = search_routine(module, "outlook", NOTHING)
    m, n, A, p, shares = f["rows"], f["unknowns"], *(f.vector(k) for k in ("A", "p", "shares"))
    slope = _slope(f)
    f.run(slopes)
    with f.each(n) as j:
        shares[j] = 0.0
        with f.each(m) as i:
            A[j * m + i] = slope(i, j)
    with f.when(f.largest(n * m, lambda k: A[k]) < 1e300):
        f.run(factorise, m, n, f.real(OPEN))
        with f.span(f.index("order", n), n) as k:
            f.run(turned, m, n, k)
            with f.each(n) as j:
                shares[j] = shares[j] + p[j] * p[j]
    with f.each(n) as j:
        shares[j] = f.root(shares[j])
    f.give()
    return f


def _emit_newton(
    module: IRModule,
    values: Routine,
    slopes: Routine,
    factorise: Routine,
    damped: Routine,
    turned: Routine,
    chord: Routine,
) -> Routine:
    """`newton()`: the unknowns of x moved to a root, or to where the conditions are nearest to being met.

    Near a root steps go on with the last derivatives as long as each leaves a hundredth of the conditions: in
    a chain of 64 links the derivatives take a hundred times as long as the conditions. The report has the
    steps with derivatives of their own.
    """
    f = search_routine(module, "newton", NOTHING)
    m, n, slope = f["rows"], f["unknowns"], _slope(f)
    x, A, r, r_trial, p, kept = (f.vector(k) for k in ("x", "A", "r", "r_trial", "p", "kept"))
    sizes, low, high = (f.vector(k) for k in ("sizes", "low", "high"))

    def unknown(j: Value) -> Value:
        return f.index("unknown_list", j)

    def clipped(value: Value, j: Value) -> Value:
        return f.least(f.most(value, low[j]), high[j])

    def length_of_p() -> Value:
        return f.root(f.sum(n, lambda j: p[j] * p[j]))

    with f.each(n) as j:
        x[unknown(j)] = clipped(x[unknown(j)], j)
    merit = Local(f, f.run(values))
    f.move(m, r_trial, r)
    radius = Local(f, f.root(n.to_real()))
    steps, ended = Local(f, f.whole(0)), Local(f, f.whole(0))
    known = Local(f, f.real(0.0))  # 1 where there are factors of a step before
    with f.repeat() as loop:
        off = f.largest(m, lambda i: r[i])
        with f.when(~(merit.get() < 1e300) | (steps.get() >= NEWTON) | n.equals(0) | (off <= ROUNDING)):
            loop.leave()
        with f.when((known.get() > 0.0) & (off <= CHORD)):
            with f.each(n) as j:
                kept[j] = x[unknown(j)]
            f.run(chord)
            with f.each(n) as j:
                x[unknown(j)] = clipped(kept[j] + sizes[j] * p[j], j)
            near = f.run(values)
            with f.when(near < 1e-4 * merit.get()):
                f.move(m, r_trial, r)
                merit.set(near)
                loop.again()
            with f.each(n) as j:
                x[unknown(j)] = kept[j]
            with f.when((off <= ROUNDED) & ~(near < 0.8 * merit.get())):
                loop.leave()
        f.run(slopes)
        with f.each(n) as j:
            with f.each(m) as i:
                A[j * m + i] = slope(i, j)
            downhill = f.sum(m, lambda i: A[j * m + i] * r[i])
            at = x[unknown(j)]
            stuck = ((at <= low[j]) & (downhill > 0.0)) | ((at >= high[j]) & (downhill < 0.0))
            f.put_index("held", j, f.whole(0))
            with f.when(stuck):
                f.put_index("held", j, f.whole(1))
                with f.each(m) as i:
                    A[j * m + i] = 0.0
        with f.when(~(f.largest(n * m, lambda k: A[k]) < 1e300)):
            loop.leave()
        longest = f.run(factorise, m, n, f.real(NO_EFFECT))
        held = f.largest(n, lambda j: f.index("held", j).to_real())
        known.set(f.choose(held > 0.0, 0.0, 1.0))
        with f.when(steps.get().equals(0)):
            f.run(turned, m, n, f.whole(-1))
            turn = f.largest(n, lambda j: f.choose(f.index("angles", j).equals(1), p[j], 0.0))
            # Sizes of lengths, speeds and inputs are guesses, that of an angle is not.
            with f.when((f.vector("settings")[1] > 0.0) & (turn <= 1.0)):
                radius.set(f.most(radius.get(), 1.01 * length_of_p()))
        steps.set(steps.get() + 1)
        with f.each(n) as j:
            kept[j] = x[unknown(j)]
        with f.repeat() as shorter:
            with f.when(longest > radius.get()):
                f.run(damped, radius.get())
            f.run(turned, m, n, f.whole(-1))
            with f.each(n) as j:
                there = clipped(kept[j] + sizes[j] * p[j], j)
                x[unknown(j)] = there
                p[j] = (there - kept[j]) / sizes[j]
            length, new = length_of_p(), f.run(values)
            predicted = Local(f, f.real(0.0))
            with f.each(m) as i:
                # mypy does not infer a lambda with a default argument, which binds the variable of the loop.
                linear = r[i] + f.sum(n, lambda j, i=i: slope(i, j) * p[j])  # type: ignore[misc]
                predicted.set(predicted.get() + linear * linear)
            expected, gained = merit.get() - predicted.get(), merit.get() - new
            with f.when((new < merit.get()) & (gained > 1e-4 * expected)):
                shorter.leave()
            radius.set(0.25 * f.least(length, radius.get()))
            with f.when((radius.get() < 1e-12) | ((off <= MET) & (length <= 1e-6))):
                ended.set(f.whole(1))
                shorter.leave()
        with f.when(ended.get().equals(1)):
            with f.each(n) as j:
                x[unknown(j)] = kept[j]
            loop.leave()
        with f.when(gained > 0.75 * expected):
            radius.set(f.most(radius.get(), 3.0 * length))
        with f.when(gained < 0.25 * expected):
            radius.set(0.5 * length)
        stalled = (new > 0.9 * merit.get()) & (f.largest(m, lambda i: r_trial[i]) <= MET)
        f.move(m, r_trial, r)
        merit.set(new)
        with f.when(stalled):
            loop.leave()
    f.vector("report")[0] = steps.get().to_real()
    f.give()
    return f


def _emit_rest(
    module: IRModule, values: Routine, slopes: Routine, factorise: Routine, turned: Routine
) -> Routine:
    """`rest()`: x moved to where the damped motion comes to rest; the report is 0 where it does not stay
    finite. See `starts.py`.
    """
    f = search_routine(module, "rest", NOTHING)
    n, closed, width, speeds = f["moved"], f["closed"], f["columns"], f["speeds"]
    first, height = f["first_speed"], n + closed
    x, c, A, C = (f.vector(k) for k in ("x", "c", "A", "C"))
    r, rates, step, G, sizes = (f.vector(k) for k in ("r", "kept", "p", "G", "sizes"))

    def moved(j: Value) -> Value:
        return f.index("moved_list", j)

    delta, last = Local(f, f.real(0.0)), Local(f, f.real(0.0))
    turns, finite = Local(f, f.whole(0)), Local(f, f.real(1.0))
    with f.repeat() as loop:
        with f.when(turns.get() >= REST):
            loop.leave()
        turns.set(turns.get() + 1)
        f.run(values)
        f.run(slopes)
        with f.each(n) as i:
            start = moved(i) * width + first
            # mypy does not infer a lambda with a default argument, which binds the variable of the loop.
            rates[i] = f.sum(speeds, lambda s, start=start: C[start + s] * c[first + s])  # type: ignore[misc]
        size = f.largest(n, lambda i: rates[i])
        with f.when(~(size < 1e300)):
            finite.set(f.real(0.0))
            loop.leave()
        fastest = f.largest(speeds, lambda s: c[first + s])
        with f.when((size <= 1e-9 * (1.0 + fastest)) | size.equals(0.0)):
            loop.leave()
        growth = f.least(f.most(last.get() / size, 1.0), 2.0)
        fast = f.largest(n, lambda i: rates[i] / sizes[i])
        delta.set(f.choose(delta.get() > 0.0, delta.get() * growth, 0.1 / fast))
        last.set(size)
        with f.each(n) as i, f.each(n) as j:
            row, column = moved(i) * width + first, moved(j)
            G[j * n + i] = f.sum(
                speeds,
                # mypy does not infer a lambda with a default argument, which binds the variable of the loop.
                lambda s, row=row, column=column: C[row + s] * C[(first + s) * width + column],  # type: ignore[misc]
            )
        tries = Local(f, f.whole(0))
        with f.repeat() as shorter:  # a long step where the motion is unstable would lead backwards
            with f.each(n) as j:
                with f.each(n) as i:
                    A[j * height + i] = f.choose(i.equals(j), 1.0 / delta.get(), 0.0) - G[j * n + i]
                with f.each(closed) as i:
                    A[j * height + n + i] = C[f.index("closed_list", i) * width + moved(j)]
            with f.each(n) as i:
                r[i] = 0.0 - rates[i]
            with f.each(closed) as i:
                r[n + i] = c[f.index("closed_list", i)]
            f.run(factorise, height, n, EPSILON * height.to_real())
            f.run(turned, height, n, f.whole(-1))
            tries.set(tries.get() + 1)
            forward = f.sum(n, lambda i: step[i] * rates[i]) > 0.0
            with f.when(forward | (tries.get() >= 20)):
                shorter.leave()
            delta.set(0.25 * delta.get())
        longest = f.largest(n, lambda i: step[i] / sizes[i])
        with f.when(~(longest < 1e300)):
            finite.set(f.real(0.0))
            loop.leave()
        share = f.least(1.0, 0.5 / f.most(longest, 1e-300))
        with f.each(n) as i:
            x[moved(i)] = x[moved(i)] + step[i] * share
    f.vector("report")[0] = finite.get()
    f.give()
    return f
