"""Thresholds that the process shares with the solver: of steps, events, singular configurations and changes
of configuration.
"""

from __future__ import annotations

from armillary.program.targets.targets import LOST_RANK, POOR_PIVOT

# Steps; see solver/step_control.py.
EPSILON = 2.0**-52
# A grid point of a fixed step this close (in steps) to a sample time or to the end takes exactly that time.
# An event is moved by at most this much, and only as far as rounding explains: see `closeness` in
# solver/events.py.
SNAP = 1e-6
APART = 64 * 2.0**-52  # stops closer than this, relative to the time, are one
# A step to a time s at which an input jumps has the length s − δ − t, with δ = ROUNDINGS units in the last
# place of the time, so that all its stages see the input before the jump. Then the time is set to s, with the
# input after the jump, and the derivative is computed again. Without this every method has first order across
# a jump: its last stage takes the value that belongs to the next step.
ROUNDINGS = 4.0
# A multistep method starts anew if a step is longer than this multiple of the step before.
LONGEST_RATIO = 2.0
LEAST_TOLERATED = 1e-30  # tolerated error of a state that is exactly zero; normal in single precision, too
LEAST_ERROR = 1e-4  # lower bound of an error norm in the choice of the next step
MOST_FORCED = 8.0  # shortest steps in a row that lead across a kink

# Of stiffness (solver/linearly_implicit.py): h λ at the edge of stability of dop853 and well inside it; stiff
# steps after which another method takes over; calm steps after which the count of stiff steps is reset.
STABLE_EDGE, CALM_EDGE = 6.1, 3.0
STIFF_STEPS, CALM_STEPS = 15, 6

NO_DIAGONAL = 1e-10  # of a diagonal element: a smaller remainder of an elimination is no pivot

# Events; see solver/events.py.
FIRST_LOOK = 2.0**-10  # fraction of the first step after an event at which its functions are evaluated first
CLEAR = 1e-3  # of the function's value at the start of the step: a larger value is not zero

LEAST_RATIO, MOST_RATIO = 1e-3, 2.0  # of one gap to the one before, in a streak
PILED_UP = 1e-9  # of the longest gap
# Firings in a streak before contacts pile up: the directions of slow slides converge within a few.
CASCADE = 20
STUCK = 1e-6  # of the longest gap
STUCK_ULPS = 64.0
MOST_STUCK = 100  # gaps in a row
LONGEST_STREAK = 5000
SUSPECT = 1e-3  # of the longest gap
# Longest step of an adaptive method, as a fraction of a run with contacts, unless the run sets another. A
# body in free flight allows any step; in a long one a corner could touch the floor and leave it again unseen.
LONGEST_WITH_CONTACTS = 1e-3
# A value of ``terminal`` (1.0: the run ends at the event). At this event another program takes over, with the
# derivatives of the run, so the step to the event is taken again instead of interpolated. With twelve
# exchanges of dependent speeds the error of the motion is a fifth of that with dense output (dopri5, a ball
# in a slot).
LANDING = 2.0

# Singular mass matrices; see solver/forecasts.py and runtime/models/failures.py.
SPEED_JUMP = 5.0  # growth of speeds from one row to the next, beyond all earlier rows, that shows one
WEAK = 1e-6  # of the inertias that a pivot consists of: the pivot is zero, as far as a step is concerned
FALLEN = 1e-3  # of a pivot's share at the start of the run: the pivot is weak here, and not everywhere
FARTHEST = 0.5  # radians or lengths of motion over which it is followed, at most
NOWHERE = 1e-6  # of a run's time: a run that has come no further after FIRST_STEPS does not advance
FIRST_PATIENCE = 25  # calm steps of a stiff method before the first change to an explicit one
FIRST_STEPS = 200  # steps tried before the advance of a run is judged
# A run that came less far than this many of its longest steps is held back by something else than their
# limit.
SHORT_STEPS = FIRST_STEPS / 2
COARSE, FINE = 64, 400  # evaluations along each direction, and around the weakest of them

# Changes of configuration. Motion is measured in sizes of coordinates: a radian, or the length with an equal
# effect on the loops (mechanics/constraints/loop_closing.py).
POOR_CHOICE = POOR_PIVOT  # a conditioning at which a choice of dependent speeds is poor
CHOICE_MARGIN = 1e-3 * POOR_PIVOT  # margin of a good choice over a poor one; a step may end just before it
WEAK_RANK = LOST_RANK  # squared strength of a constraint below which a loss of rank is predicted
# Of the step across a singular configuration: the fraction of the step at which it lies, and the step's
# length in sizes of motion. The stages must be far enough from the singularity, and the order close enough.
MIDDLE, STRIDE = 0.46, 0.25
BELIEVED = 1.0  # range of a forecast, in sizes of motion
LOOK_FAR, LOOK_NEAR = 1e-3, 5e-6  # differences of motion that give slope and bend of a forecast
# Root of a strength so small that accelerations are rounding errors: the singular configuration is sought
# along the speeds. MISSED: the fraction of the squared strength that is left where the motion passes beside
# it.
RIGHT_AHEAD, MISSED = 1e-3, 5e-3
MOST_LOOKS = 8.0  # evaluations of event functions in a long step
SOON = 0.15  # fraction of the time to the singular configuration at which the step across may begin
AROUND = 0.15  # sizes of motion to either side of a singular configuration that a step jumped over
FINEST = 1e-3  # of AROUND: shorter steps do not help
# The longest step where constraints are weak, over the distance to the loss of rank: antiparallelograms
# whose bars differ by 1e-3 to 1e-6 of their lengths keep their energy to 1e-6 with rk4. Below the squared
# strengths UNSOUND, accelerations are rounding errors, which shorter steps would add up; adaptive methods
# find their step sizes from farther away.
RESOLVED_FIXED, RESOLVED_ADAPTIVE = 0.05, 0.5
UNSOUND, UNSOUND_ADAPTIVE = 1e-6, 1e-4
LOOK_AGAIN = 0.03  # sizes of motion after which an unconfirmed forecast is made again
SHORTER = 0.25  # least fraction of the usual step across that is taken again because an input has changed
SHORTEST = 0.03  # least fraction of the usual step across that is tried
# A forecast is right if the smallest singular value falls to at most this share (a hundredth was found).
RANK_LEFT = 0.3
RANK_SMALL = 0.05  # a smallest singular value, with rows of length one, at which no extrapolation is needed
LITTLE_STRENGTH = 1e-3  # squared strength of a constraint so near a loss of rank that no run can begin there
NO_STRENGTH = 1e-10  # squared strength so near a loss of rank that no other choice of speeds is better
BLIND = 0.1  # fraction of the step on either side of the singularity where rows are not computed from states
IN_PLACE = 1e-3  # fraction of the step on either side of the singularity where a run cannot begin
# Of the step from beside a singular configuration: the largest distance from it, in sizes of motion; the most
# improvements of its stages, and the change at which they end; the largest term of the highest order in it;
# the number of lengths tried, each half of the one before; the fraction of the step at which the singularity
# is.
BESIDE, IMPROVEMENTS, STEADY, BENT, STRIDES, BEFORE_STAGES = 0.01, 40.0, 1e-9, 1e-3, 4.0, 0.06
# A larger gap, in sizes of coordinates, shows that a step across has failed; at singular configurations gaps
# stay below 1e-9. If bars differ by 1e-10 of their lengths, there is no singular configuration: a step across
# would change the energy by 1e-4, and its gaps are larger than this.
TORN = 1e-8
ROUGH = 5e-8  # error of the step, by its own estimate, that is too large
# Fractions of the step at which the singularity in it is located.
WELL_BEFORE, JUST_BEFORE, JUST_AFTER, WELL_AFTER = (
    0.24,
    0.34,
    0.58,
    0.7,
)
LOOKS = (0.0, 0.12, 0.24, 0.34, 0.58, 0.7, 0.84, 1.0)  # fractions at which rows and events are accurate

# The same in single precision. Near a singular configuration the equations amplify rounding by the third
# power of the distance to it: a step across is longer, and is not tried again from nearer by. Of 1384 flat
# positions of a parallelogram each cost 0.2 % of its energy in the median and 1.5 % at most (0.9 and 7.5 %
# with the length of double precision); estimates of the error were up to 1.8e-3.
SINGLE = {
    "LOOK_FAR": 1e-2, "LOOK_NEAR": 5e-4, "STRIDE": 0.5, "SHORTEST": 0.9, "NO_STRENGTH": 1e-8, "TORN": 1e-3,
    "ROUGH": 2e-3, "BESIDE": 0.0,
}  # fmt: skip
