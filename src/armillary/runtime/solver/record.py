"""Everything that a run keeps: the one declaration from which a structure, a derived type or a class of an
exported program is printed, and from which this process has its block of scalars and its workspace
(runtime/loop/layout.py).

A field has a type of the small language (language.py), a comment, and the features under which it is there.
The vectors of a method's stages (k1, …) and of its dense output (nest3, …) are added by tableau.py.
"""

from __future__ import annotations

from armillary.numerics.elimination import LinearEquations
from armillary.runtime.language.language import *


class RunRecord(LinearEquations):
    t0: real
    t_end: real
    step: real  # of a fixed-step method
    if not PROCESS:
        sample: real  # seconds between rows
    every_step: truth  # a row at the end of every step instead
    if not PROCESS:
        method: whole
        dense: truth  # values inside a step are needed
    t: real
    state: States
    memory: Memory
    status: whole
    failed: whole  # the event or state to blame
    steps: count
    if not PROCESS:
        max_steps: count  # after so many, rejected ones too, the run ends
        rows: count  # rows given so far
        row_time: real  # the row found last
        row: Outputs
    phase: whole
    index: count  # number of the grid point last reached
    at_grid: truth  # false where an event has split a step
    restart: truth  # the derivative kept for the next step is not valid
    due: real  # time of the next row
    near: real  # rows this close to the time of an event show the state after it
    # The step just taken, whole even where an event cuts it short: both ends and their derivatives.
    t_old: real
    h_taken: real
    if not STEPS_ONLY:
        base: States
        finish: States
    k0: States
    if IMPLICIT or not STEPS_ONLY:
        k_end: States
    if MULTISTEP:
        k_before: States  # rates at the start of the step before
        h_before: real  # its length; 0: they are not valid
    stage: States
    trial: States
    if not STEPS_ONLY:
        point: States  # the state inside the step that was computed last
    prepared: truth
    if not STEPS_ONLY:
        nest0: States
        nest1: States
        nest2: States
    if ADAPTIVE:
        h: real  # the step to try next
        max_step: real
        rtol: real
        atol: real
        error_old: real
        tolerated: States  # the error of each state that is tolerated
        ratio: States  # the error estimate
        ratio_low: States  # of methods with two error estimates
        rejected: count
        choose_step: truth
        after_rejection: truth
        if KINKS:
            own: whole  # states of the motion, before its derivatives
            forced: whole  # shortest steps that were taken one after the other
        # Step-size control of the method.
        if not PROCESS:
            order: real
            exponent: real
            beta: real
            safety: real
            least: real
            most: real
    if WATCHED:
        stiff_steps: real  # steps that stability limits, of the last ones
        calm_steps: real  # and steps in a row that it does not
        patience: real  # calm steps after which an explicit method takes over again
        changeover: truth  # another method is to take over before the next step
        k11: States  # the rates at the last stage of dop853
        fast: States  # a direction in which rates change fast
        image: States  # its product with df/dy
    if IMPLICIT:
        time_rate: States  # of the rates by the time
        right_side: States  # right side of the equations, then their solution
        shift: real  # h times the method's gamma
        unknowns: whole  # states that dense equations solve for, and the others
        followers: whole
        if SPARSE:
            entries: Entries  # partial derivatives of rates and of the values that they follow from
            factors: Factors  # the equations of a step's stages, factorised
            pivots: Unknowns  # reciprocals of their diagonal
            solution: Unknowns  # a row that is worked on, then the solution
        if not SPARSE:
            partials: Partials  # of the rates by each state, column after column, then by the time
            system: Partials  # the equations of a step's stages, factorised
            coupling: Partials  # of the unknowns' rates by the followers
            solved: States  # right side of the unknowns alone, then the solution
            leader: StateNumbers  # the state that the rate of a follower is a multiple of; NONE: an unknown
            unknown: StateNumbers  # the states that are solved for, in order
            follower: StateNumbers  # and the others
            column: StateNumbers  # of an unknown its number among them
            exchange: StateNumbers  # rows that were taken as pivots
    if JUMPS:
        jump: whole  # number of the next time at which data bend
        stop: real  # the next at which a step ends; infinity: none
    if MASSES:
        shares: Pivots  # of the mass matrix, of the inertias that they are made of
        usual: Pivots  # the same at the start
        fastest: Kinds  # of the speeds of each kind
        peak: Kinds  # of them, so far
        way: States  # where a look ahead begins
        weak: whole  # the pivot that falls deepest
        weak_time: real
    if UPDATE or EVENTS:
        new_memory: Memory
    if CONFIGURATIONS:
        configuration: whole
    if PROCESS or CONFIGURATIONS:
        used: whole  # states of the present configuration
    if CONFIGURATIONS:
        changing: truth  # an event that happens now requires another configuration
        motion: Motion
        if ADJUSTING:
            adjusting: truth  # an event of this instant sets a dependent speed
        speeds: Speeds
        if SETTINGS:
            set_to: Speeds  # to which events of this instant set them, as known before these
        after: Locks  # speeds that are locked after the events of an instant
        held: Locks  # and while their impulse acts
        closing: Locks
        opening: Locks
        setting: Locks  # speeds that events of this instant set
        rating: Ratings
        look: real  # when weak constraints are looked at again
    if PARTITIONED or PASSING:
        geometry: Geometry
        jacobian: Jacobian
        left: Jacobian  # of it, in an elimination
        size: Speeds  # the largest element of each kind of speeds
    if PARTITIONED:
        lack: whole  # what the process has to add before a change
        lack_in: whole  # the configuration with the locks in question
        lack_member: whole  # and of its choices the one in question
        complete: truth  # the tables have sections of changes
        closed_now: truth  # the process has closed the loops after events of this instant
        closed: Motion  # to this motion
        pairs: whole  # rows that have a dependent speed
        pair_row: RowNumbers  # in the order of elimination
        pair_speed: RowNumbers
        row_taken: RowNumbers
        preferred: RowNumbers  # speeds that rows have now
        speed_taken: SpeedNumbers
        allowed: SpeedNumbers
    if PASSING:
        right: RowReals  # of rows that are turned; not used
        length: RowReals  # of rows
        across: real  # the length of a step across a place where rank is lost, if that comes next
        singular: real  # the time of that place
        share: real  # of the usual step across
        passing: truth  # the step just taken led across
        continues: truth  # and goes on after an event in it, or after the end of the run has been moved
        searched: real  # so far into it events are known
        arrival: real  # when it ends
        refused: whole  # an event that cannot happen in the place, or NONE
        # A stretch of time to be passed in short steps: a longer one jumped over a place in it.
        short_begin: real
        short_end: real
        short_step: real
        resolved: real  # the longest step that resolves the motion where constraints are weak
        wary: truth  # a place was passed or jumped over: steps are no longer than a forecast is believed
        sign_old: Wholes  # before the step just taken was searched
        slopes: Slopes  # rates at its stages
        nests: Nests  # of its dense output, those beyond the cubic polynomial, the last one first
        shown: Outputs  # a row near the place
        between: truth  # it is the row at the end of the run
        seen: Outputs  # one of those around it
        first_seen: Outputs
        alike: OutputFlags  # columns that are the same in all of them
    if BETWEEN_EVENTS:
        released: truth  # from its lane: the next step is not for lanes
    if LATE_SEARCH:
        unsearched: truth  # the step just taken has still to be searched for events
    if CLOCKED:
        waiting: truth  # the step across is ahead of the clock
        reached: real  # the time that it has come to
        kept: States  # the state there
        ending: whole  # and how the run stands
    if RECLOSING:
        set_now: PlaceFlags  # coordinates that events of this instant set
    if EVENTS:
        firings: count  # events so far
        pending: truth  # events found in the last step, to happen now
        blind: real  # so long after an event taken early its function may still not have crossed
        shortest: real  # of the gaps between the last firings
        g: Reals  # the event functions
        g_start: Reals  # at the start of the step
        low: Reals  # how far into the step the event had certainly not happened
        sign: Wholes  # the sign last seen, 0: none yet
        side: Wholes  # the sign before the last firing
        crossed: Wholes  # 1: happens in this step, 2: a little after it
        # For events that come faster and faster without end.
        last: Reals
        gap: Reals
        longest: Reals
        streak: Wholes
        stuck: Wholes
        returning: Truths
    if PROCESS and EVENTS:
        direction: Reals  # in which a function changes its sign, unless a configuration has its own
        terminal: Reals  # 1: the run ends at the event, 2: LANDING
        log: address  # of times and numbers of events and changes
        log_capacity: count
    if PROCESS and JUMPS:
        stops: address  # of the times at which inputs jump
    if SCHEME:
        work: SchemeWork  # see loop/layout.py
        answer: SchemeAnswer
        gaps: SchemeGaps
        settings: SchemeSettings  # its epsilon, and the softness of exact constraints
    if PROCESS and SPARSE:
        n_unknowns: whole  # see linearly_implicit.py
        n_entries: whole
        n_factors: whole
        structure: address  # of their tables
    if PROCESS and CONFIGURATIONS:
        configurations: whole  # of the tables
        by_state: truth  # each state has a tolerance of its own
        tolerances: address  # of these, by configuration
        sections: address  # of the tables of sections, and of numbers
        figures: address
    if PROCESS:
        budget: count  # steps that this call may still try
        evaluations: count
        fours: whole  # of states: they are taken by two pairs, and those beyond the last are zero
        n_memory: whole
        n_events: whole
        n_outputs: whole
        filled: count  # rows so far
        capacity: count  # rows that there is room for
        times: address  # of the times of rows, and of the rows
        samples: address
        constants: address
        # The generated functions.
        derivatives: address
        outputs: address
        events: address
        update: address
        fire: address
        normalise: address
        solve: address
        residuals: address
        partial_rates: address
