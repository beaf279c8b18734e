"""Loops of a linear model: opened at a named signal, and how far they are from instability.

The loop transfer L is for negative feedback: closed, v = −L v + d, and 1 + L = 0 at the poles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armillary.algebra.arguments import text
from armillary.analysis.linear.matrices import LinearMatrices
from armillary.analysis.linear.responses import port
from armillary.columns import aligned
from armillary.errors import ArmillaryError
from armillary.untyped import DataTable

_GRID = 2000  # frequencies among which crossings are looked for
_AROUND = np.array([-8.0, -4, -2, -1, -0.5, -0.25, 0.0, 0.25, 0.5, 1, 2, 4, 8])  # of a pole's damping
_SAME = 1e-9


def open_loop(lin: LinearMatrices, at: str, added: str | None) -> DataTable:
    """Matrices and variables of the loop that is open at a signal; see ``LinearModel.break_loop``.

    A state x_k: the rates and outputs that use it take an input instead, and its own rate stays,
    A₀ = A − A e_k e_kᵀ + a_kk e_k e_kᵀ. A load f(x) to which an input d is added: ẋ = A₀ x + B (f + d) with
    f = C x, so that A₀ = A − B C.
    """
    lin.single("break_loop")
    at = text(at, "the signal of break_loop")
    if added is None:
        if at not in lin.states and at in lin.outputs:
            raise ArmillaryError(
                f"break_loop: '{at}' is an output, not a state; name the input that is added where the loop "
                f"is opened, break_loop('{at}', input=…)"
            )
        k = port(at, lin.states, "state")
        signal = lin.variables[0][k]
        A, B, C = lin.A.copy(), lin.A[:, k].copy(), np.zeros((1, len(lin.A)))
        A[:, k], B[k], C[0, k] = 0.0, 0.0, -1.0
        A[k, k] = lin.A[k, k]
        return _loop(A, B[:, None], C, (lin.variables[0], (signal,), (signal,)))
    i, j = port(at, lin.outputs, "output"), port(added, lin.inputs, "input")
    y, d = lin.variables[2][i], lin.variables[1][j]
    if y.units != d.units:
        raise ArmillaryError(
            f"break_loop: '{at}' is in '{y.units}' and '{added}' in '{d.units}'; the input must be added to "
            "the signal at which the loop is opened, in the same units"
        )
    through = float(lin.D[i, j])
    if min(abs(through), abs(through - 1.0)) > _SAME:
        raise ArmillaryError(
            f"break_loop: '{at}' changes by {through:.4g} where '{added}' changes by 1, and not by 0 or 1 as "
            "a signal to which it is added; name the load or output that contains the input as a sum"
        )
    B, C = lin.B[:, [j]], lin.C[[i]]
    return _loop(lin.A - B @ C, B, -C, (lin.variables[0], (d,), (y,)))


def _loop(A: np.ndarray, B: np.ndarray, C: np.ndarray, variables: tuple[object, ...]) -> DataTable:
    return {"A": A, "B": B, "C": C, "D": np.zeros((1, 1)), "variables": variables, "linearization": None}


@dataclass(frozen=True, eq=False, repr=False)
class Margins:
    """How far a loop of negative feedback is from instability.

    ``gain`` is the factor nearest to 1 by which L may be multiplied until the closed loop is on the limit of
    stability, at ``gain_omega`` in rad/s; ``phase`` the smallest lag (negative: lead) in degrees, at
    ``phase_omega``; ``delay`` the smallest dead time in s; ``modulus`` the least |1 + L|. Infinite where
    there is none. ``gains`` and ``phases`` have all of them, as rows (ω, margin). ``stable`` is of the closed
    loop.
    """

    system: str
    stable: bool
    gain: float
    gain_omega: float
    phase: float
    phase_omega: float
    delay: float
    modulus: float
    modulus_omega: float
    gains: np.ndarray
    phases: np.ndarray

    def __repr__(self) -> str:
        rows = [
            ["gain margin", f"{self.gain:.4g} ({20 * np.log10(self.gain):.4g} dB)", f"{self.gain_omega:.5g}"]
            if np.isfinite(self.gain)
            else ["gain margin", "none", ""],
            ["phase margin", f"{self.phase:.4g}°", f"{self.phase_omega:.5g}"]
            if np.isfinite(self.phase)
            else ["phase margin", "none", ""],
            ["delay margin", f"{self.delay:.4g} s" if np.isfinite(self.delay) else "none", ""],
            ["modulus margin", f"{self.modulus:.4g}", f"{self.modulus_omega:.5g}"],
        ]
        loop = "stable" if self.stable else "not stable"
        head = f"Margins of '{self.system}', whose closed loop is {loop}:"
        return "\n".join([head, *(f"  {x}" for x in aligned([["", "", "at rad/s"], *rows], "<>>"))])


def stability_margins(lin: LinearMatrices, output: str | None, name: str | None) -> Margins:
    """Margins of L from an input to an output, the only ones where they are left out."""
    from scipy.optimize import brentq, minimize_scalar

    lin.single("margins")
    i, j = _port(output, lin.outputs, "output"), _port(name, lin.inputs, "input")
    A, b, c, d = lin.A, lin.B[:, j], lin.C[i], float(lin.D[i, j])

    def transfer(w: np.ndarray) -> np.ndarray:
        s = 1j * w if lin.step is None else np.exp(1j * w * lin.step)
        x = np.linalg.solve(s[:, None, None] * np.eye(len(A)) - A, np.tile(b + 0j, (len(w), 1))[..., None])
        found: np.ndarray = x[..., 0] @ c + d
        return found

    def one(w: float) -> complex:
        return complex(transfer(np.array([w]))[0])

    closed = np.linalg.eigvals(A - np.outer(b, c) / (1.0 + d)) if d != -1.0 else np.array([np.nan])
    bound = closed.real if lin.step is None else np.abs(closed) - 1.0
    w = _frequencies(lin, closed)
    L = transfer(w)
    crossings = [(w[k], w[k + 1]) for k in _sign_changes(np.log(np.abs(L)))]
    at_one = np.array([brentq(lambda x: np.log(abs(one(x))), *pair, rtol=1e-13) for pair in crossings])
    turns = [(w[k], w[k + 1]) for k in _sign_changes(L.imag) if L[k].real + L[k + 1].real < 0]
    at_180 = np.array([brentq(lambda x: one(x).imag, *pair, rtol=1e-13) for pair in turns])
    phases = np.degrees(np.angle(-transfer(at_one))) if at_one.size else np.empty(0)
    gains = 1.0 / np.abs(transfer(at_180)) if at_180.size else np.empty(0)
    near = int(np.argmin(np.abs(1.0 + L)))
    edges = w[max(near - 1, 0)], w[min(near + 1, len(w) - 1)]
    least = minimize_scalar(lambda x: abs(1.0 + one(x)), bounds=edges, method="bounded")
    g = int(np.argmin(np.abs(np.log(gains)))) if gains.size else None
    p = int(np.argmin(np.abs(phases))) if phases.size else None
    return Margins(
        lin.system, bool(np.all(bound < 0)),
        np.inf if g is None else float(gains[g]), np.nan if g is None else float(at_180[g]),
        np.inf if p is None else float(phases[p]), np.nan if p is None else float(at_one[p]),
        float(np.min(np.radians(phases % 360.0) / at_one, initial=np.inf)),
        float(least.fun), float(least.x),
        np.column_stack([at_180, gains]), np.column_stack([at_one, phases]),
    )  # fmt: skip


def _port(name: str | None, known: tuple[str, ...], what: str) -> int:
    if name is None and len(known) != 1:
        raise ArmillaryError(
            f"margins are those of one loop: name the {what}, one of {', '.join(known) or 'none'}, or take "
            "lin.break_loop(…).margins()"
        )
    return 0 if name is None else port(name, known, what)


def _frequencies(lin: LinearMatrices, closed: np.ndarray) -> np.ndarray:
    """Frequencies in which crossings are seen: even ones, and some around each light pole."""
    poles = np.concatenate([lin.poles(), closed[np.isfinite(closed)]])
    if lin.step is not None:
        poles = np.log(poles[poles != 0] + 0j) / lin.step
    sizes = np.abs(poles)
    sizes = sizes[sizes > 1e-9 * np.max(sizes, initial=0.0)]
    low, high = (sizes.min(), sizes.max()) if sizes.size else (1.0, 1.0)
    around = (np.abs(poles.imag)[:, None] + np.abs(poles.real)[:, None] * _AROUND).ravel()
    found = np.concatenate([np.geomspace(1e-3 * low, 1e3 * high, _GRID), around])
    top = np.inf if lin.step is None else np.pi / lin.step
    found = np.unique(found[(found >= 1e-3 * low) & (found < top)])
    exact = np.abs(poles.real) < 1e-12 * np.maximum(np.abs(poles), 1e-300)  # an undamped pole is no number
    return found[~np.isin(found, np.abs(poles.imag[exact]))]


def _sign_changes(values: np.ndarray) -> np.ndarray:
    """Places after which a row of numbers changes its sign."""
    return np.flatnonzero(np.signbit(values[:-1]) != np.signbit(values[1:]))
