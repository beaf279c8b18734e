"""The interface of tyre models: forces and moments of a contact, over any scalar, and a radial spring."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

import armillary as arm
from armillary.vehicles.arguments import require_numbers

# An expression, a number or an array; results are of the same kind as the arguments.
Scalar: TypeAlias = Any

TINY = 1e-30  # added under roots of squares: their derivative at zero is then 0, not 0/0
CONTACT_WIDTH = 1e-3  # m of deflection over which the vertical force is smoothed
INPUTS = ("fz", "kappa", "alpha", "gamma", "pressure")


class Forces(NamedTuple):
    """Force and moment of the road on the tyre at the contact point, in ISO-W axes."""

    fx: Scalar
    fy: Scalar
    mx: Scalar
    my: Scalar
    mz: Scalar


class Tyre:
    """The interface of a tyre. Models are subclasses and dataclasses; their numbers are in SI units.

    Axes follow ISO 8855 for a wheel (ISO-W): x forward along the intersection of wheel plane and road,
    y to the left in the road, z up along its normal. A positive slip angle and a positive camber (the top
    leans to the right) give a negative side force.
    """

    units: ClassVar[dict[str, str]] = {}  # units of numbers, by field

    def forces(
        self,
        fz: Scalar,
        kappa: Scalar,
        alpha: Scalar,
        gamma: Scalar = 0.0,
        pressure: Scalar | None = None,
        *,
        speed: Scalar | None = None,
        rolling: Scalar = 1.0,
        turn_slip: Scalar | None = None,
        sliding: Scalar = 0.0,
    ) -> Forces:
        """Return Fx, Fy, Mx, My, Mz of the contact; arguments are numbers, arrays or expressions.

        fz         load, N; without load there is no force
        kappa      longitudinal slip −Vsx/|Vx|, −1 for a locked wheel
        alpha      slip angle atan(Vsy/|Vx|), rad
        gamma      camber, rad
        pressure   inflation, Pa; by default the tyre's pressure
        speed      of the contact point along x, m/s; by default the speed of the tyre's test
        rolling    1 forward, −1 backward, between them near standstill: the sign of trail and My
        turn_slip  −ψ̇/V of the contact, 1/m; by default the formulas of turn slip are left out
        sliding    sliding speed |Vs|, m/s, with which friction falls (LMUV)
        """
        raise NotImplementedError

    def effective_radius(self, fz: Scalar, omega: Scalar = 0.0, pressure: Scalar | None = None) -> Scalar:
        """Return the rolling radius Re = V/Ω of the freely rolling wheel."""
        raise NotImplementedError

    def vertical_force(
        self,
        deflection: Scalar,
        rate: Scalar = 0.0,
        *,
        omega: Scalar = 0.0,
        pressure: Scalar | None = None,
    ) -> Scalar:
        """Return Fz for a radial deflection and its rate; zero without contact."""
        raise NotImplementedError

    def relaxation_lengths(
        self, fz: Scalar, gamma: Scalar = 0.0, pressure: Scalar | None = None
    ) -> tuple[Scalar, Scalar]:
        """Return σκ and σα, the distances over which the force of a slip builds up."""
        raise NotImplementedError

    def sliding_slips(self, fz: Scalar) -> tuple[Scalar, Scalar]:
        """Return approximate κ and tan α at which the whole contact begins to slide: 3 μ Fz/stiffness."""
        raise NotImplementedError

    @property
    def free_radius(self) -> Scalar:
        """Radius of the wheel without contact, m."""
        raise NotImplementedError

    # ------------------------------------------------------------ numbers

    def evaluate(
        self,
        fz: object,
        kappa: object,
        alpha: object,
        gamma: object = 0.0,
        pressure: object = None,
        *,
        speed: object = None,
        turn_slip: object = None,
    ) -> Forces:
        """Return the forces and moments on arrays, which are broadcast against each other."""
        given = {"fz": fz, "kappa": kappa, "alpha": alpha, "gamma": gamma, "pressure": pressure,
                 "speed": speed, "turn_slip": turn_slip}  # fmt: skip
        arrays = {name: read_array(name, value) for name, value in given.items() if value is not None}
        try:
            whole = np.broadcast_arrays(*arrays.values())
        except ValueError:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
            raise arm.ModelError(f"evaluate: the shapes do not fit together: {shapes}") from None
        found = self.forces(**dict(zip(arrays, whole, strict=True)))
        return Forces(*[np.broadcast_to(np.asarray(x, dtype=float), whole[0].shape) for x in found])

    def derivatives(
        self,
        fz: object,
        kappa: object,
        alpha: object,
        gamma: object = 0.0,
        pressure: object = None,
    ) -> dict[str, Forces]:
        """Return exact partial derivatives on arrays, by the name of the input: d["alpha"].fy is ∂Fy/∂α.

        They are derived symbolically. At a kink of a formula, such as |γ| at zero, the derivative is the
        one-sided derivative towards positive values.
        """
        given = {"fz": fz, "kappa": kappa, "alpha": alpha, "gamma": gamma, "pressure": pressure}
        arrays = {name: read_array(name, value) for name, value in given.items() if value is not None}
        values = dict(zip(arrays, np.broadcast_arrays(*arrays.values()), strict=True))
        shape = values["fz"].shape
        slopes = self._slopes_with_pressure if "pressure" in arrays else self._slopes

        def number(slope: Scalar) -> np.ndarray:
            value = arm.evaluate(slope, values)
            return np.broadcast_to(np.asarray(value, dtype=float), shape)

        return {name: Forces(*map(number, forces)) for name, forces in slopes.items()}

    @cached_property
    def _slopes(self) -> dict[str, Forces]:
        return self._derive(INPUTS[:4])

    @cached_property
    def _slopes_with_pressure(self) -> dict[str, Forces]:
        return self._derive(INPUTS)

    def _derive(self, names: Sequence[str]) -> dict[str, Forces]:
        """Return the derivatives of all forces by each input, as expressions in symbols of these names."""
        scratch = arm.System("tyre")
        symbols = {name: scratch.parameter(name, 1.0) for name in names}
        found = [x + 0 * symbols["fz"] for x in self.forces(**symbols)]
        return {
            name: Forces(*[arm.derivative(force, symbol) for force in found])
            for name, symbol in symbols.items()
        }

    # ------------------------------------------------------------ symbols

    def with_parameters(self, system: arm.System, prefix: str, names: Sequence[str] = ()) -> Self:
        """Return this tyre with parameters of a system in place of numbers, called prefix_NAME.

        Numbers that have units always become parameters, so that the units of a model are consistent;
        ``names`` are further numbers for runs, studies and fits to vary, such as a scale factor of friction.
        """
        table = self._numbers()
        unknown = [name for name in names if name not in table]
        if unknown:
            raise arm.ModelError(f"tyre of '{prefix}': there is no number {unknown[0]!r}; known are "
                                 f"{', '.join(sorted(table)[:12])} …")  # fmt: skip
        chosen = [name for name in table if name in self.units or name in names]
        made = {
            name: system.parameter(
                f"{prefix}_{name}", float(table[name]), units=self.units.get(name), about=f"tyre of {prefix}"
            )
            for name in chosen
            if not isinstance(table[name], arm.Expr) and table[name] != 0 and np.isfinite(table[name])
        }
        return self._replace_numbers(made)

    def mirror(self) -> Self:
        """Return the tyre for the other side of the vehicle; a tyre without sides returns itself."""
        return self

    def with_friction(self, scale: Scalar) -> Self:
        """Return this tyre on a surface that has ``scale`` times the friction."""
        raise arm.ModelError(f"{type(self).__name__} has no friction to scale; use a tyre that has")

    def _numbers(self) -> dict[str, Scalar]:
        """Return the numbers of the tyre by name; the numbers of its spring are last."""
        known = sorted(fields(self), key=lambda f: bool(f.kw_only))  # type: ignore[arg-type]  # a dataclass
        values = {f.name: getattr(self, f.name) for f in known}
        return {
            name: x for name, x in values.items() if isinstance(x, int | float) and not isinstance(x, bool)
        }

    def _replace_numbers(self, made: dict[str, Scalar]) -> Self:
        return replace(self, **made)  # type: ignore[type-var]  # a dataclass


SPRING_UNITS = {
    "radius": "m",
    "vertical_stiffness": "N/m",
    "vertical_damping": "N*s/m",
    "relaxation_kappa": "m",
    "relaxation_alpha": "m",
}


@dataclass(frozen=True, kw_only=True)
class SpringTyre(Tyre):
    """The radius, vertical spring, relaxation lengths and rolling resistance of simple tyres."""

    units: ClassVar[dict[str, str]] = SPRING_UNITS

    rolling_resistance: Scalar = 0.0
    radius: Scalar = 0.3
    vertical_stiffness: Scalar = 2e5
    vertical_damping: Scalar = 0.0
    relaxation_kappa: Scalar = 0.3
    relaxation_alpha: Scalar = 0.5

    positive: ClassVar[tuple[str, ...]] = (
        "radius", "vertical_stiffness", "relaxation_kappa", "relaxation_alpha",
    )  # fmt: skip
    signed: ClassVar[tuple[str, ...]] = ()  # numbers that may be negative

    def __post_init__(self) -> None:
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.type == "Scalar"}
        positive = {name: given.pop(name) for name in self.positive}
        signed = {name: given.pop(name) for name in self.signed}
        require_numbers(type(self).__name__, positive=positive, not_negative=given, signed=signed)

    def _slip_forces(
        self, load: Scalar, kappa: Scalar, alpha: Scalar, gamma: Scalar, rolling: Scalar
    ) -> tuple[Scalar, Scalar, Scalar]:
        """Return Fx, Fy and Mz for a load that is not negative; arguments are as for `Tyre.forces`."""
        raise NotImplementedError

    def forces(
        self,
        fz: Scalar,
        kappa: Scalar,
        alpha: Scalar,
        gamma: Scalar = 0.0,
        pressure: Scalar | None = None,
        *,
        speed: Scalar | None = None,
        rolling: Scalar = 1.0,
        turn_slip: Scalar | None = None,
        sliding: Scalar = 0.0,
    ) -> Forces:
        """Return Fx, Fy, Mx, My, Mz; see `Tyre.forces`."""
        load = arm.max(fz, 0.0)
        fx, fy, mz = self._slip_forces(load, kappa, alpha, gamma, rolling)
        my = -self.rolling_resistance * self.radius * load * rolling
        return Forces(fx, fy, 0.0, my, mz)

    @property
    def free_radius(self) -> Scalar:
        """Radius of the wheel without contact, m."""
        return self.radius

    def effective_radius(self, fz: Scalar, omega: Scalar = 0.0, pressure: Scalar | None = None) -> Scalar:
        """Return R − ρ/3 with deflection ρ: the belt does not stretch (Pacejka 2012, section 8.3.1)."""
        return self.radius - arm.max(fz, 0.0) / (3 * self.vertical_stiffness)

    def vertical_force(
        self,
        deflection: Scalar,
        rate: Scalar = 0.0,
        *,
        omega: Scalar = 0.0,
        pressure: Scalar | None = None,
    ) -> Scalar:
        """Return k ρ + c ρ̇ in contact, smoothed over the first millimetre, never negative."""
        touching, gate = start_of_contact(deflection)
        return arm.max(self.vertical_stiffness * touching + self.vertical_damping * gate * rate, 0.0)

    def relaxation_lengths(
        self, fz: Scalar, gamma: Scalar = 0.0, pressure: Scalar | None = None
    ) -> tuple[Scalar, Scalar]:
        """Return the constants ``relaxation_kappa`` and ``relaxation_alpha``."""
        return self.relaxation_kappa, self.relaxation_alpha


def start_of_contact(x: Scalar, width: float = CONTACT_WIDTH) -> tuple[Scalar, Scalar]:
    """Return max(x, 0) with a continuous slope, and a step from 0 to 1, both blended over 0 < x < width.

    y²(2w − y)/w²  and  y²(3w − 2y)/w³,    y = min(max(x, 0), w)
    """
    y = arm.min(arm.max(x, 0.0), width)
    ramp = y * y * (2 * width - y) / width**2 + arm.max(x - width, 0.0)
    return ramp, y * y * (3 * width - 2 * y) / width**3


def size(x: Scalar) -> Scalar:
    """|x|, with the derivative 1 at zero."""
    return arm.select(x >= 0, x, -x)


def read_array(name: str, value: object) -> np.ndarray:
    """Return a number or an array of numbers as an array of floats."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise arm.ModelError(
            f"{name} must be a number or an array of numbers, not {type(value).__name__}"
        ) from None
    return array


# Carpet plots of a tyre: side force or aligning moment over slip and load in one picture.


LABELS = {"fx": ("-Fx", "N"), "fy": ("-Fy", "N"), "mz": ("Mz", "N*m")}


@dataclass(frozen=True)
class Carpet:
    """A grid of forces: rows are loads (N), columns slips (slip angle in rad, or longitudinal slip)."""

    channel: str
    slip: str  # "alpha" or "kappa"
    loads: np.ndarray
    slips: np.ndarray
    values: np.ndarray  # N or N·m, by load and slip

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """Draw the carpet: lines of equal load and of equal slip, each load shifted to the right."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7, 5), layout="constrained")
        axes = figure.subplots()
        label, unit = LABELS[self.channel]
        shown = -self.values if label.startswith("-") else self.values
        angle = np.degrees(self.slips) if self.slip == "alpha" else self.slips
        shift = 0.25 * (angle[-1] - angle[0]) * (self.loads - self.loads[0]) / np.ptp(self.loads)
        for i, load in enumerate(self.loads):
            axes.plot(angle + shift[i], shown[i], color="#1f5fa8", lw=1)
            axes.annotate(f"{load:.0f} N", (angle[-1] + shift[i], shown[i, -1]), fontsize=7)
        for j, slip in enumerate(angle):
            axes.plot(slip + shift, shown[:, j], color="#c8571b", lw=0.7)
            axes.annotate(f"{slip:g}", (slip + shift[-1], shown[-1, j]), fontsize=6, ha="center", va="bottom")
        axes.set_xticks([])
        axes.set_xlabel("slip angle, deg" if self.slip == "alpha" else "longitudinal slip")
        axes.set_ylabel(f"{label}, {unit}")
        figure.savefig(path)
        return Path(path)


def carpet(
    tyre: Tyre,
    loads: Sequence[float],
    slips: Sequence[float],
    *,
    channel: str = "fy",
    slip: str = "alpha",
    gamma: float = 0.0,
) -> Carpet:
    """Return the carpet of a tyre for rising loads in N and slips: angles in rad, or longitudinal slips.

    channel is "fy", "mz" or "fx", slip is "alpha" or "kappa".
    """
    if channel not in LABELS or slip not in ("alpha", "kappa"):
        raise arm.ModelError(
            f"carpet: channel={channel!r}, slip={slip!r}; use fx, fy or mz, and alpha or kappa"
        )
    rows, columns = read_array("loads", loads), read_array("slips", slips)
    if not all(
        line.ndim == 1 and len(line) > 1 and np.all(np.isfinite(line)) and np.all(np.diff(line) > 0)
        for line in (rows, columns)
    ):
        raise arm.ModelError("carpet: give two loads and two slips at least, both rising")
    moved = {"alpha": 0.0, "kappa": 0.0, slip: columns[None, :]}
    found = tyre.evaluate(fz=rows[:, None], gamma=gamma, **moved)
    return Carpet(channel, slip, rows, columns, np.asarray(getattr(found, channel)))
