"""The two halves of an iteration of iLQR as compiled loops: derivatives of steps, and the sweep backwards.

    differentiate   φ(x_k, v_k) by RK4, with ∂φ/∂(x, v) by the chain rule through its stages
    sweep_back      the quadratic model of the cost, from the last step to the first; offsets d and gains K

The loops are built once for all systems. The derivatives of all steps are independent, so each stage is one
call of the model's loop over points. This loop computes the rates and the elements of their Jacobian, for
several steps in one vector register. Rows of matrices are padded to whole registers: a row of derivatives by
[x, v] has the derivatives by x, padded with zeros, then the derivatives by v, padded likewise. For a six-axis
arm and 30 steps, the derivatives take 68 % and the sweep 56 % of the time of loops without padding that call
the model for one point at a time.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from armillary.llvm.building.builder import Local, Span, Value
from armillary.llvm.building.emitter import ADDRESS, NOTHING, WHOLE, Callee, FunctionType, IRModule
from armillary.llvm.building.routines import (
    PreparedRoutine,
    Routine,
    RoutineLayout,
    RoutineMethod,
    compiled_method,
    real_array,
    routine,
    routine_function,
    whole_array,
)
from armillary.llvm.jit import register_doubles
from armillary.solver.methods.registry import METHODS

_TABLEAU = METHODS["rk4"].tableau
assert _TABLEAU is not None
_STAGES = _TABLEAU.chained_stages
_POINT_ARRAYS = ("times", "places_x", "constants", "memories", "out")  # of the model's loop over points
_POINT_LOOP = FunctionType(NOTHING, (WHOLE,) * (1 + len(_POINT_ARRAYS)) + (ADDRESS,) * len(_POINT_ARRAYS))

STEPS = RoutineLayout(
    numbers=("steps", "states", "inputs", "elements", "memory"),
    addresses=(
        "slopes",  # the model's loop over points: rates, and then the Jacobian's elements
        *("constants", "memories"),
        *("inputs_in_memory", "starts", "middles", "order", "columns"),  # whole numbers: indices
        *("settings", "t", "x", "v", "ends", "found"),
        *("times", "places_x", "out", "seed", "bent"),  # work
    ),
)
SWEEP = RoutineLayout(
    numbers=("steps", "states", "inputs", "curved"),
    addresses=(
        *("settings", "x", "v", "slopes", "curvatures", "target", "Q", "R", "S", "low", "high"),
        *("d", "K", "found"),
        *("P", "p", "PF", "Qxx", "Qvx", "Qvv", "Qx", "Qv"),
        *("pushed", "chol", "free", "slope", "better", "side", "under", "over"),
    ),
)


def pad(count: int) -> int:
    """Return ``count`` rounded up to whole vector registers."""
    lanes = register_doubles()
    return -(-count // lanes) * lanes


def pad_rows(values: np.ndarray, *parts: int) -> np.ndarray:
    """Return rows of numbers in which each of the consecutive parts, of these lengths, is padded by zeros."""
    found = np.zeros((*values.shape[:-1], sum(map(pad, parts))))
    before = to = 0
    for size in parts:
        found[..., to : to + size] = values[..., before : before + size]
        before, to = before + size, to + pad(size)
    return found


def prepare_step_derivatives(
    slopes: int,
    constants: np.ndarray,
    memory: np.ndarray,
    inputs: list[int],
    pattern: tuple[np.ndarray, np.ndarray],
    shape: tuple[int, int, int],
    h: float,
) -> PreparedRoutine:
    """Return a prepared loop for the derivatives of steps of length h; ``shape``: (steps, states, inputs).

    ``slopes`` is the address of the model's loop over points, ``inputs`` are the indices of inputs in the
    memory, and ``pattern`` has the rows and columns of the Jacobian's elements. A call reads t, x and v of
    each step. It computes the states after the steps, ``ends``, and their derivatives by [x, v], ``found``:
    steps × states × padded row.
    """
    N, n, m = shape
    wide = pad(n) + pad(m)
    rows, columns = pattern
    order = np.lexsort((columns, rows))  # row by row, states before inputs
    starts = np.searchsorted(rows[order], np.arange(n + 1))
    of_states = np.bincount(rows[columns < n], minlength=n)
    padded = np.where(columns < n, columns, columns + pad(n) - n)
    size = memory.size
    work: dict[str, int | np.ndarray] = {
        "steps": N, "states": n, "inputs": m, "elements": len(rows), "memory": size, "slopes": slopes,
        "constants": np.array(constants), "memories": real_array(np.tile(memory, (N, 1))),
        "inputs_in_memory": whole_array(inputs),
        "starts": whole_array(starts), "middles": whole_array(starts[:-1] + of_states),
        "order": whole_array(order), "columns": whole_array(padded[order]),
        "settings": np.array([h]), "t": np.zeros(N), "x": np.zeros((N, n)), "v": np.zeros((N, m)),
        "ends": np.empty((N, n)), "found": np.zeros((N, n, wide)), "times": np.zeros(N),
        "places_x": np.zeros((N, n)), "out": np.zeros((N, n + len(rows))), "seed": np.zeros((N, n, wide)),
        "bent": np.zeros((n, wide)),
    }  # fmt: skip
    return _steps(register_doubles()).prepare("differentiate_steps", STEPS, work)


def prepare_sweep(
    shape: tuple[int, int, int],
    target: np.ndarray,
    weights: tuple[np.ndarray, np.ndarray, np.ndarray],
    limits: tuple[np.ndarray, np.ndarray],
    slopes: np.ndarray,
    curved: bool,
) -> PreparedRoutine:
    """Return the prepared backward sweep; ``shape``: (steps, states, inputs), ``weights``: Q, R and S.

    A call reads the settings (h, regularisation), x, v, the steps' derivatives by [x, v] in ``slopes``
    (padded rows) and, if ``curved``, second derivatives of the rates (steps × rates × variables × variables).
    It computes offsets d, gains K (padded rows) and ``found``: [1, or 0 if the quadratic model has no minimum
    in v; slope and curvature of the expected decrease].
    """
    N, n, m = shape
    Q, R, S = (pad_rows(w, len(w)) for w in weights)
    nx, nv = pad(n), pad(m)
    size = {
        "P": n * nx, "p": nx, "PF": max(n * (nx + nv), m * nx), "Qxx": n * nx, "Qvx": m * nx, "Qvv": m * nv,
        "Qx": nx, "Qv": nv, "pushed": m * m, "chol": m * m, "free": m, "slope": m, "better": m, "side": m,
        "under": m, "over": m,
    }  # fmt: skip
    work: dict[str, int | np.ndarray] = {
        "steps": N, "states": n, "inputs": m, "curved": int(curved), "settings": np.zeros(2),
        "x": np.zeros((N + 1, n)), "v": np.zeros((N, m)), "slopes": slopes,
        "curvatures": np.zeros((N, n, n + m, n + m) if curved else 1), "target": real_array(target),
        "Q": Q, "R": R, "S": S, "low": real_array(limits[0]), "high": real_array(limits[1]),
        "d": np.zeros((N, m)), "K": np.zeros((N, m, nx)), "found": np.zeros(3),
        **{name: np.zeros(count) for name, count in size.items()},
    }  # fmt: skip
    return _sweep(register_doubles()).prepare("sweep_back", SWEEP, work)


class _Matrices(Routine):
    """A routine with two kinds of spans: ``row`` gives whole vector registers, ``vector`` single numbers."""

    def vector(self, field: str, first: Value | None = None) -> Span:
        found = Span(self, self[field].raw, single=True)
        return found if first is None else Span(self, found.at(first), single=True)

    def row(self, field: str, first: Value) -> Span:
        """Return the registers of a field from number ``first`` on, a multiple of their length."""
        return Span(self, self.vector(field).at(first))

    def row_length(self, count: Value) -> Value:
        """Return the length of a padded row of ``count`` numbers."""
        return self.vectors_of(count) * self.lanes

    def vectors_of(self, count: Value) -> Value:
        """Return the number of registers in a padded row of ``count`` numbers."""
        return (count + (self.lanes - 1)).whole_quotient(self.whole(self.lanes))

    def zero(self) -> Local:
        """Return a vector of zeros, to which products are added."""
        return Local(self, self.of_kind(self.kind, 0.0))


# ---------------------------------------------------------------------------------------- steps


def steps_text(lanes: int) -> str:
    """Return the LLVM text of ``armillary_differentiate_steps(fields)``.

    The rates f of a stage, with their Jacobian [A, B], have the derivatives A S + [0, B] by [x, v], where S
    are the derivatives of the stage's state. ``seed`` has S of each step, ``found`` the weighted sum over the
    stages.
    """
    module = IRModule()
    f = _Matrices(routine_function(module, "differentiate_steps", public=True), STEPS, lanes)
    N, n, m = f["steps"], f["states"], f["inputs"]
    wide, width = f.row_length(n) + f.row_length(m), n + f["elements"]
    h = f.vector("settings")[0]
    ends, place, out, x = f.vector("ends"), f.vector("places_x"), f.vector("out"), f.vector("x")
    memories, v, found, seed = f.vector("memories"), f.vector("v"), f.vector("found"), f.vector("seed")
    with f.each(N) as k, f.each(m) as j:
        memories[k * f["memory"] + f.index("inputs_in_memory", j)] = v[k * m + j]
    f.copy(N * n, x, ends)
    f.copy(N * n, x, place)
    with f.each(N * n * wide) as i:
        found[i] = 0.0
        seed[i] = 0.0
    with f.each(N) as k, f.each(n) as i:
        found[(k * n + i) * wide + i] = 1.0
        seed[(k * n + i) * wide + i] = 1.0
    for stage in _STAGES:
        with f.each(N) as k:
            f.vector("times")[k] = f.vector("t")[k] + h * stage.time
        strides = (f.whole(1), n, f.whole(0), f["memory"], width)
        given = [N.raw, *(s.raw for s in strides), *(f[name].raw for name in _POINT_ARRAYS)]
        f.builder.call(Callee(_POINT_LOOP, f["slopes"].raw.name), given)
        with f.each(N) as k:
            with f.each(n) as i:
                rate = out[k * width + i]
                ends[k * n + i] = ends[k * n + i] + h * stage.weight * rate
                place[k * n + i] = x[k * n + i] + h * stage.ahead * rate
            _chain_derivatives(f, k, wide)
            first = k * n * wide
            _advance(f, k, first, h * stage.weight, h * stage.ahead, bool(stage.ahead))
    f.give()
    return str(module)


def _chain_derivatives(f: _Matrices, k: Value, wide: Value) -> None:
    """Emit A S + [0, B] for one step, into ``bent``: each register is a sum over the elements of one row."""
    n = f["states"]
    bent, elements = f.vector("bent"), f.vector("out", k * (n + f["elements"]) + n)
    with f.each(n) as i:
        start, middle, end = f.index("starts", i), f.index("middles", i), f.index("starts", i + 1)
        with f.each(wide.whole_quotient(f.whole(f.lanes))) as q:
            total = f.zero()
            with f.span(start, middle) as e:
                own = f.row("seed", (k * n + f.index("columns", e)) * wide)
                total.set(total.get() + elements[f.index("order", e)] * own[q])
            Span(f, bent.at(i * wide))[q] = total.get()
        with f.span(middle, end) as e:
            place = i * wide + f.index("columns", e)
            bent[place] = bent[place] + elements[f.index("order", e)]


def _advance(f: _Matrices, k: Value, first: Value, share: Value, ahead: Value, further: bool) -> None:
    """Emit: add the derivatives of a stage to those of the step; set the derivatives of the next stage."""
    n = f["states"]
    wide = f.row_length(n) + f.row_length(f["inputs"])
    count = wide.whole_quotient(f.whole(f.lanes))
    found, seed, bent = f.row("found", first), f.row("seed", first), f.row("bent", f.whole(0))
    with f.each(n * count) as q:
        found[q] = found[q] + share * bent[q]
        if further:
            seed[q] = ahead * bent[q]
    if further:
        own = f.vector("seed", first)
        with f.each(n) as i:
            own[i * wide + i] = own[i * wide + i] + 1.0


# ---------------------------------------------------------------------------------------- sweep


def sweep_text(lanes: int) -> str:
    """Return the LLVM text of ``armillary_sweep_back(fields)``."""
    module = IRModule()
    cholesky, solve = _cholesky_text(module), _solve_text(module)
    box = _box_text(module, cholesky, solve)
    f = _Matrices(routine_function(module, "sweep_back", public=True), SWEEP, lanes)
    N, n = f["steps"], f["states"]
    wide = f.row_length(n)
    x, target, P, p = f.vector("x"), f.vector("target"), f.vector("P"), f.vector("p")
    found = f.vector("found")
    with f.each(3) as i:
        found[i] = 0.0
    f.copy(n * wide, f.vector("S"), P)
    with f.each(n) as i:
        p[i] = f.sum(n, lambda j: P[i * wide + j] * (x[N * n + j] - target[j]))
    with f.each(N) as back:
        k = N - 1 - back
        _expand(f, k)
        with f.when(f.run(box, k).equals(0)):
            f.give()
        _gains(f, k)
        _update(f, k)
    found[0] = 1.0
    f.give()
    return str(module)


def _expand(f: _Matrices, k: Value) -> None:
    """Emit the quadratic model, in x and v at the start of step k, of the cost from there on.

    It follows from G = ∂φ/∂[x, v] and from the Hessian P and gradient p of the cost after step k.
    """
    n, m = f["states"], f["inputs"]
    nx, nv = f.row_length(n), f.row_length(m)
    wide, of_x, of_v = nx + nv, f.vectors_of(n), f.vectors_of(m)
    h, regular = f.vector("settings")[0], f.vector("settings")[1]
    x, v, target = f.vector("x"), f.vector("v"), f.vector("target")
    P, p, Q, R = f.vector("P"), f.vector("p"), f.vector("Q"), f.vector("R")
    first = k * n * wide
    G = f.vector("slopes", first)
    with f.each(n) as i, f.each(of_x + of_v) as q:
        total = f.zero()
        with f.each(n) as a:
            total.set(total.get() + P[i * nx + a] * f.row("slopes", first + a * wide)[q])
        f.row("PF", i * wide)[q] = total.get()

    def pull_back(
        field: str, i: Value, column: Value, weight: str | None, count: Value, skipped: Value
    ) -> None:
        """Emit row i of Gᵀ P G + h W: a column of G times PF = P G, without its ``skipped`` columns."""
        own = f.row(field, i * count * f.lanes)
        with f.each(count) as q:
            total = f.zero()
            if weight is not None:
                total.set(h * f.row(weight, i * count * f.lanes)[q])
            with f.each(n) as a:
                total.set(total.get() + G[a * wide + column] * f.row("PF", a * wide + skipped)[q])
            own[q] = total.get()

    none = f.whole(0)
    with f.each(n) as i:
        pull_back("Qxx", i, i, "Q", of_x, none)
    with f.each(m) as i:
        pull_back("Qvx", i, nx + i, None, of_x, none)
        pull_back("Qvv", i, nx + i, "R", of_v, nx)
    Qx, Qv = f.vector("Qx"), f.vector("Qv")
    with f.each(n) as i:
        Qx[i] = h * f.sum(n, lambda j: Q[i * nx + j] * (x[k * n + j] - target[j]))
    with f.each(m) as i:
        Qv[i] = h * f.sum(m, lambda j: R[i * nv + j] * v[k * m + j])
    for field, skipped, count in (("Qx", none, of_x), ("Qv", nx, of_v)):
        own = f.row(field, none)
        with f.each(count) as q:
            total = Local(f, own[q])
            with f.each(n) as a:
                total.set(total.get() + p[a] * f.row("slopes", first + a * wide + skipped)[q])
            own[q] = total.get()
    with f.when(f["curved"].differs(0)):
        _add_curvatures(f, k)
    Qvv, pushed = f.vector("Qvv"), f.vector("pushed")
    with f.each(m) as i:
        f.copy(m, Span(f, Qvv.at(i * nv), single=True), Span(f, pushed.at(i * m), single=True))
        with f.when(regular > 0.0), f.each(m) as j:
            product = f.sum(n, lambda a: G[a * wide + nx + i] * G[a * wide + nx + j])
            pushed[i * m + j] = pushed[i * m + j] + regular * product
        pushed[i * m + i] = pushed[i * m + i] + regular
    under, over, low, high = f.vector("under"), f.vector("over"), f.vector("low"), f.vector("high")
    with f.each(m) as i:
        under[i] = low[i] - v[k * m + i]
        over[i] = high[i] - v[k * m + i]


def _add_curvatures(f: _Matrices, k: Value) -> None:
    """Emit: add the second derivatives of the rates, weighted by h p, to the quadratic model."""
    n, m = f["states"], f["inputs"]
    nx, nv, wide = f.row_length(n), f.row_length(m), n + m
    h, p = f.vector("settings")[0], f.vector("p")
    Qxx, Qvx, Qvv = f.vector("Qxx"), f.vector("Qvx"), f.vector("Qvv")
    with f.each(n) as a:
        bent, price = f.vector("curvatures", (k * n + a) * wide * wide), h * p[a]
        with f.each(n) as i, f.each(n) as j:
            Qxx[i * nx + j] = Qxx[i * nx + j] + price * bent[i * wide + j]
        with f.each(m) as i:
            with f.each(n) as j:
                Qvx[i * nx + j] = Qvx[i * nx + j] + price * bent[(n + i) * wide + j]
            with f.each(m) as j:
                Qvv[i * nv + j] = Qvv[i * nv + j] + price * bent[(n + i) * wide + n + j]


def _gains(f: _Matrices, k: Value) -> None:
    """Emit the gains K, which are zero for inputs at a limit; each operation is on a whole row of K."""
    n, m, C, free = f["states"], f["inputs"], f.vector("chol"), f.vector("free")
    wide, count = f.row_length(n), f.vectors_of(n)

    def gain(i: Value) -> Span:
        return f.row("K", (k * m + i) * wide)

    def subtract(i: Value, j: Value, factor: Value) -> None:
        own, other = gain(i), gain(j)
        with f.each(count) as q:
            own[q] = own[q] - factor * other[q]

    def divide(i: Value) -> None:
        own, inverse = gain(i), f.real(1.0) / C[i * m + i]
        with f.each(count) as q:
            own[q] = own[q] * inverse

    with f.each(m) as i:
        own, wanted = gain(i), f.row("Qvx", i * wide)
        with f.each(count) as q:
            own[q] = (-1.0 * free[i]) * wanted[q]
        with f.each(i) as j:
            subtract(i, j, C[i * m + j])
        divide(i)
    with f.each(m) as back:
        i = m - 1 - back
        with f.span(i + 1, m) as j:
            subtract(i, j, C[j * m + i])
        divide(i)


def _update(f: _Matrices, k: Value) -> None:
    """Emit P and p of the cost from the start of step k on, and the expected decrease of the cost.

    The lower triangle of P is copied to the upper one, so that P stays symmetric.
    """
    n, m = f["states"], f["inputs"]
    nx, nv, count = f.row_length(n), f.row_length(m), f.vectors_of(n)
    Qv, Qvv, Qvx = f.vector("Qv"), f.vector("Qvv"), f.vector("Qvx")
    d, found, slope = f.vector("d", k * m), f.vector("found"), f.vector("slope")
    K = f.vector("K", k * m * nx)
    with f.each(m) as i:
        slope[i] = f.sum(m, lambda j: Qvv[i * nv + j] * d[j])
        found[1] = found[1] - Qv[i] * d[i]
        found[2] = found[2] - d[i] * slope[i] * 0.5
        slope[i] = slope[i] + Qv[i]
    none = f.whole(0)
    with f.each(count) as q:
        total = Local(f, f.row("Qx", none)[q])
        with f.each(m) as a:
            total.set(total.get() + slope[a] * f.row("K", (k * m + a) * nx)[q])
            total.set(total.get() + d[a] * f.row("Qvx", a * nx)[q])
        f.row("p", none)[q] = total.get()
    with f.each(m) as a, f.each(count) as q:  # Qvv K + Qvx, in place of PF
        total = Local(f, f.row("Qvx", a * nx)[q])
        with f.each(m) as b:
            total.set(total.get() + Qvv[a * nv + b] * f.row("K", (k * m + b) * nx)[q])
        f.row("PF", a * nx)[q] = total.get()
    with f.each(n) as i, f.each(count) as q:
        total = Local(f, f.row("Qxx", i * nx)[q])
        with f.each(m) as a:
            total.set(total.get() + K[a * nx + i] * f.row("PF", a * nx)[q])
            total.set(total.get() + Qvx[a * nx + i] * f.row("K", (k * m + a) * nx)[q])
        f.row("P", i * nx)[q] = total.get()
    P = f.vector("P")
    with f.each(n) as i, f.each(i) as j:
        P[j * nx + i] = P[i * nx + j]


def _cholesky_text(module: IRModule) -> Routine:
    """Emit: factor ``pushed`` restricted to free inputs; return 0 if it is not positive definite."""
    f = routine(module, SWEEP, "factor_free", WHOLE)
    m, A, C, free = f["inputs"], f.vector("pushed"), f.vector("chol"), f.vector("free")
    with f.each(m) as i, f.each(i + 1) as j:
        rest = Local(f, A[i * m + j] * free[i] * free[j])
        with f.each(j) as a:
            rest.set(rest.get() - C[i * m + a] * C[j * m + a])
        with f.when(i.differs(j)):
            C[i * m + j] = rest.get() / C[j * m + j]
        with f.when(i.equals(j)):
            own = Local(f, f.choose(free[i] > 0.0, rest.get(), 1.0))
            with f.when(~(own.get() > 0.0)):
                f.give(f.whole(0))
            C[i * m + i] = f.root(own.get())
    f.give(f.whole(1))
    return f


def _solve_text(module: IRModule) -> Routine:
    """Emit: solve for ``side`` with the factors of `_cholesky_text`; set inputs that are not free to zero."""
    f = routine(module, SWEEP, "solve_free", NOTHING)
    m, C, b, free = f["inputs"], f.vector("chol"), f.vector("side"), f.vector("free")
    with f.each(m) as i:
        value = Local(f, b[i] * free[i])
        with f.each(i) as j:
            value.set(value.get() - C[i * m + j] * b[j])
        b[i] = value.get() / C[i * m + i]
    with f.each(m) as back:
        i = m - 1 - back
        value = Local(f, b[i])
        with f.span(i + 1, m) as j:
            value.set(value.get() - C[j * m + i] * b[j])
        b[i] = value.get() / C[i * m + i]
    f.give()
    return f


def _box_text(module: IRModule, cholesky: Routine, solve: Routine) -> Routine:
    """Emit: minimise ½ dᵀ A d + Qvᵀ d within limits by projected Newton steps.

    The function returns 0 if A is not positive definite.
    """
    f = routine(module, SWEEP, "box_step", WHOLE, WHOLE)
    k, m = f.argument(1), f["inputs"]
    A, Qv, side, free = f.vector("pushed"), f.vector("Qv"), f.vector("side"), f.vector("free")
    slope, better, under, over = f.vector("slope"), f.vector("better"), f.vector("under"), f.vector("over")
    d = Span(f, f.vector("d").at(k * m))
    with f.each(m) as i:
        free[i] = 1.0
        side[i] = -1.0 * Qv[i]
    with f.when(f.run(cholesky).equals(0)):
        f.give(f.whole(0))
    f.run(solve)
    with f.each(m) as i:
        d[i] = f.least(f.most(side[i], under[i]), over[i])
    passes, moving = Local(f, f.whole(0)), Local(f, f.whole(1))
    with f.repeat() as loop:
        with f.when((passes.get() >= m * 10) | moving.get().equals(0)):
            loop.leave()
        passes.set(passes.get() + 1)
        count = Local(f, f.real(0.0))
        with f.each(m) as i:
            slope[i] = Qv[i] + f.sum(m, lambda j: A[i * m + j] * d[j])
            low = (d[i] <= under[i]) & (slope[i] > 0.0)
            high = (d[i] >= over[i]) & (slope[i] < 0.0)
            free[i] = f.choose(low | high, 0.0, 1.0)
            side[i] = slope[i]
            count.set(count.get() + free[i])
        f.run(cholesky)
        f.run(solve)
        moving.set(f.whole(0))
        with f.each(m) as i:
            better[i] = f.least(f.most(d[i] - side[i], under[i]), over[i])
            far = f.magnitude(better[i] - d[i]) > f.magnitude(d[i]) * 1e-12 + 1e-14
            with f.when(far & (free[i] > 0.0)):
                moving.set(f.whole(1))
        with f.when(moving.get().equals(1)):
            f.copy(m, better, d)
    f.give(f.whole(1))
    return f


_FILES = [Path(__file__)]  # if this file changes, cached machine code is not used


@cache
def _steps(lanes: int) -> RoutineMethod:
    name = f"differentiated steps {lanes} {_STAGES}"
    return compiled_method(
        name, lambda: steps_text(lanes), _FILES, ("differentiate_steps",), of_all_models=True
    )


@cache
def _sweep(lanes: int) -> RoutineMethod:
    return compiled_method(
        f"backward sweep {lanes}", lambda: sweep_text(lanes), _FILES, ("sweep_back",), of_all_models=True
    )
