"""Radii and vertical force of a Magic Formula tyre.

    RΩ = R0 (Q_RE0 + Q_V1 (Ω R0/V0)²)                                  free radius, which grows with the spin
    Re = RΩ − Fz0/cz (DREFF atan(BREFF Fz/Fz0) + FREFF Fz/Fz0)         effective rolling radius
    Fz = (1 + Q_V2 R0/V0 |Ω| − (Q_FCX Fx/Fz0)² − (Q_FCY Fy/Fz0)²) (1 + PFZ1 dpi)
         (Q_FZ1 ρ/R0 + Q_FZ2 (ρ/R0)²) Fz0,      Q_FZ1 = √((cz R0/Fz0)² − 4 Q_FZ2)

Here R0 is the unloaded radius, V0 the reference speed, Fz0 the nominal load, cz the vertical stiffness, ρ the
deflection, and dpi the difference of the pressure from its nominal value, relative to this value. In the
equation of Re, cz is multiplied by 1 + PFZ1 dpi. In version 6.2 camber also causes a deflection and a side
force; in version 5.2, Fz = cz ρ.

Sources: Besselink, Schmeitz, Pacejka (2010), equations (1) to (7); for version 6.2 the equation manual of
MF-Tyre 6.2.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import armillary as arm
from armillary.vehicles.tyres.tyre import TINY, Scalar, Tyre, size, start_of_contact


class MagicRadius(Tyre):
    """Radii and vertical force of a Magic Formula tyre."""

    coefficients: Mapping[str, Scalar]
    version: str

    @property
    def free_radius(self) -> Scalar:
        """Radius of the wheel without contact and without spin, m."""
        c = self.coefficients
        return c["UNLOADED_RADIUS"] * c["Q_RE0"]

    def spinning_radius(self, omega: Scalar) -> Scalar:
        """Return RΩ, the free radius at a spin Ω."""
        c = self.coefficients
        growth = omega * c["UNLOADED_RADIUS"] / c["LONGVL"]
        return c["UNLOADED_RADIUS"] * (c["Q_RE0"] + c["Q_V1"] * growth * growth)

    def _pressure_difference(self, pressure: Scalar | None) -> Scalar:
        c = self.coefficients
        return ((c["INFLPRES"] if pressure is None else pressure) - c["NOMPRES"]) / c["NOMPRES"]

    def effective_radius(self, fz: Scalar, omega: Scalar = 0.0, pressure: Scalar | None = None) -> Scalar:
        """Return Re = V/Ω of the freely rolling wheel, m."""
        c = self.coefficients
        self._require("VERTICAL_STIFFNESS", "the effective radius")
        stiffness = c["VERTICAL_STIFFNESS"] * (1 + c["PFZ1"] * self._pressure_difference(pressure))
        load = arm.max(fz, 0.0) / c["FNOMIN"]
        sag = c["DREFF"] * arm.atan(c["BREFF"] * load) + c["FREFF"] * load
        return self.spinning_radius(omega) - c["FNOMIN"] / stiffness * sag

    def vertical_force(
        self,
        deflection: Scalar,
        rate: Scalar = 0.0,
        *,
        omega: Scalar = 0.0,
        pressure: Scalar | None = None,
        fx: Scalar = 0.0,
        fy: Scalar = 0.0,
    ) -> Scalar:
        """Return Fz for the deflection RΩ − Rl and its rate, smoothed over the first millimetre."""
        c = self.coefficients
        touching, gate = start_of_contact(deflection)
        spring = self._spring(touching, omega, pressure, fx, fy)
        damper = c["VERTICAL_DAMPING"] * gate * rate
        return arm.max(spring + damper, 0.0)

    def _spring(self, rho: Scalar, omega: Scalar, pressure: Scalar | None, fx: Scalar, fy: Scalar) -> Scalar:
        c = self.coefficients
        self._require("VERTICAL_STIFFNESS", "the vertical force")
        if self.version == "5.2":
            return c["VERTICAL_STIFFNESS"] * c["LCZ"] * rho
        r0, nominal = c["UNLOADED_RADIUS"], c["FNOMIN"]
        x = rho / r0
        effects = 1 + c["Q_V2"] * r0 / c["LONGVL"] * size(omega) - (c["Q_FCX"] * fx / nominal) ** 2
        lateral = c["Q_FCY"] * fy / nominal
        if self.version == "6.2":
            lateral = lateral * (arm.sqrt(x * x + TINY)) ** c["Q_FCY2"]
        effects = (effects - lateral**2) * (1 + c["PFZ1"] * self._pressure_difference(pressure))
        linear = arm.sqrt((c["VERTICAL_STIFFNESS"] * r0 / nominal) ** 2 - 4 * c["Q_FZ2"])
        return effects * (linear + c["Q_FZ2"] * x) * x * nominal * c["LCZ"]

    def loaded_radius(
        self,
        fz: object,
        *,
        fx: object = 0.0,
        fy: object = 0.0,
        gamma: object = 0.0,
        omega: object = 0.0,
        pressure: object = None,
    ) -> np.ndarray:
        """Return Rl = RΩ − ρ on arrays: the height of the hub at which the tyre carries the load ``fz``.

        In version 5.2 this is a formula; in the others Newton's method finds it to rounding.
        """
        arrays = np.broadcast_arrays(*[np.asarray(x, dtype=float) for x in (fz, fx, fy, gamma, omega)])
        load, long_force, side_force, camber, spin = arrays
        c = self.coefficients
        free = np.asarray(self.spinning_radius(spin), dtype=float)
        inflation = None if pressure is None else np.asarray(pressure, dtype=float)
        if self.version == "5.2":
            return np.asarray(free - np.maximum(load, 0) / (c["VERTICAL_STIFFNESS"] * c["LCZ"]))
        r0 = c["UNLOADED_RADIUS"]
        radius = free - np.maximum(load, 0) / c["VERTICAL_STIFFNESS"]
        for _ in range(60):
            step = 1e-7 * r0
            value = self._load_at(radius, free, long_force, side_force, camber, spin, inflation) - load
            after = self._load_at(radius - step, free, long_force, side_force, camber, spin, inflation) - load
            change = value * step / np.where(after == value, np.inf, after - value)
            radius = radius + np.clip(change, -0.05 * r0, 0.05 * r0)
            if np.all(np.abs(change) < 1e-15 * r0):
                break
        return np.where(load > 0, radius, free)

    def _load_at(
        self,
        radius: np.ndarray,
        free: np.ndarray,
        fx: np.ndarray,
        fy: np.ndarray,
        gamma: np.ndarray,
        omega: np.ndarray,
        pressure: np.ndarray | None,
    ) -> np.ndarray:
        """Return Fz for a loaded radius, with the terms of 6.2.

        Fz is negative if the loaded radius exceeds the free radius.
        """
        c = self.coefficients
        rho = free - radius
        side = fy
        if self.version == "6.2":
            ratio = radius / free
            side = fy - (c["Q_FYS1"] + c["Q_FYS2"] * ratio + c["Q_FYS3"] * ratio**2) * gamma
            width = (1.075 - 0.5 * c["ASPECT_RATIO"]) * c["WIDTH"]  # of the tread
            reference = c["Q_CAM1"] * free + c["Q_CAM2"] * free**2
            if c["Q_CAM1"] or c["Q_CAM2"]:
                share = (c["Q_CAM1"] * radius + c["Q_CAM2"] * radius**2) / reference
                rho = rho + share**2 * width / 8 * np.abs(np.tan(gamma)) - c["Q_CAM3"] * rho * np.abs(gamma)
        return np.asarray(self._spring(rho, omega, pressure, fx, side), dtype=float)

    def _require(self, name: str, what: str) -> None:
        value = self.coefficients[name]
        if not isinstance(value, arm.Expr) and value == 0:
            raise arm.ModelError(
                f"{what} needs {name}, which the tyre does not have; give changes={{'{name}': …}}"
            )
