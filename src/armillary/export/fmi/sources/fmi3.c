/* fmi3.c: the functions of FMI 3.0. Each checks that it may be called now and hands on to fmu.c. */

#include "fmi3.h"

#define FMI(name) fmi3##name
#define NAME(name) "fmi3" #name
#define SAVED(before, after) before##FMUState##after
#define RATES GetContinuousStateDerivatives
#define ONLY "variables of type Float64"
#include "standard.h"

static void log_message(const fmu *me, int status, const char *message)
{
    fmi3LogMessageCallback logger;
    memcpy(&logger, &me->logger, sizeof logger);
    if (logger) logger(me->environment, (fmi3Status)status, "logStatusError", message);
}

EXPORTED const char *fmi3GetVersion(void) { return "3.0"; }

static fmi3Instance instantiate(const char *function, int cosimulation, fmi3String name, fmi3String token,
                                fmi3InstanceEnvironment environment, fmi3LogMessageCallback logger)
{
    fmu *me = calloc(1, sizeof *me);
    if (!me) return NULL;
    me->allocate = calloc;
    me->release = free;
    me->function = function;
    memcpy(&me->logger, &logger, sizeof me->logger);
    me->environment = environment;
    me->cosimulation = cosimulation;
    return begun(me, name, token, "instantiation token");
}

EXPORTED fmi3Instance fmi3InstantiateModelExchange(fmi3String instanceName, fmi3String instantiationToken,
                                                   fmi3String resourcePath, fmi3Boolean visible,
                                                   fmi3Boolean loggingOn,
                                                   fmi3InstanceEnvironment instanceEnvironment,
                                                   fmi3LogMessageCallback logMessage)
{
    (void)resourcePath, (void)visible, (void)loggingOn;
    return instantiate("fmi3InstantiateModelExchange", 0, instanceName, instantiationToken, instanceEnvironment,
                       logMessage);
}

/* The end of an inner step: inputs may be set, all variables read. */
static int between(fmu *me, double *until)
{
    fmi3IntermediateUpdateCallback update;
    fmi3Boolean wanted = false;
    fmi3Float64 time = *until;
    memcpy(&update, &me->update, sizeof update);
    update(me->environment, me->now.run.t, true, true, true, me->early != 0, &wanted, &time);
    *until = time;
    return wanted && me->early;
}

EXPORTED fmi3Instance fmi3InstantiateCoSimulation(
    fmi3String instanceName, fmi3String instantiationToken, fmi3String resourcePath, fmi3Boolean visible,
    fmi3Boolean loggingOn, fmi3Boolean eventModeUsed, fmi3Boolean earlyReturnAllowed,
    const fmi3ValueReference requiredIntermediateVariables[], size_t nRequiredIntermediateVariables,
    fmi3InstanceEnvironment instanceEnvironment, fmi3LogMessageCallback logMessage,
    fmi3IntermediateUpdateCallback intermediateUpdate)
{
    fmu *me;
    (void)resourcePath, (void)visible, (void)loggingOn;
    (void)requiredIntermediateVariables, (void)nRequiredIntermediateVariables; /* all are up to date */
    me = instantiate("fmi3InstantiateCoSimulation", 1, instanceName, instantiationToken, instanceEnvironment,
                     logMessage);
    if (!me) return NULL;
    me->events = eventModeUsed;
    me->early = earlyReturnAllowed;
    me->between = intermediateUpdate ? between : NULL;
    memcpy(&me->update, &intermediateUpdate, sizeof me->update);
    return me;
}

EXPORTED fmi3Instance fmi3InstantiateScheduledExecution(
    fmi3String instanceName, fmi3String instantiationToken, fmi3String resourcePath, fmi3Boolean visible,
    fmi3Boolean loggingOn, fmi3InstanceEnvironment instanceEnvironment, fmi3LogMessageCallback logMessage,
    fmi3ClockUpdateCallback clockUpdate, fmi3LockPreemptionCallback lockPreemption,
    fmi3UnlockPreemptionCallback unlockPreemption)
{
    (void)instanceName, (void)instantiationToken, (void)resourcePath, (void)visible, (void)loggingOn;
    (void)clockUpdate, (void)lockPreemption, (void)unlockPreemption;
    if (logMessage)
        logMessage(instanceEnvironment, fmi3Error, "logStatusError", "scheduled execution is not offered");
    return NULL;
}

/* ------------------------------------------------------------------ modes */

EXPORTED fmi3Status fmi3EnterInitializationMode(fmi3Instance instance, fmi3Boolean toleranceDefined,
                                                fmi3Float64 tolerance, fmi3Float64 startTime,
                                                fmi3Boolean stopTimeDefined, fmi3Float64 stopTime)
{
    ASK("fmi3EnterInitializationMode", INSTANTIATED);
    (void)stopTimeDefined, (void)stopTime;
    return (fmi3Status)fmu_enter_initialization(me, startTime, toleranceDefined ? tolerance : 0.0);
}

FUNCTION(EnterStepMode, ALONE, EVENT,
         me->cosimulation ? (me->now.mode = STEPPING, FMU_OK) : fmu_fail(me, "this is an instance for model exchange"))
FUNCTION(EnterConfigurationMode, ALONE, READABLE, fmu_fail(me, "there are no structural parameters"))
FUNCTION(ExitConfigurationMode, ALONE, READABLE, fmu_fail(me, "there are no structural parameters"))

/* ------------------------------------------------------------------ variables */

/* Variables are scalars: there are as many values as references. */
static int as_many(fmu *me, size_t references, size_t values)
{
    if (references == values) return 1;
    fmu_fail(me, "%lu values for %lu variables", (unsigned long)values, (unsigned long)references);
    return 0;
}

EXPORTED fmi3Status fmi3GetFloat64(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                   size_t nValueReferences, fmi3Float64 values[], size_t nValues)
{
    ASK("fmi3GetFloat64", READABLE);
    if (!as_many(me, nValueReferences, nValues)) return fmi3Error;
    return (fmi3Status)fmu_get(me, valueReferences, nValueReferences, values);
}

EXPORTED fmi3Status fmi3SetFloat64(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                   size_t nValueReferences, const fmi3Float64 values[], size_t nValues)
{
    ASK("fmi3SetFloat64", BEFORE | EVENT | CONTINUOUS | STEPPING | INTERMEDIATE);
    if (!as_many(me, nValueReferences, nValues)) return fmi3Error;
    return (fmi3Status)fmu_set(me, valueReferences, nValueReferences, values);
}

#define REFERENCES void *instance, const fmi3ValueReference valueReferences[], size_t nValueReferences
#define NO_VARIABLE(name, type)                                                             \
    FUNCTION(name, (REFERENCES, type values[], size_t nValues), READABLE,                   \
             ((void)valueReferences, (void)values, (void)nValues, none(me, nValueReferences)))
#define NO_VARIABLES(type)                  \
    NO_VARIABLE(Get##type, fmi3##type)      \
    NO_VARIABLE(Set##type, const fmi3##type)
NO_VARIABLES(Float32)
NO_VARIABLES(Int8)
NO_VARIABLES(UInt8)
NO_VARIABLES(Int16)
NO_VARIABLES(UInt16)
NO_VARIABLES(Int32)
NO_VARIABLES(UInt32)
NO_VARIABLES(Int64)
NO_VARIABLES(UInt64)
NO_VARIABLES(Boolean)
NO_VARIABLES(String)

FUNCTION(GetBinary, (REFERENCES, size_t sizes[], fmi3Binary values[], size_t nValues), READABLE,
         ((void)valueReferences, (void)sizes, (void)values, (void)nValues, none(me, nValueReferences)))
FUNCTION(SetBinary, (REFERENCES, const size_t sizes[], const fmi3Binary values[], size_t nValues), READABLE,
         ((void)valueReferences, (void)sizes, (void)values, (void)nValues, none(me, nValueReferences)))

/* Clocks of events tick in event mode, until the discrete states have been updated. */
EXPORTED fmi3Status fmi3GetClock(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                 size_t nValueReferences, fmi3Clock values[])
{
    int happening[ROOM(N_EVENTS)] = {0};
    ASK("fmi3GetClock", READABLE);
    if (nValueReferences && (!valueReferences || !values)) return (fmi3Status)fmu_fail(me, "an array is missing");
    if (me->now.mode == EVENT) fmu_happening(me, happening);
    for (size_t i = 0; i < nValueReferences; i++) {
        size_t at = 0;
        if (fmu_find(valueReferences[i], &at) != TICK)
            return (fmi3Status)fmu_fail(me, "there is no clock with value reference %lu",
                                        (unsigned long)valueReferences[i]);
        values[i] = happening[at] != 0;
    }
    return fmi3OK;
}

#define NO_CLOCKS(name, first, second)                \
    FUNCTION(name, (REFERENCES, first, second), READABLE, \
             ((void)valueReferences, (void)one, (void)other, none(me, nValueReferences)))
NO_CLOCKS(GetIntervalDecimal, fmi3Float64 one[], fmi3IntervalQualifier other[])
NO_CLOCKS(GetShiftFraction, fmi3UInt64 one[], fmi3UInt64 other[])
NO_CLOCKS(SetIntervalFraction, const fmi3UInt64 one[], const fmi3UInt64 other[])
NO_CLOCKS(SetShiftFraction, const fmi3UInt64 one[], const fmi3UInt64 other[])

#define NO_CLOCK(name, type) \
    FUNCTION(name, (REFERENCES, type values[]), READABLE, ((void)valueReferences, (void)values, none(me, nValueReferences)))
NO_CLOCK(SetClock, const fmi3Clock)
NO_CLOCK(GetShiftDecimal, fmi3Float64)
NO_CLOCK(SetIntervalDecimal, const fmi3Float64)
NO_CLOCK(SetShiftDecimal, const fmi3Float64)

FUNCTION(GetIntervalFraction,
         (REFERENCES, fmi3UInt64 counters[], fmi3UInt64 resolutions[], fmi3IntervalQualifier qualifiers[]), READABLE,
         ((void)valueReferences, (void)counters, (void)resolutions, (void)qualifiers, none(me, nValueReferences)))

FUNCTION(GetNumberOfVariableDependencies,
         (void *instance, fmi3ValueReference valueReference, size_t *nDependencies), READABLE,
         ((void)valueReference, (void)nDependencies, fmu_fail(me, "dependencies are in modelDescription.xml")))

FUNCTION(GetVariableDependencies,
         (void *instance, fmi3ValueReference dependent, size_t elementIndicesOfDependent[],
          fmi3ValueReference independents[], size_t elementIndicesOfIndependents[], fmi3DependencyKind kinds[], size_t n),
         READABLE,
         ((void)dependent, (void)elementIndicesOfDependent, (void)independents, (void)elementIndicesOfIndependents,
          (void)kinds, (void)n, fmu_fail(me, "dependencies are in modelDescription.xml")))

/* ------------------------------------------------------------------ saved states, derivatives */

FUNCTION(DeserializeFMUState, (void *instance, const fmi3Byte bytes[], size_t size, void **saved), READABLE,
         fmu_deserialize(me, bytes, size, saved))

EXPORTED fmi3Status fmi3GetDirectionalDerivative(fmi3Instance instance, const fmi3ValueReference unknowns[],
                                                 size_t nUnknowns, const fmi3ValueReference knowns[],
                                                 size_t nKnowns, const fmi3Float64 seed[], size_t nSeed,
                                                 fmi3Float64 sensitivity[], size_t nSensitivity)
{
    ASK("fmi3GetDirectionalDerivative", STARTED | TERMINATED);
    if (!as_many(me, nKnowns, nSeed) || !as_many(me, nUnknowns, nSensitivity)) return fmi3Error;
    return (fmi3Status)fmu_directional(me, unknowns, nUnknowns, knowns, nKnowns, seed, sensitivity);
}

EXPORTED fmi3Status fmi3GetAdjointDerivative(fmi3Instance instance, const fmi3ValueReference unknowns[],
                                             size_t nUnknowns, const fmi3ValueReference knowns[], size_t nKnowns,
                                             const fmi3Float64 seed[], size_t nSeed, fmi3Float64 sensitivity[],
                                             size_t nSensitivity)
{
    ASK("fmi3GetAdjointDerivative", STARTED | TERMINATED);
    if (!as_many(me, nUnknowns, nSeed) || !as_many(me, nKnowns, nSensitivity)) return fmi3Error;
    return (fmi3Status)fmu_adjoint(me, unknowns, nUnknowns, knowns, nKnowns, seed, sensitivity);
}

/* ------------------------------------------------------------------ model exchange */

FUNCTION(EvaluateDiscreteStates, ALONE, INITIALIZING | EVENT, FMU_OK)

EXPORTED fmi3Status fmi3UpdateDiscreteStates(fmi3Instance instance, fmi3Boolean *discreteStatesNeedUpdate,
                                             fmi3Boolean *terminateSimulation,
                                             fmi3Boolean *nominalsOfContinuousStatesChanged,
                                             fmi3Boolean *valuesOfContinuousStatesChanged,
                                             fmi3Boolean *nextEventTimeDefined, fmi3Float64 *nextEventTime)
{
    fmu_news news;
    ASK("fmi3UpdateDiscreteStates", EVENT);
    if (!discreteStatesNeedUpdate || !terminateSimulation || !nominalsOfContinuousStatesChanged ||
        !valuesOfContinuousStatesChanged || !nextEventTimeDefined || !nextEventTime)
        return (fmi3Status)fmu_fail(me, "a place for an answer is missing");
    if (fmu_discrete(me, &news) != FMU_OK) return fmi3Error;
    *discreteStatesNeedUpdate = news.more;
    *terminateSimulation = news.ended;
    *nominalsOfContinuousStatesChanged = false;
    *valuesOfContinuousStatesChanged = news.moved;
    *nextEventTimeDefined = news.scheduled;
    *nextEventTime = news.scheduled ? news.next : 0.0;
    return fmi3OK;
}

/* A number of the model. */
#define NUMBER(name, number) \
    FUNCTION(name, (void *instance, size_t *n), READABLE, \
             n ? (*n = (number), FMU_OK) : fmu_fail(me, "a place for the number is missing"))
NUMBER(GetNumberOfEventIndicators, N_INDICATORS)
NUMBER(GetNumberOfContinuousStates, N_STATES)

/* ------------------------------------------------------------------ co-simulation */

EXPORTED fmi3Status fmi3GetOutputDerivatives(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                             size_t nValueReferences, const fmi3Int32 orders[],
                                             fmi3Float64 values[], size_t nValues)
{
    ASK("fmi3GetOutputDerivatives", STEPPING | INTERMEDIATE | TERMINATED);
    if (!as_many(me, nValueReferences, nValues)) return fmi3Error;
    return (fmi3Status)fmu_output_rates(me, valueReferences, nValueReferences, orders, values);
}

EXPORTED fmi3Status fmi3DoStep(fmi3Instance instance, fmi3Float64 currentCommunicationPoint,
                               fmi3Float64 communicationStepSize, fmi3Boolean noSetFMUStatePriorToCurrentPoint,
                               fmi3Boolean *eventHandlingNeeded, fmi3Boolean *terminateSimulation,
                               fmi3Boolean *earlyReturn, fmi3Float64 *lastSuccessfulTime)
{
    int happening[ROOM(N_EVENTS)] = {0};
    ASK("fmi3DoStep", STEPPING);
    (void)noSetFMUStatePriorToCurrentPoint;
    if (!eventHandlingNeeded || !terminateSimulation || !earlyReturn || !lastSuccessfulTime)
        return (fmi3Status)fmu_fail(me, "a place for an answer is missing");
    if (me->now.ended) return (fmi3Status)fmu_fail(me, "an event has ended the run");
    *eventHandlingNeeded = *earlyReturn = false;
    if (fmu_advance(me, currentCommunicationPoint, communicationStepSize) != FMU_OK) return fmi3Error;
    *eventHandlingNeeded = me->events && fmu_happening(me, happening);
    *terminateSimulation = me->now.ended;
    *lastSuccessfulTime = me->now.run.t;
    *earlyReturn = !me->now.ended && me->now.run.t < currentCommunicationPoint + communicationStepSize;
    return fmi3OK;
}

FUNCTION(ActivateModelPartition, (void *instance, fmi3ValueReference clock, double activationTime), READABLE,
         ((void)clock, (void)activationTime, fmu_fail(me, "scheduled execution is not offered")))
