"""Coefficients of the Magic Formula: names by version, values for missing ones, and impossible values.

A missing coefficient gets the value that switches its effect off. Other programs use non-zero values for some
(QSX4 = 5, QDZ8 = −0.05, PKY6 = −1, QSY1 = 0.01, RBX1 = 20), so the names and the values used are
stated in a warning when a file is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


def _expand_names(text: str) -> tuple[str, ...]:
    """Expand a short form of names: "PKX1-3 RCX1" is PKX1, PKX2, PKX3, RCX1."""
    names = []
    for word in text.split():
        first, _, last = word.partition("-")
        if last:
            stem = first.rstrip("0123456789")
            names += [f"{stem}{n}" for n in range(int(first[len(stem) :]), int(last) + 1)]
        else:
            names.append(first)
    return tuple(names)


FORCES_52 = _expand_names(
    "PCX1 PDX1-3 PEX1-4 PKX1-3 PHX1-2 PVX1-2 RBX1-2 RCX1 REX1-2 RHX1 QSX1-3"
    " PCY1 PDY1-3 PEY1-4 PKY1-3 PHY1-3 PVY1-4 RBY1-3 RCY1 REY1-2 RHY1-2 RVY1-6 QSY1-4"
    " QBZ1-5 QBZ9-10 QCZ1 QDZ1-4 QDZ6-9 QEZ1-5 QHZ1-4 SSZ1-4"
)
FORCES_61 = _expand_names(
    "PCX1 PDX1-3 PEX1-4 PKX1-3 PHX1-2 PVX1-2 PPX1-4 RBX1-3 RCX1 REX1-2 RHX1 QSX1-14 PPMX1"
    " PCY1 PDY1-3 PEY1-5 PKY1-7 PHY1-2 PVY1-4 PPY1-5 RBY1-4 RCY1 REY1-2 RHY1-2 RVY1-6 QSY1-8"
    " QBZ1-5 QBZ9-10 QCZ1 QDZ1-4 QDZ6-11 QEZ1-5 QHZ1-4 PPZ1-2 SSZ1-4"
)
TURN_SLIP = _expand_names("PDXP1-3 PKYP1 PDYP1-4 PHYP1-4 PECP1-2 QDTP1 QCRP1-2 QBRP1 QDRP1-2")
RELAXATION = _expand_names(
    "PTX1-3 PTY1-2 PCFX1-3 PCFY1-3 LONGITUDINAL_STIFFNESS LATERAL_STIFFNESS VERTICAL_STIFFNESS"
)
RADII = _expand_names(
    "BREFF DREFF FREFF Q_V1 Q_V2 Q_FZ1 Q_FZ2 Q_FCX Q_FCY Q_FCY2 PFZ1 Q_CAM1-3 Q_FYS1-3 WIDTH ASPECT_RATIO"
    " RIM_RADIUS BOTTOM_OFFST BOTTOM_STIFF VERTICAL_DAMPING"
)
SCALES = _expand_names(
    "LFZO LCX LMUX LEX LKX LHX LVX LCY LMUY LEY LKY LHY LVY LTR LRES LXAL LYKA LVYKA LS LKYC LKZC LVMX LMX"
    " LMY LMP LGAX LGAY LGAZ LSGKP LSGAL LCZ"
)
NEEDED = ("FNOMIN", "UNLOADED_RADIUS", "PCX1", "PDX1", "PKX1", "PCY1", "PDY1", "PKY1", "PKY2")

# Values of missing coefficients, if not 0.
NEUTRAL: dict[str, float] = {
    **dict.fromkeys(SCALES, 1.0),
    "LMUV": 0.0,
    "LONGVL": 16.7,
    "VXLOW": 1.0,
    "PKY4": 2.0,  # sin(2 atan …), as in version 5.2
    "RCX1": 1.0,
    "RCY1": 1.0,
    "QCZ1": 1.0,
    "PHYP1": 1.0,
    "PHYP2": 0.15,  # a shift of zero height would divide by zero; MF-Tyre's own value
    "QCRP1": 0.2,
    "QDRP1": 1.0,
    "Q_RE0": 1.0,
    "FZMIN": 0.0,
    "FZMAX": math.inf,
    "KPUMIN": -math.inf,
    "KPUMAX": math.inf,
    "ALPMIN": -math.inf,
    "ALPMAX": math.inf,
    "CAMMIN": -math.inf,
    "CAMMAX": math.inf,
    "PRESMIN": 0.0,
    "PRESMAX": math.inf,
}
# Names in newer PAC2002 files, and the names used here for the same quantities; QPZ1 is −PPZ1.
OTHER_NAMES = {"IP": "INFLPRES", "IP_NOM": "NOMPRES", "QPX1": "PPMX1", "QPZ2": "PPZ2"}

POSITIVE = ("FNOMIN", "UNLOADED_RADIUS", "PCX1", "PCY1", "LONGVL", "NOMPRES", "INFLPRES", "LFZO", "LCX",
            "LMUX", "LKX", "LCY", "LMUY", "LKY", "QCZ1", "Q_RE0", "VERTICAL_STIFFNESS",
            "LONGITUDINAL_STIFFNESS", "LATERAL_STIFFNESS", "WIDTH", "RIM_RADIUS")  # fmt: skip
NOT_ZERO = {"PDX1": "friction", "PKX1": "slip stiffness", "PDY1": "friction", "PKY1": "cornering stiffness",
            "PKY2": "cornering stiffness", "PKY4": "cornering stiffness"}  # fmt: skip
RANGES = (("FZMIN", "FZMAX"), ("KPUMIN", "KPUMAX"), ("ALPMIN", "ALPMAX"), ("CAMMIN", "CAMMAX"),
          ("PRESMIN", "PRESMAX"))  # fmt: skip


def names_of_forces(version: str) -> tuple[str, ...]:
    """Return the coefficients of forces and moments in a version."""
    return FORCES_52 if version == "5.2" else FORCES_61


def complete(values: Mapping[str, float], version: str, convention: str) -> dict[str, float]:
    """Return all coefficients that the formula uses, with neutral values for missing ones."""
    taken = {OTHER_NAMES.get(name, name): value for name, value in values.items()}
    taken = {**taken, **values}
    if "QPZ1" in values:
        taken.setdefault("PPZ1", -values["QPZ1"])
    pressure = taken.get("NOMPRES", taken.get("INFLPRES", 2.0e5))
    taken.setdefault("NOMPRES", pressure)
    taken.setdefault("INFLPRES", pressure)
    # My has the factor R0 Fz0 (Fz/Fz0)^QSY7 ("tno" of 6.1) or R0 Fz (Fz/Fz0)^QSY7; with these defaults of
    # QSY7 the factor is R0 Fz in both cases.
    taken.setdefault("QSY7", 1.0 if convention == "tno" and version != "5.2" else 0.0)
    for name in (*FORCES_61, *FORCES_52, *TURN_SLIP, *RELAXATION, *RADII, *NEUTRAL):
        taken.setdefault(name, NEUTRAL.get(name, 0.0))
    return taken


def missing_names(values: Mapping[str, float], version: str) -> tuple[str, ...]:
    """Return the coefficients of forces and moments in a version that are not given."""
    return tuple(name for name in names_of_forces(version) if name not in values)


def find_impossible(values: Mapping[str, float]) -> tuple[str, str] | None:
    """Return the name of an impossible value and the reason; `None` if all values are possible."""
    for name, value in values.items():
        if not math.isfinite(value):
            return name, f"{value} is not a finite number"
    for name in POSITIVE:
        if name in values and values[name] <= 0:
            return name, f"{values[name]:g} must be positive"
    for name, what in NOT_ZERO.items():
        if name in values and values[name] == 0:
            return name, f"0 leaves no {what}"
    for low, high in RANGES:
        if low in values and high in values and values[low] > values[high]:
            return low, f"{values[low]:g} is above {high} = {values[high]:g}"
    return None


# Conventions: correct programs of the Magic Formula differ in the points below.
#
# "tno" computes as MF-Tyre 6.1, for comparisons with that program; "book" as Pacejka (2012) prints. For a
# tyre with all coefficients they differ by 1.3 % in Fx, 0.6 % in Fy, up to 50 % in My and 9 to 23 % in Mz.


@dataclass(frozen=True)
class Convention:
    """The switches between "tno" and "book"; equations of the book in brackets."""

    tangents: bool  # α*, γ* are tan α, sin γ (4.E3, 4.E4), not α, γ; and s of (4.E76) takes Fz0' and γ*
    friction_decay: float  # A_mu of λ'μ (4.E8)
    even_trail: bool  # Dt with QDZ3 |γ| (4.E43), not QDZ3 γ
    trail_times_load_scale: bool  # t × LFZO
    upright_reduction: bool  # Gyκ of F'y without camber (4.E74)
    rolling_at_nominal_load: bool  # My with R0 Fz0, not R0 Fz (4.E70)
    further_overturning: bool  # Mx with QSX12 to QSX14


CONVENTIONS = {
    "tno": Convention(
        tangents=False,
        friction_decay=1.0,
        even_trail=False,
        trail_times_load_scale=True,
        upright_reduction=False,
        rolling_at_nominal_load=True,
        further_overturning=True,
    ),
    "book": Convention(
        tangents=True,
        friction_decay=10.0,
        even_trail=True,
        trail_times_load_scale=False,
        upright_reduction=True,
        rolling_at_nominal_load=False,
        further_overturning=False,
    ),
}
