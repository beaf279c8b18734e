"""Forces and impulses of contacts, in the small language of solver/language/language.py.

    z = A λ + b        A = J D        D = M⁻¹ Jᵀ

λ are forces and z relative accelerations, or λ are impulses and z relative velocities. ``jacobian`` has the
rows of J and ``columns`` the rows of Dᵀ. A contact has one row for its normal and up to two rows for its
slip; a brake has only a row for its slip.

`solve_forces` (independent_rows.py) finds λ if it is known which rows hold (`held`), that is, have z = 0:

    held       z = 0
    others     λ = −w λ_N + o                  sliding, or without force (w = o = 0)

`solve_contacts` (status_search.py) finds which rows hold, by complementarity:

    open       λ_N = 0, z_N ≥ 0
    closed     z_N = 0, λ_N ≥ 0
    sticks     z_T = 0, |λ_T| ≤ μ_s λ_N + c_s
    slides     λ_T = −(μ λ_N + c) e, where e is a given direction, or z_T/|z_T| where the slip begins

by two methods in turn. Projected relaxation improves the forces contact by contact; it finds the statuses,
but the last digits of the forces converge slowly. With given statuses the problem is linear, and its solution
shows whether these statuses are right. First, statuses are tried with every contact closed that was closed
before or approaches, and with every slip at rest that may be; then statuses found by relaxation, in which
every contact that hardly moves counts as at rest. If one of these is right, the forces of redundant contacts
are the smallest ones, in any order of the contacts.

The direction e of a slip that begins is found along with the statuses, by Newton's method. The two slip rows
are turned so that the first is along e and the second across it. With the friction limit L, the first row has
λ = −L. Friction opposes the slip, so the second row has z + (|z_T|/L) λ = 0. If other contacts prevent the
slip of a redundant contact at its limit, z_T = 0 agrees with every direction e. Such a contact sticks if
forces within the limit agree with that, too.

Relaxation converges for every problem without friction, and with friction unless normal forces grow with
their own friction (Painlevé). The cost is polynomial in the number of rows; a solution takes a few
factorisations.

Rows may be redundant, as for a table on four legs. So the share SOFT of its diagonal is added to A, and
iterative refinement removes the error of this; the result λ is nearly the smallest of all solutions. Friction
of redundant contacts is shared in proportion to their limits, so that none slides as long as all together can
hold. All thresholds are relative to the terms of a row, so none depends on units.

Sources: Glocker & Pfeiffer (1996), Multibody dynamics with unilateral contacts, chapters 6 to 8; Jean (1999),
The non-smooth contact dynamics method, Comput. Methods Appl. Mech. Eng. 177, 235–257, for relaxation.
"""

from __future__ import annotations

from armillary.mechanics.contact.contact_thresholds import *
from armillary.mechanics.contact.language import *


class Contacts:
    """The record of one problem: its data, its solution and the workspace of the solver."""

    jacobian: ContactTerms
    columns: ContactTerms
    free: ContactRows  # z without forces
    unloaded: ContactSpeeds  # rates, or speeds, without forces
    asked: ContactReals  # first element: 0 if the solver has nothing to do
    held: ContactRows  # 1 for rows that hold, else 0
    weight: ContactRows  # w of rows that do not hold
    offset: ContactRows  # o of rows that do not hold
    slack: ContactRows  # c of rows that hold with a compliance: z + c λ = 0
    force: ContactRows  # λ
    size: ContactRows  # sum of the magnitudes of the terms of each row, in the units of z
    force_size: ContactRows  # the same in the units of λ
    motion: ContactRows  # z
    loaded: ContactSpeeds  # rates, or speeds, with forces: `unloaded` + D λ
    # Data and solution of a problem of complementarity, by contact.
    rebound: ContactRows  # added to `free`; left out if no statuses are found with it
    # 0: has no force, 1: may have a force, 2: its normal holds with a force of any sign, 3: its normal and
    # its slip hold with forces of any sign, 4: it jams
    active: ContactReals
    # 1: its slip may stick or begin, 0: it slides along `direction`, 0.5: it slides slowly, and may stick if
    # no other statuses are found
    rests: ContactReals
    friction: ContactReals  # μ while it slides
    static: ContactReals  # μ_s at rest
    capacity: ContactReals  # c of brakes
    static_capacity: ContactReals
    before: ContactReals  # 1: was closed
    least: ContactReals  # added to the size of its rows, so that rounding does not count as a load
    natural: ContactReals  # the size of its acceleration without forces
    most: ContactReals  # the normal force with which it jams while it slides; 0: none
    direction: ContactRows  # e of each slip, given or found
    status: ContactReals  # 0 open, 1 sticks or closed without friction, 2 slides
    doubt: ContactReals  # 1: it slides, and its normal force would grow with its own friction
    # The first element: 0 if statuses were found, 1 if not, 2 if other statuses are possible too, 3 if
    # statuses were found only without `rebound`.
    failed: ContactReals
    # Workspace.
    softness: ContactRows  # of rows that hold; redundant rows share forces in inverse proportion to it
    effective: ContactTerms  # E: columns with the friction that follows from a normal force
    diagonal: ContactRows
    root: ContactRows  # square root of the diagonal, by which rows and forces are scaled
    product: ContactSquare  # J E of the rows that hold, scaled by their roots
    matrix: ContactSquare  # the same with softness, then its factors
    side: ContactRows
    rest: ContactRows  # residual of each row that holds, then the change of its force
    kernel: ContactTerms  # E Σ⁻¹ J, used if more rows hold than there are speeds
    speed_size: ContactSpeeds  # largest change of each speed by a row
    order: Wholes  # rows that hold
    exchange: Wholes  # the row taken as pivot in each step
    across: Wholes  # the column taken as pivot in each step
    moved: ContactSpeeds  # speeds that forces change
    # Directions of independent rows among those that hold (``independent_rows.py``).
    known: ContactRows  # 1 for rows that are known to be independent or redundant
    place: Wholes  # index of each row in `base`, or NONE
    base: Wholes  # the independent rows
    # With friction of slides: the independent rows of J less their components along earlier rows, and M⁻¹
    # times these rows.
    base_row: ContactTerms
    base_column: ContactTerms
    way: ContactTerms  # the directions d of the independent rows
    inverse: ContactSpeeds  # 1/p of the independent rows
    push: ContactSpeeds  # α: motions along the directions
    gain: ContactSpeeds  # changes of speeds by the corrections of the last pass
    upper: ContactTerms  # columns of the independent rows in terms of the directions
    lower: ContactTerms  # L: the columns of all rows in terms of the directions
    row_parts: ContactTerms  # R: all rows in terms of the directions
    ease: ContactRows  # Σ⁻¹
    load: ContactSpeeds  # right side, then solution, of equations with the matrix Lᵀ Σ⁻¹ R
    best: ContactRows  # forces that were improved so far
    steady: ContactRows  # change of the forces by the last sweep; later a copy of forces
    wanted: ContactReals  # the status that would agree with the solution
    idle: ContactReals  # 1 for slips that should begin, but have no acceleration
    cosine: ContactReals  # cosine of the angle by which the slip rows of a contact have been turned
    sine: ContactReals
    parted: ContactRows  # share of the normal row that was subtracted from the slip row of a jamming contact
    magnified: ContactRows  # factor by which that slip row was multiplied


def measure_rows(run: Contacts) -> None:
    """Find the diagonal of A; an element is zero if its row moves nothing."""
    for i in range(N_CONTACT_ROWS):
        total: real = 0.0
        largest: real = 0.0
        for s in range(N_CONTACT_SPEEDS):
            term: real = run.jacobian[at(i, N_CONTACT_SPEEDS, s)] * run.columns[at(i, N_CONTACT_SPEEDS, s)]
            total = total + term
            largest = max(largest, abs(term))
        run.diagonal[i] = total if total > MASSLESS * largest else 0.0
        run.root[i] = sqrt(run.diagonal[i]) if total > MASSLESS * largest else 0.0
    # Both slips in a plane get one size, so that shares of redundant friction do not depend on the plane's
    # axes.
    for c in range(N_CONTACTS):
        in_plane: truth = SLIP_ROW[c] != NONE and below(SLIP_ROW[c] + 1, SLIP_END[c])
        if in_plane:
            mean: real = 0.0
            for k in range(SLIP_ROW[c], SLIP_END[c]):
                mean = mean + 0.5 * run.diagonal[k]
            for k in range(SLIP_ROW[c], SLIP_END[c]):
                run.root[k] = sqrt(mean)


def add_column(run: Contacts, row: whole, factor: real) -> None:
    """Add to `moved` the changes of speeds by a force in a row."""
    for s in range(N_CONTACT_SPEEDS):
        run.moved[s] = run.moved[s] + factor * run.columns[at(row, N_CONTACT_SPEEDS, s)]


def row_product(run: Contacts, row: whole) -> real:
    """Return the change of a row's z by the changes of speeds in `moved`."""
    total: real = 0.0
    for s in range(N_CONTACT_SPEEDS):
        total = total + run.jacobian[at(row, N_CONTACT_SPEEDS, s)] * run.moved[s]
    return total


def set_effective_columns(run: Contacts) -> None:
    """Set the columns E: those of D, with the friction of slides added to the columns of their normals."""
    run.effective = run.columns
    for c in range(N_CONTACTS):
        if NORMAL_ROW[c] != NONE and SLIP_ROW[c] != NONE:
            n: whole = NORMAL_ROW[c]
            for k in range(SLIP_ROW[c], SLIP_END[c]):
                if run.held[k] < 0.5 and abs(run.weight[k]) > 0.0:
                    for s in range(N_CONTACT_SPEEDS):
                        place: whole = at(n, N_CONTACT_SPEEDS, s)
                        less: real = run.weight[k] * run.columns[at(k, N_CONTACT_SPEEDS, s)]
                        run.effective[place] = run.effective[place] - less


def list_held_rows(run: Contacts) -> whole:
    """List the rows that hold; return how many there are."""
    count: whole = 0
    for i in range(N_CONTACT_ROWS):
        if run.held[i] > 0.5:
            run.order[FIRST + count] = i
            count = count + 1
    return count


def multiply_rows(run: Contacts, count: whole) -> truth:
    """Find J E of the rows that hold, scaled by their roots; return whether it is symmetric."""
    for a in range(count):
        i: whole = run.order[a]
        own: real = 1.0 / run.root[i]
        for b in range(count):
            j: whole = run.order[b]
            total: real = 0.0
            for s in range(N_CONTACT_SPEEDS):
                term: real = run.jacobian[at(i, N_CONTACT_SPEEDS, s)]
                total = total + term * run.effective[at(j, N_CONTACT_SPEEDS, s)]
            run.product[at(a, N_CONTACT_ROWS, b)] = total * own
    symmetric: truth = True
    for b in range(count):
        other: real = 1.0 / run.root[run.order[b]]
        for a in range(count):
            run.product[at(a, N_CONTACT_ROWS, b)] = run.product[at(a, N_CONTACT_ROWS, b)] * other
    for a in range(count):
        for b in range(a):
            apart: real = run.product[at(a, N_CONTACT_ROWS, b)] - run.product[at(b, N_CONTACT_ROWS, a)]
            symmetric = symmetric and abs(apart) < UNEVEN
    return symmetric


def set_matrix_of_rows(run: Contacts, count: whole) -> None:
    """Set the matrix Σ + J E of the rows that hold, scaled by their roots; Σ is their softness."""
    for a in range(count):
        for b in range(count):
            run.matrix[at(a, N_CONTACT_ROWS, b)] = run.product[at(a, N_CONTACT_ROWS, b)]
        soft: real = whole_softness(run, run.order[a])
        run.matrix[at(a, N_CONTACT_ROWS, a)] = run.matrix[at(a, N_CONTACT_ROWS, a)] + soft


def set_matrix_of_speeds(run: Contacts, count: whole) -> None:
    """Set the matrix Jᵀ J K with K = E Σ⁻¹ J, one row per speed, with rows of J and E scaled by their roots.
    Each speed is scaled by its largest change by a row, so that no choice of a pivot depends on its units.
    """
    for s in range(N_CONTACT_SPEEDS):
        largest: real = 0.0
        for a in range(count):
            i: whole = run.order[a]
            largest = max(largest, abs(run.effective[at(i, N_CONTACT_SPEEDS, s)]) / run.root[i])
        run.speed_size[s] = largest if largest > 0.0 else 1.0
    for s in range(N_CONTACT_SPEEDS):
        for column in range(N_CONTACT_SPEEDS):
            total: real = 0.0
            for a in range(count):
                j: whole = run.order[a]
                one: real = run.effective[at(j, N_CONTACT_SPEEDS, s)] / run.speed_size[s]
                two: real = run.jacobian[at(j, N_CONTACT_SPEEDS, column)] * run.speed_size[column]
                total = total + one * two / (run.root[j] * run.root[j] * relative_softness(run, j))
            run.kernel[at(s, N_CONTACT_SPEEDS, column)] = total
    for s in range(N_CONTACT_SPEEDS):
        for column in range(N_CONTACT_SPEEDS):
            run.matrix[at(s, N_CONTACT_ROWS, column)] = 0.0
    for a in range(count):
        k: whole = run.order[a]
        for column in range(N_CONTACT_SPEEDS):
            along: real = 0.0
            for q in range(N_CONTACT_SPEEDS):
                term: real = run.jacobian[at(k, N_CONTACT_SPEEDS, q)] * run.speed_size[q]
                along = along + term * run.kernel[at(q, N_CONTACT_SPEEDS, column)]
            run.rest[column] = along / (run.root[k] * run.root[k])
        for s in range(N_CONTACT_SPEEDS):
            own: real = run.jacobian[at(k, N_CONTACT_SPEEDS, s)] * run.speed_size[s]
            for column in range(N_CONTACT_SPEEDS):
                place: whole = at(s, N_CONTACT_ROWS, column)
                run.matrix[place] = run.matrix[place] + own * run.rest[column]


def relative_softness(run: Contacts, i: whole) -> real:
    """Return the softness of a row, with its compliance, divided by SOFT."""
    soft: real = whole_softness(run, i) / SOFT
    return soft


def whole_softness(run: Contacts, i: whole) -> real:
    """Return the softness of a row plus its compliance, which is divided by the square of its root."""
    soft: real = run.softness[i] + run.slack[i] / (run.root[i] * run.root[i])
    return soft


def factorise_in_order(run: Contacts, count: whole, least: real) -> truth:
    """Factorise the matrix of the rows that hold, without exchanges of rows; return whether all pivots are at
    least `least`.
    """
    for k in range(count):
        run.exchange[k] = k
        run.across[k] = k
        pivot: real = run.matrix[at(k, N_CONTACT_ROWS, k)]
        if not (abs(pivot) >= least):
            return False
        share: real = 1.0 / pivot
        for i in range(k + 1, count):
            factor: real = run.matrix[at(i, N_CONTACT_ROWS, k)] * share
            run.matrix[at(i, N_CONTACT_ROWS, k)] = factor
            for j in range(k + 1, count):
                place: whole = at(i, N_CONTACT_ROWS, j)
                run.matrix[place] = run.matrix[place] - factor * run.matrix[at(k, N_CONTACT_ROWS, j)]
    return True


def factorise(run: Contacts, count: whole, by_speeds: truth, symmetric: truth) -> None:
    """Factorise the matrix of the rows that hold, or the matrix of the speeds.

    The pivots of a symmetric matrix are at least its softness, in any order. If the matrix is not symmetric,
    each pivot is the largest remaining element. A pivot below NOTHING times the largest pivot counts as zero,
    and its unknown becomes zero.
    """
    size: whole = count
    in_order: truth = False
    if by_speeds and N_CONTACT_ROWS > N_CONTACT_SPEEDS:  # compilers drop this branch if there are fewer rows
        set_matrix_of_speeds(run, count)
        size = N_CONTACT_SPEEDS
    else:
        set_matrix_of_rows(run, count)
        if symmetric:
            in_order = factorise_in_order(run, count, 0.5 * SOFT)
            if in_order:
                return
            set_matrix_of_rows(run, count)
    first: real = 0.0
    for k in range(size):
        row: whole = k
        column: whole = k
        largest: real = 0.0
        for i in range(k, size):
            for j in range(k, size):
                if abs(run.matrix[at(i, N_CONTACT_ROWS, j)]) > largest:
                    largest = abs(run.matrix[at(i, N_CONTACT_ROWS, j)])
                    row = i
                    column = j
        run.exchange[k] = row
        run.across[k] = column
        first = max(first, largest)
        for j in range(size):
            kept: real = run.matrix[at(k, N_CONTACT_ROWS, j)]
            run.matrix[at(k, N_CONTACT_ROWS, j)] = run.matrix[at(row, N_CONTACT_ROWS, j)]
            run.matrix[at(row, N_CONTACT_ROWS, j)] = kept
        for i in range(size):
            other: real = run.matrix[at(i, N_CONTACT_ROWS, k)]
            run.matrix[at(i, N_CONTACT_ROWS, k)] = run.matrix[at(i, N_CONTACT_ROWS, column)]
            run.matrix[at(i, N_CONTACT_ROWS, column)] = other
        if largest > NOTHING * first:
            for i in range(k + 1, size):
                factor: real = run.matrix[at(i, N_CONTACT_ROWS, k)] / run.matrix[at(k, N_CONTACT_ROWS, k)]
                run.matrix[at(i, N_CONTACT_ROWS, k)] = factor
                for j in range(k + 1, size):
                    above: real = run.matrix[at(k, N_CONTACT_ROWS, j)]
                    place: whole = at(i, N_CONTACT_ROWS, j)
                    run.matrix[place] = run.matrix[place] - factor * above
        else:
            for i in range(k, size):
                run.matrix[at(i, N_CONTACT_ROWS, k)] = 0.0


def solve_factors(run: Contacts, size: whole) -> None:
    """Solve matrix · x = side with the factors of the matrix; x replaces the right side in `side`."""
    for k in range(size):
        row: whole = run.exchange[k]
        kept: real = run.side[k]
        run.side[k] = run.side[row]
        run.side[row] = kept
    for k in range(size):
        for i in range(k + 1, size):
            run.side[i] = run.side[i] - run.matrix[at(i, N_CONTACT_ROWS, k)] * run.side[k]
    for b in range(size):
        last: whole = size - 1 - b + FIRST + FIRST
        total: real = run.side[last]
        for j in range(last + 1, size):
            total = total - run.matrix[at(last, N_CONTACT_ROWS, j)] * run.side[j]
        diagonal: real = run.matrix[at(last, N_CONTACT_ROWS, last)]
        run.side[last] = total / diagonal if abs(diagonal) > 0.0 else 0.0
    for b in range(size):
        back: whole = size - 1 - b + FIRST + FIRST
        column: whole = run.across[back]
        found: real = run.side[back]
        run.side[back] = run.side[column]
        run.side[column] = found
