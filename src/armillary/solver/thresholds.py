"""Thresholds of the solver for steps, events, singular configurations and changes of configuration; the
process uses some of them, too.
"""

from __future__ import annotations

from armillary.program.targets.targets import LOST_RANK, POOR_PIVOT

# Steps; see solver/step_control.py.
EPSILON = 2.0**-52
# A grid point of fixed steps that is closer than this part of a step to a sample time, or to the end of the
# run, is moved exactly to that time. An event is moved by at most this part of a step, and only as far as
# rounding explains: see `closeness` in solver/events.py.
SNAP = 1e-6
APART = 64 * 2.0**-52  # stops that are closer than this part of the time count as one
# A step to a time s at which an input jumps has the length s − δ − t, with δ = ROUNDINGS units in the last
# place of the time, so that all its stages see the input before the jump. Then the time is set to s, with the
# input after the jump, and the derivative is computed again. Otherwise every method would have order one
# across a jump, since its last stage would see the value that belongs to the next step.
ROUNDINGS = 4.0
# A multistep method starts anew if a step is longer than this multiple of the step before.
LONGEST_RATIO = 2.0
LEAST_TOLERATED = 1e-30  # tolerated error of a state that is exactly zero; not denormal in single precision
LEAST_ERROR = 1e-4  # lower bound of an error norm in the choice of the next step
MOST_FORCED = 8.0  # most consecutive steps of the shortest length that lead across a kink

# Stiffness (solver/linearly_implicit.py): h λ at the edge of stability of dop853, and well inside it; the
# number of stiff steps after which another method takes over; the number of calm steps after which the count
# of stiff steps is reset.
STABLE_EDGE, CALM_EDGE = 6.1, 3.0
STIFF_STEPS, CALM_STEPS = 15, 6

NO_DIAGONAL = 1e-10  # part of a diagonal element; if less remains after elimination, it is no pivot

# Events; see solver/events.py.
FIRST_LOOK = 2.0**-10  # fraction of the first step after an event at which its functions are evaluated first
CLEAR = 1e-3  # part of a function's value at the start of the step; a larger value is not zero

# Gaps are the times between two firings of one event, streaks are sequences of firings with similar gaps.
LEAST_RATIO, MOST_RATIO = 1e-3, 2.0  # ratios of a gap to the gap before, within a streak
PILED_UP = 1e-9  # part of the longest gap; a shorter gap shows an accumulation
# Least streak of contacts that is an accumulation: directions of slow slides converge within a few firings.
CASCADE = 20
STUCK = 1e-6  # part of the longest gap; MOST_STUCK consecutive gaps below it show an accumulation
STUCK_ULPS = 64.0  # the same limit in units in the last place of the time
MOST_STUCK = 100
LONGEST_STREAK = 5000  # longest streak in which gaps below STUCK count
SUSPECT = 1e-3  # part of the longest gap; after a shorter gap a crossing may have been missed
# Longest step of an adaptive method as a fraction of the run, in runs with contacts that set no longest step.
# A body in free flight allows any step; in a long one a corner could touch the floor and leave it unseen.
LONGEST_WITH_CONTACTS = 1e-3
# Change of a state in a step, as a share of the tolerated error, up to which it rests. Steps at rest may be
# longer than that; one in which a state changes by more is taken again. A box on its corners that runs for
# 1000 s moves 1e-18 of its tolerated errors.
AT_REST = 1e-6
# A value of ``terminal`` (1.0: the run ends at the event). At this event another program takes over, with the
# derivatives of the run, so the step to the event is taken again instead of interpolated. With twelve
# exchanges of dependent speeds the error of the motion is a fifth of that with dense output (dopri5, a ball
# in a slot).
LANDING = 2.0

# Singular mass matrices; see solver/forecasts.py and runtime/models/failures.py.
SPEED_JUMP = 5.0  # ratio of a speed to the largest one in all earlier rows that shows such a matrix
WEAK = 1e-6  # a pivot below this part of the inertias in it counts as zero
FALLEN = 1e-3  # a pivot below this part of its share at the start of the run is weak here, and not everywhere
FARTHEST = 0.5  # longest motion, in radians or units of length, that is followed ahead in a straight line
NOWHERE = 1e-6  # part of a run's time; a run that has come no further after FIRST_STEPS does not advance
FIRST_PATIENCE = 25  # calm steps of a stiff method before the first change to an explicit one
FIRST_STEPS = 200  # number of steps after which a run is checked for its advance
# A run whose first FIRST_STEPS lead no further than this number of its longest steps is held back by
# something other than the limit of the step size.
SHORT_STEPS = FIRST_STEPS / 2
COARSE, FINE = 64, 400  # numbers of evaluations along each line, and around the weakest point on all of them

# Changes of configuration. Below, distances "in sizes" are motions divided by the sizes of coordinates: a
# radian, or the length with an equal effect on the loops (mechanics/constraints/loop_closing.py).
POOR_CHOICE = POOR_PIVOT  # a conditioning at which a choice of dependent speeds is poor
CHOICE_MARGIN = 1e-3 * POOR_PIVOT  # margin of a good choice over a poor one; a step may end just before it
WEAK_RANK = LOST_RANK  # squared strength of a constraint below which a loss of rank is predicted
# The step across a singular configuration: the fraction of the step at which the singularity lies, and the
# length of the step, in sizes. A longer step keeps its stages farther away; a shorter one is more accurate.
MIDDLE, STRIDE = 0.46, 0.25
BELIEVED = 1.0  # range of a forecast, in sizes
LOOK_FAR, LOOK_NEAR = 1e-3, 5e-6  # distances, in sizes, for the difference quotients of a forecast
# If the root of the strength is below RIGHT_AHEAD, accelerations are rounding errors, and the singular
# configuration is sought from the speeds alone. If more than the part MISSED of the strength is left at the
# minimum, the motion passes beside the singularity.
RIGHT_AHEAD, MISSED = 1e-3, 5e-3
MOST_LOOKS = 8.0  # evaluations of event functions in a long step
SOON = 0.15  # fraction of the time to the singular configuration at which the step across may begin
AROUND = 0.15  # reach of short steps, in sizes, on each side of a singularity that a step has jumped over
FINEST = 1e-3  # part of AROUND; shorter steps than this do not help
# Longest steps where constraints are weak, as fractions of the distance to the loss of rank. With them
# antiparallelograms whose bars differ by 1e-3 to 1e-6 of their lengths keep their energy to 1e-6 with rk4.
# Below the squared strengths UNSOUND, accelerations are rounding errors, which shorter steps would add up;
# adaptive methods find their step sizes from farther away.
RESOLVED_FIXED, RESOLVED_ADAPTIVE = 0.05, 0.5
UNSOUND, UNSOUND_ADAPTIVE = 1e-6, 1e-4
LOOK_AGAIN = 0.03  # distance, in sizes, after which a forecast is made again that was not confirmed
SHORTER = 0.25  # least fraction of the usual step across that is taken again because an input has changed
SHORTEST = 0.03  # least fraction of the usual step across that is tried
# A forecast is right if the smallest singular value falls to at most this part; falls to 0.01 were observed.
RANK_LEFT = 0.3
RANK_SMALL = 0.05  # least singular value, with rows of length one, below which every forecast counts as right
LITTLE_STRENGTH = 1e-3  # squared strength below which a loss of rank is too near for a run to begin
NO_STRENGTH = 1e-10  # squared strength below which no other choice of dependent speeds is better
BLIND = 0.1  # fraction of the step on either side of the singularity where rows are interpolated from others
IN_PLACE = 1e-3  # fraction of the step on either side of the singularity where a run cannot begin
# The step from beside a singular configuration: its largest distance from there, in sizes; the largest number
# of iterations of its stages, and the change at which they end; the largest term of highest order in it; the
# number of lengths tried, each half of the one before; the largest fraction of the step at which the
# singularity may lie.
BESIDE, IMPROVEMENTS, STEADY, BENT, STRIDES, BEFORE_STAGES = 0.01, 40.0, 1e-9, 1e-3, 4.0, 0.06
# A gap above this, in sizes, shows that a step across has failed; at singular configurations gaps stay below
# 1e-9. If bars differ by 1e-10 of their lengths, there is no singular configuration: a step across would
# change the energy by 1e-4, and its gaps are larger than this.
TORN = 1e-8
ROUGH = 5e-8  # a step across with a larger estimate of its error is not accurate
# Fractions of the step at whose states the singularity in it is located.
WELL_BEFORE, JUST_BEFORE, JUST_AFTER, WELL_AFTER = (
    0.24,
    0.34,
    0.58,
    0.7,
)
LOOKS = (0.0, 0.12, 0.24, 0.34, 0.58, 0.7, 0.84, 1.0)  # fractions at which rows and events are accurate

# Thresholds with other values in single precision. Near a singular configuration the equations amplify
# rounding by the inverse third power of the distance to it, so a step across is longer, and is not tried
# again from a nearer point. In 1384 passages of the flat position of a parallelogram, a step across changed
# the energy by 0.2 % in the median and 1.5 % at most (0.9 and 7.5 % with the length of double precision);
# estimates of the error were up to 1.8e-3.
SINGLE = {
    "LOOK_FAR": 1e-2, "LOOK_NEAR": 5e-4, "STRIDE": 0.5, "SHORTEST": 0.9, "NO_STRENGTH": 1e-8, "TORN": 1e-3,
    "ROUGH": 2e-3, "BESIDE": 0.0,
}  # fmt: skip
