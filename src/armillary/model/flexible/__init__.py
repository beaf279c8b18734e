"""Flexible bodies: parts of modes, made from nodes, matrices, integrals, beams or plates.

Enters: the arguments of ``body.flexible(…)``. Leaves: one record of numbers, `part.FlexiblePart`; read that
file first. `modal_data` chooses the way of description and calls its reader: `structures` (nodes or matrices,
which `reduction` reduces to modes), `modal_data` (integrals, couplings and complex modes), `beam` or `plate`.
`part` also computes the arrays of a part from its mass matrix; `part_input` checks what users give.
`attachment` and `deformation` put a part on a body of a system.
"""
