"""Factors of a matrix, and steps from them, as routines of the compiled search (`newton.py`).

Matrices A are stored by columns, and factorised by reflections with pivoting from both sides, which give the
shortest step where A is singular (complete orthogonal decomposition; Golub and Van Loan, Matrix Computations,
section 5.4.7). Steps that would be too long come from the triangle T that is left (Moré 1978).
"""

from __future__ import annotations

from armillary.llvm.building.builder import Local, Span, Value
from armillary.llvm.building.emitter import NOTHING, REAL, WHOLE, IRModule
from armillary.llvm.building.routines import Routine, RoutineLayout, routine

# The fields of the compiled search for an operating point: numbers, and addresses of arrays.

SEARCH = RoutineLayout(
    numbers=(
        "conditions",  # rows of C
        "columns",  # of C: states and inputs
        "rows",  # conditions that are to be met
        "unknowns",
        "entries",  # of C that are not always zero, where it is written out
        "directions",  # along which conditions are differentiated, where it is not; else 0
        "moved",  # coordinates of the damped motion
        "closed",  # conditions that every position satisfies
        "first_speed",
        "speeds",
    ),
    addresses=(
        *("values", "slopes", "constants", "memory"),
        *("flat", "row_list", "unknown_list", "moved_list", "closed_list"),  # whole numbers
        *("direction_columns", "direction_ends", "element_rows", "element_ends"),  # whole numbers
        *("angles", "held"),  # whole numbers, 0 or 1 for each unknown
        *("settings", "x", "wanted", "sizes", "weights", "low", "high", "report"),
        "room",  # what all other work is in
        *("c", "out", "C", "A", "R", "T", "G", "p", "r", "r_trial", "right", "kept"),  # work
        *("y", "w", "z", "b", "new", "heads", "order", "shares"),  # work of the factors
    ),
)


ENTRIES = ("newton", "outlook", "rest")


def search_routine(module: IRModule, name: str, result: str, *arguments: str) -> Routine:
    return routine(module, SEARCH, name, result, *arguments, public=name in ENTRIES)


def emit_factorise(module: IRModule) -> Routine:
    """`factorise(m, n, cut)`: A P = Q [T 0; 0 0] Z for m rows and n columns, T y = −Qᵀ r; the length of y.

    Householder's reflections, the longest of the columns that are left first, until none is longer than cut
    times the first; then reflections of rows, where columns are left.
    """
    f = search_routine(module, "factorise", REAL, WHOLE, WHOLE, REAL)
    m, n, cut = (f.argument(i) for i in (1, 2, 3))
    R, T, r, right, y, heads = (f.vector(name) for name in ("R", "T", "r", "right", "y", "heads"))
    f.move(m * n, f.vector("A"), R)
    with f.each(m) as i:
        right[i] = 0.0 - r[i]
    lengths, exact = f.vector("w"), f.vector("new")  # squares of those of what is left; as last computed

    def measure(j: Value, k: Value) -> None:
        below = f.vector("R", j * m + k)
        lengths[j] = f.dot(m - k, below, below)
        exact[j] = lengths[j]

    with f.each(n) as j:
        f.put_index("order", j, j)
        measure(j, f.whole(0))
    strongest, rank = Local(f, f.real(0.0)), Local(f, f.whole(0))
    with f.repeat() as loop:
        k = rank.get()
        with f.when((k >= n) | (k >= m)):
            loop.leave()
        count, square, place = m - k, Local(f, f.real(-1.0)), Local(f, k)
        with f.span(k, n) as j, f.when(lengths[j] > square.get()):
            square.set(lengths[j])
            place.set(j)
        measure(place.get(), k)
        length, first, other = f.root(lengths[place.get()]), k * m, place.get() * m
        with f.when(~(length > cut * strongest.get())):
            loop.leave()
        strongest.set(f.most(length, strongest.get()))
        with f.each(m) as i:
            here, there = R[first + i], R[other + i]
            R[first + i], R[other + i] = there, here
        lengths[place.get()], exact[place.get()] = lengths[k], exact[k]
        moved, kept = f.index("order", place.get()), f.index("order", k)
        f.put_index("order", k, moved)
        f.put_index("order", place.get(), kept)
        top = R[first + k]
        alpha = f.choose(top > 0.0, 0.0 - length, length)
        head = top - alpha
        scale = alpha * head  # −½ vᵀv
        R[first + k] = head
        with f.span(k + 1, n) as j:
            _mirror(f, first + k, scale, count, f.vector("R", j * m + k))
            lengths[j] = lengths[j] - R[j * m + k] * R[j * m + k]
            with f.when(~(lengths[j] > 1e-6 * exact[j])):  # a difference of nearly equal numbers
                measure(j, k + 1)
        _mirror(f, first + k, scale, count, f.vector("right", k))
        R[first + k] = alpha
        rank.set(k + 1)
    found = rank.get()
    f.put_index("order", n, found)
    with f.when(found < n), f.each(found) as back:
        k, count = found - 1 - back, n - found

        def tail(row: Value, j: Value) -> Value:
            return (found + j) * m + row

        top = R[k * m + k]
        length = f.root(top * top + f.sum(count, lambda j: R[tail(k, j)] * R[tail(k, j)]))
        alpha = f.choose(top > 0.0, 0.0 - length, length)
        head = top - alpha
        with f.each(k) as i:
            along = head * R[k * m + i] + f.sum(count, lambda j: R[tail(k, j)] * R[tail(i, j)])
            share = along / (alpha * head)
            R[k * m + i] = R[k * m + i] + share * head
            with f.each(count) as j:
                R[tail(i, j)] = R[tail(i, j)] + share * R[tail(k, j)]
        heads[k] = head
        R[k * m + k] = alpha
    with f.each(found) as i, f.span(i, found) as j:
        T[i * n + j] = R[j * m + i]
    with f.each(found) as back:
        k = found - 1 - back
        known = f.dot(back, f.vector("T", k * n + k + 1), f.vector("y", k + 1))
        y[k] = (right[k] - known) / T[k * n + k]
    f.give(f.root(f.dot(found, y, y)))
    return f


def _mirror(f: Routine, v: Value, scale: Value, count: Value, target: Span) -> None:
    """A reflection by the vector at a place of R; the scale is −½ vᵀv."""
    mirror = f.vector("R", v)
    share = f.dot(count, mirror, target) / scale
    with f.each(count) as i:
        target[i] = target[i] + share * mirror[i]


def emit_damped_step(module: IRModule) -> Routine:
    """`damped(radius)`: y = (TᵀT + μ)⁻¹ Tᵀ b, b = −Qᵀ r, of about the length of a radius, where T y = b is
    longer.

    SᵀS = TᵀT + μ comes from rotations of rows. 1/|y(μ)| is nearly linear in μ, and |y|′ = −|w|²/|y| with
    Sᵀ w = y (Moré 1978).
    """
    f = search_routine(module, "damped", NOTHING, REAL)
    n, radius = f["unknowns"], f.argument(1)
    S, b, y, w, new = (f.vector(name) for name in ("G", "b", "y", "w", "new"))
    rank = f.index("order", n)

    def solve_transposed() -> Value:
        """|w|²."""
        f.move(rank, y, w)
        with f.each(rank) as k:
            w[k] = w[k] / S[k * n + k]
            with f.span(k + 1, rank) as i:
                w[i] = w[i] - S[k * n + i] * w[k]
        return f.dot(rank, w, w)

    def restore_triangle() -> None:
        """S = T, b = −Qᵀ r."""
        with f.each(rank) as i:
            b[i] = f.vector("right")[i]
            with f.span(i, rank) as j:
                S[i * n + j] = f.vector("T")[i * n + j]

    restore_triangle()
    length, mu, turns = (Local(f, start) for start in (f.real(0.0), f.real(0.0), f.whole(0)))
    with f.repeat() as loop:
        with f.each(rank) as back:
            k = rank - 1 - back
            known = f.dot(back, f.vector("G", k * n + k + 1), f.vector("y", k + 1))
            y[k] = (b[k] - known) / S[k * n + k]
        length.set(f.root(f.dot(rank, y, y)))
        near = f.magnitude(length.get() - radius) <= 0.1 * radius
        with f.when(near | (turns.get() >= 20) | ~(length.get() > 0.0)):
            loop.leave()
        turns.set(turns.get() + 1)
        more = (length.get() / radius - 1.0) * length.get() * length.get() / solve_transposed()
        mu.set(f.most(mu.get() + more, 0.0))
        restore_triangle()
        with f.each(rank) as j:  # the row √μ e_j, and its right side
            with f.span(j, rank) as i:
                new[i] = 0.0
            new[j], right = f.root(mu.get()), Local(f, f.real(0.0))
            with f.span(j, rank) as k:
                here, there = S[k * n + k], new[k]
                size = f.root(here * here + there * there)
                cosine, sine = here / size, there / size
                S[k * n + k] = size
                old = b[k]
                b[k] = cosine * old + sine * right.get()
                right.set(cosine * right.get() - sine * old)
                with f.span(k + 1, rank) as i:
                    here, there = S[k * n + i], new[i]
                    S[k * n + i] = cosine * here + sine * there
                    new[i] = cosine * there - sine * here
    with f.when(length.get() > radius), f.each(rank) as i:
        y[i] = y[i] * (radius / length.get())
    f.give()
    return f


def emit_turn_back(module: IRModule) -> Routine:
    """`turned(m, n, k)`: p = P Zᵀ [y; 0], as long as y; for k ≥ 0 the unit vector k in place of [y; 0]."""
    f = search_routine(module, "turned", NOTHING, WHOLE, WHOLE, WHOLE)
    m, n, unit = (f.argument(i) for i in (1, 2, 3))
    y, z, p = (f.vector(name) for name in ("y", "z", "p"))
    rank = f.index("order", n)
    with f.each(n) as i:
        z[i] = f.choose(i.equals(unit), 1.0, 0.0)
    with f.when(unit < 0):
        f.move(rank, y, z)
    with f.when(rank < n), f.each(rank) as k:
        _reflect(f, m, n, k)
    with f.each(n) as i:
        p[f.index("order", i)] = z[i]
    f.give()
    return f


def _reflect(f: Routine, m: Value, n: Value, k: Value) -> None:
    """z reflected by the k-th factor of Z."""
    R, heads, z, rank = f.vector("R"), f.vector("heads"), f.vector("z"), f.index("order", n)

    def tail(j: Value) -> Value:
        return R[(rank + j) * m + k]

    along = heads[k] * z[k] + f.sum(n - rank, lambda j: tail(j) * z[rank + j])
    share = along / (R[k * m + k] * heads[k])
    z[k] = z[k] + share * heads[k]
    with f.each(n - rank) as j:
        z[rank + j] = z[rank + j] + share * tail(j)


def emit_chord(module: IRModule, turned: Routine) -> Routine:
    """`chord()`: p of A p = −r with the last A and its factors, TᵀT y = −(Z Pᵀ Aᵀ r)."""
    f = search_routine(module, "chord", NOTHING)
    m, n, T, r, y, z = f["rows"], f["unknowns"], *(f.vector(k) for k in ("T", "r", "y", "z"))
    rank = f.index("order", n)
    with f.each(n) as i:
        z[i] = 0.0 - f.dot(m, f.vector("A", f.index("order", i) * m), r)
    with f.when(rank < n), f.each(rank) as back:
        _reflect(f, m, n, rank - 1 - back)
    with f.each(rank) as k:
        # mypy does not infer a lambda with a default argument, which binds the variable of the loop.
        y[k] = (z[k] - f.sum(k, lambda i, k=k: T[i * n + k] * y[i])) / T[k * n + k]  # type: ignore[misc]
    with f.each(rank) as back:
        k = rank - 1 - back
        known = f.dot(back, f.vector("T", k * n + k + 1), f.vector("y", k + 1))
        y[k] = (y[k] - known) / T[k * n + k]
    f.run(turned, m, n, f.whole(-1))
    f.give()
    return f
