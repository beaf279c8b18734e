/* fmi2.c: the functions of FMI 2.0. Each checks that it may be called now and hands on to fmu.c. */

#include "fmi2.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmu.h"

#define BEFORE (INSTANTIATED | INITIALIZING)
#define ASK(function, modes) \
    fmu *me = c;             \
    if (!fmu_allowed(me, function, modes)) return fmi2Error

/* Messages are formats for the importer: percent and number signs in them are doubled. */
static void log_message(const fmu *me, int status, const char *message)
{
    fmi2CallbackLogger logger;
    char escaped[1100];
    size_t length = 0;
    memcpy(&logger, &me->logger, sizeof logger);
    if (!logger) return;
    for (; *message && length < sizeof escaped - 3; message++) {
        if (*message == '%' || *message == '#') escaped[length++] = *message;
        escaped[length++] = *message;
    }
    escaped[length] = '\0';
    logger(me->environment, me->name, (fmi2Status)status, "logStatusError", escaped);
}

EXPORTED const char *fmi2GetTypesPlatform(void) { return "default"; }

EXPORTED const char *fmi2GetVersion(void) { return "2.0"; }

EXPORTED fmi2Component fmi2Instantiate(fmi2String instanceName, fmi2Type fmuType, fmi2String fmuGUID,
                                       fmi2String fmuResourceLocation, const fmi2CallbackFunctions *functions,
                                       fmi2Boolean visible, fmi2Boolean loggingOn)
{
    fmu *me;
    int own = !functions || !functions->allocateMemory || !functions->freeMemory;
    (void)fmuResourceLocation, (void)visible, (void)loggingOn;
    me = own ? calloc(1, sizeof *me) : functions->allocateMemory(1, sizeof *me);
    if (!me) return NULL;
    memset(me, 0, sizeof *me);
    me->allocate = own ? calloc : functions->allocateMemory;
    me->release = own ? free : functions->freeMemory;
    me->log = log_message;
    me->function = "fmi2Instantiate";
    if (functions) {
        memcpy(&me->logger, &functions->logger, sizeof me->logger);
        me->environment = functions->componentEnvironment;
    }
    snprintf(me->name, sizeof me->name, "%s", instanceName ? instanceName : MODEL_NAME);
    me->cosimulation = fmuType == fmi2CoSimulation;
    if (!fmuGUID || strcmp(fmuGUID, TOKEN)) {
        fmu_fail(me, "the GUID is not that of this model, %s", TOKEN);
        me->release(me);
        return NULL;
    }
    if (me->cosimulation ? !HAS_COSIMULATION : !HAS_EXCHANGE) {
        fmu_fail(me, "this FMU was exported without %s", me->cosimulation ? "co-simulation" : "model exchange");
        me->release(me);
        return NULL;
    }
    fmu_start(me);
    return me;
}

EXPORTED void fmi2FreeInstance(fmi2Component c)
{
    fmu *me = c;
    if (me) me->release(me);
}

EXPORTED fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean loggingOn, size_t nCategories,
                                        const fmi2String categories[])
{
    ASK("fmi2SetDebugLogging", READABLE);
    (void)loggingOn, (void)nCategories, (void)categories; /* errors alone are logged */
    return fmi2OK;
}

/* ------------------------------------------------------------------ modes */

EXPORTED fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean toleranceDefined, fmi2Real tolerance,
                                        fmi2Real startTime, fmi2Boolean stopTimeDefined, fmi2Real stopTime)
{
    ASK("fmi2SetupExperiment", INSTANTIATED);
    (void)stopTimeDefined, (void)stopTime;
    if (toleranceDefined) me->now.tolerance = tolerance > 0.0 ? tolerance : 0.0;
    return (fmi2Status)fmu_set_time(me, startTime);
}

EXPORTED fmi2Status fmi2EnterInitializationMode(fmi2Component c)
{
    ASK("fmi2EnterInitializationMode", INSTANTIATED);
    return (fmi2Status)fmu_enter_initialization(me, me->now.run.t, 0.0);
}

EXPORTED fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    ASK("fmi2ExitInitializationMode", INITIALIZING);
    return (fmi2Status)fmu_exit_initialization(me);
}

EXPORTED fmi2Status fmi2Terminate(fmi2Component c)
{
    ASK("fmi2Terminate", EVENT | CONTINUOUS | STEPPING | FAILED);
    me->now.mode = TERMINATED;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2Reset(fmi2Component c)
{
    ASK("fmi2Reset", READABLE);
    fmu_start(me);
    return fmi2OK;
}

/* ------------------------------------------------------------------ variables */

EXPORTED fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Real value[])
{
    ASK("fmi2GetReal", READABLE);
    return (fmi2Status)fmu_get(me, vr, nvr, value);
}

EXPORTED fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Real value[])
{
    ASK("fmi2SetReal", BEFORE | EVENT | CONTINUOUS | STEPPING);
    return (fmi2Status)fmu_set(me, vr, nvr, value);
}

/* All variables of a mechanical model are real. */
static fmi2Status none(fmi2Component c, const char *function, size_t count)
{
    ASK(function, READABLE);
    return count ? (fmi2Status)fmu_fail(me, "this model has real variables only") : fmi2OK;
}

#define NO_VARIABLES(name, type, constant)                                                                     \
    EXPORTED fmi2Status name(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, constant type value[]) \
    {                                                                                                          \
        (void)vr, (void)value;                                                                                 \
        return none(c, #name, nvr);                                                                            \
    }
NO_VARIABLES(fmi2GetInteger, fmi2Integer, )
NO_VARIABLES(fmi2GetBoolean, fmi2Boolean, )
NO_VARIABLES(fmi2GetString, fmi2String, )
NO_VARIABLES(fmi2SetInteger, fmi2Integer, const)
NO_VARIABLES(fmi2SetBoolean, fmi2Boolean, const)
NO_VARIABLES(fmi2SetString, fmi2String, const)

/* ------------------------------------------------------------------ saved states, derivatives */

EXPORTED fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *FMUstate)
{
    ASK("fmi2GetFMUstate", READABLE);
    return (fmi2Status)fmu_save(me, FMUstate);
}

EXPORTED fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate FMUstate)
{
    ASK("fmi2SetFMUstate", READABLE);
    return (fmi2Status)fmu_restore(me, FMUstate);
}

EXPORTED fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *FMUstate)
{
    ASK("fmi2FreeFMUstate", READABLE);
    return (fmi2Status)fmu_forget(me, FMUstate);
}

EXPORTED fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate FMUstate, size_t *size)
{
    ASK("fmi2SerializedFMUstateSize", READABLE);
    (void)FMUstate;
    if (!size) return (fmi2Status)fmu_fail(me, "a place for the size is missing");
    *size = fmu_serialized_size();
    return fmi2OK;
}

EXPORTED fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate FMUstate, fmi2Byte serializedState[],
                                          size_t size)
{
    ASK("fmi2SerializeFMUstate", READABLE);
    return (fmi2Status)fmu_serialize(me, FMUstate, (unsigned char *)serializedState, size);
}

EXPORTED fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte serializedState[], size_t size,
                                            fmi2FMUstate *FMUstate)
{
    ASK("fmi2DeSerializeFMUstate", READABLE);
    return (fmi2Status)fmu_deserialize(me, (const unsigned char *)serializedState, size, FMUstate);
}

EXPORTED fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference vUnknown_ref[],
                                                 size_t nUnknown, const fmi2ValueReference vKnown_ref[],
                                                 size_t nKnown, const fmi2Real dvKnown[], fmi2Real dvUnknown[])
{
    ASK("fmi2GetDirectionalDerivative", STARTED | TERMINATED);
    return (fmi2Status)fmu_directional(me, vUnknown_ref, nUnknown, vKnown_ref, nKnown, dvKnown, dvUnknown);
}

/* ------------------------------------------------------------------ model exchange */

EXPORTED fmi2Status fmi2EnterEventMode(fmi2Component c)
{
    ASK("fmi2EnterEventMode", CONTINUOUS | EVENT);
    me->now.mode = EVENT;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *eventInfo)
{
    fmu_news news;
    ASK("fmi2NewDiscreteStates", EVENT);
    if (!eventInfo) return (fmi2Status)fmu_fail(me, "a place for the news is missing");
    if (fmu_discrete(me, &news) != FMU_OK) return fmi2Error;
    eventInfo->newDiscreteStatesNeeded = news.more;
    eventInfo->terminateSimulation = news.ended;
    eventInfo->nominalsOfContinuousStatesChanged = 0;
    eventInfo->valuesOfContinuousStatesChanged = news.moved;
    eventInfo->nextEventTimeDefined = news.scheduled;
    eventInfo->nextEventTime = news.scheduled ? news.next : 0.0;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c)
{
    ASK("fmi2EnterContinuousTimeMode", EVENT);
    me->now.mode = CONTINUOUS;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean noSetFMUStatePriorToCurrentPoint,
                                                fmi2Boolean *enterEventMode, fmi2Boolean *terminateSimulation)
{
    ASK("fmi2CompletedIntegratorStep", CONTINUOUS);
    (void)noSetFMUStatePriorToCurrentPoint;
    if (!enterEventMode || !terminateSimulation) return (fmi2Status)fmu_fail(me, "a place for an answer is missing");
    return (fmi2Status)fmu_completed(me, enterEventMode, terminateSimulation);
}

EXPORTED fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time)
{
    ASK("fmi2SetTime", CONTINUOUS | EVENT);
    return (fmi2Status)fmu_set_time(me, time);
}

EXPORTED fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t nx)
{
    ASK("fmi2SetContinuousStates", CONTINUOUS | EVENT);
    return (fmi2Status)fmu_set_states(me, x, nx);
}

EXPORTED fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real derivatives[], size_t nx)
{
    ASK("fmi2GetDerivatives", STARTED | TERMINATED);
    return (fmi2Status)fmu_get_rates(me, derivatives, nx);
}

EXPORTED fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real eventIndicators[], size_t ni)
{
    ASK("fmi2GetEventIndicators", STARTED | TERMINATED);
    return (fmi2Status)fmu_get_indicators(me, eventIndicators, ni);
}

EXPORTED fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t nx)
{
    ASK("fmi2GetContinuousStates", STARTED | TERMINATED);
    return (fmi2Status)fmu_get_states(me, x, nx);
}

EXPORTED fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real x_nominal[], size_t nx)
{
    ASK("fmi2GetNominalsOfContinuousStates", READABLE);
    if (nx != N_STATES || (nx && !x_nominal)) return (fmi2Status)fmu_fail(me, "%d values are needed", N_STATES);
    for (size_t i = 0; i < nx; i++) x_nominal[i] = 1.0;
    return fmi2OK;
}

/* ------------------------------------------------------------------ co-simulation */

EXPORTED fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                                const fmi2Integer order[], const fmi2Real value[])
{
    ASK("fmi2SetRealInputDerivatives", BEFORE | STEPPING);
    return (fmi2Status)fmu_set_slopes(me, vr, nvr, (const int32_t *)order, value);
}

EXPORTED fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                                 const fmi2Integer order[], fmi2Real value[])
{
    ASK("fmi2GetRealOutputDerivatives", STEPPING | TERMINATED);
    return (fmi2Status)fmu_output_rates(me, vr, nvr, (const int32_t *)order, value);
}

EXPORTED fmi2Status fmi2DoStep(fmi2Component c, fmi2Real currentCommunicationPoint, fmi2Real communicationStepSize,
                               fmi2Boolean noSetFMUStatePriorToCurrentPoint)
{
    ASK("fmi2DoStep", STEPPING);
    (void)noSetFMUStatePriorToCurrentPoint;
    if (me->now.ended) return (fmi2Status)fmu_fail(me, "an event has ended the run");
    if (fmu_advance(me, currentCommunicationPoint, communicationStepSize) != FMU_OK) return fmi2Error;
    return me->now.ended ? fmi2Discard : fmi2OK;
}

EXPORTED fmi2Status fmi2CancelStep(fmi2Component c)
{
    ASK("fmi2CancelStep", READABLE);
    return (fmi2Status)fmu_fail(me, "steps are over when fmi2DoStep returns");
}

static fmi2Status no_status(fmi2Component c, const char *function)
{
    ASK(function, READABLE);
    return fmi2Discard;
}

EXPORTED fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind s, fmi2Status *value)
{
    (void)s, (void)value;
    return no_status(c, "fmi2GetStatus");
}

EXPORTED fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind s, fmi2Real *value)
{
    ASK("fmi2GetRealStatus", READABLE);
    if (s != fmi2LastSuccessfulTime || !value) return fmi2Discard;
    *value = me->now.run.t;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind s, fmi2Integer *value)
{
    (void)s, (void)value;
    return no_status(c, "fmi2GetIntegerStatus");
}

EXPORTED fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind s, fmi2Boolean *value)
{
    ASK("fmi2GetBooleanStatus", READABLE);
    if (s != fmi2Terminated || !value) return fmi2Discard;
    *value = me->now.ended;
    return fmi2OK;
}

EXPORTED fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind s, fmi2String *value)
{
    (void)s, (void)value;
    return no_status(c, "fmi2GetStringStatus");
}
