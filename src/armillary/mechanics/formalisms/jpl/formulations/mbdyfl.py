"""MBDYFL: everything small, on the vehicle of MBDYFN.

The matrix is that of MBDYFN with all angles and deflections zero, so it is constant and factored once. The
right side has no products of rates; attitudes in it are products of 1 + γ_h [g_h], so a few second-order
terms stay.

    E_k = T_k + Σ_r D_kr × F_r + c_k × (M_k/M F − F_k)        Q_m = −C η̇ − K η + φᵀλ − P_mᵀ F/M

Source: Fleischer and Likins (1975), sections IV.A and IV.B, Appendix E.
"""

from __future__ import annotations

from armillary.algebra.vectors.triples import ZEROS, scaled
from armillary.mechanics.formalisms.jpl.attitude import attitude
from armillary.mechanics.formalisms.jpl.barycentres import barycentres
from armillary.mechanics.formalisms.jpl.blocks import Blocks, load_moment, reference_loads
from armillary.mechanics.formalisms.jpl.equations import Assembled
from armillary.mechanics.formalisms.jpl.formulations import modal
from armillary.mechanics.formalisms.jpl.formulations.mbdyfn import coupled, deflections, modal_force, shifts
from armillary.mechanics.formalisms.jpl.vehicle import Vehicle


def assembled(vehicle: Vehicle) -> Assembled:
    """The equations of MBDYFL."""
    fixed = barycentres(vehicle)
    at_rest = Blocks(vehicle, fixed, attitude(vehicle, "none"), [ZEROS] * len(vehicle.substructures))
    turned = attitude(vehicle, "first")
    moved = Blocks(vehicle, fixed, turned, shifts(vehicle))
    loads = reference_loads(moved, deflections(vehicle))
    rows = moved.hinge_rows([load_moment(moved, loads, k) for k in range(moved.count)])
    pull = scaled(loads.total, 1 / vehicle.mass)
    forces = [modal_force(part, turned.back(k, pull)) for k, part in vehicle.appendages]
    return modal.assembled(at_rest, rows, coupled(vehicle), forces)
