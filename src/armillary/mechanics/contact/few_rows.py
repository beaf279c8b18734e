"""Contact forces of few rows as expressions: the method of ``independent_rows.py`` without loops or branches.

    J E λ = −z

Here z are the accelerations without forces. The columns E are those of D = M⁻¹ Jᵀ (problem.py), but the
column of a normal includes the friction of its slide.

Rows are eliminated one after the other. For a row that does not hold, and for a row that depends on earlier
rows, the inverse of the pivot is replaced by zero, so that the row has no force. Thus one formula serves all
statuses. Its length grows with the cube of the number of rows. With this formula a step of a rod on its tip
takes half the time of a step that calls the solver. The forces are `doubtful` if a pivot is neither large
enough nor only a rounding error, if a row may move no mass, or if a redundant row contradicts others. Then
the solver (problem.py) must find them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from armillary.algebra import functions as fn
from armillary.algebra.expression import Expr, as_expr
from armillary.algebra.triples import Scalar, is_zero, minus, plus, times, total
from armillary.mechanics.contact.blocks import ContactShape
from armillary.mechanics.contact.contact_thresholds import (
    FRICTION_SOFTNESS,
    JAM,
    NO_FORCE,
    NO_MOTION,
    REDUNDANT_ROW,
    ROUNDING_SHARE,
)

MOST_ROWS = 4  # most rows for which these formulas are used
SOUND = 1e-2  # least pivot, as a share of the row's diagonal element: with it, at most two digits are lost
SMALLEST = 1e-100  # least divisor, in any units; the derivative of its inverse is still finite
CLEAR = 1e-5  # a diagonal element below this share of its terms may be rounding, also in single precision
# Softness of a friction row whose limit or lever is zero, relative to the softness of other friction rows.
# With 1e10 a clutch whose lever had passed through zero bore 20 times its capacity.
NO_SHARE = 1e30
CONTRADICTED = 1e-12  # largest residual of a consistent redundant row, as a share of its terms


@dataclass(frozen=True, eq=False)
class FewForces:
    """Forces by row, the changes of speeds that they cause, and the factorisation that gave the forces."""

    forces: list[Scalar]
    changes: list[Scalar]
    diagonal: list[Scalar]  # of J D
    taken: list[fn.Operand]  # whether a row holds and is independent of earlier rows
    lower: list[list[Scalar]]  # elements of L below its diagonal, of the factors L U of J E
    redundant: list[fn.Operand]  # whether a row holds and depends on earlier rows
    doubtful: fn.Operand  # whether the solver must find the forces instead

    @property
    def redundant_count(self) -> Scalar:
        """The number of rows that hold and have no force."""
        return total([fn.select(x, 1, 0) for x in self.redundant])


def _name(x: Scalar, name: str) -> Scalar:
    return fn.named(x, name) if isinstance(x, Expr) else x


def inverse_if(taken: fn.Operand, pivot: Scalar) -> Scalar:
    """Return 1/pivot if the pivot, which is then positive, is ``taken``, else zero.

    The quotient is computed in either case, with a divisor of at least SMALLEST, so it is always finite.
    """
    return _name(fn.select(taken, 1 / as_expr(fn.maximum(pivot, SMALLEST)), 0), "contact_inverse")


def _any(conditions: Sequence[fn.Operand]) -> fn.Operand:
    return reduce(fn.or_, conditions, False) if conditions else 0


def find_few_forces(
    shape: ContactShape,
    jacobian: Sequence[Scalar],
    columns: Sequence[Scalar],
    free: Sequence[Scalar],
    held: Sequence[fn.Operand],
    weight: Sequence[Scalar],
    offset: Sequence[Scalar],
    *,
    symmetric: bool,
) -> FewForces:
    """Return the forces if the rows with a true condition in ``held`` hold.

    The other arguments are the vectors of a ``ContactBlock``. ``symmetric`` states that J D is symmetric.
    """
    n, speeds = shape.count, range(shape.speeds)
    J = [[jacobian[i * shape.speeds + s] for s in speeds] for i in range(n)]
    D = [[columns[i * shape.speeds + s] for s in speeds] for i in range(n)]
    terms = [[[times(J[i][s], D[j][s]) for s in speeds] for j in range(n)] for i in range(n)]
    A = [[_name(total(terms[i][j]), "contact_product") for j in range(n)] for i in range(n)]
    if symmetric:
        A = [[A[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    diagonal = [A[i][i] for i in range(n)]
    moves = [diagonal[i] > times(CLEAR, total([fn.absolute(x) for x in terms[i][i]])) for i in range(n)]
    z = [
        _name(plus(free[i], total([times(A[i][k], offset[k]) for k in range(n)])), "contact_free")
        for i in range(n)
    ]
    rubs = _any([fn.not_equal(w, 0) for w in weight if not is_zero(w)])
    for normal, slip in shape.rows:
        if normal is not None:
            for i in range(n):
                less = total([times(weight[k], A[i][k]) for k in slip])
                A[i][normal] = _name(minus(A[i][normal], less), "contact_pressed")

    L: list[list[Scalar]] = [[0] * n for _ in range(n)]
    U: list[list[Scalar]] = [[0] * n for _ in range(n)]
    inverse: list[Scalar] = []
    y: list[Scalar] = []
    pivots_used: list[fn.Operand] = []
    redundant: list[fn.Operand] = []
    doubtful: list[fn.Operand] = []
    for k in range(n):
        for j in range(k, n):
            less = total([times(L[k][m], U[m][j]) for m in range(k)])
            U[k][j] = _name(minus(A[k][j], less), "contact_upper")
        live = fn.and_(held[k], moves[k])
        sound = U[k][k] >= times(SOUND, diagonal[k])
        pivots_used.append(fn.and_(live, sound))
        inverse.append(inverse_if(pivots_used[k], U[k][k]))
        known = [times(L[k][m], y[m]) for m in range(k)]
        y.append(_name(minus(times(-1, z[k]), total(known)), "contact_side"))
        for i in range(k + 1, n):
            less = total([times(L[i][m], U[m][k]) for m in range(k)])
            L[i][k] = _name(times(minus(A[i][k], less), inverse[k]), "contact_lower")
        left = fn.and_(live, fn.not_(sound))
        entering = plus(fn.absolute(z[k]), total([fn.absolute(x) for x in known]))
        contradicts = fn.absolute(y[k]) > times(CONTRADICTED, entering)
        unsure = fn.or_(fn.absolute(U[k][k]) > times(REDUNDANT_ROW, diagonal[k]), fn.or_(contradicts, rubs))
        redundant.append(left)
        doubtful.append(fn.or_(fn.and_(left, unsure), fn.and_(held[k], fn.not_(moves[k]))))
    found: list[Scalar] = [0] * n
    for k in reversed(range(n)):
        more = total([times(U[k][j], found[j]) for j in range(k + 1, n)])
        found[k] = _name(times(minus(y[k], more), inverse[k]), "contact_push")
    forces = list(found)
    for normal, slip in shape.rows:
        for k in slip:
            friction = 0 if normal is None else times(weight[k], found[normal])
            forces[k] = _name(minus(plus(found[k], offset[k]), friction), "contact_drag")
    changes = [_name(total([times(D[i][s], forces[i]) for i in range(n)]), "contact_change") for s in speeds]
    return FewForces(forces, changes, diagonal, pivots_used, L, redundant, _any(doubtful))


def share_few_forces(
    shape: ContactShape, few: FewForces, static: Sequence[Scalar], static_capacity: Sequence[Scalar]
) -> list[Scalar]:
    """Return the smallest forces if one row is redundant, with friction shared in proportion to its limits.

    Forces v that change no motion satisfy Lᵀ v = 0; they are scaled so that v = 1 in the redundant row. Of
    all forces with the same motion as λ, those of least size, weighted by the softness Σ of the rows, are

        λ − v (v·Σ λ)/(v·Σ v)
    """
    n, L = shape.count, few.lower
    squares = _squares(shape, few.diagonal)
    idle: list[Scalar] = [0] * n
    for k in reversed(range(n)):
        above = total([times(L[j][k], idle[j]) for j in range(k + 1, n)])
        taken = fn.select(few.taken[k], times(-1, above), 0)
        idle[k] = _name(fn.select(few.redundant[k], 1, taken), "contact_idle")
    forces = _smallest_forces(few, idle, squares)
    roots = [_name(fn.sqrt(as_expr(x)), "contact_root") for x in squares]
    limits: dict[int, Scalar] = {}
    for c, (normal, slip) in enumerate(shape.rows):
        push = 0 if normal is None else fn.maximum(forces[normal], 0)
        for k in slip:
            limit = plus(times(static[c], push), static_capacity[c])
            limits[k] = _name(times(limit, roots[slip[0]]), "contact_limit")
    if not limits:
        return forces
    largest = _name(reduce(fn.maximum, limits.values()), "contact_limit")
    some = largest > NO_FORCE
    soft = list(squares)
    for k, limit in limits.items():
        weak = times(NO_SHARE, limit) <= largest
        share = times(FRICTION_SOFTNESS, fn.select(weak, NO_SHARE, largest / fn.select(weak, 1, limit)))
        soft[k] = _name(times(fn.select(some, share, 1), soft[k]), "contact_softness")
    return _smallest_forces(few, idle, soft)


def _smallest_forces(few: FewForces, idle: Sequence[Scalar], soft: Sequence[Scalar]) -> list[Scalar]:
    """Return λ − v (v·Σ λ)/(v·Σ v) with the forces λ of ``few``, v = ``idle`` and Σ = ``soft``."""
    weighted = [_name(times(v, x), "contact_weighted") for v, x in zip(idle, soft, strict=True)]
    above = total([times(v, x) for v, x in zip(weighted, few.forces, strict=True)])
    below = total([times(v, x) for v, x in zip(weighted, idle, strict=True)])
    some = below > 0
    share = _name(fn.select(some, above / fn.select(some, below, 1), 0), "contact_share")
    return [_name(minus(x, times(share, v)), "contact_shared") for x, v in zip(few.forces, idle, strict=True)]


def _squares(shape: ContactShape, diagonal: Sequence[Scalar]) -> list[Scalar]:
    """Return the diagonal elements of rows, by which rows are scaled; the two slip rows of a contact in a
    plane get their mean, as in ``measure_rows``.
    """
    squares = [fn.maximum(x, 0) for x in diagonal]
    for _, slip in shape.rows:
        if len(slip) > 1:
            mean = times(0.5, total([squares[k] for k in slip]))
            for k in slip:
                squares[k] = mean
    return squares


def bound_few_normals(
    shape: ContactShape,
    few: FewForces,
    held: Sequence[fn.Operand],
    weight: Sequence[Scalar],
    natural: Sequence[Scalar],
    forces: Sequence[Scalar],
) -> tuple[list[Scalar], fn.Operand]:
    """Return the normal forces at which sliding contacts jam, and whether a force exceeds its bound.

    These are the bounds that ``bound_normals`` in held_rows.py begins with. It raises them if a force exceeds
    one of them, so in this case the solver must find the forces.
    """
    most: list[Scalar] = []
    exceeded: list[fn.Operand] = []
    for c, (normal, slip) in enumerate(shape.rows):
        pull = total([fn.absolute(weight[k]) for k in slip])
        if normal is None or is_zero(pull):
            most.append(0)
            continue
        own = few.diagonal[normal]
        bound = times(times(JAM, natural[c]), inverse_if(own > 0, own))
        most.append(_name(fn.select(fn.and_(held[normal], pull > 0), bound, 0), "contact_bound"))
        exceeded.append(fn.and_(most[c] > 0, forces[normal] > most[c]))
    return most, _any(exceeded)


def few_force_sizes(
    shape: ContactShape,
    jacobian: Sequence[Scalar],
    free: Sequence[Scalar],
    least: Sequence[Scalar],
    found: FewForces,
) -> list[Scalar]:
    """Return, by row, the sum of the magnitudes of the terms of each force, as ``measure_motion`` in
    held_rows.py does. ``least`` has an acceleration for each row that is added to these sizes.
    """
    n, speeds = shape.count, range(shape.speeds)
    sizes: list[Scalar] = []
    for i in range(n):
        parts = [fn.absolute(times(jacobian[i * shape.speeds + s], found.changes[s])) for s in speeds]
        sizes.append(_name(plus(plus(fn.absolute(free[i]), NO_MOTION), total(parts)), "contact_size"))
    # Rounding errors of a fast row also affect slow rows. Rows of different units are compared by their
    # energies z²/A.
    squares = _squares(shape, found.diagonal)
    shares = [inverse_if(x > 0, x) for x in found.diagonal]
    energies = [times(times(x, x), y) for x, y in zip(sizes, shares, strict=True)]
    energetic = _name(times(ROUNDING_SHARE**2, reduce(fn.maximum, energies)), "contact_energetic")
    sizes = [
        fn.maximum(x, fn.sqrt(as_expr(times(energetic, y)))) for x, y in zip(sizes, squares, strict=True)
    ]
    for normal, slip in shape.rows:
        if normal is not None and slip:
            largest = _name(reduce(fn.maximum, [sizes[i] for i in (normal, *slip)]), "contact_largest")
            for i in (normal, *slip):
                sizes[i] = largest
    return [times(plus(x, e), y) for x, e, y in zip(sizes, least, shares, strict=True)]
