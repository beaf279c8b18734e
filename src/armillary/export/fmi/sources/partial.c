/* partial.c: directional derivatives, from symbolic ones; and adjoint derivatives, a direction at a time. */

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

int fmu_directional(fmu *me, const uint32_t *unknowns, size_t n, const uint32_t *knowns, size_t m,
                    const double *seed, double *sensitivity)
{
    direction along;
    double packed[1 + N_STATES + N_MEMORY], found[ROOM(N_STATES + N_OUTPUTS + N_INDICATORS)];
    if ((n && (!unknowns || !sensitivity)) || (m && (!knowns || !seed))) return fmu_fail(me, "an array is missing");
    memset(&along, 0, sizeof along);
    for (size_t j = 0; j < m; j++)
        if (place_seed(me, &along, knowns[j], seed[j]) != FMU_OK) return FMU_ERROR;
    packed[0] = along.time;
    for (int i = 0; i < N_STATES; i++) packed[1 + i] = along.state[i];
    for (int i = 0; i < N_MEMORY; i++) packed[1 + N_STATES + i] = along.memory[i];
    fmu_constants(me);
    model_directional(me->now.time, me->now.state, me->now.constants, me->now.memory, packed, found);
    for (size_t i = 0; i < n; i++)
        if (read_sensitivity(me, &along, found, unknowns[i], &sensitivity[i]) != FMU_OK) return FMU_ERROR;
    return FMU_OK;
}

int fmu_adjoint(fmu *me, const uint32_t *unknowns, size_t n, const uint32_t *knowns, size_t m,
                const double *seed, double *sensitivity)
{
    const double one = 1.0;
    if ((n && (!unknowns || !seed)) || (m && (!knowns || !sensitivity))) return fmu_fail(me, "an array is missing");
    for (size_t j = 0; j < m; j++) {
        sensitivity[j] = 0.0;
        for (size_t first = 0; first < n; first += 64) { /* 64 at a time: no memory is allocated */
            double column[64];
            size_t count = n - first < 64 ? n - first : 64;
            if (fmu_directional(me, unknowns + first, count, knowns + j, 1, &one, column) != FMU_OK) return FMU_ERROR;
            for (size_t i = 0; i < count; i++) sensitivity[j] += seed[first + i] * column[i];
        }
    }
    return FMU_OK;
}
