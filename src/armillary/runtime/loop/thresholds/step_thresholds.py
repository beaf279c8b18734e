"""Numbers of the control of steps, shared by all that choose steps; see runtime/solver/step_control.py."""

from __future__ import annotations

EPSILON = 2.0**-52
# A step to a time s at which an input jumps has the length s − δ − t, with δ of so many units of the last
# place of the time, so that all its stages see the input before the jump; then the time is s, where the input
# is that after the jump, and the derivative is computed again. Without this every method has first order
# across a jump: its last stage takes the value that belongs to the next step.
ROUNDINGS = 4.0
LONGEST_RATIO = (
    2.0  # of a step to the one before, of methods that need its rates; a longer one starts them anew
)
LEAST_TOLERATED = 1e-30  # error of what is exactly zero; a normal number in single precision, too
LEAST_ERROR = 1e-4  # of a step, as far as the next one is concerned: a smaller one has no part in its length
MOST_FORCED = 8.0  # shortest steps, one after the other, that lead across a kink

# Of stiffness: h λ at the edge of stability of dop853 and well inside of it, stiff steps after which another
# method takes over, and calm ones after which they no longer count (runtime/solver/stiffness.py).
STABLE_EDGE, CALM_EDGE = 6.1, 3.0
STIFF_STEPS, CALM_STEPS = 15, 6

NO_DIAGONAL = 1e-10  # of a diagonal element: what an elimination without exchange leaves is no pivot
