"""A model linearised at an operating point, or at many."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from armillary.algebra.arguments import count, from_zero, index, several
from armillary.analysis.linear.matrices import LinearMatrices
from armillary.analysis.linear.responses import needs_ports, port
from armillary.columns import aligned, counted, html_table, html_text
from armillary.errors import ArmillaryError
from armillary.program.derivatives.linearization import Variable
from armillary.untyped import DataMapping, LibraryObject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from armillary.analysis.linear.conversions import TransferFunction
    from armillary.analysis.linear.loops import Margins
    from armillary.analysis.linear.matrices import DescriptorModel, SymbolicLinearModel
    from armillary.analysis.linear.responses import FrequencyResponse
    from armillary.analysis.linear.structure import Reach
    from armillary.analysis.modes.modes import Modes
    from armillary.results import Run
    from armillary.results.spectra import PowerSpectrum

SHOWN = 12  # states up to which a matrix is printed whole


@dataclass(frozen=True, eq=False, repr=False)
class LinearModel(LinearMatrices):
    """A linear model of small changes about an operating point.

        δẋ = A δx + B δv          δy = C δx + D δv

    ``states``, ``inputs`` and ``outputs`` are the names of x, v and y; matrices are in their stated units
    (``units``). At many operating points matrices, ``state`` and ``time`` have a leading axis. ``state`` is
    the whole state of the model there, as ``model.derivatives`` takes it, and ``operating_point`` has its
    values by name, in stated units, for ``initial=``.
    """

    # ------------------------------------------------------------ modes

    def modes(self, *, tolerance: float = 1e-9) -> Modes:
        """Eigenvalues with frequencies, dampings, shapes, participation and energies.

        Singular values of the balanced A below ``tolerance`` of the largest count as zero: as modes of free
        motion.
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
        """One of many operating points."""
        if not self.many:
            raise ArmillaryError("the linear model has one operating point alone; use it as it is")
        i = index(i, len(self), "operating point")

        def pick_row(values: DataMapping) -> DataMapping:
            return MappingProxyType({n: float(v[i]) if np.ndim(v) else v for n, v in values.items()})

        arrays = {name: getattr(self, name)[i] for name in ("A", "B", "C", "D", "state", "memory")}
        time, values = float(self.time[i]), pick_row(self.operating_point)
        return replace(
            self, **arrays, time=time, parameters=pick_row(self.parameters), operating_point=values
        )

    def keep(self, states: Sequence[str]) -> LinearModel:
        """The model with these states alone, in this order; the others are held at the operating point.

        Exact where the rates and outputs that are kept do not depend on the others, as on cyclic coordinates.
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
        """Transmission zeros, from all inputs to all outputs."""
        from armillary.analysis.linear.structure import transmission_zeros

        needs_ports(self)
        self.single("zeros")
        return transmission_zeros(self.A, self.B, self.C, self.D)

    def controllability(self) -> Reach:
        """The modes that inputs move; true if all of them."""
        from armillary.analysis.linear.structure import reach

        self._continuous("controllability")
        return reach(self.A, self.B, self.states, "controllable")

    def observability(self) -> Reach:
        """The modes that outputs show; true if all of them."""
        from armillary.analysis.linear.structure import reach

        self._continuous("observability")
        return reach(self.A.T, self.C.T, self.states, "observable")

    def h2_norm(self) -> float:
        """Root mean square of the outputs under white noise of unit intensity at every input."""
        from armillary.analysis.linear.structure import h2_norm

        self._continuous("h2_norm")
        needs_ports(self)
        return h2_norm(self)

    def reduce(self, order: int | None = None, *, tolerance: float | None = None) -> LinearModel:
        """A smaller model of the same inputs and outputs, by balanced truncation.

        ``order`` is the number of states to keep; or those are kept whose Hankel singular values exceed
        ``tolerance`` times the largest (1e-8). ``note`` has the bound of the error over all frequencies.
        """
        from armillary.analysis.linear.structure import balanced_truncation

        self._continuous("reduce")
        needs_ports(self)
        if order is not None:
            order = count(order, "the order of a reduced model")
        if tolerance is not None:
            tolerance = from_zero(tolerance, "the tolerance of reduce", most=1)
        found = balanced_truncation(self.A, self.B, self.C, order, tolerance)
        about = "state of a reduced model"
        states = tuple(Variable(f"x{i + 1}", "", 1.0, about, "state") for i in range(len(found.A)))
        note = f"reduced from {len(self.states)} states; gain differs by at most {found.bound:.3g}"
        return replace(
            self, A=found.A, B=found.B, C=found.C, variables=(states, *self.variables[1:]), note=note,
            linearization=None,
        )  # fmt: skip

    # ------------------------------------------------------------ responses and pictures

    def frequency_response(self, omega: object = None) -> FrequencyResponse:
        """G(iω) at frequencies in rad/s, for one operating point or all; left out, they cover the poles."""
        from armillary.analysis.linear.responses import frequency_response

        return frequency_response(self, omega)

    def step_response(self, times: object = None, *, input: str | None = None) -> Run:
        """The changes of the outputs after a unit step of an input, as a run; ``times`` is its end, or
        equally spaced times from 0.
        """
        from armillary.analysis.linear.responses import time_response

        return time_response(self, times, input, "step")

    def impulse_response(self, times: object = None, *, input: str | None = None) -> Run:
        """The changes of the outputs after a unit impulse of an input (without D, which is an impulse
        itself), as a run.
        """
        from armillary.analysis.linear.responses import time_response

        return time_response(self, times, input, "impulse")

    def bode(
        self,
        omega: object = None,
        path: str | os.PathLike[str] | None = None,
        *,
        hz: bool = False,
        decibels: bool = False,
        show: bool = False,
    ) -> Figure:
        """Magnitude and phase over frequency, in rad/s or in ``hz``; magnitudes also in ``decibels``.
        ``omega`` is in rad/s always.
        """
        return self.frequency_response(omega).bode(path, hz=hz, decibels=decibels, show=show)

    def nyquist(
        self, omega: object = None, path: str | os.PathLike[str] | None = None, *, show: bool = False
    ) -> Figure:
        """The frequency response in the complex plane."""
        return self.frequency_response(omega).nyquist(path, show=show)

    def pole_zero(self, path: str | os.PathLike[str] | None = None, *, show: bool = False) -> Figure:
        """Poles and transmission zeros in the complex plane."""
        from armillary.analysis.linear.responses import pole_zero_plot

        return pole_zero_plot(self, path, show)

    def psd(self, densities: Mapping[str, object], frequency: object = None) -> PowerSpectrum:
        """Power spectral densities of the outputs from densities S of uncorrelated inputs: S_y = Σ |G|² S.

        ``densities`` has for each input a number (white), an array or a function of the frequency in Hz:
        one-sided, in its units squared per Hz. ``frequency`` is in Hz; left out, it covers the poles.
        """
        from armillary.analysis.linear.responses import output_spectrum

        return output_spectrum(self, densities, frequency)

    # ------------------------------------------------------------ loops

    def break_loop(self, at: str, *, input: str | None = None) -> LinearModel:
        """The loop transfer L of negative feedback, with the loop opened at a signal: one input, one output.

        ``at`` is a state, such as an actuator's lag: all that used it takes the input instead. Or it is an
        output or load to which ``input`` is added, in the same units: the model without that sum.
        Closed again, 1 + L = 0 at this model's poles.
        """
        from armillary.analysis.linear.loops import open_loop

        return replace(self, **open_loop(self, at, input))

    def margins(self, output: str | None = None, input: str | None = None) -> Margins:
        """Gain, phase, delay and modulus margins of this loop transfer under negative feedback."""
        from armillary.analysis.linear.loops import stability_margins

        return stability_margins(self, output, input)

    # ------------------------------------------------------------ other forms

    def transfer_function(self, output: str | None = None, input: str | None = None) -> TransferFunction:
        """Zeros, poles and gain from an input to an output, without modes that cancel."""
        from armillary.analysis.linear.conversions import transfer_function

        return transfer_function(self, output, input)

    def discretize(self, T: float | str, method: str = "zoh") -> LinearModel:
        """The model in steps of T seconds: "zoh" (inputs held), "foh", "impulse", "bilinear", "euler" or
        "backward_diff".
        """
        from armillary.analysis.linear.conversions import discretize

        return discretize(self, T, method)

    def symbolic(self, keep: Sequence[str] = ()) -> SymbolicLinearModel:
        """A, B, C and D as expressions of the parameters, at the values of coordinates, speeds and states of
        the operating point; those in ``keep`` stay symbols.
        """
        from armillary.analysis.linear.matrices import symbolic

        return symbolic(self, keep)

    def descriptor(self) -> DescriptorModel:
        """E δẋ = A δx + B δv with open loops: all positions are states, and constraints have rows."""
        from armillary.analysis.linear.matrices import descriptor

        return descriptor(self)

    def to_scipy(self) -> LibraryObject:
        """A ``scipy.signal.StateSpace``."""
        from armillary.analysis.linear.conversions import to_scipy

        return to_scipy(self)

    def to_control(self) -> LibraryObject:
        """A ``control.StateSpace`` of python-control, with names; dots in names become underscores."""
        from armillary.analysis.linear.conversions import to_control

        return to_control(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """A .json file that `load_linear` reads back exactly; or a report, .txt or .html."""
        from armillary.analysis.linear.files import save_linear

        save_linear(self, path)

    # ------------------------------------------------------------ shown

    def report(self) -> str:
        """The operating point, the matrices and the poles, as text."""
        from armillary.analysis.linear.files import text_report

        return text_report(self)

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
    """The linear model in a file that `LinearModel.save` wrote."""
    from armillary.analysis.linear.files import read_linear
    from armillary.analysis.result_files import refuse_damage

    with refuse_damage(path, "a linear model"):
        found = LinearModel(**read_linear(path))
        str(found), found.report()
    return found
