"""Thresholds that the process shares with the solver: of steps, events, places without mass, and changes of
configuration.
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
# A step to a time s at which an input jumps has the length s − δ − t, with δ of so many units of the last
# place of the time, so that all its stages see the input before the jump; then the time is s, where the input
# is that after the jump, and the derivative is computed again. Without this every method has first order
# across a jump: its last stage takes the value that belongs to the next step.
ROUNDINGS = 4.0
# Methods that use the rates of the step before start anew if a step is longer than this many of that step.
LONGEST_RATIO = 2.0
LEAST_TOLERATED = 1e-30  # error of what is exactly zero; a normal number in single precision, too
LEAST_ERROR = 1e-4  # of a step, as far as the next one is concerned: a smaller one has no part in its length
MOST_FORCED = 8.0  # shortest steps, one after the other, that lead across a kink

# Of stiffness: h λ at the edge of stability of dop853 and well inside of it, stiff steps after which another
# method takes over, and calm ones after which they no longer count (solver/linearly_implicit.py).
STABLE_EDGE, CALM_EDGE = 6.1, 3.0
STIFF_STEPS, CALM_STEPS = 15, 6

NO_DIAGONAL = 1e-10  # of a diagonal element: what an elimination without exchange leaves is no pivot

# Events; see solver/events.py.
FIRST_LOOK = 2.0**-10  # of the first step after an event: where its functions are looked at first
CLEAR = 1e-3  # of the value at the start of the step to the event: a function as large is not at zero

LEAST_RATIO, MOST_RATIO = 1e-3, 2.0  # of one gap to the one before, in a streak
PILED_UP = 1e-9  # of the longest gap
# Firings in a streak before contacts pile up: the directions of slow slides converge within a few.
CASCADE = 20
STUCK = 1e-6  # of the longest gap
STUCK_ULPS = 64.0
MOST_STUCK = 100  # gaps in a row
LONGEST_STREAK = 5000
SUSPECT = 1e-3  # of the longest gap
# Of a run, the longest step of an adaptive method where there are contacts, unless the run sets another. A
# body in free flight allows any step, in which a corner would touch the floor and leave it again unseen.
LONGEST_WITH_CONTACTS = 1e-3
# In ``terminal``: the run ends at this event, and its step is taken again to end there, for a run with its
# derivatives goes on in another program; 1.0: the run ends. Through twelve exchanges of dependent speeds
# the motion of such a run has a fifth of the error that dense output gives it (dopri5, a ball in a slot).
LANDING = 2.0

# Places without mass; see solver/forecasts.py and runtime/models/failures.py.
SPEED_JUMP = 5.0  # by which speeds grow from one row to the next, beyond all earlier rows, at such a place
WEAK = 1e-6  # of the inertias that a pivot is made of: nothing, as far as a step is concerned
FALLEN = 1e-3  # of a pivot's share at the start of the run: it is weak here, and not everywhere
FARTHEST = 0.5  # radians or lengths of motion over which it is followed, at most
NOWHERE = 1e-6  # of a run's time: a run that has come no further after its first steps does not advance
FIRST_STEPS = 200  # these, tried
# Longest steps, which it has not come as far as, either: no limit holds it back.
SHORT_STEPS = FIRST_STEPS / 2
COARSE, FINE = 64, 400  # looks at each way, and about the weakest of them

# Changes of configuration. Motion is in sizes of coordinates: a radian, or the length with an equal effect
# on the loops (mechanics/constraints/loop_closing.py).
POOR_CHOICE = POOR_PIVOT  # a conditioning at which a choice of dependent speeds is poor
CHOICE_MARGIN = 1e-3 * POOR_PIVOT  # by which a choice is better than poor; a step may end just before it is
WEAK_RANK = LOST_RANK  # the strength of a constraint, squared, from which on a loss of rank is looked for
# Of the step across a place where rank is lost: where in it the place lies, and its length in sizes of
# motion, so that its stages are far enough from the place and its order near enough.
MIDDLE, STRIDE = 0.46, 0.25
BELIEVED = 1.0  # how far a forecast is believed, in sizes of motion
LOOK_FAR, LOOK_NEAR = 1e-3, 5e-6  # over how much motion slope and bend of a forecast are found
# The root of a strength so small that accelerations are rounding errors and a place is looked for along the
# speeds; and the share of the strength, squared, that is left where the motion misses it.
RIGHT_AHEAD, MISSED = 1e-3, 5e-3
MOST_LOOKS = 8.0  # at event functions in a longer step
SOON = 0.15  # share of the time to the place that may be left when the step across begins
AROUND = 0.15  # sizes of motion to either side of a place that one step jumped over
FINEST = 1e-3  # of that: shorter steps do not help
# The longest step where constraints are weak, of the distance to where they lose rank: antiparallelograms
# whose bars differ by 1e-3 to 1e-6 of their lengths keep their energy to 1e-6 with rk4. Below a strength,
# squared, accelerations are rounding errors, which shorter steps would collect; methods that choose their
# steps find their way from farther away.
RESOLVED_FIXED, RESOLVED_ADAPTIVE = 0.05, 0.5
UNSOUND, UNSOUND_ADAPTIVE = 1e-6, 1e-4
LOOK_AGAIN = 0.03  # sizes of motion after which a forecast that was not confirmed is made again
SHORTER = 0.25  # of the usual steps across, the least that is taken again because an input has changed
SHORTEST = 0.03  # of the usual steps across, the least that is tried
RANK_LEFT = (
    0.3  # of the smallest singular value, where a forecast is right; what is found there is a hundredth
)
RANK_SMALL = (
    0.05  # a smallest singular value, of rows of length one, with which nothing has to be extrapolated
)
LITTLE_STRENGTH = 1e-3  # of a constraint, squared, next to a place: no run can begin there
NO_STRENGTH = 1e-10  # of a constraint, squared, so near the place that no other choice of speeds is better
BLIND = 0.1  # share of the step to either side of the place in which rows are not computed from states
IN_PLACE = 1e-3  # share of the step to either side of the place from where a run cannot begin
# Of the step from beside a place: how near that is, in sizes of motion, how often its stages are
# improved until they change by no more than so much, the largest term of the highest order in it, and lengths
# that are tried, each half of the one before; the place is in the first part of it, so long.
BESIDE, IMPROVEMENTS, STEADY, BENT, STRIDES, BEFORE_STAGES = 0.01, 40.0, 1e-9, 1e-3, 4.0, 0.06
# A gap after a step that failed, in sizes of coordinates; in places themselves gaps are below 1e-9. Steps
# across a place that is none, since bars differ by 1e-10 of their lengths, change the energy by 1e-4; their
# gaps are larger than this.
TORN = 1e-8
ROUGH = 5e-8  # an error of the step, by its own estimate, that is too large
WELL_BEFORE, JUST_BEFORE, JUST_AFTER, WELL_AFTER = (
    0.24,
    0.34,
    0.58,
    0.7,
)  # such parts, to locate the place in the step
LOOKS = (0.0, 0.12, 0.24, 0.34, 0.58, 0.7, 0.84, 1.0)  # parts of the step at which rows and events are sound

# The same in single precision. Near a place the equations magnify rounding by the third power of the
# distance to it: a step across is longer, and is not tried again from nearer by. Of 1384 flat positions of a
# parallelogram each cost 0.2 % of its energy in the median and 1.5 % at most (0.9 and 7.5 % with the length
# of double precision); estimates of the error were up to 1.8e-3.
SINGLE = {
    "LOOK_FAR": 1e-2, "LOOK_NEAR": 5e-4, "STRIDE": 0.5, "SHORTEST": 0.9, "NO_STRENGTH": 1e-8, "TORN": 1e-3,
    "ROUGH": 2e-3, "BESIDE": 0.0,
}  # fmt: skip
