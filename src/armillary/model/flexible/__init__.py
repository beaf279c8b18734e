"""Flexible bodies, whose deformation is a sum of modes: from nodes, matrices, integrals, beams or plates.

Enters: the arguments of ``body.flexible(…)``. Leaves: one record of numbers, `FlexiblePart`; read its file,
`part`, first. `modal_data.flexible_part` calls the reader for the given arguments: in `structures` (nodes or
matrices, which `reduction` reduces to modes), `modal_data` (integrals, couplings and complex modes), `beam`
or `plate`. `part` also computes the arrays of a part from its mass matrix; `part_input` checks the user's
input. `attachment` and `deformation` add a part to a body of a system.
"""
