/* events.c: what happens between steps of the importer's integrator: events, periodic updates, the update of the memory.
 *
 *  An event keeps the sign that its function last had. It happens when the function has the other sign,
 *  or is zero, and the direction is wanted. One that has just happened has no sign: it takes the next that
 *  is seen, and so cannot happen at once again. Signs, and the times of events that come faster and faster, are
 *  those of the solver, <model>_solver.c.
 */

#include <float.h>
#include <math.h>
#include <string.h>

#include "fmu.h"

/* Larger errors of Euler parameters and closed loops are corrected, at the cost of an event. */
#define DRIFT 1e-5

int fmu_accumulates(fmu *me, int k)
{
    me->now.mode = FAILED;
    return fmu_fail(me, "event '%s' accumulates at t = %g: its effects come faster and faster; end the run there, or "
                        "use a contact force", EVENTS[k].name, me->now.run.t);
}

/* An event that ends the run, or of the choice of dependent speeds. */
int fmu_stopped(fmu *me, int k)
{
#if HAS_PASSAGES
    if (me->now.run.refused >= 0) {
        me->now.mode = FAILED;
        if (EVENTS[k].guard)
            return fmu_fail(me, "constraints lose rank near t = %g and the motion could not be carried across",
                            me->now.run.t);
        return fmu_fail(me, "event '%s' happens at t = %g, where constraints lose rank: it cannot change the motion there",
                        EVENTS[k].name, me->now.run.t);
    }
#endif
    if (EVENTS[k].guard) {
        me->now.mode = FAILED;
        return fmu_fail(me, "at t = %g the motion needs another choice of dependent speeds (%s), which this FMU does "
                            "not hold, or constraints lose rank; run the model in Armillary, or export it with "
                            "configurations=True", me->now.run.t, EVENTS[k].name);
    }
    me->now.ended = 1;
    return FMU_OK;
}

#if N_GAPS > 0
int fmu_opened(fmu *me)
{
    const model_run *run = &me->now.run;
    char text[4000];
    me->now.mode = FAILED;
    model_open_loops(run->open, run->given, run->open_by, text, sizeof text);
    return fmu_fail(me, "%s", text);
}
#endif

#if N_EVENTS > 0
static int sign_of(double x) { return (x > 0.0) - (x < 0.0); }

/* A clock as close to a time as rounding can bring it has been reached; each tick adds a rounding. */
static int clock_due(const fmu *me, int k)
{
    const model_run *run = &me->now.run;
    int clock = EVENTS[k].clock;
    double near = fmin((64.0 + (double)run->firings) * DBL_EPSILON * fabs(run->t), 1e-3 * EVENTS[k].period);
    return clock >= 0 && run->t >= run->memory[clock] - near;
}

static int happens(const fmu *me, int k, double g)
{
    int before = me->now.run.sign[k];
    if (EVENTS[k].clock >= 0) return clock_due(me, k);
    if (EVENTS[k].direction < -1) return g < 0.0; /* the end of a contact's status: positive as long as it holds */
    return g == g && sign_of(g) != before && before != 0 && EVENTS[k].direction * before <= 0;
}
#endif

void fmu_adopt_signs(fmu *me)
{
    (void)me;
#if N_EVENTS > 0
    model_adopt_signs(&me->now.run);
#endif
}

int fmu_happening(fmu *me, int *happening)
{
    int any = 0;
    (void)happening;
    fmu_constants(me);
#if N_EVENTS > 0
    double g[N_EVENTS];
    const model_run *run = &me->now.run;
    fmu_event_functions(me, g);
    for (int k = 0; k < N_EVENTS; k++) {
        happening[k] = me->cosimulation ? run->pending && run->crossed[k] > 0
                                        : !me->now.fresh && me->now.mode == EVENT && happens(me, k, g[k]);
        any |= happening[k];
    }
#endif
    return any;
}

static double next_clock(const fmu *me)
{
    double next = HUGE_VAL;
    for (int k = 0; k < N_EVENTS; k++)
        if (EVENTS[k].clock >= 0) next = fmin(next, me->now.run.memory[EVENTS[k].clock]);
    return next;
}

/* The time is the importer's again, and data that jump there have done so. */
double fmu_next_jump(fmu *me)
{
#if HAS_JUMPS
    fmu_values *now = &me->now;
    double next;
    now->run.t = now->time;
    next = model_next_jump(&now->run, &now->after, &now->before);
    now->run.t = fmax(now->run.t, now->after);
    return next;
#else
    (void)me;
    return HUGE_VAL;
#endif
}

/* The error of Euler parameters and closed loops, which is corrected in `state`. */
static double drift(const fmu *me, double *state)
{
    const model_run *run = &me->now.run;
    double most = 0.0;
    if (fmu_crossing(me)) return most;
    memcpy(state, run->state, N_PACKED * sizeof *state);
#if HAS_NORMALISE
    model_normalise(run->t, state, run->constants, run->memory);
    for (int i = 0; i < USED; i++) most = fmax(most, fabs(state[i] - run->state[i]));
#endif
    return most;
}

/* The events that happen now; state and memory after them. */
static int fire(fmu *me, const int *happening)
{
    (void)me, (void)happening;
#if N_EVENTS > 0
    model_run *run = &me->now.run;
    run->status = MODEL(RUNNING);
    if (!me->cosimulation) { /* the solver has done so when it found them */
        for (int k = 0; k < N_EVENTS; k++) {
            run->crossed[k] = happening[k];
            if (happening[k]) run->side[k] = run->sign[k];
        }
        model_record(run);
        if (run->status == MODEL(ACCUMULATES)) return fmu_accumulates(me, run->failed);
#if HAS_PASSAGES
        if (fmu_crossing(me)) model_judge(run);
        if (run->status == MODEL(EVENT)) return fmu_stopped(me, run->failed);
#endif
    }
    model_happen(run);
    if (run->status == MODEL(EVENT)) return fmu_stopped(me, run->failed);
#if N_GAPS > 0
    if (run->status == MODEL(OPEN)) return fmu_opened(me);
#endif
#endif
    return FMU_OK;
}

#if HAS_PASSAGES
/* The end of a step across a singular configuration. Internal events did not happen in it. */
static void land(fmu *me)
{
    model_run *run = &me->now.run;
    double g[N_EVENTS];
    model_land(run);
    fmu_event_functions(me, g);
    for (int k = 0; k < N_EVENTS; k++)
        if (EVENTS[k].guard) run->sign[k] = sign_of(g[k]);
}
#endif

/* One event iteration. Nothing that it changes makes another necessary. */
int fmu_discrete(fmu *me, fmu_news *news)
{
    fmu_values *now = &me->now;
    model_run *run = &now->run;
    double state[ROOM(N_STATES)], corrected[ROOM(N_PACKED)];
    int happening[ROOM(N_EVENTS)] = {0}, any;
    double jump = HUGE_VAL, look = HUGE_VAL;
    memcpy(state, fmu_states(me), N_STATES * sizeof *state);
#if HAS_PASSAGES
    if (fmu_crossing(me) && run->t >= run->arrival) land(me);
#endif
    any = fmu_happening(me, happening);
    if (!me->cosimulation) jump = fmu_next_jump(me); /* after events that data before it make happen */
    if (any && fire(me, happening) != FMU_OK) return FMU_ERROR;
    if (!me->cosimulation) {
#if HAS_UPDATE
        if (!now->ended && (now->fresh || now->completed) && !fmu_crossing(me)) {
            double memory[ROOM(N_MEMORY)];
            model_update(run->t, run->state, run->constants, run->memory, memory);
            memcpy(run->memory, memory, N_MEMORY * sizeof *memory);
        }
#endif
        if (drift(me, corrected) > DRIFT) memcpy(run->state, corrected, N_PACKED * sizeof *corrected);
        fmu_adopt_signs(me);
#if HAS_PASSAGES
        if (!now->ended) {
            look = fmu_crossing(me) ? run->arrival : model_watch(run);
            if (run->status == MODEL(EVENT)) return fmu_stopped(me, run->failed);
        }
#endif
    }
    now->fresh = now->completed = 0;
    me->known = 0;
    news->more = 0;
    news->ended = now->ended;
    news->moved = memcmp(state, fmu_states(me), N_STATES * sizeof *state) != 0;
    news->next = fmin(fmin(next_clock(me), jump), look);
    news->scheduled = news->next < HUGE_VAL;
    return FMU_OK;
}

/* Model exchange: the end of a step of the importer's integrator. */
int fmu_completed(fmu *me, int *event, int *ended)
{
    double state[ROOM(N_PACKED)];
    fmu_constants(me);
    *event = HAS_UPDATE || drift(me, state) > DRIFT;
#if N_EVENTS > 0
    model_run *run = &me->now.run;
    double g[N_EVENTS];
    fmu_event_functions(me, g);
    for (int k = 0; k < N_EVENTS; k++) {
        if (happens(me, k, g[k])) {
            *event = 1;
        } else if (g[k] == g[k]) {
            run->sign[k] = sign_of(g[k]);
            run->g_start[k] = g[k];
        }
    }
#endif
    *ended = me->now.ended;
    me->now.completed = 1;
    return FMU_OK;
}
