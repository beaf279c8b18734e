"""Differences between correct programs of the Magic Formula, as one option of two values.

"tno" computes as MF-Tyre 6.1, for comparisons with it; "book" as Pacejka (2012) prints. They differ
by 1.3 % in Fx, 0.6 % in Fy, up to half in My and 9 to 23 % in Mz for a tyre with all coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Convention:
    """The switches between the two."""

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
