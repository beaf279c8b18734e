"""A model linearised at an operating point, or at many; loops opened at a named signal, and their margins.

The loop transfer L is for negative feedback: the closed loop has v = −L v + d, and 1 + L = 0 at its poles.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

import numpy as np

from armillary.algebra.arguments import count, from_zero, index, several, text
from armillary.analysis.linear import conversions, matrices, responses, structure
from armillary.analysis.linear.matrices import LinearMatrices
from armillary.analysis.linear.responses import needs_ports, port
from armillary.errors import ArmillaryError
from armillary.program.linearization import Variable
from armillary.text_tables import aligned, counted, html_table, html_text
from armillary.untyped import DataMapping, DataTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armillary.analysis.linear.structure import Reach
    from armillary.analysis.modes.modes import Modes
    from armillary.results import Run


SHOWN = 12  # most states for which matrices are printed


@dataclass(frozen=True, eq=False, repr=False)
class LinearModel(LinearMatrices):
    """A linear model of small changes about an operating point.

        δẋ = A δx + B δv          δy = C δx + D δv

    ``states``, ``inputs`` and ``outputs`` are the names of x, v and y; matrices are in their stated units
    (``units``). For many operating points, matrices, ``state`` and ``time`` have a leading axis. ``state`` is
    the model's whole state at the operating point, as ``model.derivatives`` takes it. ``operating_point`` has
    the same values by name, in stated units, as ``initial=`` takes them, and ``input_values`` the values of
    the inputs.
    """

    # ------------------------------------------------------------ modes

    def modes(self, *, tolerance: float = 1e-9) -> Modes:
        """Return the eigenvalues with frequencies, dampings, shapes, participation and energies.

        Singular values of the balanced A below ``tolerance`` times the largest count as zero: they belong to
        free motions, which no stiffness opposes.
        """
        from armillary.analysis.modes.modes import modes_of
        from armillary.analysis.modes.shapes import LinearPlace

        if self.step is not None:
            self._continuous("modes()")
        place = None
        if self.linearization is not None and not self.many:
            place = LinearPlace(
                self.linearization, float(self.time), self.state, self.memory, self.parameters
            )
        return modes_of(self.system, self.A, self.variables[0], place, tolerance)

    def __getitem__(self, i: int) -> LinearModel:
        """Return the linear model of one of many operating points."""
        if not self.many:
            raise ArmillaryError("the linear model has only one operating point; use it without an index")
        i = index(i, len(self), "operating point")

        def pick_row(values: DataMapping) -> DataMapping:
            return MappingProxyType({n: float(v[i]) if np.ndim(v) else v for n, v in values.items()})

        arrays = {name: getattr(self, name)[i] for name in ("A", "B", "C", "D", "state", "memory")}
        return replace(
            self, **arrays, time=float(self.time[i]), parameters=pick_row(self.parameters),
            operating_point=pick_row(self.operating_point), input_values=pick_row(self.input_values),
        )  # fmt: skip

    def keep(self, states: Sequence[str]) -> LinearModel:
        """Return the model with only these states, in this order; others are held at the operating point.

        This is exact if the kept rates and outputs do not depend on the other states, such as cyclic
        coordinates.
        """
        names = several(states, "states of keep")
        chosen = [port(name, self.states, "state") for name in names]
        return replace(
            self,
            A=self.A[..., chosen, :][..., :, chosen],
            B=self.B[..., chosen, :],
            C=self.C[..., :, chosen],
            variables=(tuple(self.variables[0][i] for i in chosen), *self.variables[1:]),
            linearization=None,
        )

    # ------------------------------------------------------------ poles, zeros, structure

    def zeros(self) -> np.ndarray:
        """Return the transmission zeros from all inputs to all outputs."""
        needs_ports(self)
        self.single("zeros")
        return structure.transmission_zeros(self.A, self.B, self.C, self.D)

    def controllability(self) -> Reach:
        """Return the controllable modes; the result is true if all modes are controllable."""
        self._continuous("controllability")
        return structure.reach(self.A, self.B, self.states, "controllable")

    def observability(self) -> Reach:
        """Return the observable modes; the result is true if all modes are observable."""
        self._continuous("observability")
        return structure.reach(self.A.T, self.C.T, self.states, "observable")

    def h2_norm(self) -> float:
        """Return the root mean square of the outputs under white noise of unit intensity at every input."""
        self._continuous("h2_norm")
        needs_ports(self)
        return structure.h2_norm(self)

    def reduce(self, order: int | None = None, *, tolerance: float | None = None) -> LinearModel:
        """Return a smaller model with the same inputs and outputs, by balanced truncation.

        ``order`` is the number of states to keep; by default those with Hankel singular values above
        ``tolerance`` (1e-8) times the largest. ``note`` has the bound of the error over all frequencies.
        """
        self._continuous("reduce")
        needs_ports(self)
        if order is not None:
            order = count(order, "the order of a reduced model")
        if tolerance is not None:
            tolerance = from_zero(tolerance, "the tolerance of reduce", most=1)
        found = structure.balanced_truncation(self.A, self.B, self.C, order, tolerance)
        about = "state of a reduced model"
        states = tuple(Variable(f"x{i + 1}", "", 1.0, about, "state") for i in range(len(found.A)))
        note = f"reduced from {len(self.states)} states; gain differs by at most {found.bound:.3g}"
        return replace(
            self, A=found.A, B=found.B, C=found.C, variables=(states, *self.variables[1:]), note=note,
            linearization=None,
        )  # fmt: skip

    # ------------------------------------------------------------ responses and pictures

    frequency_response = responses.frequency_response
    pole_zero = responses.pole_zero
    psd = responses.psd

    def step_response(self, times: object = None, *, input: str | None = None) -> Run:
        """Return the changes of the outputs after a unit step of an input, as a run.

        ``times`` is the end, or equally spaced times from 0.
        """
        return responses.time_response(self, times, input, "step")

    def impulse_response(self, times: object = None, *, input: str | None = None) -> Run:
        """Return the changes of the outputs after a unit impulse of an input, as a run.

        The impulse that D passes on directly to the outputs is left out.
        """
        return responses.time_response(self, times, input, "impulse")

    def bode(
        self,
        omega: object = None,
        path: str | os.PathLike[str] | None = None,
        *,
        hz: bool = False,
        decibels: bool = False,
        show: bool = False,
    ) -> Figure:
        """Draw magnitude and phase over frequency, in rad/s or, with ``hz``, in Hz.

        With ``decibels``, magnitudes are in dB. ``omega`` is always in rad/s.
        """
        return self.frequency_response(omega).bode(path, hz=hz, decibels=decibels, show=show)

    def nyquist(
        self, omega: object = None, path: str | os.PathLike[str] | None = None, *, show: bool = False
    ) -> Figure:
        """Draw the frequency response in the complex plane."""
        return self.frequency_response(omega).nyquist(path, show=show)

    # ------------------------------------------------------------ loops

    def break_loop(self, at: str, *, input: str | None = None) -> LinearModel:
        """Return the loop transfer L of negative feedback, with one input and one output.

        The loop is opened at the signal ``at``. This is a state, such as an actuator's lag, which the new
        input replaces in the rates of all other states. Or it is an output or load to which ``input`` is
        added, in the same units: the loop is opened at this sum. The poles of this model, whose loop is
        closed, satisfy 1 + L = 0.
        """

        return replace(self, **open_loop(self, at, input))

    def margins(self, output: str | None = None, input: str | None = None) -> Margins:
        """Return gain, phase, delay and modulus margins of this loop transfer under negative feedback."""

        return stability_margins(self, output, input)

    # ------------------------------------------------------------ other forms

    transfer_function = conversions.transfer_function
    discretize = conversions.discretize
    symbolic = matrices.symbolic
    descriptor = matrices.descriptor
    to_scipy = conversions.to_scipy
    to_control = conversions.to_control

    def _file_data(self) -> DataTable:
        return conversions.linear_content(self)

    @classmethod
    def _from_file(cls, data: DataTable) -> Self:
        return cls(**conversions.linear_fields(data))

    def _report(self) -> tuple[str, str]:
        return self.report(), conversions.html_report(self)

    # ------------------------------------------------------------ shown

    report = conversions.report

    def __repr__(self) -> str:
        sizes = (
            counted(len(self.states), "state"),
            counted(len(self.inputs), "input"),
            counted(len(self.outputs), "output"),
        )
        at = f" at {len(self)} operating points" if self.many else ""
        note = f"; {self.note}" if self.note else ""
        return f"LinearModel({self.system!r}: {', '.join(sizes)}{at}{note})"

    def __str__(self) -> str:
        if self.many or len(self.states) > SHOWN:
            return repr(self)
        lines = [repr(self)]
        for title, header, rows in self.tables():
            lines += ["", title]
            lines += [f"  {line}" for line in aligned([header, *rows], "<" + ">" * (len(header) - 1))]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = f"<p>{html_text(repr(self))}</p>"
        if self.many or len(self.states) > SHOWN:
            return head
        parts = [
            html_table(header, rows, "<" + ">" * (len(header) - 1), caption=title)
            for title, header, rows in self.tables()
        ]
        return head + "".join(parts)


def load_linear(path: str | os.PathLike[str]) -> LinearModel:
    """Return the linear model in a file that `LinearModel.save` wrote."""
    return LinearModel.load(path)


_GRID = 2000  # frequencies between which crossings are searched
# Distances of these frequencies from a pole's frequency, as multiples of the pole's real part.
_AROUND = np.array([-8.0, -4, -2, -1, -0.5, -0.25, 0.0, 0.25, 0.5, 1, 2, 4, 8])
_SAME = 1e-9  # largest difference of two gains that counts as zero


def open_loop(lin: LinearMatrices, at: str, added: str | None) -> DataTable:
    """Return matrices and variables of the loop opened at a signal; see ``LinearModel.break_loop``.

    At a state x_k, the rates of all other states take an input in place of x_k; the rate of x_k keeps x_k:
    A₀ = A − A e_k e_kᵀ + a_kk e_k e_kᵀ. At a load f(x) = C x to which an input d is added,
    ẋ = A₀ x + B (f + d), so that A₀ = A − B C.
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
            f"break_loop: '{at}' changes by {through:.4g} when '{added}' changes by 1, so '{added}' is not "
            "an input that is added to it; name the load or output that contains the input as a sum"
        )
    B, C = lin.B[:, [j]], lin.C[[i]]
    return _loop(lin.A - B @ C, B, -C, (lin.variables[0], (d,), (y,)))


def _loop(A: np.ndarray, B: np.ndarray, C: np.ndarray, variables: tuple[object, ...]) -> DataTable:
    return {"A": A, "B": B, "C": C, "D": np.zeros((1, 1)), "variables": variables, "linearization": None}


@dataclass(frozen=True, eq=False, repr=False)
class Margins:
    """Stability margins of a loop with negative feedback.

    A margin is the smallest change of L that brings the closed loop to the limit of stability: ``gain`` is a
    factor (the one nearest to 1), ``phase`` a lag in degrees (a negative one is a lead), ``delay`` a dead
    time in s. ``modulus`` is the least |1 + L|. ``gain_omega``, ``phase_omega`` and ``modulus_omega`` are
    their frequencies in rad/s. A margin is infinite if no such change leads to the limit. ``gains`` and
    ``phases`` have all changes that lead to it, as rows (ω, change). ``stable`` is true if the closed loop is
    stable.
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
    """Return the margins of L from an input to an output; both may be left out if there is only one."""
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
    crossings = [(w[k], w[k + 1]) for k in _sign_changes(np.abs(L) - 1.0)]
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
            f"margins need one loop: name the {what}, one of {', '.join(known) or 'none'}, or take "
            "lin.break_loop(…).margins()"
        )
    return 0 if name is None else port(name, known, what)


def _frequencies(lin: LinearMatrices, closed: np.ndarray) -> np.ndarray:
    """Return frequencies between which crossings are searched: a geometric grid, and some near each pole."""
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
    exact = np.abs(poles.real) < 1e-12 * np.maximum(np.abs(poles), 1e-300)  # L is infinite there
    return found[~np.isin(found, np.abs(poles.imag[exact]))]


def _sign_changes(values: np.ndarray) -> np.ndarray:
    """Return the indices after which a row of numbers changes its sign."""
    return np.flatnonzero(np.signbit(values[:-1]) != np.signbit(values[1:]))
