/* fmi2.c: the functions of FMI 2.0. Each checks that it may be called now and hands on to fmu.c. */

#include "fmi2.h"

#define FMI(name) fmi2##name
#define NAME(name) "fmi2" #name
#define SAVED(before, after) before##FMUstate##after
#define RATES GetDerivatives
#define ONLY "real variables"
#include "standard.h"

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
    me->function = "fmi2Instantiate";
    if (functions) {
        memcpy(&me->logger, &functions->logger, sizeof me->logger);
        me->environment = functions->componentEnvironment;
    }
    me->cosimulation = fmuType == fmi2CoSimulation;
    return begun(me, instanceName, fmuGUID, "GUID");
}

/* ------------------------------------------------------------------ modes */

EXPORTED fmi2Status fmi2SetupExperiment(fmi2Component instance, fmi2Boolean toleranceDefined, fmi2Real tolerance,
                                        fmi2Real startTime, fmi2Boolean stopTimeDefined, fmi2Real stopTime)
{
    ASK("fmi2SetupExperiment", INSTANTIATED);
    (void)stopTimeDefined, (void)stopTime;
    if (toleranceDefined) me->now.tolerance = tolerance > 0.0 ? tolerance : 0.0;
    return (fmi2Status)fmu_set_time(me, startTime);
}

FUNCTION(EnterInitializationMode, ALONE, INSTANTIATED, fmu_enter_initialization(me, me->now.run.t, 0.0))

/* ------------------------------------------------------------------ variables */

FUNCTION(GetReal, (void *instance, const fmi2ValueReference vr[], size_t nvr, double value[]), READABLE,
         fmu_get(me, vr, nvr, value))
FUNCTION(SetReal, (void *instance, const fmi2ValueReference vr[], size_t nvr, const double value[]),
         BEFORE | EVENT | CONTINUOUS | STEPPING, fmu_set(me, vr, nvr, value))

#define NO_VARIABLES(name, type)                                                                                \
    FUNCTION(name, (void *instance, const fmi2ValueReference vr[], size_t nvr, type value[]), READABLE,        \
             ((void)vr, (void)value, none(me, nvr)))
NO_VARIABLES(GetInteger, fmi2Integer)
NO_VARIABLES(GetBoolean, fmi2Boolean)
NO_VARIABLES(GetString, fmi2String)
NO_VARIABLES(SetInteger, const fmi2Integer)
NO_VARIABLES(SetBoolean, const fmi2Boolean)
NO_VARIABLES(SetString, const fmi2String)

/* ------------------------------------------------------------------ saved states, derivatives */

FUNCTION(DeSerializeFMUstate, (void *instance, const fmi2Byte bytes[], size_t size, void **saved), READABLE,
         fmu_deserialize(me, (const unsigned char *)bytes, size, saved))
FUNCTION(GetDirectionalDerivative,
         (void *instance, const fmi2ValueReference unknowns[], size_t n, const fmi2ValueReference knowns[], size_t m,
          const double seed[], double sensitivity[]),
         STARTED | TERMINATED, fmu_directional(me, unknowns, n, knowns, m, seed, sensitivity))

/* ------------------------------------------------------------------ model exchange */

EXPORTED fmi2Status fmi2NewDiscreteStates(fmi2Component instance, fmi2EventInfo *eventInfo)
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

/* ------------------------------------------------------------------ co-simulation */

FUNCTION(SetRealInputDerivatives,
         (void *instance, const fmi2ValueReference vr[], size_t nvr, const fmi2Integer order[], const double value[]),
         BEFORE | STEPPING, fmu_set_slopes(me, vr, nvr, (const int32_t *)order, value))
FUNCTION(GetRealOutputDerivatives,
         (void *instance, const fmi2ValueReference vr[], size_t nvr, const fmi2Integer order[], double value[]),
         STEPPING | TERMINATED, fmu_output_rates(me, vr, nvr, (const int32_t *)order, value))

EXPORTED fmi2Status fmi2DoStep(fmi2Component instance, fmi2Real currentCommunicationPoint, fmi2Real communicationStepSize,
                               fmi2Boolean noSetFMUStatePriorToCurrentPoint)
{
    ASK("fmi2DoStep", STEPPING);
    (void)noSetFMUStatePriorToCurrentPoint;
    if (me->now.ended) return (fmi2Status)fmu_fail(me, "an event has ended the run");
    if (fmu_advance(me, currentCommunicationPoint, communicationStepSize) != FMU_OK) return fmi2Error;
    return me->now.ended ? fmi2Discard : fmi2OK;
}

FUNCTION(CancelStep, ALONE, READABLE, fmu_fail(me, "steps are over when fmi2DoStep returns"))

/* Steps are over when fmi2DoStep returns, so little is known of them. */
#define STATUS(name, type, status) \
    FUNCTION(name, (void *instance, const fmi2StatusKind s, type *value), READABLE, status)
STATUS(GetRealStatus, double, s == fmi2LastSuccessfulTime && value ? (*value = me->now.run.t, FMU_OK) : FMU_DISCARD)
STATUS(GetBooleanStatus, fmi2Boolean, s == fmi2Terminated && value ? (*value = me->now.ended, FMU_OK) : FMU_DISCARD)
STATUS(GetStatus, fmi2Status, ((void)s, (void)value, FMU_DISCARD))
STATUS(GetIntegerStatus, fmi2Integer, ((void)s, (void)value, FMU_DISCARD))
STATUS(GetStringStatus, fmi2String, ((void)s, (void)value, FMU_DISCARD))
