"""The two halves of an iteration of iLQR as compiled loops: derivatives of steps, and the sweep backwards.

    differentiate   φ(x_k, v_k) by RK4, with ∂φ/∂(x, v) by the chain rule through its stages
    sweep_back      the quadratic model of the cost, from the last knot to the first; offsets d and gains K

The loops are built once for all systems. They call a function of the model, by its address, that returns the
rates and the elements of their Jacobian.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from armillary.llvm.building.builder import Local, Span, Value
from armillary.llvm.building.emitter import NOTHING, WHOLE, IRModule
from armillary.llvm.building.routines import (
    PreparedRoutine,
    Routine,
    RoutineLayout,
    RoutineMethod,
    compiled_method,
    real_array,
    routine,
    whole_array,
)
from armillary.solver.llvm.compiled_loop import loop_sources
from armillary.solver.llvm.step_routines import STEP_WORK, StepRoutine, step_work
from armillary.solver.methods.registry import METHODS

_METHOD = METHODS["rk4"]

STEPS = RoutineLayout(
    numbers=("steps", "states", "inputs", "elements"),
    addresses=(
        *("rates", "constants", "memory"),  # ``rates`` returns the Jacobian's elements after the rates
        *("places", "rows", "columns"),  # whole numbers: indices of inputs in the memory, of elements
        *("settings", "t", "x", "v", "ends", "found"),
        *("out", "motion", *STEP_WORK),  # work
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


def prepare_step_derivatives(
    slopes: int,
    constants: np.ndarray,
    memory: np.ndarray,
    places: list[int],
    pattern: tuple[np.ndarray, np.ndarray],
    shape: tuple[int, int, int],
    h: float,
) -> PreparedRoutine:
    """Return the derivatives of steps of length h, of ``shape`` (steps, states, inputs).

    A call takes t, x and v of each step; it finds the ``ends`` of the steps and their derivatives by [x, v],
    ``found``: steps × states × (states + inputs).
    """
    N, n, m = shape
    work: dict[str, int | np.ndarray] = {
        "steps": N, "states": n, "inputs": m, "elements": len(pattern[0]), "rates": slopes,
        "constants": np.array(constants), "memory": real_array(memory.copy()),
        "places": whole_array(places), "rows": whole_array(pattern[0]), "columns": whole_array(pattern[1]),
        "settings": np.array([h]), "t": np.zeros(N), "x": np.zeros((N, n)), "v": np.zeros((N, m)),
        "ends": np.empty((N, n)), "found": np.empty((N, n, n + m)), "out": np.empty(n + len(pattern[0]) + 1),
        "motion": np.empty(n + n * (n + m)), **step_work(_METHOD, n + n * (n + m)),
    }  # fmt: skip
    return _steps().prepare("differentiate_steps", STEPS, work)


def prepare_sweep(
    shape: tuple[int, int, int],
    target: np.ndarray,
    weights: tuple[np.ndarray, np.ndarray, np.ndarray],
    limits: tuple[np.ndarray, np.ndarray],
    slopes: np.ndarray,
    curved: bool,
) -> PreparedRoutine:
    """Return the sweep backwards over ``shape`` (steps, states, inputs); ``weights`` are Q, R and S.

    A call takes the settings (h, regularisation), x, v, zeros for what it finds and, if ``curved``, second
    derivatives of the rates: steps × rates × variables × variables. The steps' derivatives by [x, v] are read
    from ``slopes``. It finds offsets d, gains K, and ``found``: [1 or, if v has no minimum, 0; slope and
    curvature of the expected decrease].
    """
    N, n, m = shape
    Q, R, S = (real_array(w) for w in weights)
    size = {
        "P": n * n, "p": n, "PF": n * (n + m), "Qxx": n * n, "Qvx": m * n, "Qvv": m * m, "Qx": n, "Qv": m,
        "pushed": m * m, "chol": m * m, "free": m, "slope": m, "better": m, "side": max(n, m), "under": m,
        "over": m,
    }  # fmt: skip
    work: dict[str, int | np.ndarray] = {
        "steps": N, "states": n, "inputs": m, "curved": int(curved), "settings": np.zeros(2),
        "x": np.zeros((N + 1, n)), "v": np.zeros((N, m)), "slopes": slopes,
        "curvatures": np.zeros((N, n, n + m, n + m) if curved else 1), "target": real_array(target),
        "Q": Q, "R": R, "S": S, "low": real_array(limits[0]), "high": real_array(limits[1]),
        "d": np.zeros((N, m)), "K": np.zeros((N, m, n)), "found": np.zeros(3),
        **{name: np.zeros(count) for name, count in size.items()},
    }  # fmt: skip
    return _sweep().prepare("sweep_back", SWEEP, work)


# ---------------------------------------------------------------------------------------- steps


class _DifferentiatedSteps(StepRoutine):
    """Steps of a motion x together with its derivatives S by [x, v], stored by rows.

    With the rates Ṡ = ∂f/∂x S + [0, ∂f/∂v] a step gives the exact derivative of the step of x.
    """

    def width(self) -> Value:
        n = self["states"]
        return n + n * (n + self["inputs"])

    def derivatives(self, t: Value, state: Span, result: Span) -> None:
        n, wide = self["states"], self["states"] + self["inputs"]
        out, seed, bent = self.vector("out"), Span(self, state.at(n)), Span(self, result.at(n))
        self.evaluate("rates", t, state, out)
        self.copy(n, out, result)
        with self.each(n * wide) as i:
            bent[i] = 0.0
        with self.each(self["elements"]) as e:
            value, row, column = out[n + e], self.index("rows", e), self.index("columns", e)
            own = Span(self, bent.at(row * wide))
            with self.when(column >= n):
                own[column] = own[column] + value
            with self.when(column < n):
                other = Span(self, seed.at(column * wide))
                with self.each(wide) as j:
                    own[j] = own[j] + value * other[j]


def steps_text() -> str:
    """Return the LLVM text of ``armillary_differentiate_steps(fields)``."""
    module = IRModule()
    f = _DifferentiatedSteps(module, STEPS, _METHOD, "differentiate_steps")
    n, m = f["states"], f["inputs"]
    wide = n + m
    memory, motion = f.vector("memory"), f.vector("motion")
    derivatives = Span(f, motion.at(n))
    with f.each(f["steps"]) as k:
        with f.each(m) as j:
            memory[f.index("places", j)] = f.vector("v")[k * m + j]
        f.copy(n, Span(f, f.vector("x").at(k * n)), motion)
        with f.each(n * wide) as i:
            derivatives[i] = 0.0
        with f.each(n) as i:
            derivatives[i * wide + i] = 1.0
        f.step(f.vector("t")[k], f.vector("settings")[0], motion, motion)
        f.copy(n, motion, Span(f, f.vector("ends").at(k * n)))
        f.copy(n * wide, derivatives, Span(f, f.vector("found").at(k * n * wide)))
    f.give()
    return str(module)


# ---------------------------------------------------------------------------------------- sweep


def sweep_text() -> str:
    """Return the LLVM text of ``armillary_sweep_back(fields)``."""
    module = IRModule()
    cholesky, solve = _cholesky_text(module), _solve_text(module)
    box = _box_text(module, cholesky, solve)
    f = routine(module, SWEEP, "sweep_back", NOTHING, public=True)
    N, n = f["steps"], f["states"]
    x, target, P, p = f.vector("x"), f.vector("target"), f.vector("P"), f.vector("p")
    found = f.vector("found")
    f.copy(n * n, f.vector("S"), P)
    with f.each(n) as i:
        p[i] = f.sum(n, lambda j: P[i * n + j] * (x[N * n + j] - target[j]))
    with f.each(N) as back:
        k = N - 1 - back
        _expand(f, k)
        with f.when(f.run(box, k).equals(0)):
            found[0] = 0.0
            f.give()
        _gains(f, k)
        _update(f, k)
    found[0] = 1.0
    f.give()
    return str(module)


def _expand(f: Routine, k: Value) -> None:
    """Emit the quadratic model of the cost to go in x and v of one knot."""
    n, m, wide = f["states"], f["inputs"], f["states"] + f["inputs"]
    h, regular = f.vector("settings")[0], f.vector("settings")[1]
    x, v, target = f.vector("x"), f.vector("v"), f.vector("target")
    P, p, Q, R = f.vector("P"), f.vector("p"), f.vector("Q"), f.vector("R")
    G = Span(f, f.vector("slopes").at(k * n * wide))
    PF, Qxx, Qvx, Qvv = f.vector("PF"), f.vector("Qxx"), f.vector("Qvx"), f.vector("Qvv")
    Qx, Qv, pushed = f.vector("Qx"), f.vector("Qv"), f.vector("pushed")
    with f.each(n) as i:
        own = Span(f, PF.at(i * wide))
        with f.each(wide) as j:
            own[j] = 0.0
        with f.each(n) as a:
            other, value = Span(f, G.at(a * wide)), P[i * n + a]
            with f.each(wide) as j:
                own[j] = own[j] + value * other[j]
    with f.each(n) as i:
        Qx[i] = h * f.sum(n, lambda j: Q[i * n + j] * (x[k * n + j] - target[j]))
    with f.each(m) as i:
        Qv[i] = h * f.sum(m, lambda j: R[i * m + j] * v[k * m + j])
    for target_, weight, count in ((Qxx, Q, n * n), (Qvv, R, m * m)):
        with f.each(count) as i:
            target_[i] = h * weight[i]
    with f.each(m * n) as i:
        Qvx[i] = 0.0
    with f.each(n) as a:
        row, own, price = Span(f, G.at(a * wide)), Span(f, PF.at(a * wide)), p[a]
        with f.each(n) as i:
            value, out = row[i], Span(f, Qxx.at(i * n))
            Qx[i] = Qx[i] + value * price
            with f.each(i + 1) as j:
                out[j] = out[j] + value * own[j]
        with f.each(m) as i:
            value, out, last = row[n + i], Span(f, Qvx.at(i * n)), Span(f, Qvv.at(i * m))
            Qv[i] = Qv[i] + value * price
            with f.each(n) as j:
                out[j] = out[j] + value * own[j]
            with f.each(m) as j:
                last[j] = last[j] + value * own[n + j]
    with f.when(f["curved"].differs(0)):
        curvatures = f.vector("curvatures")
        with f.each(n) as a:
            bent, price = Span(f, curvatures.at((k * n + a) * wide * wide)), h * p[a]
            with f.each(n) as i, f.each(n) as j:
                Qxx[i * n + j] = Qxx[i * n + j] + price * bent[i * wide + j]
            with f.each(m) as i:
                with f.each(n) as j:
                    Qvx[i * n + j] = Qvx[i * n + j] + price * bent[(n + i) * wide + j]
                with f.each(m) as j:
                    Qvv[i * m + j] = Qvv[i * m + j] + price * bent[(n + i) * wide + n + j]
    with f.each(m) as i:
        with f.each(m) as j:
            product = f.sum(n, lambda a: G[a * wide + n + i] * G[a * wide + n + j])
            pushed[i * m + j] = Qvv[i * m + j] + regular * product
        pushed[i * m + i] = pushed[i * m + i] + regular
    under, over, low, high = f.vector("under"), f.vector("over"), f.vector("low"), f.vector("high")
    with f.each(m) as i:
        under[i] = low[i] - v[k * m + i]
        over[i] = high[i] - v[k * m + i]


def _gains(f: Routine, k: Value) -> None:
    """Emit K for the inputs that are not at a limit: all columns at once, row by row."""
    n, m, C, free = f["states"], f["inputs"], f.vector("chol"), f.vector("free")
    Qvx, K = f.vector("Qvx"), Span(f, f.vector("K").at(k * m * n))

    def subtract(i: Value, j: Value, factor: Value) -> None:
        own, other = Span(f, K.at(i * n)), Span(f, K.at(j * n))
        with f.each(n) as a:
            own[a] = own[a] - factor * other[a]

    def divide(i: Value) -> None:
        own, inverse = Span(f, K.at(i * n)), f.real(1.0) / C[i * m + i]
        with f.each(n) as a:
            own[a] = own[a] * inverse

    with f.each(m) as i:
        own, wanted = Span(f, K.at(i * n)), Span(f, Qvx.at(i * n))
        with f.each(n) as a:
            own[a] = -1.0 * free[i] * wanted[a]
        with f.each(i) as j:
            subtract(i, j, C[i * m + j])
        divide(i)
    with f.each(m) as back:
        i = m - 1 - back
        with f.span(i + 1, m) as j:
            subtract(i, j, C[j * m + i])
        divide(i)


def _update(f: Routine, k: Value) -> None:
    """Emit the cost to go before the knot, and the expected decrease; the lower triangle of P comes first."""
    n, m = f["states"], f["inputs"]
    P, p, Qx, Qv = f.vector("P"), f.vector("p"), f.vector("Qx"), f.vector("Qv")
    Qxx, Qvx, Qvv, pulled = f.vector("Qxx"), f.vector("Qvx"), f.vector("Qvv"), f.vector("PF")
    d, found = Span(f, f.vector("d").at(k * m)), f.vector("found")
    K = Span(f, f.vector("K").at(k * m * n))
    slope = f.vector("slope")
    with f.each(m) as i:
        slope[i] = f.sum(m, lambda j: Qvv[i * m + j] * d[j])
        found[1] = found[1] - Qv[i] * d[i]
        found[2] = found[2] - d[i] * slope[i] * 0.5
        slope[i] = slope[i] + Qv[i]
    f.copy(n, Qx, p)
    with f.each(m) as a:
        gain, across, pull = Span(f, K.at(a * n)), Span(f, Qvx.at(a * n)), Span(f, pulled.at(a * n))
        s, e = slope[a], d[a]
        with f.each(n) as i:
            p[i] = p[i] + gain[i] * s + across[i] * e
            pull[i] = across[i]
        with f.each(m) as b:
            other, factor = Span(f, K.at(b * n)), Qvv[a * m + b]
            with f.each(n) as i:
                pull[i] = pull[i] + factor * other[i]
    with f.each(n) as i:
        own, before = Span(f, P.at(i * n)), Span(f, Qxx.at(i * n))
        with f.each(i + 1) as j:
            own[j] = before[j]
        with f.each(m) as a:
            gain, across, pull = Span(f, K.at(a * n)), Span(f, Qvx.at(a * n)), Span(f, pulled.at(a * n))
            s, e = gain[i], across[i]
            with f.each(i + 1) as j:
                own[j] = own[j] + s * pull[j] + e * gain[j]
        with f.each(i) as j:
            P[j * n + i] = own[j]


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
    """Emit: solve for ``side`` with the factors of `_cholesky_text`; zero for inputs that are not free."""
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
    """Emit: minimise ½ dᵀ A d + Qvᵀ d in limits by projected Newton steps; return 0 if A is not definite."""
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


_FILES = [Path(__file__)]  # cached code depends on it


@cache
def _steps() -> RoutineMethod:
    name = f"differentiated steps {loop_sources()}"
    return compiled_method(name, steps_text, _FILES, ("differentiate_steps",))


@cache
def _sweep() -> RoutineMethod:
    return compiled_method("backward sweep", sweep_text, _FILES, ("sweep_back",), of_all_models=True)
