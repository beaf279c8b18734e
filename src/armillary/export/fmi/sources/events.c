/* events.c: what happens between steps: events, periodic updates, the update of the memory.
 *
 *  An event remembers the sign that its function last had. It happens when the function has the other sign,
 *  or is zero, and the direction is wanted. One that has just happened has no sign: it takes the next that
 *  is seen, and so cannot happen at once again.
 */

#include <float.h>
#include <math.h>
#include <string.h>

#include "fmu.h"

/* Euler parameters and closed loops that are off by more are put right, at the cost of an event. */
#define DRIFT 1e-5
/* A function this much of its value at the start of the step is not at zero. */
#define CLEAR 1e-3

static double sign_of(double x) { return (double)((x > 0.0) - (x < 0.0)); }

int fmu_happens(const fmu *me, int k, double g)
{
    double before = me->now.sign[k], now = sign_of(g);
    return EVENTS[k].clock < 0 && g == g && now != before && before != 0.0 && EVENTS[k].direction * before <= 0.0;
}

/* A clock as close to a time as rounding can bring it has been reached; each tick adds a rounding. */
int fmu_clock_due(const fmu *me, int k, double time)
{
    int clock = EVENTS[k].clock;
    double near = fmin((64.0 + me->now.fired) * DBL_EPSILON * fabs(time), 1e-3 * EVENTS[k].period);
    return clock >= 0 && time >= me->now.memory[clock] - near;
}

/* The time of an event, for those that come faster and faster, as the bounces of a ball that comes to rest
 * do: 1 where the gap between two has become a billionth of the longest, or a hundred in a row are nothing but
 * rounding. No sequence of events leads on. */
static int piles_up(fmu_values *now, int k)
{
    double gap = now->time - now->last[k];
    int goes_on = gap < 2.0 * now->gap[k] && gap > 1e-3 * now->gap[k];
    now->streak[k] = goes_on ? now->streak[k] + 1.0 : 0.0;
    now->longest[k] = goes_on ? fmax(gap, now->longest[k]) : gap;
    now->last[k] = now->time;
    now->gap[k] = gap;
    now->stuck[k] = gap <= 64.0 * DBL_EPSILON * fabs(now->time) ? now->stuck[k] + 1.0 : 0.0;
    return (now->streak[k] >= 1.0 && gap <= 1e-9 * now->longest[k]) || now->stuck[k] > 100.0;
}

int fmu_accumulates(fmu *me, int k)
{
    me->now.mode = FAILED;
    return fmu_fail(me, "event '%s' accumulates at t = %g: its effects come faster and faster; end the run there, or "
                        "use a contact force", EVENTS[k].name, me->now.time);
}

static void event_functions(fmu *me, double *g)
{
    (void)me;
    (void)g;
#if N_EVENTS > 0
    model_events(me->now.time, me->now.state, me->now.constants, me->now.memory, g);
#endif
}

/* Signs from which the next step's changes are counted. */
void fmu_adopt_signs(fmu *me)
{
    double g[ROOM(N_EVENTS)];
    event_functions(me, g);
    for (int k = 0; k < N_EVENTS; k++) {
        me->now.sign[k] = sign_of(g[k]);
        me->now.reach[k] = fabs(g[k]);
    }
}

/* The events that happen now, in the order of their numbers; state and memory after them. */
int fmu_fire(fmu *me, const int *happening)
{
    fmu_values *now = &me->now;
    double g[ROOM(N_EVENTS)];
    for (int k = 0; k < N_EVENTS; k++) {
        double state[ROOM(N_STATES)], memory[ROOM(N_MEMORY)];
        if (!happening[k]) continue;
        if (EVENTS[k].guard) {
            now->mode = FAILED;
            return fmu_fail(me, "at t = %g the motion needs another choice of dependent speeds (%s), and this FMU "
                                "holds only one; run the model in Armillary, or start nearer to where it works",
                            now->time, EVENTS[k].name);
        }
#if N_EVENTS > 0
        model_fire(k, now->time, now->state, now->constants, now->memory, memory, state);
        memcpy(now->state, state, N_STATES * sizeof *state);
        memcpy(now->memory, memory, N_MEMORY * sizeof *memory);
#else
        (void)state;
        (void)memory;
#endif
        now->ended |= EVENTS[k].stop;
        now->fired += 1.0;
        if (EVENTS[k].clock < 0 && piles_up(now, k)) return fmu_accumulates(me, k);
    }
    event_functions(me, g);
    for (int k = 0; k < N_EVENTS; k++) {
        double after = sign_of(g[k]);
        /* Firing may have put the function clearly back to where it came from. */
        int back = after == now->sign[k] && fabs(g[k]) > CLEAR * now->reach[k];
        if (happening[k]) now->side[k] = now->sign[k];
        now->sign[k] = happening[k] && !back ? 0.0 : after;
        now->reach[k] = fabs(g[k]);
    }
    me->known = 0;
    return FMU_OK;
}

static double next_clock(const fmu *me)
{
    double next = HUGE_VAL;
    for (int k = 0; k < N_EVENTS; k++)
        if (EVENTS[k].clock >= 0 && me->now.memory[EVENTS[k].clock] < next) next = me->now.memory[EVENTS[k].clock];
    return next;
}

/* How far Euler parameters and closed loops are off; `state` is put right. */
static double drift(const fmu *me, double *state)
{
    double most = 0.0;
    memcpy(state, me->now.state, sizeof me->now.state);
#if HAS_NORMALISE
    model_normalise(me->now.time, state, me->now.constants, me->now.memory);
    for (int i = 0; i < N_STATES; i++) most = fmax(most, fabs(state[i] - me->now.state[i]));
#endif
    return most;
}

/* Model exchange: one event iteration. Nothing that it changes makes another necessary. */
int fmu_discrete(fmu *me, fmu_news *news)
{
    fmu_values *now = &me->now;
    double state[ROOM(N_STATES)], corrected[ROOM(N_STATES)], g[ROOM(N_EVENTS)];
    int happening[ROOM(N_EVENTS)] = {0}, any = 0;
    memcpy(state, now->state, sizeof state);
    fmu_constants(me);
    event_functions(me, g);
    for (int k = 0; k < N_EVENTS; k++) {
        happening[k] = !now->fresh && (fmu_clock_due(me, k, now->time) || fmu_happens(me, k, g[k]));
        any |= happening[k];
    }
    if (any && fmu_fire(me, happening) != FMU_OK) return FMU_ERROR;
#if HAS_UPDATE
    if (!now->ended && (now->fresh || now->completed)) {
        double memory[ROOM(N_MEMORY)];
        model_update(now->time, now->state, now->constants, now->memory, memory);
        memcpy(now->memory, memory, sizeof memory);
    }
#endif
    if (drift(me, corrected) > DRIFT) memcpy(now->state, corrected, sizeof corrected);
    if (!any) fmu_adopt_signs(me);
    now->fresh = now->completed = 0;
    me->known = 0;
    news->more = 0;
    news->ended = now->ended;
    news->moved = memcmp(state, now->state, N_STATES * sizeof *state) != 0;
    news->next = next_clock(me);
    news->scheduled = news->next < HUGE_VAL;
    return FMU_OK;
}

/* Model exchange: the end of a step of the importer's integrator. */
int fmu_completed(fmu *me, int *event, int *ended)
{
    double g[ROOM(N_EVENTS)], state[ROOM(N_STATES)];
    fmu_constants(me);
    event_functions(me, g);
    *event = HAS_UPDATE || drift(me, state) > DRIFT;
    for (int k = 0; k < N_EVENTS; k++) {
        if (fmu_happens(me, k, g[k]) || fmu_clock_due(me, k, me->now.time)) {
            *event = 1;
        } else if (g[k] == g[k]) {
            me->now.sign[k] = sign_of(g[k]);
            me->now.reach[k] = fabs(g[k]);
        }
    }
    *ended = me->now.ended;
    me->now.completed = 1;
    return FMU_OK;
}
