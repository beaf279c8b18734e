/* stepper.c: co-simulation. A communication step is cut into equal steps, none longer than STEP, of the
 * classical Runge-Kutta method; inputs stay as they are. Events are located on the cubic through the values
 * and rates at both ends of a step, which is cut there; periodic updates end a step where they are due.
 */

#include <float.h>
#include <math.h>
#include <string.h>

#include "fmu.h"

/* Part of the first step after an event where its functions are looked at first. */
#define FIRST_LOOK (1.0 / 1024.0)

/* A step as taken: values and rates at both ends. */
typedef struct {
    double start, length;
    double from[ROOM(N_STATES)], to[ROOM(N_STATES)];
    double first[ROOM(N_STATES)], last[ROOM(N_STATES)];
} step;

static void rates(const fmu *me, double time, const double *state, double *out)
{
    model_derivatives(time, state, me->now.constants, me->now.memory, out);
}

static void put_right(const fmu *me, double time, double *state)
{
    (void)me;
    (void)time;
    (void)state;
#if HAS_NORMALISE
    model_normalise(time, state, me->now.constants, me->now.memory);
#endif
}

/* One step of the classical Runge-Kutta method; 0 where its result is not finite. */
static int runge_kutta(const fmu *me, step *s)
{
    double k2[ROOM(N_STATES)], k3[ROOM(N_STATES)], k4[ROOM(N_STATES)], x[ROOM(N_STATES)];
    const double h = s->length, t = s->start;
    double strange = 0.0;
    rates(me, t, s->from, s->first);
    for (int i = 0; i < N_STATES; i++) x[i] = s->from[i] + 0.5 * h * s->first[i];
    rates(me, t + 0.5 * h, x, k2);
    for (int i = 0; i < N_STATES; i++) x[i] = s->from[i] + 0.5 * h * k2[i];
    rates(me, t + 0.5 * h, x, k3);
    for (int i = 0; i < N_STATES; i++) x[i] = s->from[i] + h * k3[i];
    rates(me, t + h, x, k4);
    for (int i = 0; i < N_STATES; i++) {
        s->to[i] = s->from[i] + h * (s->first[i] / 6.0 + k2[i] / 3.0 + k3[i] / 3.0 + k4[i] / 6.0);
        strange += 0.0 * s->to[i];
    }
    if (strange != 0.0) return 0;
    put_right(me, t + h, s->to);
    return 1;
}

/* The state a part theta of the way through a step. */
static void inside(const fmu *me, const step *s, double theta, double *state)
{
    for (int i = 0; i < N_STATES; i++) {
        double rise = s->to[i] - s->from[i];
        double bend = s->length * s->first[i] - rise;
        double twist = rise - s->length * s->last[i] - bend;
        state[i] = s->from[i] + theta * (rise + (1.0 - theta) * (bend + theta * twist));
    }
    put_right(me, s->start + theta * s->length, state);
}

static void look(const fmu *me, const step *s, double theta, double *g)
{
    double state[ROOM(N_STATES)];
    (void)g;
    if (theta < 1.0)
        inside(me, s, theta, state);
    else
        memcpy(state, s->to, sizeof state);
#if N_EVENTS > 0
    model_events(s->start + theta * s->length, state, me->now.constants, me->now.memory, g);
#endif
}

static int any_happens(const fmu *me, const double *g)
{
    int any = 0;
    for (int k = 0; k < N_EVENTS; k++) any |= fmu_happens(me, k, g[k]);
    return any;
}

/* The first part of a step at whose end an event happens, by bisection to the last digits of time; 2 where
 * none does, and -1 - k where event k has crossed unseen, as a ball does that falls through the floor after
 * bounces lower than rounding. In the first step after an event looks begin early, for a bounce may be shorter
 * than a step. */
static double first_event(fmu *me, const step *s)
{
    double g[ROOM(N_EVENTS)], low = 0.0, high = 1.0;
    const double least = 4.0 * DBL_EPSILON * fmax(fabs(s->start), fabs(s->start + s->length)) / s->length;
    for (int k = 0; k < N_EVENTS; k++)
        if (me->now.sign[k] == 0.0 && EVENTS[k].clock < 0)
            high = fmin(high, fmax(4.0 * least, FIRST_LOOK * fmin(1.0, me->now.gap[k] / s->length)));
    for (;;) {
        look(me, s, high, g);
        if (any_happens(me, g)) break;
        for (int k = 0; k < N_EVENTS; k++) {
            double now = (double)((g[k] > 0.0) - (g[k] < 0.0));
            /* Early on, rounding may still hold the function beyond zero. */
            int counts = me->now.sign[k] != 0.0 || high >= FIRST_LOOK || now == me->now.side[k];
            int suspect = me->now.streak[k] >= 1.0 && me->now.gap[k] <= 1e-3 * me->now.longest[k];
            if (counts && suspect && me->now.sign[k] == 0.0 && now == -me->now.side[k]) return -1.0 - k;
            if (g[k] == g[k] && counts) me->now.sign[k] = now;
            if (high >= 1.0) me->now.reach[k] = fabs(g[k]);
        }
        if (high >= 1.0) return 2.0;
        low = high;
        high = fmin(1.0, 2.0 * high);
    }
    while (high - low > least) {
        double middle = low + 0.5 * (high - low);
        if (middle <= low || middle >= high) break;
        look(me, s, middle, g);
        if (any_happens(me, g))
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* The events at the end of a step, or of the part of it that is left; theirs is the state there. */
static int fire_at(fmu *me, const step *s, double theta)
{
    double g[ROOM(N_EVENTS)];
    int happening[ROOM(N_EVENTS)] = {0}, any = 0;
    look(me, s, theta, g);
    for (int k = 0; k < N_EVENTS; k++) {
        happening[k] = fmu_happens(me, k, g[k]) || fmu_clock_due(me, k, me->now.time);
        any |= happening[k];
    }
    return any ? fmu_fire(me, happening) : FMU_OK;
}

/* From the present time to another without an update of the memory; events cut the way into steps. */
static int travel(fmu *me, double target)
{
    fmu_values *now = &me->now;
    while (now->time < target && !now->ended) {
        step s;
        double end = target, theta = 2.0;
        for (int k = 0; k < N_EVENTS; k++) {
            double due = EVENTS[k].clock >= 0 ? now->memory[EVENTS[k].clock] : HUGE_VAL;
            if (due < end && !fmu_clock_due(me, k, now->time)) end = due;
        }
        s.start = now->time;
        s.length = end - now->time;
        memcpy(s.from, now->state, sizeof s.from);
        if (!runge_kutta(me, &s)) {
            now->mode = FAILED;
            return fmu_fail(me, "the motion diverges after t = %g; a smaller step may help", now->time);
        }
        if (N_INDICATORS > 0) {
            rates(me, end, s.to, s.last);
            theta = first_event(me, &s);
            if (theta < 0.0) return fmu_accumulates(me, (int)(-theta) - 1);
        }
        if (theta < 1.0) {
            now->time = s.start + theta * s.length;
            inside(me, &s, theta, now->state);
        } else {
            now->time = end;
            memcpy(now->state, s.to, sizeof s.to);
        }
        if (N_EVENTS > 0 && fire_at(me, &s, fmin(theta, 1.0)) != FMU_OK) return FMU_ERROR;
    }
    return FMU_OK;
}

int fmu_advance(fmu *me, double from, double length)
{
    fmu_values *now = &me->now;
    int status = FMU_OK;
    double steps;
    if (!(length >= 0.0) || !isfinite(from + length)) return fmu_fail(me, "the step of %g s is not possible", length);
    if (fabs(from - now->time) > 1e-9 * fmax(fabs(from), fmax(length, 1e-9)))
        return fmu_fail(me, "a step from t = %.15g is asked for, but the FMU is at t = %.15g", from, now->time);
    if (length == 0.0) return FMU_OK;
    steps = fmax(1.0, ceil(length / STEP - 1e-6));
    if (steps > 1e9) return fmu_fail(me, "the step of %g s holds more than 1e9 steps of %g s", length, STEP);
    fmu_constants(me);
    now->fresh = 0;
    me->known = 0;
    for (double i = 1.0; i <= steps && !now->ended && status == FMU_OK; i++) {
#if HAS_UPDATE
        double memory[ROOM(N_MEMORY)];
        model_update(now->time, now->state, now->constants, now->memory, memory);
        memcpy(now->memory, memory, sizeof memory);
#endif
        status = travel(me, i < steps ? from + i * (length / steps) : from + length);
    }
    me->known = 0;
    return status;
}
