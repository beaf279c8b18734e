"""The Magic Formula 5.2, 6.1 and 6.2: forces and moments of a rolling tyre from slip, load, camber, pressure.

The formulas are written once, over any scalar: with numbers and arrays `MagicFormula.forces` returns numbers
and arrays, with expressions it returns expressions, for loads, derivatives and compiled code.

Axes follow ISO 8855 for a wheel (ISO-W): x forward in the wheel plane, y to the left, z up; a positive
slip angle gives a negative side force. Every force is Fz times a function that is smooth at Fz = 0, so no
quotient of vanishing loads occurs when a wheel lifts off.

Sources: Pacejka, Tire and Vehicle Dynamics, 3rd ed. 2012, equations (4.E1) to (4.E78) and (4.76) to (4.105),
called "book" here; for MF-Tyre 6.1, called "tno", Besselink, Schmeitz, Pacejka, An improved Magic
Formula/Swift tyre model that can handle inflation pressure changes, Vehicle System Dynamics 48 (2010),
suppl. 1, equations (A1) to (A62); for 5.2 the PAC2002 of the Adams/Tire manual. The differences between
"book" and "tno" are in the table CONVENTIONS of `coefficients.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import armillary as arm
from armillary.vehicles.tyres.coefficients import CONVENTIONS, Convention
from armillary.vehicles.tyres.magic_radius import MagicRadius
from armillary.vehicles.tyres.tyre import TINY, Forces, Scalar, size

# Smoothing of the load ratio x = Fz/Fz0 near zero, √(x² + ROUND²): changes x = 0.3 by 1e-15.
ROUND = 1e-8
ACROSS = 1.57  # rad, bound on angles whose tangent is taken: it is 1256 there
EPSILON = 1e-6  # ε of (4.E16), (4.E26) and (4.E39) in newtons, as MF-Tyre takes it


def inverse_hypotenuse(x: Scalar) -> Scalar:
    """cos(atan x) = 1/√(1 + x²)."""
    return 1 / arm.sqrt(1 + x * x)


def bend(b: Scalar, e: Scalar, x: Scalar) -> Scalar:
    """atan(Bx − E (Bx − atan Bx)), the argument of the Magic Formula's sine or cosine, over C."""
    bx = b * x
    return arm.atan(bx - e * (bx - arm.atan(bx)))


@dataclass(frozen=True)
class Spin:
    """Turn slip: φt = −ψ̇/V, the spin φ including camber, and the factors ζ.

    Without turn slip all factors are one and (4.E1) to (4.E78) describe a wheel on a straight path.
    """

    turn: Scalar | None = None  # φt, 1/m
    whole: Scalar = 0.0  # R0 φ
    camber_share: Scalar = 0.0  # εγ
    zeta1: Scalar = 1
    zeta2: Scalar = 1
    zeta3: Scalar = 1
    zeta5: Scalar = 1
    zeta6: Scalar = 1


@dataclass(frozen=True)
class _State:
    """Inputs of the formula as all its parts use them, and relative differences of load and pressure."""

    fz: Scalar
    kappa: Scalar
    alpha: Scalar  # α* of the convention
    slip_angle: Scalar  # α as given
    gamma: Scalar  # γ* of the convention
    camber: Scalar  # γ as given
    dfz: Scalar
    dpi: Scalar
    rolling: Scalar
    speed: Scalar
    pressure: Scalar
    spin: Spin = field(default_factory=Spin)


@dataclass(frozen=True)
class _Lateral:
    """The parts of Fy0 that the combined force and the moments use; forces and stiffnesses per load."""

    force: Scalar  # Fy0 / Fz
    mu: Scalar
    stiffness: Scalar  # Kyα / Fz
    shift: Scalar  # SHy
    offset: Scalar  # SVy / Fz
    slope: Scalar  # By Cy


@dataclass(frozen=True)
class MagicFormula(MagicRadius):
    """A tyre of the Magic Formula from its coefficients, in SI units.

    coefficients      by the names of a .tir file, all of them: `complete` of `coefficients.py` fills gaps
    version           "5.2" (PAC2002, MF_05), "6.1" or "6.2"
    convention        "tno" (default) or "book": see `coefficients.py`
    mirrored          exchange left and right, for a tyre of the other side of the vehicle
    limit_curvature   keep all curvature factors E at or below one, as the book asks; derivatives jump there
    limit_inputs      keep slips, camber, load and pressure in the ranges of the file
    """

    units: ClassVar[dict[str, str]] = {
        "FNOMIN": "N",
        "UNLOADED_RADIUS": "m",
        "LONGVL": "m/s",
        "NOMPRES": "Pa",
        "INFLPRES": "Pa",
        "VERTICAL_STIFFNESS": "N/m",
        "VERTICAL_DAMPING": "N*s/m",
        "LONGITUDINAL_STIFFNESS": "N/m",
        "LATERAL_STIFFNESS": "N/m",
    }

    coefficients: Mapping[str, Scalar] = field(repr=False)
    version: str = "6.1"
    convention: str = "tno"
    mirrored: bool = False
    limit_curvature: bool = False
    limit_inputs: bool = False
    source: str = ""

    def __post_init__(self) -> None:
        if self.version not in ("5.2", "6.1", "6.2"):
            raise arm.ModelError(
                f"version {self.version!r} of the Magic Formula is not known; use '5.2', '6.1' or '6.2'"
            )
        if self.convention not in CONVENTIONS:
            raise arm.ModelError(f"convention {self.convention!r} is not known; use 'tno' or 'book'")

    def mirror(self) -> MagicFormula:
        """Return the tyre for the other side of the vehicle."""
        return replace(self, mirrored=not self.mirrored)

    # ------------------------------------------------------------ forces

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
        """Return Fx, Fy, Mx, My, Mz at the contact point; see `Tyre.forces` for the arguments."""
        side = -1 if self.mirrored else 1
        s = self._state(fz, kappa, side * alpha, side * gamma, pressure, speed, rolling, turn_slip)
        mu = self._friction_scales(s, sliding)
        pure_x, stiffness_x, _ = self._longitudinal(s, mu[0])
        lateral = self._lateral(s, mu[1])
        fx = s.fz * self._combined_x(s) * pure_x
        reduction = self._combined_y(s, s.gamma)
        fy = s.fz * (reduction * lateral.force + self._ply_force(s, lateral.mu))
        mz = self._aligning(s, mu[1], lateral, reduction, stiffness_x, fx, fy)
        return Forces(
            fx, side * fy, side * self._overturning(s, fy), self._rolling_resistance(s, fx), side * mz
        )

    def pure(self, fz: Scalar, kappa: Scalar, alpha: Scalar, gamma: Scalar = 0.0,
             pressure: Scalar | None = None) -> tuple[Scalar, Scalar, Scalar]:  # fmt: skip
        """Return the forces and the moment of pure slip: Fx0 at α = 0, Fy0 and Mz0 at κ = 0."""
        side = -1 if self.mirrored else 1
        s = self._state(fz, kappa, side * alpha, side * gamma, pressure, None, 1.0, None)
        mu = self._friction_scales(s, 0.0)
        fx, _, _ = self._longitudinal(s, mu[0])
        lateral = self._lateral(s, mu[1])
        straight = replace(s, kappa=0.0 * s.kappa)
        mz = self._aligning(straight, mu[1], lateral, 1, 0, 0, 0)
        return s.fz * fx, side * s.fz * lateral.force, side * mz

    def _state(
        self,
        fz: Scalar,
        kappa: Scalar,
        alpha: Scalar,
        gamma: Scalar,
        pressure: Scalar | None,
        speed: Scalar | None,
        rolling: Scalar,
        turn_slip: Scalar | None,
    ) -> _State:
        c = self.coefficients
        pressure = c["INFLPRES"] if pressure is None else pressure
        speed = c["LONGVL"] if speed is None else speed
        if self.limit_inputs:
            fz = arm.min(fz, c["FZMAX"])
            kappa = arm.min(arm.max(kappa, c["KPUMIN"]), c["KPUMAX"])
            alpha = arm.min(arm.max(alpha, c["ALPMIN"]), c["ALPMAX"])
            gamma = arm.min(arm.max(gamma, c["CAMMIN"]), c["CAMMAX"])
            pressure = arm.min(arm.max(pressure, c["PRESMIN"]), c["PRESMAX"])
        fz = arm.max(fz, 0.0)
        nominal = c["FNOMIN"] * c["LFZO"]
        star = self._rules.tangents
        s = _State(
            fz=fz,
            kappa=kappa,
            alpha=arm.tan(alpha) if star else alpha,
            slip_angle=alpha,
            gamma=arm.sin(gamma) if star else gamma,
            camber=gamma,
            dfz=(fz - nominal) / nominal,
            dpi=(pressure - c["NOMPRES"]) / c["NOMPRES"],
            rolling=rolling,
            speed=speed,
            pressure=pressure,
        )
        return s if turn_slip is None else replace(s, spin=self._spin(s, turn_slip))

    def _spin(self, s: _State, turn_slip: Scalar) -> Spin:
        """Factors of turn slip, (4.75) to (4.79), (4.91), (4.102), (4.105) and (4.106).

        φ = φt + (1 − εγ) Ω/V sin γ,     Ω/V = (1 + κ) cos α / Re
        """
        c = self.coefficients
        turn = -turn_slip if self.mirrored else turn_slip
        r0 = c["UNLOADED_RADIUS"]
        share = c["PECP1"] * (1 + c["PECP2"] * s.dfz)
        rolled = (1 + s.kappa) * arm.cos(s.slip_angle) * r0 / self.effective_radius(s.fz)
        whole = r0 * turn + (1 - share) * rolled * arm.sin(s.camber)
        long = c["PDXP1"] * (1 + c["PDXP2"] * s.dfz) * inverse_hypotenuse(c["PDXP3"] * s.kappa)
        side = c["PDYP1"] * (1 + c["PDYP2"] * s.dfz) * inverse_hypotenuse(c["PDYP3"] * arm.tan(s.slip_angle))
        amount = arm.sqrt(whole * whole + TINY)
        return Spin(
            turn=turn,
            whole=whole,
            camber_share=share,
            zeta1=inverse_hypotenuse(long * whole),
            zeta2=inverse_hypotenuse(side * (amount + c["PDYP4"] * arm.sqrt(amount))),
            zeta3=inverse_hypotenuse(c["PKYP1"] * whole * whole),
            zeta5=inverse_hypotenuse(c["QDTP1"] * r0 * turn),
            zeta6=inverse_hypotenuse(c["QBRP1"] * r0 * turn),
        )

    @property
    def _rules(self) -> Convention:
        return CONVENTIONS[self.convention]

    @property
    def _older(self) -> bool:
        return self.version == "5.2"

    def _camber(self, s: _State, factor: str) -> Scalar:
        """γ*, in version 5.2 times one of LGAX, LGAY and LGAZ."""
        return s.gamma * self.coefficients[factor] if self._older else s.gamma

    def _curvature(self, e: Scalar) -> Scalar:
        return arm.min(e, 1.0) if self.limit_curvature else e

    def _friction_scales(self, s: _State, sliding: Scalar) -> tuple[Scalar, Scalar]:
        """λ*μx, λ*μy, which fall with the sliding speed Vs (4.E7)."""
        c = self.coefficients
        fall = 1 + c["LMUV"] * sliding / c["LONGVL"]
        return c["LMUX"] / fall, c["LMUY"] / fall

    def _shift_scale(self, scale: Scalar) -> Scalar:
        """λ'μ of the vertical shifts (4.E8): falls less than λ*μ on slippery roads."""
        a = self._rules.friction_decay
        return a * scale / (1 + (a - 1) * scale)

    # ------------------------------------------------------------ relaxation

    def relaxation_lengths(
        self, fz: Scalar, gamma: Scalar = 0.0, pressure: Scalar | None = None
    ) -> tuple[Scalar, Scalar]:
        """Return σκ and σα: from PTX and PTY in 5.2, else slip stiffness over stiffness of the carcass.

        The carcass has LONGITUDINAL_STIFFNESS and LATERAL_STIFFNESS (Besselink 2010, equations (17) to (19)).
        """
        c = self.coefficients
        s = self._state(fz, 0.0, 0.0, gamma, pressure, None, 1.0, None)
        r0, nominal = c["UNLOADED_RADIUS"], c["FNOMIN"]
        if self._older:
            self._require("PTX1", "the relaxation length of Fx")
            self._require("PTY1", "the relaxation length of Fy")
            along = (c["PTX1"] + c["PTX2"] * s.dfz) * arm.exp(-c["PTX3"] * s.dfz) * c["LSGKP"]
            sine = arm.sin(2 * arm.atan(s.fz / (c["PTY2"] * nominal * c["LFZO"])))
            across = c["PTY1"] * sine * (1 - c["PKY3"] * size(gamma)) * c["LFZO"] * c["LSGAL"]
            return along * r0 * s.fz / nominal, across * r0
        self._require("LONGITUDINAL_STIFFNESS", "the relaxation length of Fx")
        self._require("LATERAL_STIFFNESS", "the relaxation length of Fy")
        long = c["LONGITUDINAL_STIFFNESS"] * (1 + c["PCFX1"] * s.dfz + c["PCFX2"] * s.dfz * s.dfz)
        side = c["LATERAL_STIFFNESS"] * (1 + c["PCFY1"] * s.dfz + c["PCFY2"] * s.dfz * s.dfz)
        _, slip_stiffness, _ = self._longitudinal(s, c["LMUX"])
        along = s.fz * slip_stiffness / (long * (1 + c["PCFX3"] * s.dpi))
        across = s.fz * size(self._cornering_stiffness(s, s.gamma)) / (side * (1 + c["PCFY3"] * s.dpi))
        return along, across

    def sliding_slips(self, fz: Scalar) -> tuple[Scalar, Scalar]:
        """Return 3 μ Fz/K for κ and tan α, without camber."""
        c = self.coefficients
        s = self._state(fz, 0.0, 0.0, 0.0, None, None, 1.0, None)
        _, along, mu = self._longitudinal(s, c["LMUX"])
        lateral = self._lateral(s, c["LMUY"], upright=True)
        return 3 * size(mu) / along, 3 * size(lateral.mu) / size(lateral.stiffness)

    def with_friction(self, scale: Scalar) -> MagicFormula:
        """Return this tyre on a surface that has ``scale`` times the friction: LMUX and LMUY."""
        scaled = {name: self.coefficients[name] * scale for name in ("LMUX", "LMUY")}
        return replace(self, coefficients={**self.coefficients, **scaled})

    def _numbers(self) -> dict[str, Scalar]:
        return dict(self.coefficients)

    def _replace_numbers(self, made: dict[str, Scalar]) -> MagicFormula:
        return replace(self, coefficients={**self.coefficients, **made})

    # ------------------------------------------------------------ pure slip

    def _longitudinal(self, s: _State, scale: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """Fx0/Fz, Kxκ/Fz and μx, (4.E9) to (4.E18)."""
        c = self.coefficients
        gamma = s.camber * (c["LGAX"] if self._older else 1)
        mu = (c["PDX1"] + c["PDX2"] * s.dfz) * (1 + c["PPX3"] * s.dpi + c["PPX4"] * s.dpi * s.dpi)
        mu = mu * (1 - c["PDX3"] * gamma * gamma) * scale
        shape = c["PCX1"] * c["LCX"]
        stiffness = (c["PKX1"] + c["PKX2"] * s.dfz) * arm.exp(c["PKX3"] * s.dfz)
        stiffness = stiffness * (1 + c["PPX1"] * s.dpi + c["PPX2"] * s.dpi * s.dpi) * c["LKX"]
        slip = s.kappa + (c["PHX1"] + c["PHX2"] * s.dfz) * c["LHX"]
        e = (c["PEX1"] + c["PEX2"] * s.dfz + c["PEX3"] * s.dfz * s.dfz) * c["LEX"]
        e = self._curvature(e * (1 - c["PEX4"] * arm.sign(slip)))
        offset = (c["PVX1"] + c["PVX2"] * s.dfz) * c["LVX"] * self._shift_scale(scale) * s.spin.zeta1
        b = self._slope(s, stiffness, shape * mu * s.spin.zeta1, c["PDX1"])
        return mu * s.spin.zeta1 * arm.sin(shape * bend(b, e, slip)) + offset, stiffness, mu

    def _lateral(self, s: _State, scale: Scalar, *, upright: bool = False) -> _Lateral:
        """Fy0/Fz and its parts, (4.E19) to (4.E30); ``upright``: without camber and turn slip."""
        c = self.coefficients
        gamma = 0.0 if upright else self._camber(s, "LGAY")
        spin = Spin() if upright else s.spin
        square = gamma * gamma
        mu = (c["PDY1"] + c["PDY2"] * s.dfz) * (1 + c["PPY3"] * s.dpi + c["PPY4"] * s.dpi * s.dpi)
        mu = mu * (1 - c["PDY3"] * square) * scale
        stiffness = self._cornering_stiffness(s, gamma) * spin.zeta3
        shape = c["PCY1"] * c["LCY"]
        decay = self._shift_scale(scale)
        tilt = (c["PVY3"] + c["PVY4"] * s.dfz) * gamma * decay * spin.zeta2
        if not self._older:
            tilt = tilt * c["LKYC"]
        offset = (c["PVY1"] + c["PVY2"] * s.dfz) * c["LVY"] * decay * spin.zeta2 + tilt
        shift = (c["PHY1"] + c["PHY2"] * s.dfz) * c["LHY"]
        if self._older:
            shift = shift + c["PHY3"] * gamma
        elif spin.turn is None:
            shift = shift + self._per_stiffness(s, self._camber_stiffness(s) * gamma - tilt, stiffness)
        else:  # ζ0 = 0, ζ4 of (4.84)
            shift = shift + self._spin_shift(s, spin) - self._per_stiffness(s, tilt, stiffness)
        slip = s.alpha + shift
        e = (c["PEY1"] + c["PEY2"] * s.dfz) * c["LEY"]
        e = e * (1 + c["PEY5"] * square - (c["PEY3"] + c["PEY4"] * gamma) * arm.sign(slip))
        peak = mu * spin.zeta2
        b = self._slope(s, stiffness, shape * peak, c["PDY1"])
        force = peak * arm.sin(shape * bend(b, self._curvature(e), slip)) + offset
        return _Lateral(force, mu, stiffness, shift, offset, b * shape)

    def _spin_shift(self, s: _State, spin: Spin) -> Scalar:
        """SHyφ, the shift of the side force's curve by spin, (4.80) and (4.85) to (4.89)."""
        c = self.coefficients
        height = c["PHYP2"] + c["PHYP3"] * s.dfz
        slope = self._camber_stiffness(s) / (1 - spin.camber_share)
        slope = self._per_stiffness(s, slope, self._cornering_stiffness(s, 0.0)) / (c["PHYP1"] * height)
        return height * arm.sin(c["PHYP1"] * bend(slope, c["PHYP4"], spin.whole))

    def _slope(self, s: _State, stiffness: Scalar, peak: Scalar, sign: Scalar) -> Scalar:
        """B = K/(C D + ε sign D), (4.E16) and (4.E26); ``sign`` is a coefficient with the sign of D."""
        return (
            stiffness / peak if self._older else stiffness * s.fz / (peak * s.fz + EPSILON * arm.sign(sign))
        )

    def _per_stiffness(self, s: _State, value: Scalar, stiffness: Scalar) -> Scalar:
        """value/(Kyα + ε sign Kyα), (4.E27), (4.E38) and (4.E39)."""
        if self._older:
            return value / stiffness
        return value * s.fz / (stiffness * s.fz + EPSILON * arm.sign(self.coefficients["PKY1"]))

    def _cornering_stiffness(self, s: _State, gamma: Scalar) -> Scalar:
        """Kyα/Fz (4.E25), with sin(p atan x)/x smoothed at x = 0."""
        c = self.coefficients
        nominal = c["FNOMIN"] * c["LFZO"]
        load = (c["PKY2"] + c["PKY5"] * gamma * gamma) * (1 + c["PPY2"] * s.dpi)
        ratio = arm.sqrt((s.fz / nominal) ** 2 + ROUND**2)
        peak = c["PKY1"] * (1 + c["PPY1"] * s.dpi) * (1 - c["PKY3"] * size(gamma)) * c["LKY"]
        return peak * arm.sin(c["PKY4"] * arm.atan(ratio / load)) / ratio

    def _camber_stiffness(self, s: _State) -> Scalar:
        """Kyγ0/Fz (4.E30)."""
        c = self.coefficients
        return (c["PKY6"] + c["PKY7"] * s.dfz) * (1 + c["PPY5"] * s.dpi) * c["LKYC"]

    # ------------------------------------------------------------ combined slip

    def _combined_x(self, s: _State) -> Scalar:
        """Gxα, (4.E51) to (4.E57)."""
        c = self.coefficients
        gamma = s.gamma
        b = (c["RBX1"] + c["RBX3"] * gamma * gamma) * inverse_hypotenuse(c["RBX2"] * s.kappa) * c["LXAL"]
        e = self._curvature(c["REX1"] + c["REX2"] * s.dfz)
        return _weight(b, c["RCX1"], e, s.alpha, c["RHX1"])

    def _combined_y(self, s: _State, gamma: Scalar) -> Scalar:
        """Gyκ, (4.E59) to (4.E65)."""
        c = self.coefficients
        b = c["RBY1"] + c["RBY4"] * gamma * gamma
        b = b * inverse_hypotenuse(c["RBY2"] * (s.alpha - c["RBY3"])) * c["LYKA"]
        e = self._curvature(c["REY1"] + c["REY2"] * s.dfz)
        return _weight(b, c["RCY1"], e, s.kappa, c["RHY1"] + c["RHY2"] * s.dfz)

    def _ply_force(self, s: _State, mu: Scalar) -> Scalar:
        """SVyκ/Fz, the side force due to κ, (4.E66) and (4.E67)."""
        c = self.coefficients
        d = mu * (c["RVY1"] + c["RVY2"] * s.dfz + c["RVY3"] * s.gamma) * s.spin.zeta2
        d = d * inverse_hypotenuse(c["RVY4"] * s.alpha)
        return d * arm.sin(c["RVY5"] * arm.atan(c["RVY6"] * s.kappa)) * c["LVYKA"]

    # ------------------------------------------------------------ moments

    def _overturning(self, s: _State, fy: Scalar) -> Scalar:
        """Mx (4.E69); "tno" has three more terms."""
        c = self.coefficients
        gamma = s.camber
        load, side = s.fz / c["FNOMIN"], fy / c["FNOMIN"]
        m = c["QSX1"] * c["LVMX"] - c["QSX2"] * gamma * (1 + c["PPMX1"] * s.dpi) + c["QSX3"] * side
        if not self._older:
            m = m + c["QSX4"] * arm.cos(c["QSX5"] * arm.atan((c["QSX6"] * load) ** 2)) * arm.sin(
                c["QSX7"] * gamma + c["QSX8"] * arm.atan(c["QSX9"] * side)
            )
            m = m + c["QSX10"] * arm.atan(c["QSX11"] * load) * gamma
        moment = s.fz * m
        if self._rules.further_overturning and not self._older:
            moment = moment + fy * (c["QSX13"] + c["QSX14"] * size(gamma))
            moment = moment - s.fz * c["QSX12"] * gamma * size(gamma)
        return c["UNLOADED_RADIUS"] * moment * c["LMX"]

    def _rolling_resistance(self, s: _State, fx: Scalar) -> Scalar:
        """My (4.E70), opposed to the rolling: negative for a wheel that rolls forward."""
        c = self.coefficients
        load, speed = s.fz / c["FNOMIN"], s.speed / c["LONGVL"]
        m = c["QSY1"] + c["QSY2"] * fx / c["FNOMIN"] + c["QSY3"] * size(speed) + c["QSY4"] * speed**4
        m = m + (c["QSY5"] + c["QSY6"] * load) * s.camber * s.camber
        if not self._older:
            exponent = c["QSY7"] - 1 if self._rules.rolling_at_nominal_load else c["QSY7"]
            # By logarithm the power is one shared expression; else it would be multiplied into each term.
            rounded = arm.exp(exponent / 2 * arm.log(load * load + ROUND**2))
            m = m * rounded * (s.pressure / c["NOMPRES"]) ** c["QSY8"]
        return -c["UNLOADED_RADIUS"] * s.fz * m * c["LMY"] * s.rolling

    def _aligning(
        self,
        s: _State,
        scale: Scalar,
        lateral: _Lateral,
        reduction: Scalar,
        stiffness_x: Scalar,
        fx: Scalar,
        fy: Scalar,
    ) -> Scalar:
        """Mz = −t F'y + Mzr + s Fx, (4.E31) to (4.E49) and (4.E71) to (4.E78)."""
        c, rules = self.coefficients, self._rules
        gamma = self._camber(s, "LGAZ")
        tilt = gamma if self._older or rules.tangents else s.camber
        lean = size(tilt)
        r0, nominal = c["UNLOADED_RADIUS"], c["FNOMIN"] * c["LFZO"]
        cosine = arm.cos(s.slip_angle)
        if self._older:
            cosine_prime = cosine * s.rolling
        else:
            speed = size(s.speed)
            cosine_prime = s.rolling * speed * cosine / (speed + EPSILON * cosine)
        ratio = self._per_stiffness(s, stiffness_x, lateral.stiffness)
        cross = ratio * ratio * s.kappa * s.kappa

        b = c["QBZ1"] + c["QBZ2"] * s.dfz + c["QBZ3"] * s.dfz * s.dfz
        b = b * (1 + c["QBZ4"] * tilt + c["QBZ5"] * lean) * c["LKY"] / scale
        odd = lean if rules.even_trail and not self._older else tilt
        d = (c["QDZ1"] + c["QDZ2"] * s.dfz) * (1 - c["PPZ1"] * s.dpi) * c["LTR"] * s.spin.zeta5
        d = d * (1 + c["QDZ3"] * odd + c["QDZ4"] * tilt * tilt) * s.fz * r0 / nominal
        slip = s.alpha + c["QHZ1"] + c["QHZ2"] * s.dfz + (c["QHZ3"] + c["QHZ4"] * s.dfz) * gamma
        e = c["QEZ1"] + c["QEZ2"] * s.dfz + c["QEZ3"] * s.dfz * s.dfz
        e = e * (1 + (c["QEZ4"] + c["QEZ5"] * gamma) * (2 / math.pi) * arm.atan(b * c["QCZ1"] * slip))
        trail = (
            d * arm.cos(c["QCZ1"] * bend(b, self._curvature(e), self._equivalent(slip, cross))) * cosine_prime
        )
        if rules.trail_times_load_scale and not self._older:
            trail = trail * c["LFZO"]

        residual = s.alpha + lateral.shift + self._per_stiffness(s, lateral.offset, lateral.stiffness)
        br = (c["QBZ9"] * c["LKY"] / scale + c["QBZ10"] * lateral.slope) * s.spin.zeta6
        dr = (c["QDZ6"] + c["QDZ7"] * s.dfz) * c["LRES"] * s.spin.zeta2
        per_camber = (c["QDZ8"] + c["QDZ9"] * s.dfz) * (1 + c["PPZ2"] * s.dpi)
        per_camber = per_camber + (c["QDZ10"] + c["QDZ11"] * s.dfz) * size(gamma)
        if s.spin.turn is None:
            dr = dr + per_camber * gamma * (1 if self._older else c["LKZC"])
        dr = s.fz * r0 * dr * scale * arm.cos(s.alpha) * s.rolling
        slope = br * self._equivalent(residual, cross)
        if s.spin.turn is None:
            residual_moment = dr * inverse_hypotenuse(slope)
        else:
            peak, shape = self._spin_moment(s, lateral.mu, reduction)
            residual_moment = (dr + peak) * arm.cos(shape * arm.atan(slope))

        if self._older:
            side = reduction * lateral.force
        else:
            upright = self._lateral(s, scale, upright=True)
            plain = self._combined_y(s, 0.0) if rules.upright_reduction else reduction
            side = plain * upright.force
        arm_load = nominal if rules.tangents and not self._older else c["FNOMIN"]
        lever_camber = gamma if rules.tangents and not self._older else s.camber
        lever = c["SSZ1"] + c["SSZ2"] * fy / arm_load + (c["SSZ3"] + c["SSZ4"] * s.dfz) * lever_camber
        return -trail * s.fz * side + residual_moment + r0 * lever * c["LS"] * fx

    def _spin_moment(self, s: _State, mu: Scalar, reduction: Scalar) -> tuple[Scalar, Scalar]:
        """Drφ, the moment due to spin, and its shape ζ7, (4.92) to (4.104)."""
        c = self.coefficients
        r0, spin = c["UNLOADED_RADIUS"], s.spin
        ratio = arm.sqrt(arm.sqrt((s.fz / (c["FNOMIN"] * c["LFZO"])) ** 2 + ROUND**2))
        limit = c["QCRP1"] * mu * r0 * s.fz * ratio * c["LMP"]  # Mzφ∞
        shape = c["QDRP1"]
        height = limit / arm.sin(math.pi / 2 * shape)
        stiffness = s.fz * r0 * (c["QDZ8"] + c["QDZ9"] * s.dfz) * c["LKZC"]
        slope = stiffness / (shape * height * (1 - spin.camber_share) + EPSILON)
        moment = height * arm.sin(shape * bend(slope, c["QDRP2"], spin.whole))
        quarter = limit * (2 / math.pi) * arm.atan(c["QCRP2"] * r0 * size(spin.turn)) * reduction
        share = quarter / arm.sqrt(moment * moment + EPSILON**2)
        return moment, 2 / math.pi * arm.acos(arm.min(share, 1.0))

    def _equivalent(self, slip: Scalar, cross: Scalar) -> Scalar:
        """|α_eq|, (4.E77) and (4.E78) or (A54) and (A55); its sign is not needed: only cosines use it."""
        if self._rules.tangents:
            return arm.sqrt(slip * slip + cross + TINY)
        # The angle is bounded before the pole of the tangent. Beyond the pole, a tyre that slides sideways
        # would have a small slip.
        tangent = arm.tan(arm.min(arm.max(slip, -ACROSS), ACROSS))
        return arm.atan(arm.sqrt(tangent * tangent + cross + TINY))


def _weight(b: Scalar, c: Scalar, e: Scalar, slip: Scalar, shift: Scalar) -> Scalar:
    """G = cos(C atan(…(slip + S))) / cos(C atan(…S)), the reduction by slip in the other direction."""
    return arm.cos(c * bend(b, e, slip + shift)) / arm.cos(c * bend(b, e, shift))
