/* stepper.c: co-simulation. The solver of <model>_solver.c, from one communication point to the next: steps of fixed
 * length are all equal and none is longer than STEP. Between steps the importer may be called for inputs, and
 * where an event is found it may want to handle it itself.
 */

#include <math.h>
#include <string.h>

#include "fmu.h"

/* Why a run cannot go on, or that an event has ended it. */
static int outcome(fmu *me)
{
    model_run *run = &me->now.run;
    switch (run->status) {
    case MODEL(RUNNING):
    case MODEL(FINISHED): return FMU_OK;
#if N_EVENTS > 0
    case MODEL(EVENT): return fmu_stopped(me, run->failed);
    case MODEL(ACCUMULATES): return fmu_accumulates(me, run->failed);
#endif
    case MODEL(TOO_SMALL):
        me->now.mode = FAILED;
        return fmu_fail(me, "no step is small enough for the tolerance at t = %g, by '%s'", run->t,
                        STATE_NAMES[PLACE(run->failed)]);
#if N_GAPS > 0
    case MODEL(OPEN): return fmu_opened(me);
#endif
#if HAS_MASSES
    case MODEL(SINGULAR):
        me->now.mode = FAILED;
        return fmu_fail(me, "near t = %g s %s", run->weak_time, model_weak_mass(run));
#endif
    default:
        me->now.mode = FAILED;
        return fmu_fail(me, "the motion diverges after t = %g, in '%s'; a smaller step may help", run->t,
                        STATE_NAMES[PLACE(run->failed)]);
    }
}

/* Inputs at their present values, which go on along their derivatives. */
static void take_inputs(model_run *run)
{
    int changed = 0;
    run->since = run->t;
    run->moving = 0;
    for (int i = 0; i < N_MEMORY; i++) {
        changed |= INPUTS[i] && run->inputs[i] != run->memory[i];
        run->inputs[i] = run->memory[i];
        run->moving |= run->input_slopes[i] != 0.0 || run->input_bends[i] != 0.0;
    }
#if HAS_PASSAGES
    run->waiting |= changed || run->moving;
    if (run->waiting) model_change_inputs(run);
#else
    (void)changed;
#endif
}

static void forget_slopes(model_run *run)
{
    run->moving = 0;
    for (int i = 0; i < N_MEMORY; i++) run->input_slopes[i] = run->input_bends[i] = 0.0;
}

/* The end of an inner step: the importer may read and set variables, and ask for an earlier end. */
static void inform(fmu *me)
{
    model_run *run = &me->now.run;
    double until = run->t_end;
    if (!me->between) return;
    me->now.mode = INTERMEDIATE;
    me->known = me->fed = 0;
    if (me->between(me, &until) && until >= run->t && until < run->t_end) model_end_at(run, until);
    me->now.mode = STEPPING;
    if (me->fed) {
        take_inputs(run);
        model_renew(run);
    }
}

int fmu_advance(fmu *me, double from, double length)
{
    fmu_values *now = &me->now;
    model_run *run = &now->run;
    double steps, end = from + length;
    if (!(length >= 0.0) || !isfinite(end)) return fmu_fail(me, "the step of %g s is not possible", length);
    if (fabs(from - run->t) > 1e-9 * fmax(fabs(from), fmax(length, 1e-9)))
        return fmu_fail(me, "a step from t = %.15g is requested, but the FMU is at t = %.15g", from, run->t);
    if (length == 0.0 || end <= run->t) return FMU_OK;
    steps = fmax(1.0, ceil(length / STEP - 1e-6));
    if (!ADAPTIVE && steps > 1e9)
        return fmu_fail(me, "the step of %g s holds more than 1e9 steps of %g s", length, STEP);
    if (!ADAPTIVE) run->step = length / steps;
    fmu_constants(me);
    now->fresh = 0;
    me->known = 0;
    take_inputs(run);
    model_continue(run, end);
    while (run->status == MODEL(RUNNING) && (run->t < run->t_end || model_arrives(run))) {
        model_move(run);
#if N_EVENTS > 0
        if (run->pending && me->early && me->events) break;
        if (run->pending && me->events && run->t >= end) break;
#endif
        model_arrive(run);
        if (model_arrives(run)) continue; /* a step across a singular configuration goes on after an event */
        if (run->status == MODEL(RUNNING) || run->status == MODEL(FINISHED)) inform(me);
    }
    for (int i = 0; i < N_MEMORY; i++) now->last_slopes[i] = run->input_slopes[i] + (run->t - run->since) * run->input_bends[i];
    forget_slopes(run);
    me->known = 0;
    return outcome(me);
}
