/* standard.h: the functions common to FMI 2.0 and 3.0. Names that differ are macros, which fmi2.c and fmi3.c define before
 * they include it: FMI(name) is a name of the version, NAME(name) its text, SAVED(before, after) a name that contains the
 * word for a saved state, RATES the name of the derivatives; ONLY is the kind of all variables.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmu.h"

#if defined _WIN32
#define EXPORTED __declspec(dllexport)
#elif defined __GNUC__
#define EXPORTED __attribute__((visibility("default")))
#else
#define EXPORTED
#endif

#define BEFORE (INSTANTIATED | INITIALIZING)
#define ASK(function, modes) \
    fmu *me = instance;      \
    if (!fmu_allowed(me, function, modes)) return FMI(Error)
/* A function that may be called in some modes and has a status of fmu.c. */
#define FUNCTION(name, arguments, modes, status)  \
    EXPORTED FMI(Status) FMI(name) arguments      \
    {                                             \
        ASK(NAME(name), modes);                   \
        return (FMI(Status))(status);             \
    }
#define ALONE (void *instance)

static void log_message(const fmu *me, int status, const char *message);

/* A new instance, ready to be initialized; NULL if the importer requests another FMU. */
static fmu *begun(fmu *me, const char *name, const char *token, const char *what)
{
    const char *kind = me->cosimulation ? "co-simulation" : "model exchange";
    me->log = log_message;
    snprintf(me->name, sizeof me->name, "%s", name ? name : MODEL_NAME);
    if (!token || strcmp(token, TOKEN)) {
        fmu_fail(me, "the %s does not belong to this model, %s", what, TOKEN);
    } else if (me->cosimulation ? !HAS_COSIMULATION : !HAS_EXCHANGE) {
        fmu_fail(me, "this FMU was exported without %s", kind);
    } else {
        fmu_start(me);
        return me;
    }
    me->release(me);
    return NULL;
}

EXPORTED void FMI(FreeInstance)(void *instance)
{
    fmu *me = instance;
    if (me) me->release(me);
}

/* Errors alone are logged. */
FUNCTION(SetDebugLogging,
         (void *instance, FMI(Boolean) loggingOn, size_t nCategories, const FMI(String) categories[]), READABLE,
         ((void)loggingOn, (void)nCategories, (void)categories, FMU_OK))

/* ------------------------------------------------------------------ modes */

FUNCTION(ExitInitializationMode, ALONE, INITIALIZING, fmu_exit_initialization(me))
FUNCTION(EnterEventMode, ALONE, CONTINUOUS | EVENT | (me && me->events ? STEPPING : 0), (me->now.mode = EVENT, FMU_OK))
FUNCTION(EnterContinuousTimeMode, ALONE, EVENT,
         me->cosimulation ? fmu_fail(me, "this is an instance for co-simulation") : (me->now.mode = CONTINUOUS, FMU_OK))
FUNCTION(Terminate, ALONE, EVENT | CONTINUOUS | STEPPING | FAILED, (me->now.mode = TERMINATED, FMU_OK))
FUNCTION(Reset, ALONE, READABLE, (fmu_start(me), FMU_OK))

/* All variables of a mechanical model are real. */
static int none(fmu *me, size_t count) { return count ? fmu_fail(me, "this model has " ONLY " only") : FMU_OK; }

/* ------------------------------------------------------------------ saved states */

FUNCTION(SAVED(Get, ), (void *instance, void **saved), READABLE, fmu_save(me, saved))
FUNCTION(SAVED(Set, ), (void *instance, void *saved), READABLE, fmu_restore(me, saved))
FUNCTION(SAVED(Free, ), (void *instance, void **saved), READABLE, fmu_forget(me, saved))
FUNCTION(SAVED(Serialized, Size), (void *instance, void *saved, size_t *size), READABLE,
         ((void)saved, size ? (*size = fmu_serialized_size(), FMU_OK) : fmu_fail(me, "a place for the size is missing")))
FUNCTION(SAVED(Serialize, ), (void *instance, void *saved, FMI(Byte) bytes[], size_t size), READABLE,
         fmu_serialize(me, saved, (unsigned char *)bytes, size))

/* ------------------------------------------------------------------ model exchange */

EXPORTED FMI(Status) FMI(CompletedIntegratorStep)(void *instance, FMI(Boolean) noSetFMUStatePriorToCurrentPoint,
                                                  FMI(Boolean) *enterEventMode, FMI(Boolean) *terminateSimulation)
{
    int event = 0, ended = 0;
    ASK(NAME(CompletedIntegratorStep), CONTINUOUS);
    (void)noSetFMUStatePriorToCurrentPoint;
    if (!enterEventMode || !terminateSimulation)
        return (FMI(Status))fmu_fail(me, "a place for an answer is missing");
    if (fmu_completed(me, &event, &ended) != FMU_OK) return FMI(Error);
    *enterEventMode = event;
    *terminateSimulation = ended;
    return FMI(OK);
}

static int nominals(fmu *me, double *values, size_t count)
{
    if (count != N_STATES || (count && !values)) return fmu_fail(me, "%d values are needed", N_STATES);
    for (size_t i = 0; i < count; i++) values[i] = 1.0;
    return FMU_OK;
}

#define READS (void *instance, double values[], size_t count)
FUNCTION(SetTime, (void *instance, double time), CONTINUOUS | EVENT, fmu_set_time(me, time))
FUNCTION(SetContinuousStates, (void *instance, const double values[], size_t count), CONTINUOUS | EVENT,
         fmu_set_states(me, values, count))
FUNCTION(RATES, READS, STARTED | TERMINATED, fmu_get_rates(me, values, count))
FUNCTION(GetEventIndicators, READS, STARTED | TERMINATED, fmu_get_indicators(me, values, count))
FUNCTION(GetContinuousStates, READS, STARTED | TERMINATED, fmu_get_states(me, values, count))
FUNCTION(GetNominalsOfContinuousStates, READS, READABLE, nominals(me, values, count))
