"""The names of the small language in which the solver is written, for readers and type checkers.

The solver (record.py, steps.py, events.py, rows.py, …) is a subset of Python that translator.py reads.
Printers write it in each language, and machine_code.py compiles it for this process. This file only declares
the names and their types.
The subset:

    types        real, whole, truth; vectors over states, memory, outputs (reals) and over events
    statements   assignment (a local with its type where it first appears), if, while, for k in range(count)
                 or range(first, count) (the indices of `count` elements, all or from `first` on),
                 break, continue, return, a call; conditions on the features below are decided while printing
    vectors      v = a + h * b works element by element; single elements are v[k]
    functions    abs, min, max, floor, sqrt, power, isnan, differs (of two reals), agree (of two truth
                 values), is_finite, first_nonfinite; at (index of an element of a table) and below (whether
                 an index is among the first n): indices begin with 0 or 1, depending on the language
    the model    the result of a section of the program is assigned: run.k0 = derivatives(t, run.state)
    conditional  `a if c else b` is the whole right-hand side of an assignment

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
count = int  # a whole number that may exceed two thousand million
truth = bool
address = int  # of a vector or a function, in this process
States = np.ndarray
Memory = np.ndarray
Outputs = np.ndarray
Reals = np.ndarray  # one real per event; Wholes, Truths: likewise
Wholes = np.ndarray
Truths = np.ndarray
Pivots = np.ndarray  # one real per pivot of the mass matrix
Kinds = np.ndarray  # one real per kind of speeds
Motion = np.ndarray  # all coordinates, all speeds and the user's own states
Speeds = np.ndarray  # all speeds
Ratings = np.ndarray  # one real per configuration with the same locks
Locks = np.ndarray  # one truth value per speed that may be locked
# gaps, known parts b, elements of J and of N (q̇ = N u, J u + b = 0); see constraints/loop_closing.py
Geometry = np.ndarray
Jacobian = np.ndarray  # one real per row of constraints and speed, row after row
RowNumbers = np.ndarray  # one whole number per row of constraints
SpeedNumbers = np.ndarray  # one whole number per speed
Slopes = np.ndarray  # one real per stage and state, of a step across a singular configuration
# for a step across a singular configuration: one real per state and dense-output coefficient beyond a cubic
Nests = np.ndarray
OutputFlags = np.ndarray  # one truth value per output
# For loops that are closed at the start; see assembly.py.
Places = np.ndarray  # one real per coordinate
PlaceFlags = np.ndarray  # one truth value per coordinate
SpeedFlags = np.ndarray  # one truth value per speed
Figures = np.ndarray  # gaps, known parts b, elements of J and of N as in `Geometry`, and sizes of gaps
Rates = np.ndarray  # one real per coordinate and speed, coordinate after coordinate
RowReals = np.ndarray  # one real per row of constraints
# For roots; see numerics/language.py.
Equations = np.ndarray
Sides = np.ndarray
Steps = np.ndarray
StepNumbers = np.ndarray
StepFlags = np.ndarray
Square = np.ndarray
# For operating points and paths of mechanisms; see analysis/operating and analysis/kinematics.
Position = np.ndarray  # states and inputs, then a direction of the same length
Conditions = np.ndarray  # one real per condition
ConditionSlopes = np.ndarray  # one real per condition and state or input, condition after condition
Results = np.ndarray  # results of a function of the model
Path = np.ndarray  # positions, one after the other
Targets = np.ndarray  # for each row, a time and the targets
PathReals = np.ndarray  # one real per position
PathNumbers = np.ndarray  # one whole number per position
# For linearly implicit steps; see linearly_implicit.py.
Partials = np.ndarray  # a column of reals over the states for each state, and one for the time
StateNumbers = np.ndarray  # one whole number per state
# For redundant coordinates; see solver/llvm/layout.py.
SchemeWork = np.ndarray
SchemeAnswer = np.ndarray
SchemeGaps = np.ndarray
SchemeSettings = np.ndarray
Entries = np.ndarray  # one real per element of sparse equations, and one per state
Factors = np.ndarray  # one real per element, outside the diagonal, of the factors of sparse equations
Unknowns = np.ndarray  # one real per unknown of sparse equations
# For contacts; see mechanics/contact/language.py.
ContactRows = ContactReals = ContactTerms = ContactSquare = ContactSpeeds = np.ndarray

# Sizes, and the properties of events.
N_STATES = N_MEMORY = N_EVENTS = N_PIVOTS = N_KINDS = 0
N_CONFIGURATIONS = N_COORDINATES = N_SPEEDS = N_LOCKABLE = N_OWN_EVENTS = N_MEMBERS = 0
N_SETTINGS = N_OWN_MOTION = 0
N_ROWS = N_JACOBIAN = N_ELEMENTS = 0
N_STAGES = N_NESTS = N_LOOKS = N_OUTPUTS = 0
N_UNKNOWNS = N_ENTRIES = 0
# Sizes of the present configuration, which the reader (translator.py) replaces by expressions.
N_PRESENT_STATES = N_PRESENT_UNKNOWNS = N_PRESENT_ENTRIES = 0
N_GAPS = N_RATES = N_RATE_PLACES = N_UNITS = 0
# KIND: for each state in each configuration, the number of the kind of speeds to which it belongs, or NONE.
# PIVOT_OF: for each pivot, the number of its configuration.
KIND: Wholes = np.zeros(0, dtype=int)
PIVOT_OF: Wholes = np.zeros(0, dtype=int)
DIRECTION: Wholes = np.zeros(0, dtype=int)
ENDS_STATUS = -2  # in DIRECTION: the event ends a contact's status; its function is positive before the event
FINDS_LOWEST = 2  # in DIRECTION: no event; the function is the rate of a gap and locates its lowest value
STOPS: Truths = np.zeros(0, dtype=bool)
LANDS: Truths = np.zeros(0, dtype=bool)  # whether a step is taken again so that it ends at the event

# Features: which parts of the solver a program needs.
EVENTS = UPDATE = NORMALISE = ADAPTIVE = ALWAYS_DENSE = JUMPS = MASSES = LANDING_EVENTS = SCHEME = True
CONFIGURATIONS = RATED = RECLOSING = REDUNDANT = AGREEMENT = UNITS = CONTACTS = True
LOCKING_EVENTS = SETTINGS = ADJUSTING = CHOICES = True
PROCESS = True  # this process, not an exported program
STEPS_ONLY = True  # this process, with rows at the ends of steps only: values inside a step are not needed
PARTITIONED = True  # this process only: it can derive the configurations that the run chooses
# One choice of dependent speeds, with an event that shows whether it is good: if not, the run ends.
GUARDED = True
FURTHER_TERMS = True  # a method has dense output beyond the cubic polynomial; set by the methods
MULTISTEP = True  # a method needs the rates of the step before; set by the methods
IMPLICIT = True  # linearly implicit methods
DIFFERENTIATED = True  # the program has a section of its partial derivatives; else differences are taken
SPARSE = True  # the section of partial derivatives gives the elements of sparse equations
WATCHED = True  # stiffness is watched, to change between two methods; this process alone
DRIVEN = True  # inputs are read from data, whose slopes over time are found by differences only
PASSING = True  # runs pass configurations at which constraints lose rank
ARRIVING = True  # one evaluation gives rates and event functions at the end of a step; this process
BETWEEN_EVENTS = True  # run lanes: a run leaves its lane before a step in which something may happen
# The turn of the loop after a step searches the step for events, so that the code of the search stands in one
# place; not with MASSES.
LATE_SEARCH = True
KINKS = True  # states include sensitivities, whose rates jump where the motion has a kink
CHORDS = BOUNDED = COMPLETE = True  # of numerics/language.py
CLOCKED = True  # the caller has a clock, and a step across must not run ahead of it

# Configurations. ROLE: the effect of each event on the present configuration. LOCKED: which speeds are locked
# in the present configuration; LOCKED_IN: in all configurations, one after the other. LOCKS, UNLOCKS: speeds
# that the user's events lock and unlock, event after event. STRIKES: of each configuration, whether its locks
# close with an impulse. CHOICE_EVENT, RANK_EVENT: the numbers of each configuration's internal events for its
# choice of dependent speeds and for a loss of rank, or NONE.
ORDINARY, LOCKING, CHOOSES, WEAKENS, ELSEWHERE, ADJUSTS = range(6)
ROLE: Wholes = np.zeros(0, dtype=int)
RECLOSES: Truths = np.zeros(0, dtype=bool)  # whether the process closes loops after an event
LOCKED: Truths = np.zeros(0, dtype=bool)
LOCKED_IN: Truths = np.zeros(0, dtype=bool)
LOCKS: Truths = np.zeros(0, dtype=bool)
UNLOCKS: Truths = np.zeros(0, dtype=bool)
SETS: Truths = np.zeros(0, dtype=bool)  # speeds that the user's events set
MOVES: Truths = np.zeros(0, dtype=bool)  # speeds that they set to a value other than zero
# SETTING_…: tables of the speeds that events set and that may not be states before the event. They have the
# event, the number of the speed among all speeds, and whether the speed is no state in the present
# configuration. A motion ends with the values of these speeds. If events may set dependent speeds, a number
# for each speed of the system follows: 0 if the speed is kept while others are adjusted, else 1.
SETTING_EVENT: Wholes = np.zeros(0, dtype=int)
SETTING_SPEED: Wholes = np.zeros(0, dtype=int)
SETTING_ACTS: Truths = np.zeros(0, dtype=bool)
STRIKES: Truths = np.zeros(0, dtype=bool)
CHOICE_EVENT: Wholes = np.zeros(0, dtype=int)
RANK_EVENT: Wholes = np.zeros(0, dtype=int)
# GROUP_SIZE: the number of configurations of the table with the same locks, if several (-1 if no run has
# needed the table yet). MEMBER: their numbers in the order of ratings; NONE for one that is not available.
GROUP_SIZE: Wholes = np.zeros(0, dtype=int)
MEMBER: Wholes = np.zeros(0, dtype=int)
# ELEMENTS, FIRST_ELEMENT: the number of elements of each configuration's J, and the index of the first one in
# the configuration's `Geometry`. ROW_OF, SPEED_OF: the row and the speed of each element in the present
# configuration; SPEED_OF_ROW: the dependent speed of each row, or NONE. ROW_OF_STEP, SPEED_OF_STEP: rows and
# dependent speeds of all configurations, in the order of elimination. SPEED_KIND: for each speed, the first
# one with the same unit. STATE_SIZE: for each state of the present configuration, the amount that counts as
# one unit when states are compared.
ELEMENTS: Wholes = np.zeros(0, dtype=int)
FIRST_ELEMENT: Wholes = np.zeros(0, dtype=int)
ROW_OF: Wholes = np.zeros(0, dtype=int)
SPEED_OF: Wholes = np.zeros(0, dtype=int)
SPEED_OF_ROW: Wholes = np.zeros(0, dtype=int)
ROW_OF_STEP: Wholes = np.zeros(0, dtype=int)
SPEED_OF_STEP: Wholes = np.zeros(0, dtype=int)
SPEED_KIND: Wholes = np.zeros(0, dtype=int)
IS_MODAL: Truths = np.zeros(0, dtype=bool)  # of each speed, whether it belongs to a mode
STATE_SIZE: Reals = np.zeros(0)
TURNS_ROWS: Reals = np.zeros(0)  # of each state, 1 if rows of constraints change with it, else 0

# The step across a singular configuration. STAGE_TIME, STAGE_WEIGHT: times and weights of its stages; the
# last stages are those at the end of the step and for dense output. ERROR_WEIGHT, LOW_ERROR_WEIGHT,
# NEST_WEIGHT: its error estimates and dense output. LOOK: the fractions of the step at which rows and events
# are accurate. NEAR_PLACE: what an event does near the singularity.
STAGE_TIME: Reals = np.zeros(0)
STAGE_WEIGHT: Reals = np.zeros(0)
ERROR_WEIGHT: Reals = np.zeros(0)
LOW_ERROR_WEIGHT: Reals = np.zeros(0)
NEST_WEIGHT: Reals = np.zeros(0)
LOOK: Reals = np.zeros(0)
# The step from beside a singular configuration (solver/methods/gauss.py).
GAUSS_TIME: Reals = np.zeros(0)
GAUSS_WEIGHT: Reals = np.zeros(0)
GAUSS_END: Reals = np.zeros(0)
GAUSS_FIRST_RATE: Reals = np.zeros(0)
GAUSS_LAST_RATE: Reals = np.zeros(0)
GAUSS_NEST: Reals = np.zeros(0)
AT_END: Truths = np.zeros(0, dtype=bool)  # of each stage, whether it is the one at the end of the step
NEAR_PLACE: Wholes = np.zeros(0, dtype=int)
# FLIPS: an internal event that shows that the step has jumped over a singular configuration.
HAPPENS, PASSES, REFUSED, FLIPS = range(4)

# Closing of loops. ELEMENT_ROW, ELEMENT_SPEED: row and speed of each element of J. RATE_PLACE, RATE_SPEED:
# coordinate and speed of each element of N. UNIT_FROM: the index of the first of each four Euler parameters.
# DEPENDENT, HOLDING: speeds that may move when gaps are closed, in the first attempt and in later ones;
# DEPENDENT_SPEED, HOLDING_SPEED: the same when speeds are corrected. IS_KEPT: rows that are not redundant.
# KNOWN_OF: for each row, the index of its known part b among the `Figures`. AT_JACOBIAN, AT_RATES, AT_SIZES:
# the indices at which the elements of J, the elements of N and the sizes of gaps begin there.
ELEMENT_ROW: Wholes = np.zeros(0, dtype=int)
ELEMENT_SPEED: Wholes = np.zeros(0, dtype=int)
RATE_PLACE: Wholes = np.zeros(0, dtype=int)
RATE_SPEED: Wholes = np.zeros(0, dtype=int)
UNIT_FROM: Wholes = np.zeros(0, dtype=int)
DEPENDENT: Truths = np.zeros(0, dtype=bool)
HOLDING: Truths = np.zeros(0, dtype=bool)
SETS_PLACE: Truths = np.zeros(0, dtype=bool)  # coordinates that the user's events set
DEPENDENT_SPEED: Truths = np.zeros(0, dtype=bool)
HOLDING_SPEED: Truths = np.zeros(0, dtype=bool)
IS_KEPT: Truths = np.zeros(0, dtype=bool)
KNOWN_OF: Wholes = np.zeros(0, dtype=int)
AT_JACOBIAN = AT_RATES = AT_SIZES = 0

# Sparse equations; see SparseStructure in program/sparse_rates.py. EXTENT has the numbers of
# unknowns and of entries.
EXTENT: Wholes = np.zeros(0, dtype=int)
ROW_START: Wholes = np.zeros(0, dtype=int)
UPPER_START: Wholes = np.zeros(0, dtype=int)
COLUMN: Wholes = np.zeros(0, dtype=int)
ENTRY_START: Wholes = np.zeros(0, dtype=int)
ENTRY_COLUMN: Wholes = np.zeros(0, dtype=int)
STATE_OF: Wholes = np.zeros(0, dtype=int)
FORWARD: Wholes = np.zeros(0, dtype=int)

ROW_TIME: Reals = np.zeros(0)  # times of all rows of a run in this process

# Times at which data of inputs bend, in order (the last is infinity), and whether the data jump there. FIRST:
# the index of the first element of vectors and tables, 0 or 1.
JUMP_TIME: Reals = np.zeros(0)
JUMP_HARD: Truths = np.zeros(0, dtype=bool)
FIRST = 0

GUARD = 0  # number of events before the event for the choice of dependent speeds

INFINITY, NAN = np.inf, np.nan
EPSILON = 2.0**-52
NONE = -1  # stands for no event or state

# The status of a run, the phase of its loop, and the result of a turn of the loop.
RUNNING, FINISHED, EVENT, DIVERGED, TOO_SMALL, ACCUMULATES, TOO_MANY, SINGULAR, LACKING = range(9)
# Status of a call in this process. PAUSED: its steps are used up. FULL: there is no room for a row.
# OTHER_METHOD: the other method of `auto` must make the next step.
PAUSED, FULL, OTHER_METHOD = 6, 7, 9
LOGGED = 3  # most log entries of a turn beside events: a change of configuration, a step across (two)
READY, SETTLED, ARRIVED = range(3)
STEP, ROW, END, PAUSE = range(4)
# What a run in this process lacks for a change of configuration (changes.py), in the order of the names:
# nothing; the sections of its changes; a configuration with the locks after the events; one with the locks
# held through their impulse; the ratings of choices; a rated choice; a choice beyond those rated; any choice;
# closed loops; events that do not contradict each other.
LACKS_NOTHING, LACKS_SECTIONS, LACKS_LOCKS, LACKS_HELD_LOCKS, LACKS_RATINGS, LACKS_MEMBER = range(6)
LACKS_CHOICE, LACKS_RANK, LACKS_CLOSING, LACKS_AGREEMENT = range(6, 10)
# Results of closing loops and of adjusting speeds.
CLOSED, OPEN, NOT_REDUNDANT, CONTRADICTED = range(4)


# Functions of numbers. `agree`: whether both hold or neither; `at`: the index of element j of row i in a
# table with rows of n; `below`: whether i is among the first n.
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

# The sections of the program, at a time and a state; fire: memory and state after an event, by its number.
derivatives: Callable[[real, States], States]
outputs: Callable[[real, States, Memory], Outputs]
events: Callable[[real, States], Reals]
update: Callable[[real, States], Memory]
normalise: Callable[[real, States], States]
# The normalised state, its rates and event functions.
evaluate_end: Callable[[real, States], tuple[States, States, Reals]]
pivot_shares: Callable[[real, States], Pivots]
partial_rates: Callable[[real, States], Partials]
fire: Callable[[whole, real, States], tuple[Memory, States]]

# The sections of changes of configuration; see changes.py. A whole number is the number of a configuration.
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

# Functions that each language writes itself. `close_again`: closes the loops at the state but keeps the
# coordinates in `set_now`; the run ends if they cannot be closed. `install`: a configuration becomes the
# present one, with its sections and its number of states; the state stays.
report: Callable[[RunRecord, whole], None]  # reports an event to the user: counts, logs or marks it
report_change: Callable[[RunRecord], None]  # reports the present configuration to the user
report_time: Callable[[RunRecord], None]  # stores the time of a row at the end of a step, in this process
close_again: Callable[[RunRecord], None]
install: Callable[[RunRecord, whole], None]
report_passage: Callable[[RunRecord], None]  # reports a step across a singular configuration to the user

# Written from the tableaux of the exported methods; see methods/method_text.py.
adaptive: Callable[[RunRecord], truth]
end_enters_error: Callable[[RunRecord], truth]
has_two_errors: Callable[[RunRecord], truth]
stages: Callable[[RunRecord, real, real], None]  # t, h
error_ratios: Callable[[RunRecord, real], None]  # h
set_control: Callable[[RunRecord], None]
dense_terms: Callable[[RunRecord], None]
dense_state: Callable[[RunRecord, real], None]  # θ, the fraction of the step

# For run lanes: whether a step may lead too near to a loss of rank; see ensembles/engines.
rank_may_fall: Callable[[RunRecord, real, real], truth]  # the time after the step, and its length

# For redundant coordinates, which only runs in this process have; see solver/llvm/redundant.py.
begin: Callable[[RunRecord], None]
project: Callable[[RunRecord, real], None]  # t
straighten: Callable[[RunRecord, real], None]  # h
