"""The record of a run: the one declaration of its fields. Exported programs print it as a structure, a
derived type or a class; for runs in this process, solver/llvm/layout.py assigns each field an offset in the
block of scalars or in the workspace.

A field has a type of the small language (language.py), a comment, and the features for which it exists. The
vectors of a method's stages (k1, …) and of its dense output (nest3, …) are added by
solver/methods/method_text.py.
"""

from __future__ import annotations

from armillary.numerics.elimination import LinearEquations
from armillary.solver.language.language import *


class RunRecord(LinearEquations):
    t0: real
    t_end: real
    step: real  # step size of a fixed-step method
    if not PROCESS:
        sample: real  # seconds between rows
    every_step: truth  # a row at the end of every step, without sample
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
        max_steps: count  # limit of steps, rejected ones too
        rows: count  # rows given so far
        row_time: real  # time of the last row
        row: Outputs
    phase: whole
    index: count  # number of the grid point last reached
    at_grid: truth  # false after an event has split a step
    restart: truth  # the derivative kept for the next step is not valid
    due: real  # time of the next row
    near: real  # rows closer to an event than this time show the state after it
    # The whole step just taken, even if an event cuts it short: both ends and their derivatives.
    t_old: real
    h_taken: real
    if not STEPS_ONLY:
        base: States  # the state at the start of the step just taken
        finish: States  # the state at the end of the step just taken
    k0: States
    if IMPLICIT or not STEPS_ONLY:
        k_end: States
    if MULTISTEP:
        k_before: States  # rates at the start of the step before
        h_before: real  # length of the step before; 0: k_before is not valid
    stage: States
    trial: States
    if not STEPS_ONLY:
        point: States  # the last state computed inside the step
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
        tolerated: States  # tolerated error of each state
        ratio: States  # the error estimate
        ratio_low: States  # the second error estimate of dop853
        rejected: count
        choose_step: truth
        after_rejection: truth
        if PROCESS and EVENTS:
            moving_step: real  # longest step while states change
            resting_step: real  # longest step while none does; 0: the same
        if KINKS:
            own: whole  # number of states of the motion; their sensitivities follow
            forced: whole  # consecutive steps of the shortest length
        # Step-size control of the method.
        if not PROCESS:
            order: real
            exponent: real
            beta: real
            safety: real
            least: real
            most: real
    if WATCHED:
        stiff_steps: real  # recent steps that stability limits
        calm_steps: real  # consecutive steps that stability does not limit
        patience: real  # calm steps after which an explicit method takes over again
        changeover: truth  # another method must take over before the next step
        k11: States  # the rates at the last stage of dop853
        fast: States  # a direction in which rates change fast
        image: States  # product of df/dy and `fast`
    if IMPLICIT:
        time_rate: States  # partial derivatives of the rates by the time
        right_side: States  # right side of the equations; after their solution, the solution
        shift: real  # h times the method's gamma
        unknowns: whole  # number of states that dense equations solve for
        followers: whole  # number of the other states
        if SPARSE:
            entries: Entries  # partial derivatives of rates and of the intermediate values in them
            factors: Factors  # the equations of a step's stages, factorised
            pivots: Unknowns  # reciprocals of the pivots of these equations
            solution: Unknowns  # a row in elimination, then the solution
        if not SPARSE:
            partials: Partials  # partial derivatives of the rates: a column for each state, then for the time
            system: Partials  # the equations of a step's stages, factorised
            coupling: Partials  # derivatives of the unknowns' rates by the followers
            solved: States  # right side of the equations of the unknowns, then their solution
            leader: StateNumbers  # the state of which a follower's rate is a multiple; NONE for an unknown
            unknown: StateNumbers  # the states that are solved for, in order
            follower: StateNumbers  # the other states, in order
            column: StateNumbers  # index of a state among the unknowns
            exchange: StateNumbers  # rows exchanged by pivoting
    if JUMPS:
        jump: whole  # number of the next time at which data jump or bend
        stop: real  # the next time at which a step must end; infinity: none
    if MASSES:
        shares: Pivots  # each pivot of the mass matrix, divided by the inertias in it
        usual: Pivots  # shares at the start
        fastest: Kinds  # largest speed of each kind
        peak: Kinds  # largest value of `fastest` so far
        way: States  # the state from which a forecast of the pivots starts
        weak: whole  # the pivot whose share has fallen to the smallest part of its value at the start
        weak_time: real
    if UPDATE or EVENTS:
        new_memory: Memory
    if CONFIGURATIONS:
        configuration: whole
    if PROCESS or CONFIGURATIONS:
        used: whole  # number of states of the present configuration
    if CONFIGURATIONS:
        changing: truth  # an event that happens now requires another configuration
        motion: Motion
        if ADJUSTING:
            adjusting: truth  # an event of this instant sets a dependent speed
        speeds: Speeds
        if SETTINGS:
            set_to: Speeds  # values that events set, found before the events act
        after: Locks  # speeds that are locked after the events of an instant
        held: Locks  # speeds that are locked while the impulse acts
        closing: Locks  # speeds that events of this instant lock
        opening: Locks  # speeds that events of this instant unlock
        setting: Locks  # speeds that events of this instant set
        rating: Ratings
        look: real  # time of the next check of weak constraints
    if PARTITIONED or PASSING:
        geometry: Geometry
        jacobian: Jacobian
        left: Jacobian  # working copy of the Jacobian
        size: Speeds  # the largest element of J for each kind of speeds
    if PARTITIONED:
        lack: whole  # kind of table entry that the process must add before a change
        lack_in: whole  # a configuration whose locks this entry is for
        lack_member: whole  # index of the missing choice of dependent speeds for these locks
        complete: truth  # the tables have sections of changes
        closed_now: truth  # the process has closed the loops after events of this instant
        closed: Motion  # the motion with closed loops
        pairs: whole  # number of rows that have a dependent speed
        pair_row: RowNumbers  # in the order of elimination
        pair_speed: RowNumbers
        row_taken: RowNumbers
        preferred: RowNumbers  # the present dependent speed of each row
        speed_taken: SpeedNumbers
        allowed: SpeedNumbers
    if PASSING:
        right: RowReals  # right sides, rotated with the rows of `left`; elsewhere 1 marks chosen rows
        length: RowReals  # Euclidean lengths of rows of J
        across: real  # length of the next step, if it leads across a singular configuration; else 0
        singular: real  # the time of that configuration
        share: real  # length of a step across, over the usual length
        passing: truth  # the step just taken led across the singular configuration
        continues: truth  # the rest of this step is kept, since an event or the end of the run has cut it
        searched: real  # time into this step up to which events are known
        arrival: real  # time at which this step ends
        refused: whole  # the event that cannot happen at the singular configuration, or NONE
        # An interval to pass in short steps, since a longer step jumped over a singular configuration in it.
        short_begin: real
        short_end: real
        short_step: real
        resolved: real  # the longest step that resolves the motion where constraints are weak
        met_singularity: truth  # a step has passed or jumped over a singularity; forecasts now limit steps
        sign_old: Wholes  # signs before the step just taken was searched
        slopes: Slopes  # rates at the stages of the step across
        nests: Nests  # coefficients of dense output beyond the cubic ones, in reverse order
        shown: Outputs  # a row near the singular configuration
        between: truth  # `shown` is the row at the end of the run
        seen: Outputs  # one of the rows around `shown`
        first_seen: Outputs  # the first of these rows
        alike: OutputFlags  # columns with the same value in all these rows
    if BETWEEN_EVENTS:
        released: truth  # the run left its lane: the next step is made alone
    if LATE_SEARCH:
        unsearched: truth  # the step just taken has still to be searched for events
    if CLOCKED:
        waiting: truth  # the end of a step across is kept until the clock has come there
        reached: real  # time at the end of that step
        kept: States  # the state at that time
        ending: whole  # the status at that time
    if RECLOSING:
        set_now: PlaceFlags  # coordinates that events of this instant set
    if EVENTS:
        firings: count  # events so far
        pending: truth  # events found in the last step, to happen now
        early_margin: real  # after an event taken slightly early: seconds until its function has crossed zero
        shortest: real  # shortest time between the last firings
        g: Reals  # the event functions
        g_start: Reals  # the event functions at the start of the step
        if ARRIVING:
            g_known: truth  # `g` has the functions at the end of the step just taken
        low: Reals  # time into the step before which the event did not happen
        sign: Wholes  # the last sign of each event function; 0: none yet
        side: Wholes  # the sign before the last firing
        crossed: Wholes  # 1: happens in this step, 2: a little after it
        # For events that accumulate; see events.py.
        last: Reals
        gap: Reals
        longest: Reals
        streak: Wholes
        stuck: Wholes
        returning: Truths
    if PROCESS and EVENTS:
        direction: Reals  # direction of each event's sign change, unless the configuration has another one
        terminal: Reals  # 1: the run ends at the event, 2: LANDING
        log: address  # of the log of times and numbers of events and changes
        log_capacity: count
    if PROCESS and JUMPS:
        stops: address  # of the times at which inputs jump
    if SCHEME:
        work: SchemeWork  # see llvm/layout.py
        answer: SchemeAnswer
        gaps: SchemeGaps
        settings: SchemeSettings  # epsilon, and the softness with which exact constraints are solved
    if PROCESS and SPARSE:
        n_unknowns: whole  # see linearly_implicit.py
        n_entries: whole
        n_factors: whole
        structure: address  # of the tables of sparse equations
    if PROCESS and CONFIGURATIONS:
        configurations: whole  # number of configurations in the tables
        by_state: truth  # each state has a tolerance of its own
        tolerances: address  # of the tolerances, by configuration
        sections: address  # of the table of sections of each configuration
        figures: address  # of the table of numbers of each configuration
    if PROCESS:
        budget: count  # steps that this call may still try
        evaluations: count
        fours: whole  # number of groups of four states; places beyond the last state hold zeros
        n_memory: whole
        n_events: whole
        n_outputs: whole
        filled: count  # rows so far
        capacity: count  # rows that there is room for
        times: address  # of the times of rows
        samples: address  # of the rows
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
        evaluate_end: address
