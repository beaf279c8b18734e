"""The compiled search for an operating point, built once for all systems; `newton.py` has the method.

Matrices A are stored by columns. Their singular values come from rotations of pairs of columns until all are
orthogonal, A V = U diag(d) (one-sided Jacobi method; Golub and Van Loan, Matrix Computations, section 8.6.3):
short, accurate for small singular values too, and fast for the few unknowns of a mechanism. They are needed
only where A is nearly singular or a step is too long; else the step comes from reflections, A = Q R.
"""

from __future__ import annotations

from armillary.analysis.operating.newton_layout import SEARCH
from armillary.llvm.assembly import NOTHING, REAL, WHOLE, Module
from armillary.llvm.builder import Value, Variable, Vector
from armillary.llvm.routines import Routine, routine

MET = 1e-9  # of the size of a condition: what is above this is not met
ROUNDING = 1e-15
NO_EFFECT = 1e-11  # singular value, as a part of the largest, of a direction without effect
NEWTON, REST = 80, 200  # steps
EPSILON = 2.0**-52
_SWEEPS = 30


def _routine(module: Module, name: str, result: str, *arguments: str) -> Routine:
    return routine(module, SEARCH, name, result, *arguments, public=name in ("newton", "rest"))


def search_text() -> str:
    """The LLVM text of ``armillary_newton(fields)`` and ``armillary_rest(fields)``."""
    module = Module()
    values, slopes = _emit_values(module), _emit_slopes(module)
    reflect, decompose = _emit_reflect(module), _emit_decompose(module)
    within = _emit_within(module, decompose)
    _emit_newton(module, values, slopes, reflect, within)
    _emit_rest(module, values, slopes, decompose)
    return str(module)


def _emit_values(module: Module) -> Routine:
    """`conditions()`: c at x, and |w (c − wanted)|²; the scaled residuals are left in r_trial."""
    f = _routine(module, "conditions", REAL)
    c, r, wanted, weights = f.vector("c"), f.vector("r_trial"), f.vector("wanted"), f.vector("weights")
    f.evaluate("values", f.vector("settings")[0], f.vector("x"), c)
    with f.each(f["rows"]) as i:
        r[i] = (c[f.index("row_list", i)] - wanted[i]) * weights[i]
    f.give(f.sum(f["rows"], lambda i: r[i] * r[i]))
    return f


def _emit_slopes(module: Module) -> Routine:
    """`slopes()`: the derivatives C of all conditions by all columns, at x, by rows."""
    f = _routine(module, "slopes", NOTHING)
    t, x, out, C = f.vector("settings")[0], f.vector("x"), f.vector("out"), f.vector("C")
    width = f["columns"]
    with f.when(f["by_columns"].equals(0)):
        f.evaluate("slopes", t, x, out)
        with f.each(f["entries"]) as k:
            C[f.index("flat", k)] = out[k]
    with f.when(f["by_columns"].equals(1)), f.each(f["needed"]) as k:
        j = f.index("needed_list", k)
        x[width + j] = 1.0
        f.evaluate("slopes", t, x, out)
        x[width + j] = 0.0
        with f.each(f["conditions"]) as i:
            C[i * width + j] = out[i]
    f.give()
    return f


def _emit_reflect(module: Module) -> Routine:
    """`reflect()`: the step −A⁺ r by Householder's reflections; its length, or 1e300 where A is nearly
    singular or has more columns than rows.
    """
    f = _routine(module, "reflect", REAL)
    m, n = f["rows"], f["unknowns"]
    A, R, r, right, step = (f.vector(name) for name in ("A", "R", "r", "right", "direct"))
    f.move(m * n, A, R)
    with f.each(m) as i:
        right[i] = 0.0 - r[i]

    def mirror(v: Value, scale: Value, count: Value, target: Vector) -> None:
        share = f.sum(count, lambda i: R[v + i] * target[i]) / scale
        with f.each(count) as i:
            target[i] = target[i] + share * R[v + i]

    strongest, weakest = Variable(f, f.real(0.0)), Variable(f, f.real(1e300))
    with f.when(n > m):
        weakest.set(0.0)
    with f.when(n <= m):
        with f.each(n) as k:
            first, count = k * m, m - k
            square = f.sum(count, lambda i: R[first + k + i] * R[first + k + i])
            top = R[first + k]
            length = f.root(square)
            alpha = f.choose(top > 0.0, 0.0 - length, length)
            head = top - alpha
            scale = alpha * head  # −½ vᵀv
            strongest.set(f.most(length, strongest.get()))
            weakest.set(f.least(length, weakest.get()))
            with f.when(scale < 0.0):
                R[first + k] = head
                with f.span(k + 1, n) as j:
                    mirror(first + k, scale, count, f.vector("R", j * m + k))
                mirror(first + k, scale, count, f.vector("right", k))
                R[first + k] = alpha
        with f.when(weakest.get() > NO_EFFECT * strongest.get()), f.each(n) as back:
            k = n - 1 - back
            known = f.sum(back, lambda i: R[(k + 1 + i) * m + k] * step[k + 1 + i])
            step[k] = (right[k] - known) / R[k * m + k]
    regular = weakest.get() > NO_EFFECT * strongest.get()
    f.give(f.choose(regular, f.root(f.sum(n, lambda j: step[j] * step[j])), 1e300))
    return f


def _emit_decompose(module: Module) -> Routine:
    """`decompose(height, n, cut)`: A V = U diag(d) for n columns, b = −Uᵀ r, and the shortest step b/d.

    Directions with d ≤ cut times the largest d have no part in it.
    """
    f = _routine(module, "decompose", NOTHING, WHOLE, WHOLE, REAL)
    height, n, cut = (f.argument(i) for i in (1, 2, 3))
    A, V, d, b, full, r = (f.vector(name) for name in ("A", "V", "d", "b", "full", "r"))
    with f.each(n * n) as i:
        V[i] = 0.0
    with f.each(n) as i:
        V[i * n + i] = 1.0

    def column(j: Value) -> Vector:
        return f.vector("A", j * height)

    most = Variable(f, f.real(0.0))
    with f.each(n) as j:
        most.set(f.most(f.dot(height, column(j), column(j)), most.get()))
    least = most.get() * 1e-32  # squares of lengths that are rounding
    sweeps, turned = Variable(f, f.whole(0)), Variable(f, f.whole(1))
    with f.repeat() as loop:
        with f.when(turned.get().equals(0) | (sweeps.get() >= _SWEEPS)):
            loop.leave()
        turned.set(f.whole(0))
        sweeps.set(sweeps.get() + 1)
        with f.each(n) as j:  # squares of lengths, which rotations change by known amounts
            d[j] = f.dot(height, column(j), column(j))
        with f.each(n) as p, f.span(p + 1, n) as q:
            alpha, beta, gamma = d[p], d[q], f.dot(height, column(p), column(q))
            large = (alpha > least) & (beta > least)
            with f.when(large & (f.magnitude(gamma) > EPSILON * f.root(alpha) * f.root(beta))):
                turned.set(f.whole(1))
                zeta = (beta - alpha) / (2.0 * gamma)
                size = 1.0 / (f.magnitude(zeta) + f.root(1.0 + zeta * zeta))
                tangent = f.choose(zeta < 0.0, 0.0 - size, size)
                cosine = 1.0 / f.root(1.0 + tangent * tangent)
                sine = cosine * tangent
                d[p], d[q] = f.most(alpha - tangent * gamma, 0.0), beta + tangent * gamma
                for M, rows in ((A, height), (V, n)):
                    with f.each(rows) as i:
                        here, there = M[p * rows + i], M[q * rows + i]
                        M[p * rows + i] = cosine * here - sine * there
                        M[q * rows + i] = sine * here + cosine * there
    largest = Variable(f, f.real(0.0))
    with f.each(n) as j:
        d[j] = f.root(f.dot(height, column(j), column(j)))
        largest.set(f.most(d[j], largest.get()))
    with f.each(n) as j:
        zero = d[j].equals(0.0)
        along = f.dot(height, column(j), r)
        b[j] = f.choose(zero, 0.0, (0.0 - along) / f.choose(zero, 1.0, d[j]))
        acts = d[j] > cut * largest.get()
        full[j] = f.choose(acts, b[j] / f.choose(acts, d[j], 1.0), 0.0)
    f.give()
    return f


def _emit_within(module: Module, decompose: Routine) -> Routine:
    """`within(radius, length)`: the best step p that is not longer than a radius, and 1 where singular values
    gave it. ``length`` is that of the direct step, or −1 where A is decomposed already.
    """
    f = _routine(module, "within", REAL, REAL, REAL)
    n, radius, direct = f["unknowns"], f.argument(1), f.argument(2)
    V, d, b, full, z, p = (f.vector(name) for name in ("V", "d", "b", "full", "z", "p"))
    with f.when((direct >= 0.0) & (direct <= radius)):
        f.move(n, f.vector("direct"), p)
        f.give(f.real(0.0))
    with f.when(direct >= 0.0):
        f.run(decompose, f["rows"], n, f.real(NO_EFFECT))
    f.move(n, full, z)
    length = Variable(f, f.root(f.sum(n, lambda i: z[i] * z[i])))
    with f.when(length.get() > radius):
        # 1/|z(μ)| is nearly linear in μ; Newton's method on it (Moré 1978).
        mu, turns = Variable(f, f.real(0.0)), Variable(f, f.whole(0))

        def square(i: Value) -> Value:
            found = d[i] * d[i] + mu.get()
            return f.choose(found > 0.0, found, 1.0)

        with f.repeat() as loop:
            slope = f.sum(n, lambda i: z[i] * z[i] / square(i)) / length.get()
            slope = f.choose(slope.equals(0.0), 1.0, slope)
            more = (length.get() / radius - 1.0) * length.get() / slope
            mu.set(f.most(mu.get() + more, 0.0))
            with f.each(n) as i:
                z[i] = d[i] * b[i] / square(i)
            length.set(f.root(f.sum(n, lambda i: z[i] * z[i])))
            turns.set(turns.get() + 1)
            near = f.magnitude(length.get() - radius) <= 0.1 * radius
            with f.when(near | (turns.get() >= 20) | ~(length.get() > 0.0)):
                loop.leave()
        with f.when(length.get() > radius), f.each(n) as i:
            z[i] = z[i] * (radius / length.get())
    with f.each(n) as i:
        p[i] = f.sum(n, lambda j: V[j * n + i] * z[j])
    f.give(f.real(1.0))
    return f


def _emit_newton(
    module: Module, values: Routine, slopes: Routine, reflect: Routine, within: Routine
) -> Routine:
    """`newton()`: the unknowns of x moved to a root, or to where the conditions are nearest to being met.

    The report has the steps.
    """
    f = _routine(module, "newton", NOTHING)
    m, n, width = f["rows"], f["unknowns"], f["columns"]
    x, A, C, r, r_trial, p, kept = (f.vector(k) for k in ("x", "A", "C", "r", "r_trial", "p", "kept"))
    sizes, weights, low, high = (f.vector(k) for k in ("sizes", "weights", "low", "high"))

    def unknown(j: Value) -> Value:
        return f.index("unknown_list", j)

    def slope(i: Value, j: Value) -> Value:
        return C[f.index("row_list", i) * width + unknown(j)] * weights[i] * sizes[j]

    def clipped(value: Value, j: Value) -> Value:
        return f.least(f.most(value, low[j]), high[j])

    def length_of_p() -> Value:
        return f.root(f.sum(n, lambda j: p[j] * p[j]))

    with f.each(n) as j:
        x[unknown(j)] = clipped(x[unknown(j)], j)
    merit = Variable(f, f.run(values))
    f.move(m, r_trial, r)
    radius = Variable(f, f.root(n.to_real()))
    steps, ended = Variable(f, f.whole(0)), Variable(f, f.whole(0))
    with f.repeat() as loop:
        off = f.largest(m, lambda i: r[i])
        with f.when(~(merit.get() < 1e300) | (steps.get() >= NEWTON) | n.equals(0) | (off <= ROUNDING)):
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
        direct = Variable(f, f.run(reflect))

        def within_radius(length: Value) -> None:
            with f.when(f.run(within, length, direct.get()) > 0.0):
                direct.set(-1.0)

        with f.when(steps.get().equals(0)):
            within_radius(f.real(1e299))
            turn = f.largest(n, lambda j: f.choose(f.index("angles", j).equals(1), p[j], 0.0))
            # Sizes of lengths, speeds and inputs are guesses, that of an angle is not.
            with f.when((f.vector("settings")[1] > 0.0) & (turn <= 1.0)):
                radius.set(f.most(radius.get(), 1.01 * length_of_p()))
        steps.set(steps.get() + 1)
        with f.each(n) as j:
            kept[j] = x[unknown(j)]
        with f.repeat() as shorter:
            within_radius(radius.get())
            with f.each(n) as j:
                there = clipped(kept[j] + sizes[j] * p[j], j)
                x[unknown(j)] = there
                p[j] = (there - kept[j]) / sizes[j]
            length, new = length_of_p(), f.run(values)
            predicted = Variable(f, f.real(0.0))
            with f.each(m) as i:
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


def _emit_rest(module: Module, values: Routine, slopes: Routine, decompose: Routine) -> Routine:
    """`rest()`: x moved to where the damped motion comes to rest; the report is 0 where it does not stay
    finite. See `starts.py`.
    """
    f = _routine(module, "rest", NOTHING)
    n, closed, width, speeds = f["moved"], f["closed"], f["columns"], f["speeds"]
    first, height = f["first_speed"], n + closed
    x, c, A, C, V, full = (f.vector(k) for k in ("x", "c", "A", "C", "V", "full"))
    r, rates, step, G = (f.vector(k) for k in ("r", "kept", "p", "G"))

    def moved(j: Value) -> Value:
        return f.index("moved_list", j)

    delta, last = Variable(f, f.real(0.0)), Variable(f, f.real(0.0))
    turns, finite = Variable(f, f.whole(0)), Variable(f, f.real(1.0))
    with f.repeat() as loop:
        with f.when(turns.get() >= REST):
            loop.leave()
        turns.set(turns.get() + 1)
        f.run(values)
        f.run(slopes)
        with f.each(n) as i:
            start = moved(i) * width + first
            rates[i] = f.sum(speeds, lambda s, start=start: C[start + s] * c[first + s])  # type: ignore[misc]
        size = f.largest(n, lambda i: rates[i])
        with f.when(~(size < 1e300)):
            finite.set(f.real(0.0))
            loop.leave()
        fastest = f.largest(speeds, lambda s: c[first + s])
        with f.when((size <= 1e-9 * (1.0 + fastest)) | size.equals(0.0)):
            loop.leave()
        growth = f.least(f.most(last.get() / size, 1.0), 2.0)
        delta.set(f.choose(delta.get() > 0.0, delta.get() * growth, 0.1 / size))
        last.set(size)
        with f.each(n) as i, f.each(n) as j:
            row, column = moved(i) * width + first, moved(j)
            G[j * n + i] = f.sum(
                speeds,
                lambda s, row=row, column=column: C[row + s] * C[(first + s) * width + column],  # type: ignore[misc]
            )
        tries = Variable(f, f.whole(0))
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
            f.run(decompose, height, n, EPSILON * height.to_real())
            with f.each(n) as i:
                step[i] = f.sum(n, lambda j, i=i: V[j * n + i] * full[j])  # type: ignore[misc]
            tries.set(tries.get() + 1)
            forward = f.sum(n, lambda i: step[i] * rates[i]) > 0.0
            with f.when(forward | (tries.get() >= 20)):
                shorter.leave()
            delta.set(0.25 * delta.get())
        longest = f.largest(n, lambda i: step[i])
        with f.when(~(longest < 1e300)):
            finite.set(f.real(0.0))
            loop.leave()
        share = f.least(1.0, 0.5 / f.most(longest, 1e-300))
        with f.each(n) as i:
            x[moved(i)] = x[moved(i)] + step[i] * share
    f.vector("report")[0] = finite.get()
    f.give()
    return f
