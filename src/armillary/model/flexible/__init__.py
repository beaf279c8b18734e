"""Flexible bodies, whose deformation is a sum of modes: from nodes, matrices, integrals, beams or plates.

Enters: the arguments of ``body.flexible(…)``. Leaves: one record of numbers, `FlexiblePart`. Read `part`
first, which defines this record and computes its arrays from a mass matrix. `modal_data.flexible_part` calls
the reader for the given arguments, which is in `structures` (nodes or matrices, which `reduction` reduces to
modes), `modal_data` (integrals, couplings and complex modes), `beam` or `plate`. `part_input` checks the
user's input. `attachment` and `deformation` add a part to a body of a system.
"""
