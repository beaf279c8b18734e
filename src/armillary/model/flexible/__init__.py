"""Flexible bodies: parts of modes, made from nodes, matrices, integrals, beams or plates.

What enters is what ``body.flexible(…)`` was given; `reading` finds which way is meant and calls its reader:
`nodes`, `matrices` (which reduces them with `bases` and `solving`), `given` (integrals and coupling),
`beam` (with `waves` and `section`) or `plate`. What leaves is one record of numbers, `part.FlexiblePart`;
read that file first. All ways but `given` get its arrays from `integrals`, its stiffness and damping from
`modal`. `hooking`, `kinematics` and `energy` put a part on a body of a system.
"""
