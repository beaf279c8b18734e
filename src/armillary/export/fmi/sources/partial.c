/* partial.c: directional and adjoint derivatives, from symbolic ones; rates of outputs. */

#include <string.h>

#include "fmu.h"

/* Seeds and sensitivities as model_directional takes and gives them: time, state, memory; and rates,
 * outputs, event functions. */
typedef struct {
    double time, state[ROOM(N_STATES)], memory[ROOM(N_MEMORY)];
} direction;

static int place_seed(fmu *me, direction *seed, uint32_t known, double value)
{
    size_t at = 0;
    switch (fmu_find(known, &at)) {
    case TIME: seed->time += value; return FMU_OK;
    case STATE: seed->state[at] += value * STATE_FACTORS[at]; return FMU_OK;
    case MEMORY: seed->memory[at] += value * MEMORY_FACTORS[at]; return FMU_OK;
    default:
        return fmu_fail(me, "no derivative is known with respect to the variable with value reference %lu",
                        (unsigned long)known);
    }
}

static int read_sensitivity(fmu *me, const direction *seed, const double *found, uint32_t unknown, double *value)
{
    size_t at = 0;
    switch (fmu_find(unknown, &at)) {
    case STATE: *value = seed->state[at] / STATE_FACTORS[at]; return FMU_OK;
    case MEMORY: *value = seed->memory[at] / MEMORY_FACTORS[at]; return FMU_OK;
    case RATE: *value = found[at] / STATE_FACTORS[at]; return FMU_OK;
    case OUTPUT: *value = found[N_STATES + at]; return FMU_OK;
    case INDICATOR: *value = found[N_STATES + N_OUTPUTS + at]; return FMU_OK;
    default:
        return fmu_fail(me, "the derivative of the variable with value reference %lu is not known",
                        (unsigned long)unknown);
    }
}

static int no_derivatives(fmu *me)
{
    fmu_fail(me, "there are no derivatives near t = %g, where constraints lose rank", me->now.run.t);
    return FMU_DISCARD;
}

static void pack(const fmu *me, const direction *along, double *packed)
{
    packed[0] = along->time;
    for (int i = 0; i < USED; i++) packed[1 + i] = along->state[PLACE(i)];
    for (int i = 0; i < N_MEMORY; i++) packed[1 + USED + i] = along->memory[i];
    (void)me;
}

int fmu_directional(fmu *me, const uint32_t *unknowns, size_t n, const uint32_t *knowns, size_t m,
                    const double *seed, double *sensitivity)
{
    direction along;
    double packed[1 + N_PACKED + N_MEMORY], found[ROOM(N_STATES + N_OUTPUTS + N_INDICATORS)] = {0};
    if ((n && (!unknowns || !sensitivity)) || (m && (!knowns || !seed))) return fmu_fail(me, "an array is missing");
    memset(&along, 0, sizeof along);
    for (size_t j = 0; j < m; j++)
        if (place_seed(me, &along, knowns[j], seed[j]) != FMU_OK) return FMU_ERROR;
    fmu_constants(me);
    if (fmu_near_place(me) || fmu_crossing(me)) return no_derivatives(me);
    pack(me, &along, packed);
    model_directional(me->now.run.t, me->now.run.state, me->now.run.constants, me->now.run.memory, packed, found);
    for (size_t i = 0; i < n; i++)
        if (read_sensitivity(me, &along, found, unknowns[i], &sensitivity[i]) != FMU_OK) return FMU_ERROR;
    return FMU_OK;
}

/* First derivatives of outputs with respect to time: along the motion, and along inputs as they last changed. */
int fmu_output_rates(fmu *me, const uint32_t *outputs, size_t n, const int32_t *orders, double *values)
{
    direction along;
    double packed[1 + N_PACKED + N_MEMORY], found[ROOM(N_STATES + N_OUTPUTS + N_INDICATORS)] = {0};
    model_run *run = &me->now.run;
    if (n && (!outputs || !orders || !values)) return fmu_fail(me, "an array is missing");
    for (size_t i = 0; i < n; i++)
        if (orders[i] != 1) return fmu_fail(me, "derivatives of outputs are of order 1, not %d", (int)orders[i]);
    memset(&along, 0, sizeof along);
    fmu_constants(me);
    if (fmu_near_place(me) || fmu_crossing(me)) return no_derivatives(me);
    fmu_rates(me, run->memory, along.state);
    along.time = 1.0;
    memcpy(along.memory, me->now.last_slopes, sizeof along.memory);
    pack(me, &along, packed);
    model_directional(run->t, run->state, run->constants, run->memory, packed, found);
    for (size_t i = 0; i < n; i++)
        if (read_sensitivity(me, &along, found, outputs[i], &values[i]) != FMU_OK) return FMU_ERROR;
    return FMU_OK;
}

#if HAS_ADJOINT
/* All at once, by derivatives backwards from the weighted sum of the unknowns. */
int fmu_adjoint(fmu *me, const uint32_t *unknowns, size_t n, const uint32_t *knowns, size_t m,
                const double *seed, double *sensitivity)
{
    double weights[ROOM(N_STATES + N_OUTPUTS + N_INDICATORS)] = {0}, found[1 + N_PACKED + N_MEMORY];
    double states[ROOM(N_STATES)] = {0}, own[1 + N_STATES + N_MEMORY] = {0}; /* of unknowns that are states or memory themselves */
    const model_run *run = &me->now.run;
    size_t at = 0;
    if ((n && (!unknowns || !seed)) || (m && (!knowns || !sensitivity))) return fmu_fail(me, "an array is missing");
    for (size_t i = 0; i < n; i++)
        switch (fmu_find(unknowns[i], &at)) {
        case STATE: own[1 + at] += seed[i] / STATE_FACTORS[at]; break;
        case MEMORY: own[1 + N_STATES + at] += seed[i] / MEMORY_FACTORS[at]; break;
        case RATE: weights[at] += seed[i] / STATE_FACTORS[at]; break;
        case OUTPUT: weights[N_STATES + at] += seed[i]; break;
        case INDICATOR: weights[N_STATES + N_OUTPUTS + at] += seed[i]; break;
        default:
            return fmu_fail(me, "the derivative of the variable with value reference %lu is not known",
                            (unsigned long)unknowns[i]);
        }
    fmu_constants(me);
    if (fmu_near_place(me) || fmu_crossing(me)) return no_derivatives(me);
    model_adjoint(run->t, run->state, run->constants, run->memory, weights, found);
    for (int i = 0; i < USED; i++) states[PLACE(i)] = found[1 + i];
    for (size_t j = 0; j < m; j++)
        switch (fmu_find(knowns[j], &at)) {
        case TIME: sensitivity[j] = found[0]; break;
        case STATE: sensitivity[j] = (states[at] + own[1 + at]) * STATE_FACTORS[at]; break;
        case MEMORY: sensitivity[j] = (found[1 + USED + at] + own[1 + N_STATES + at]) * MEMORY_FACTORS[at]; break;
        default:
            return fmu_fail(me, "no derivative is known with respect to the variable with value reference %lu",
                            (unsigned long)knowns[j]);
        }
    return FMU_OK;
}
#endif
