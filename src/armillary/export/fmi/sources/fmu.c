/* fmu.c: variables by reference, and the modes of an instance. */

#include "fmu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Value references, one range after another; see variables.h. */
fmu_kind fmu_find(uint32_t reference, size_t *index)
{
    static const uint32_t sizes[] = {1, N_PARAMETERS, N_MEMORY, N_STATES, N_STATES, N_OUTPUTS, N_INDICATORS,
                                     N_EVENTS};
    uint32_t rest = reference;
    for (int k = TIME; k < UNKNOWN; k++) {
        if (rest < sizes[k]) {
            *index = rest;
            return (fmu_kind)k;
        }
        rest -= sizes[k];
    }
    return UNKNOWN;
}

/* A message to the importer's log; the instance stays where it is, so that the importer may go on. */
int fmu_fail(fmu *me, const char *format, ...)
{
    char message[4096];
    va_list arguments;
    int length = snprintf(message, sizeof message, "%s: ", me->function ? me->function : MODEL_NAME);
    if (length < 0 || (size_t)length >= sizeof message) length = 0;
    va_start(arguments, format);
    vsnprintf(message + length, sizeof message - (size_t)length, format, arguments);
    va_end(arguments);
    if (me->log) me->log(me, FMU_ERROR, message);
    return FMU_ERROR;
}

int fmu_allowed(fmu *me, const char *function, int modes)
{
    static const char *const names[] = {"instantiated",     "in initialization mode", "in event mode",
                                        "in continuous-time mode", "in step mode", "terminated",
                                        "stopped by an error"};
    int place = 0;
    if (!me) return 0;
    me->function = function;
    if (me->now.mode & modes) return 1;
    while (place < 6 && !(me->now.mode & (1 << place))) place++;
    fmu_fail(me, "not allowed while the FMU is %s", names[place]);
    return 0;
}

/* The model as described, before any initialization. */
void fmu_start(fmu *me)
{
    memset(&me->now, 0, sizeof me->now);
    for (int i = 0; i < N_PARAMETERS; i++) me->now.parameters[i] = START_PARAMETERS[i];
#if CHANGING
    for (int i = 0; i < N_STATES; i++) me->now.motion[i] = START_STATE[i];
    me->now.loose = 1;
#else
    for (int i = 0; i < N_STATES; i++) me->now.run.state[i] = START_STATE[i];
#endif
    for (int i = 0; i < N_MEMORY; i++) me->now.run.memory[i] = START_MEMORY[i];
    me->now.mode = INSTANTIATED;
    me->stale = 1;
    me->known = 0;
}

void fmu_constants(fmu *me)
{
    if (me->stale) {
#if CHANGING
        model_prepare(&me->now.run, me->now.parameters);
#else
        model_precompute(me->now.parameters, me->now.run.constants);
#endif
#if HAS_RUN_PARAMETERS
        memcpy(me->now.run.parameters, me->now.parameters, N_PARAMETERS * sizeof(double));
#endif
    }
    me->stale = 0;
#if CHANGING
#if HAS_PASSAGES
    if (fmu_crossing(me)) { /* the importer integrates rates of the step, which do not depend on its states */
        model_follow(&me->now.run);
        me->now.loose = 0;
    }
#endif
    if (me->now.loose)
        for (int i = 0; i < USED; i++) me->now.run.state[i] = me->now.motion[PLACE(i)];
    me->now.loose = 0;
#endif
}

int fmu_near_place(const fmu *me)
{
#if HAS_PASSAGES
    return (me->cosimulation || me->now.run.continues) && model_near_place(&me->now.run);
#else
    (void)me;
    return 0;
#endif
}

int fmu_crossing(const fmu *me)
{
#if HAS_PASSAGES
    return !me->cosimulation && me->now.run.continues;
#else
    (void)me;
    return 0;
#endif
}

#if HAS_PASSAGES
/* Results of a section near a singular configuration, by Lagrange interpolation of results around it; results that are
 * equal everywhere stay unchanged. */
static void around(fmu *me, model_section *section, const double *memory, int count, double *out)
{
    enum { MOST = N_STATES + N_BEYOND + N_OUTPUTS + N_EVENTS };
    double first[MOST], one[MOST], t, weight;
    int alike[MOST];
    for (int k = 0; k < count; k++) {
        one[k] = 1.0; /* results that a configuration lacks */
        out[k] = 0.0;
        alike[k] = 1;
    }
    for (int i = 0; i < N_LOOKS; i++) {
        const double *state = model_look(&me->now.run, i, &t, &weight);
        section(t, state, me->now.run.constants, memory, one);
        if (i == 0) memcpy(first, one, (size_t)count * sizeof *one);
        for (int k = 0; k < count; k++) {
            out[k] += weight * one[k];
            alike[k] &= one[k] == first[k];
        }
    }
    for (int k = 0; k < count; k++)
        if (alike[k]) out[k] = first[k];
}
#endif

double *fmu_states(fmu *me)
{
#if CHANGING
    fmu_constants(me);
#if HAS_PASSAGES
    if (fmu_near_place(me)) {
        around(me, model_leave, me->now.run.memory, N_STATES + N_BEYOND, me->now.motion);
        return me->now.motion;
    }
#endif
    model_leave(me->now.run.t, me->now.run.state, me->now.run.constants, me->now.run.memory, me->now.motion);
    return me->now.motion;
#else
    return me->now.run.state;
#endif
}

void fmu_rates(fmu *me, const double *memory, double *rates)
{
    const model_run *run = &me->now.run;
#if HAS_PASSAGES
    if (fmu_near_place(me) || fmu_crossing(me)) {
        around(me, model_motion_rates, memory, N_STATES, rates);
        return;
    }
#endif
#if CHANGING
    model_motion_rates(run->t, run->state, run->constants, memory, rates);
#else
    model_derivatives(run->t, run->state, run->constants, memory, rates);
#endif
}

/* Derivatives and outputs for the present values. In step mode outputs show the memory with which the
 * next step begins. */
static void compute(fmu *me)
{
    fmu_values *now = &me->now;
    fmu_constants(me);
    if (me->known) return;
    memcpy(me->shown, now->run.memory, sizeof me->shown);
#if HAS_UPDATE
    if (now->mode == STEPPING && !fmu_near_place(me))
        model_update(now->run.t, now->run.state, now->run.constants, now->run.memory, me->shown);
#endif
    fmu_rates(me, me->shown, me->rates);
    me->known = 1;
#if HAS_PASSAGES
    if (fmu_near_place(me)) {
        around(me, model_outputs, me->shown, N_OUTPUTS, me->outputs);
        return;
    }
#endif
    model_outputs(now->run.t, now->run.state, now->run.constants, me->shown, me->outputs);
}

int fmu_get(fmu *me, const uint32_t *references, size_t count, double *values)
{
    double g[ROOM(N_INDICATORS)] = {0};
    const double *states;
    int looked = 0;
    if (count && (!references || !values)) return fmu_fail(me, "an array is missing");
    compute(me);
    states = fmu_states(me);
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        switch (fmu_find(references[i], &at)) {
        case TIME: values[i] = me->now.run.t; break;
        case PARAMETER: values[i] = me->now.parameters[at]; break;
        case MEMORY: values[i] = me->shown[at] / MEMORY_FACTORS[at]; break;
        case STATE: values[i] = states[at] / STATE_FACTORS[at]; break;
        case RATE: values[i] = me->rates[at] / STATE_FACTORS[at]; break;
        case OUTPUT: values[i] = me->outputs[at]; break;
        case INDICATOR:
            if (!looked) fmu_get_indicators(me, g, N_INDICATORS);
            looked = 1;
            values[i] = g[at];
            break;
        default: return fmu_fail(me, "there is no variable with value reference %lu", (unsigned long)references[i]);
        }
    }
    return FMU_OK;
}

/* Where variables of a kind may be set. */
static int settable(const fmu *me, fmu_kind of, size_t at)
{
    const int before = INSTANTIATED | INITIALIZING;
    if (of == PARAMETER) return me->now.mode & (TUNABLE ? before | EVENT | STEPPING : before);
    if (of == MEMORY && INPUTS[at]) return me->now.mode & (before | EVENT | CONTINUOUS | STEPPING | INTERMEDIATE);
    if (of == MEMORY) return me->now.mode & before;
    return of == STATE && (me->now.mode & before);
}

static void set_state(fmu *me, size_t at, double value)
{
#if CHANGING
    me->now.motion[at] = value;
    me->now.loose = 1;
#else
    me->now.run.state[at] = value;
#endif
}

int fmu_set(fmu *me, const uint32_t *references, size_t count, const double *values)
{
    if (count && (!references || !values)) return fmu_fail(me, "an array is missing");
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        fmu_kind of = fmu_find(references[i], &at);
        if (of == UNKNOWN)
            return fmu_fail(me, "there is no variable with value reference %lu", (unsigned long)references[i]);
        if (!settable(me, of, at))
            return fmu_fail(me, "the variable with value reference %lu cannot be set now", (unsigned long)references[i]);
        if (!isfinite(values[i]))
            return fmu_fail(me, "the variable with value reference %lu would not be a finite number",
                            (unsigned long)references[i]);
        if (of == PARAMETER) {
            me->now.changed |= values[i] != START_PARAMETERS[at];
            me->now.parameters[at] = values[i];
            me->stale = 1;
        } else if (of == MEMORY) {
            me->now.run.memory[at] = values[i] * MEMORY_FACTORS[at];
            me->fed = 1;
        } else {
            const double value = values[i] * STATE_FACTORS[at];
            set_state(me, at, value);
            me->now.changed |= at < N_COORDINATES && value != START_STATE[at];
            me->now.given[at] = 1;
        }
        me->known = 0;
    }
    return FMU_OK;
}

/* First and second derivatives of inputs, for the next communication step. */
int fmu_set_slopes(fmu *me, const uint32_t *references, size_t count, const int32_t *orders, const double *values)
{
    if (count && (!references || !orders || !values)) return fmu_fail(me, "an array is missing");
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        if (fmu_find(references[i], &at) != MEMORY || !INPUTS[at])
            return fmu_fail(me, "the variable with value reference %lu is not an input", (unsigned long)references[i]);
        if (orders[i] < 1 || orders[i] > 2)
            return fmu_fail(me, "derivatives of inputs are taken up to order 2, not %d", (int)orders[i]);
        if (!isfinite(values[i]))
            return fmu_fail(me, "a derivative of the variable with value reference %lu would not be a finite number",
                            (unsigned long)references[i]);
        (orders[i] == 1 ? me->now.run.input_slopes : me->now.run.input_bends)[at] = values[i] * MEMORY_FACTORS[at];
    }
    return FMU_OK;
}

/* ------------------------------------------------------------------ modes */

int fmu_enter_initialization(fmu *me, double start, double tolerance)
{
    if (tolerance > 0.0 && isfinite(tolerance)) me->now.tolerance = tolerance;
    if (!isfinite(start)) return fmu_fail(me, "the start time is not a finite number");
    me->now.run.t = start;
    for (int i = 0; i < N_MEMORY; i++)
        if (MEMORY_PERIODS[i] >= 0.0) me->now.run.memory[i] = start + MEMORY_PERIODS[i];
    me->now.mode = INITIALIZING;
    me->known = 0;
    return FMU_OK;
}

#if N_GAPS > 0
/* Loops closed: coordinates that the importer has set stay, the others are found, from where the description starts. */
static int assemble(fmu *me)
{
    double gap[N_GAPS];
    int given[N_COORDINATES], open;
    char text[4000];
    for (int i = 0; i < N_COORDINATES; i++) {
        given[i] = me->now.changed && me->now.given[i];
        if (me->now.changed && !given[i]) me->now.run.state[i] = FIRST_GUESS[i];
    }
    open = model_assemble(me->now.run.t, me->now.run.state, me->now.run.constants, me->now.run.memory, given, gap);
    if (!open) return FMU_OK;
    model_open_loops(open, given, gap, text, sizeof text);
    return fmu_fail(me, "%s", text);
}
#endif

#if HAS_START
/* What the start of a run computes from the values that are given, except for states that the importer has set: momenta from
 * the speeds of the description, at the present coordinates and parameters. */
static void start(fmu *me)
{
    double given[ROOM(N_FIRST)], state[ROOM(N_FIRST)], memory[ROOM(N_MEMORY)];
    for (int i = 0; i < N_FIRST; i++) given[i] = CONVERTED[i] ? START_GIVEN[i] : me->now.run.state[i];
    model_start(me->now.run.t, given, me->now.parameters, me->now.run.memory, memory, state);
    for (int i = 0; i < N_MEMORY; i++) me->now.run.memory[i] = memory[i];
    for (int i = 0; i < N_FIRST; i++)
        if (!me->now.given[PLACE(i)]) me->now.run.state[i] = state[i];
}
#endif

/* The settings of the solver, and the beginning of a run. */
static void begin(fmu *me)
{
    model_run *run = &me->now.run;
    run->t0 = run->t_end = run->t;
    run->method = METHOD;
    run->dense = N_EVENTS > 0 || ADAPTIVE;
    run->max_steps = INT64_MAX;
    run->failed = -1;
    run->status = MODEL(RUNNING);
    run->rtol = me->now.tolerance > 0.0 ? me->now.tolerance : RTOL;
    run->atol = me->now.tolerance > 0.0 ? ATOL * (me->now.tolerance / RTOL) : ATOL;
    run->max_step = HUGE_VAL;
    model_start_run(run);
}

int fmu_exit_initialization(fmu *me)
{
#if HAS_PHYSICAL
    double negative;
    const char *what = model_unphysical(me->now.parameters, &negative);
    if (what) return fmu_fail(me, "%s is %g with these parameters; it must be 0 or more", what, negative);
#endif
    fmu_constants(me);
#if N_GAPS > 0
    if (assemble(me) != FMU_OK) return FMU_ERROR;
#elif HAS_NORMALISE
    model_normalise(me->now.run.t, me->now.run.state, me->now.run.constants, me->now.run.memory);
#endif
#if HAS_START
    start(me);
#endif
    begin(me);
#if N_EVENTS > 0
    if (me->now.run.status == MODEL(EVENT)) return fmu_stopped(me, me->now.run.failed);
#endif
#if HAS_JUMPS
    me->now.time = me->now.run.t;
    me->now.after = -HUGE_VAL;
    if (!me->cosimulation) fmu_next_jump(me);
#endif
    me->now.fresh = 1;
    me->now.mode = me->cosimulation && !me->events ? STEPPING : EVENT;
    me->known = 0;
    return FMU_OK;
}

int fmu_set_time(fmu *me, double time)
{
    if (!isfinite(time)) return fmu_fail(me, "the time is not a finite number");
    me->now.run.t = time;
#if HAS_JUMPS
    me->now.time = time;
    if (me->now.mode == CONTINUOUS) me->now.run.t = fmin(fmax(time, me->now.after), me->now.before);
#endif
    me->known = 0;
    return FMU_OK;
}

static int right_length(fmu *me, size_t given, size_t wanted, const void *values)
{
    if (given != wanted)
        fmu_fail(me, "%lu values were given, %lu are needed", (unsigned long)given, (unsigned long)wanted);
    else if (wanted && !values)
        fmu_fail(me, "an array is missing");
    else
        return 1;
    return 0;
}

int fmu_set_states(fmu *me, const double *states, size_t count)
{
    if (!right_length(me, count, N_STATES, states)) return FMU_ERROR;
    for (size_t i = 0; i < N_STATES; i++) {
        if (!isfinite(states[i])) return fmu_fail(me, "state '%s' would not be a finite number", STATE_NAMES[i]);
        set_state(me, i, states[i] * STATE_FACTORS[i]);
    }
    me->known = 0;
    return FMU_OK;
}

int fmu_get_states(fmu *me, double *states, size_t count)
{
    if (!right_length(me, count, N_STATES, states)) return FMU_ERROR;
    const double *now = fmu_states(me);
    for (size_t i = 0; i < N_STATES; i++) states[i] = now[i] / STATE_FACTORS[i];
    return FMU_OK;
}

int fmu_get_rates(fmu *me, double *rates, size_t count)
{
    if (!right_length(me, count, N_STATES, rates)) return FMU_ERROR;
    compute(me);
    for (size_t i = 0; i < N_STATES; i++) {
        if (!isfinite(me->rates[i]))
            return fmu_fail(me, "the rate of '%s' is not a finite number at t = %g", STATE_NAMES[i], me->now.run.t);
        rates[i] = me->rates[i] / STATE_FACTORS[i];
    }
    return FMU_OK;
}

#if N_EVENTS > 0
/* In the step across a singular configuration, internal events do not happen. */
void fmu_event_functions(fmu *me, double *g)
{
    const model_run *run = &me->now.run;
    for (int k = 0; k < N_EVENTS; k++) g[k] = 1.0; /* a configuration may have fewer */
#if HAS_PASSAGES
    if (fmu_crossing(me)) {
        if (fmu_near_place(me))
            around(me, model_events, run->memory, N_EVENTS, g);
        else
            model_events(run->t, run->state, run->constants, run->memory, g);
        for (int k = 0; k < N_EVENTS; k++)
            if (EVENTS[k].guard) g[k] = run->sign[k] < 0 ? -1.0 : 1.0;
        return;
    }
#endif
    model_events(run->t, run->state, run->constants, run->memory, g);
}
#endif

int fmu_get_indicators(fmu *me, double *indicators, size_t count)
{
    double g[ROOM(N_EVENTS)];
    if (!right_length(me, count, N_INDICATORS, indicators)) return FMU_ERROR;
    fmu_constants(me);
#if N_EVENTS > 0
    fmu_event_functions(me, g);
    for (int k = 0, i = 0; k < N_EVENTS; k++)
        if (EVENTS[k].clock < 0) indicators[i++] = g[k];
#else
    (void)g;
#endif
    return FMU_OK;
}
