"""The names of the small language in which the exported solver is written, for readers and type checkers.

The solver (record.py, steps.py, events.py, rows.py) is a subset of Python that translator.py reads. A
printer of each language writes it, and machine_code.py compiles it for this process. None of it runs here.
The subset:

    types        real, whole, truth; vectors over states, memory, outputs (reals) and over events
    statements   assignment (a local with its type where it first appears), if, while, for k in range(count)
                 or range(number of the first, count), break, continue, return, a call; conditions on the
                 features below are decided while printing
    vectors      v = a + h * b works element by element; single elements are v[k]
    functions    abs, min, max, floor, sqrt, power, isnan, differs (of two reals), agree (of two truth
                 values), is_finite, first_nonfinite; numbers begin with 0 or 1, as a language's indices do,
                 so places in tables and comparisons with counts are functions, too: at, below
    the model    a vector that a section of the program gives is assigned: run.k0 = derivatives(t, run.state)
    choices      `a if c else b` is the whole right-hand side of an assignment

A call of a function that changes the run is a separate statement, so that languages without references can
return the run. Conditions do not rely on the order of `and` and `or`, for Fortran may evaluate both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from armillary.solver.record import RunRecord

real = float
whole = int
count = int  # of what may exceed two thousand million
truth = bool
address = int  # of a vector or a function, in this process
States = np.ndarray
Memory = np.ndarray
Outputs = np.ndarray
Reals = np.ndarray  # one of each per event
Wholes = np.ndarray
Truths = np.ndarray
Pivots = np.ndarray  # one real per pivot of the mass matrix
Kinds = np.ndarray  # one real per kind of speeds
Motion = np.ndarray  # all coordinates, all speeds and the user's own states
Speeds = np.ndarray  # all speeds
Ratings = np.ndarray  # one real per configuration with the same locks
Locks = np.ndarray  # one truth value per speed that may be locked
Geometry = np.ndarray  # what constraints are made of; see mechanics/constraints/loop_closing.py
Jacobian = np.ndarray  # one real per row of constraints and speed, row after row
RowNumbers = np.ndarray  # one whole number per row of constraints
SpeedNumbers = np.ndarray  # one whole number per speed
Slopes = np.ndarray  # one real per stage of a step across a place of lost rank and state
Nests = np.ndarray  # likewise, per coefficient of its dense output beyond the cubic polynomial
OutputFlags = np.ndarray  # one truth value per output
# Of loops that are closed at the start; see assembly.py.
Places = np.ndarray  # one real per coordinate
PlaceFlags = np.ndarray  # one truth value per coordinate
SpeedFlags = np.ndarray  # one truth value per speed
Figures = np.ndarray  # gaps, elements of J and of N, sizes of gaps
Rates = np.ndarray  # one real per coordinate and speed, coordinate after coordinate
RowReals = np.ndarray  # one real per row of constraints
# Of roots; see numerics/language.py.
Equations = np.ndarray
Sides = np.ndarray
Steps = np.ndarray
StepNumbers = np.ndarray
StepFlags = np.ndarray
Square = np.ndarray
# Of operating points and paths of mechanisms; see analysis/operating and analysis/kinematics.
Position = np.ndarray  # states and inputs, and as many numbers of a direction
Conditions = np.ndarray  # one real per condition
ConditionSlopes = np.ndarray  # one real per condition and state or input, condition after condition
Results = np.ndarray  # what a function of the model gives
Path = np.ndarray  # positions, one after the other
Targets = np.ndarray  # a time and the targets of each row
PathReals = np.ndarray  # one real per position
PathNumbers = np.ndarray  # one whole number per position
# Of linearly implicit steps; see linearly_implicit.py.
Partials = np.ndarray  # a column of reals over the states for each state, and one for the time
StateNumbers = np.ndarray  # one whole number per state
# Of redundant coordinates; see solver/llvm/layout.py.
SchemeWork = np.ndarray
SchemeAnswer = np.ndarray
SchemeGaps = np.ndarray
SchemeSettings = np.ndarray
Entries = np.ndarray  # one real per element of sparse equations, and one per state
Factors = np.ndarray  # one real per element of their factors outside the diagonal
Unknowns = np.ndarray  # one real per unknown of them
# Of contacts; see mechanics/contact/language.py.
ContactRows = ContactReals = ContactTerms = ContactSquare = ContactSpeeds = np.ndarray

# Sizes, and the properties of events.
N_STATES = N_MEMORY = N_EVENTS = N_PIVOTS = N_KINDS = 0
N_CONFIGURATIONS = N_COORDINATES = N_SPEEDS = N_LOCKABLE = N_OWN_EVENTS = N_MEMBERS = 0
N_SETTINGS = N_OWN_MOTION = 0
N_ROWS = N_JACOBIAN = N_ELEMENTS = 0
N_STAGES = N_NESTS = N_LOOKS = N_OUTPUTS = 0
N_UNKNOWNS = N_ENTRIES = 0
N_GAPS = N_RATES = N_RATE_PLACES = N_UNITS = 0
# Of each state, in each configuration: the number of its kind of speeds, or NONE; of each pivot its
# configuration.
KIND: Wholes = np.zeros(0, dtype=int)
PIVOT_OF: Wholes = np.zeros(0, dtype=int)
DIRECTION: Wholes = np.zeros(0, dtype=int)
ENDS_STATUS = -2  # in it, of events that end a status: their functions are positive unless they happen
FINDS_LOWEST = 2  # likewise, of rates of gaps: they show where in a step a gap is lowest, and never happen
STOPS: Truths = np.zeros(0, dtype=bool)
LANDS: Truths = np.zeros(0, dtype=bool)  # whether a step is taken again to end at an event

# Features: which parts of the solver a program needs.
EVENTS = UPDATE = NORMALISE = ADAPTIVE = ALWAYS_DENSE = JUMPS = MASSES = LANDING_EVENTS = SCHEME = True
CONFIGURATIONS = RATED = RECLOSING = REDUNDANT = AGREEMENT = UNITS = CONTACTS = True
LOCKING_EVENTS = SETTINGS = ADJUSTING = CHOICES = True
PROCESS = True  # this process, not an exported program
STEPS_ONLY = True  # this process, where rows are at the ends of steps: nothing inside of a step is needed
PARTITIONED = True  # this process alone, which derives what it chooses
GUARDED = (
    True  # one choice of dependent speeds, with an event that shows whether it is good: the run ends if not
)
FURTHER_TERMS = True  # a method has dense output beyond the cubic polynomial; methods decide it
MULTISTEP = True  # a method needs the rates of the step before; methods decide it
IMPLICIT = True  # linearly implicit methods
DIFFERENTIATED = True  # the program has a section of its partial derivatives; else differences are taken
SPARSE = True  # and it gives the elements of sparse equations
WATCHED = True  # stiffness is watched, for a change between two methods; this process alone
DRIVEN = True  # inputs are read from data, whose slopes over time only differences show
PASSING = True  # places where constraints lose rank are passed
BETWEEN_EVENTS = True  # on lanes: a run is left before a step in which something may happen
LATE_SEARCH = True  # a step is searched for events in the next turn, at one place of the program; no MASSES
KINKS = True  # derivatives of the motion follow its states: their rates jump where the motion has a kink
CHORDS = BOUNDED = COMPLETE = True  # of numerics/language.py
CLOCKED = True  # and the caller has a clock, which a step across must not leave behind

# Configurations: what events do to them, in the present one; which speeds are locked, in the present one and
# in all, one after the other; what events of the user's own lock and unlock, likewise; of each configuration,
# whether impulses act in it, and the numbers of its internal events, or NONE.
ORDINARY, LOCKING, CHOOSES, WEAKENS, ELSEWHERE, ADJUSTS = range(6)
ROLE: Wholes = np.zeros(0, dtype=int)
RECLOSES: Truths = np.zeros(0, dtype=bool)  # whether the process closes loops after an event
LOCKED: Truths = np.zeros(0, dtype=bool)
LOCKED_IN: Truths = np.zeros(0, dtype=bool)
LOCKS: Truths = np.zeros(0, dtype=bool)
UNLOCKS: Truths = np.zeros(0, dtype=bool)
SETS: Truths = np.zeros(0, dtype=bool)  # speeds that they set,
MOVES: Truths = np.zeros(0, dtype=bool)  # to what is not zero
# Speeds that events set and which may be no states before: the event, the speed among all, and whether it is
# no state in the present configuration. Their values are in a motion after all else but a number for each
# speed, 0 where it stays as it is in an adjustment of others.
SETTING_EVENT: Wholes = np.zeros(0, dtype=int)
SETTING_SPEED: Wholes = np.zeros(0, dtype=int)
SETTING_ACTS: Truths = np.zeros(0, dtype=bool)
STRIKES: Truths = np.zeros(0, dtype=bool)
CHOICE_EVENT: Wholes = np.zeros(0, dtype=int)
RANK_EVENT: Wholes = np.zeros(0, dtype=int)
# Of each configuration, how many of the table have the same locks, if several (-1 where no run has needed the
# table yet), and their numbers in the order of ratings; NONE where one of them is not at hand.
GROUP_SIZE: Wholes = np.zeros(0, dtype=int)
MEMBER: Wholes = np.zeros(0, dtype=int)
# Of each configuration: how many elements its J has, and the place of the first in its geometry; of the
# present one, their rows and speeds, and the dependent speed of each row, or NONE. Rows and dependent speeds
# of all, in the order of elimination. Of each speed, the first one that has the same unit. Of each state of
# the present configuration, the size, which takes the place of its unit.
ELEMENTS: Wholes = np.zeros(0, dtype=int)
FIRST_ELEMENT: Wholes = np.zeros(0, dtype=int)
ROW_OF: Wholes = np.zeros(0, dtype=int)
SPEED_OF: Wholes = np.zeros(0, dtype=int)
SPEED_OF_ROW: Wholes = np.zeros(0, dtype=int)
ROW_OF_STEP: Wholes = np.zeros(0, dtype=int)
SPEED_OF_STEP: Wholes = np.zeros(0, dtype=int)
SPEED_KIND: Wholes = np.zeros(0, dtype=int)
IS_MODAL: Truths = np.zeros(0, dtype=bool)  # of each speed, whether it is that of a mode
STATE_SIZE: Reals = np.zeros(0)
TURNS_ROWS: Reals = np.zeros(0)  # of each state, 1 if rows of constraints change with it, else 0

# Of the step across a place where rank is lost: times and weights of its stages (the last ones those of the
# end and of the dense output), of its error estimates and dense output, and where rows and events are sound;
# what becomes of events near the place.
STAGE_TIME: Reals = np.zeros(0)
STAGE_WEIGHT: Reals = np.zeros(0)
ERROR_WEIGHT: Reals = np.zeros(0)
LOW_ERROR_WEIGHT: Reals = np.zeros(0)
NEST_WEIGHT: Reals = np.zeros(0)
LOOK: Reals = np.zeros(0)
# Of the step from beside such a place (solver/methods/gauss.py).
GAUSS_TIME: Reals = np.zeros(0)
GAUSS_WEIGHT: Reals = np.zeros(0)
GAUSS_END: Reals = np.zeros(0)
GAUSS_FIRST_RATE: Reals = np.zeros(0)
GAUSS_LAST_RATE: Reals = np.zeros(0)
GAUSS_NEST: Reals = np.zeros(0)
AT_END: Truths = np.zeros(0, dtype=bool)  # of each stage
NEAR_PLACE: Wholes = np.zeros(0, dtype=int)
HAPPENS, PASSES, REFUSED, FLIPS = range(4)  # the last: a place that the step has jumped over

# Loops: of elements of J and of N, their rows or coordinates and their speeds; where Euler parameters begin;
# speeds that move in the first attempt and in others, for coordinates and for speeds; rows that are not
# redundant; the figures of known parts of rows; after how many figures elements and sizes of gaps begin.
ELEMENT_ROW: Wholes = np.zeros(0, dtype=int)
ELEMENT_SPEED: Wholes = np.zeros(0, dtype=int)
RATE_PLACE: Wholes = np.zeros(0, dtype=int)
RATE_SPEED: Wholes = np.zeros(0, dtype=int)
UNIT_FROM: Wholes = np.zeros(0, dtype=int)
DEPENDENT: Truths = np.zeros(0, dtype=bool)
HOLDING: Truths = np.zeros(0, dtype=bool)
SETS_PLACE: Truths = np.zeros(0, dtype=bool)  # coordinates that events of the user's own set
DEPENDENT_SPEED: Truths = np.zeros(0, dtype=bool)
HOLDING_SPEED: Truths = np.zeros(0, dtype=bool)
IS_KEPT: Truths = np.zeros(0, dtype=bool)
KNOWN_OF: Wholes = np.zeros(0, dtype=int)
AT_JACOBIAN = AT_RATES = AT_SIZES = 0

# Of sparse equations; see SparseStructure in program/sparse_rates.py. EXTENT has the numbers of
# unknowns and of entries.
EXTENT: Wholes = np.zeros(0, dtype=int)
ROW_START: Wholes = np.zeros(0, dtype=int)
UPPER_START: Wholes = np.zeros(0, dtype=int)
COLUMN: Wholes = np.zeros(0, dtype=int)
ENTRY_START: Wholes = np.zeros(0, dtype=int)
ENTRY_COLUMN: Wholes = np.zeros(0, dtype=int)
STATE_OF: Wholes = np.zeros(0, dtype=int)
FORWARD: Wholes = np.zeros(0, dtype=int)

ROW_TIME: Reals = np.zeros(0)  # of a run in this process, of all rows that are due

# Times at which data of inputs bend, in order, and whether they jump there; the last is infinity. FIRST is
# the number of the first.
JUMP_TIME: Reals = np.zeros(0)
JUMP_HARD: Truths = np.zeros(0, dtype=bool)
FIRST = 0

GUARD = 0  # how many events come before the one for the choice of dependent speeds

INFINITY, NAN = np.inf, np.nan
EPSILON = 2.0**-52
NONE = -1  # in place of the number of an event or state

# How a run stands, the phase of its loop, and what a turn of the loop found.
RUNNING, FINISHED, EVENT, DIVERGED, TOO_SMALL, ACCUMULATES, TOO_MANY, SINGULAR, LACKING = range(9)
PAUSED, FULL = 6, 7  # of a call in this process: its steps are spent, or there is no room for a row
LOGGED = 3  # entries in its log at once beside those of events: a change of configuration, a step across
READY, SETTLED, ARRIVED = range(3)
STEP, ROW, END, PAUSE = range(4)
# What a run in this process lacks for a change of configuration (changes.py): nothing, the sections of its
# changes; a configuration with the locks after the events or held through their impulse; the ratings of
# choices, one of these, or one beyond them; a choice at all; closed loops; events that do not contradict.
LACKS_NOTHING, LACKS_SECTIONS, LACKS_LOCKS, LACKS_HELD_LOCKS, LACKS_RATINGS, LACKS_MEMBER = range(6)
LACKS_CHOICE, LACKS_RANK, LACKS_CLOSING, LACKS_AGREEMENT = range(6, 10)
# What became of loops and speeds.
CLOSED, OPEN, NOT_REDUNDANT, CONTRADICTED = range(4)


# Functions of numbers. `agree`: whether both hold or neither; `at`: the place of element j of row i in a
# table with rows of n; `below`: whether number i is one of the first n.
floor: Callable[[real], real]
sqrt: Callable[[real], real]
power: Callable[[real, real], real]
isnan: Callable[[real], truth]
differs: Callable[[real, real], truth]
agree: Callable[[truth, truth], truth]
at: Callable[[whole, whole, whole], whole]  # i, n, j
below: Callable[[whole, whole], truth]  # i, n
is_finite: Callable[[States], truth]
first_nonfinite: Callable[[States], whole]

# The sections of the program, at a time and a state; fire gives memory and state after the event of a number.
derivatives: Callable[[real, States], States]
outputs: Callable[[real, States, Memory], Outputs]
events: Callable[[real, States], Reals]
update: Callable[[real, States], Memory]
normalise: Callable[[real, States], States]
pivot_shares: Callable[[real, States], Pivots]
partial_rates: Callable[[real, States], Partials]
fire: Callable[[whole, real, States], tuple[Memory, States]]

# The sections of changes of configuration; see changes.py. A whole number is that of a configuration.
leave: Callable[[real, States], Motion]
enter: Callable[[whole, real, Motion], States]
impulse: Callable[[whole, real, Motion], Speeds]
adjust: Callable[[whole, real, Motion], Speeds]
ratings: Callable[[real, Motion], Ratings]
geometry: Callable[[real, States], Geometry]
loop_figures: Callable[[real, Places], Figures]

# Functions of a model in searches of this process.
condition_values: Callable[[real, Position], Conditions]
condition_slopes: Callable[[real, Position], Results]
path_figures: Callable[[real, Position], Results]

# What each language does in its own way. `close_again`: the loops closed at the state, where the coordinates
# in `set_now` stay; the run ends where they cannot be. `install`: a configuration becomes the present one,
# with its sections and its number of states; the state stays.
report: Callable[[RunRecord, whole], None]  # an event, for the user: counted, logged or marked
report_change: Callable[[RunRecord], None]  # the present configuration, for the user
report_time: Callable[[RunRecord], None]  # the time of a row at the end of a step, in this process
close_again: Callable[[RunRecord], None]
install: Callable[[RunRecord, whole], None]
report_passage: Callable[[RunRecord], None]  # a step across a place where rank is lost, for the user

# Written from the tableaux of the exported methods; see methods/method_text.py.
adaptive: Callable[[RunRecord], truth]
end_enters_error: Callable[[RunRecord], truth]
has_two_errors: Callable[[RunRecord], truth]
stages: Callable[[RunRecord, real, real], None]  # t, h
error_ratios: Callable[[RunRecord, real], None]  # h
set_control: Callable[[RunRecord], None]
dense_terms: Callable[[RunRecord], None]
dense_state: Callable[[RunRecord, real], None]  # θ, the part of the step

# Of lanes alone: whether a step may lead too near to a place where rank is lost; see ensembles/engines.
rank_may_fall: Callable[[RunRecord, real, real], truth]  # the time after the step, and its length

# Of redundant coordinates, which runs in this process alone have; see solver/llvm/redundant.py.
begin: Callable[[RunRecord], None]
project: Callable[[RunRecord, real], None]  # t
straighten: Callable[[RunRecord, real], None]  # h
