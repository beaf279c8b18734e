/* fmi3.c: the functions of FMI 3.0. Each checks that it may be called now and hands on to fmu.c. */

#include "fmi3.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmu.h"

#define BEFORE (INSTANTIATED | INITIALIZING)
#define ASK(function, modes) \
    fmu *me = instance;      \
    if (!fmu_allowed(me, function, modes)) return fmi3Error

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
    me->log = log_message;
    me->function = function;
    memcpy(&me->logger, &logger, sizeof me->logger);
    me->environment = environment;
    snprintf(me->name, sizeof me->name, "%s", name ? name : MODEL_NAME);
    me->cosimulation = cosimulation;
    if (!token || strcmp(token, TOKEN)) {
        fmu_fail(me, "the instantiation token is not that of this model, %s", TOKEN);
        free(me);
        return NULL;
    }
    if (cosimulation ? !HAS_COSIMULATION : !HAS_EXCHANGE) {
        fmu_fail(me, "this FMU was exported without %s", cosimulation ? "co-simulation" : "model exchange");
        free(me);
        return NULL;
    }
    fmu_start(me);
    return me;
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

EXPORTED void fmi3FreeInstance(fmi3Instance instance) { free(instance); }

EXPORTED fmi3Status fmi3SetDebugLogging(fmi3Instance instance, fmi3Boolean loggingOn, size_t nCategories,
                                        const fmi3String categories[])
{
    ASK("fmi3SetDebugLogging", READABLE);
    (void)loggingOn, (void)nCategories, (void)categories; /* errors alone are logged */
    return fmi3OK;
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

EXPORTED fmi3Status fmi3ExitInitializationMode(fmi3Instance instance)
{
    ASK("fmi3ExitInitializationMode", INITIALIZING);
    return (fmi3Status)fmu_exit_initialization(me);
}

EXPORTED fmi3Status fmi3EnterEventMode(fmi3Instance instance)
{
    ASK("fmi3EnterEventMode", CONTINUOUS | EVENT | (instance && ((fmu *)instance)->events ? STEPPING : 0));
    me->now.mode = EVENT;
    return fmi3OK;
}

EXPORTED fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance instance)
{
    ASK("fmi3EnterContinuousTimeMode", EVENT);
    if (me->cosimulation) return (fmi3Status)fmu_fail(me, "this is an instance for co-simulation");
    me->now.mode = CONTINUOUS;
    return fmi3OK;
}

static fmi3Status not_offered(fmi3Instance instance, const char *function, const char *what)
{
    ASK(function, READABLE);
    return (fmi3Status)fmu_fail(me, "%s", what);
}

EXPORTED fmi3Status fmi3EnterStepMode(fmi3Instance instance)
{
    ASK("fmi3EnterStepMode", EVENT);
    if (!me->cosimulation) return (fmi3Status)fmu_fail(me, "this is an instance for model exchange");
    me->now.mode = STEPPING;
    return fmi3OK;
}

EXPORTED fmi3Status fmi3EnterConfigurationMode(fmi3Instance instance)
{
    return not_offered(instance, "fmi3EnterConfigurationMode", "there are no structural parameters");
}

EXPORTED fmi3Status fmi3ExitConfigurationMode(fmi3Instance instance)
{
    return not_offered(instance, "fmi3ExitConfigurationMode", "there are no structural parameters");
}

EXPORTED fmi3Status fmi3Terminate(fmi3Instance instance)
{
    ASK("fmi3Terminate", EVENT | CONTINUOUS | STEPPING | FAILED);
    me->now.mode = TERMINATED;
    return fmi3OK;
}

EXPORTED fmi3Status fmi3Reset(fmi3Instance instance)
{
    ASK("fmi3Reset", READABLE);
    fmu_start(me);
    return fmi3OK;
}

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

static fmi3Status none(fmi3Instance instance, const char *function, size_t count)
{
    ASK(function, READABLE);
    return count ? (fmi3Status)fmu_fail(me, "this model has variables of type Float64 only") : fmi3OK;
}

#define NO_VARIABLES(type)                                                                                       \
    EXPORTED fmi3Status fmi3Get##type(fmi3Instance instance, const fmi3ValueReference valueReferences[],         \
                                      size_t nValueReferences, fmi3##type values[], size_t nValues)              \
    {                                                                                                            \
        (void)valueReferences, (void)values, (void)nValues;                                                      \
        return none(instance, "fmi3Get" #type, nValueReferences);                                                \
    }                                                                                                            \
    EXPORTED fmi3Status fmi3Set##type(fmi3Instance instance, const fmi3ValueReference valueReferences[],         \
                                      size_t nValueReferences, const fmi3##type values[], size_t nValues)        \
    {                                                                                                            \
        (void)valueReferences, (void)values, (void)nValues;                                                      \
        return none(instance, "fmi3Set" #type, nValueReferences);                                                \
    }
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

EXPORTED fmi3Status fmi3GetBinary(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                  size_t nValueReferences, size_t valueSizes[], fmi3Binary values[], size_t nValues)
{
    (void)valueReferences, (void)valueSizes, (void)values, (void)nValues;
    return none(instance, "fmi3GetBinary", nValueReferences);
}

EXPORTED fmi3Status fmi3SetBinary(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                  size_t nValueReferences, const size_t valueSizes[], const fmi3Binary values[],
                                  size_t nValues)
{
    (void)valueReferences, (void)valueSizes, (void)values, (void)nValues;
    return none(instance, "fmi3SetBinary", nValueReferences);
}

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

EXPORTED fmi3Status fmi3SetClock(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                 size_t nValueReferences, const fmi3Clock values[])
{
    (void)valueReferences, (void)values;
    return none(instance, "fmi3SetClock", nValueReferences);
}

#define NO_CLOCKS(name, first, second)                                                                    \
    EXPORTED fmi3Status name(fmi3Instance instance, const fmi3ValueReference valueReferences[],           \
                             size_t nValueReferences, first, second)                                      \
    {                                                                                                     \
        (void)valueReferences, (void)one, (void)other;                                                    \
        return none(instance, #name, nValueReferences);                                                   \
    }
NO_CLOCKS(fmi3GetIntervalDecimal, fmi3Float64 one[], fmi3IntervalQualifier other[])
NO_CLOCKS(fmi3GetShiftFraction, fmi3UInt64 one[], fmi3UInt64 other[])
NO_CLOCKS(fmi3SetIntervalFraction, const fmi3UInt64 one[], const fmi3UInt64 other[])
NO_CLOCKS(fmi3SetShiftFraction, const fmi3UInt64 one[], const fmi3UInt64 other[])

#define NO_CLOCK(name, type)                                                                              \
    EXPORTED fmi3Status name(fmi3Instance instance, const fmi3ValueReference valueReferences[],           \
                             size_t nValueReferences, type values[])                                      \
    {                                                                                                     \
        (void)valueReferences, (void)values;                                                              \
        return none(instance, #name, nValueReferences);                                                   \
    }
NO_CLOCK(fmi3GetShiftDecimal, fmi3Float64)
NO_CLOCK(fmi3SetIntervalDecimal, const fmi3Float64)
NO_CLOCK(fmi3SetShiftDecimal, const fmi3Float64)

EXPORTED fmi3Status fmi3GetIntervalFraction(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                            size_t nValueReferences, fmi3UInt64 counters[],
                                            fmi3UInt64 resolutions[], fmi3IntervalQualifier qualifiers[])
{
    (void)valueReferences, (void)counters, (void)resolutions, (void)qualifiers;
    return none(instance, "fmi3GetIntervalFraction", nValueReferences);
}

EXPORTED fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance instance, fmi3ValueReference valueReference,
                                                        size_t *nDependencies)
{
    (void)valueReference, (void)nDependencies;
    return not_offered(instance, "fmi3GetNumberOfVariableDependencies", "dependencies are in modelDescription.xml");
}

EXPORTED fmi3Status fmi3GetVariableDependencies(fmi3Instance instance, fmi3ValueReference dependent,
                                                size_t elementIndicesOfDependent[],
                                                fmi3ValueReference independents[],
                                                size_t elementIndicesOfIndependents[],
                                                fmi3DependencyKind dependencyKinds[], size_t nDependencies)
{
    (void)dependent, (void)elementIndicesOfDependent, (void)independents, (void)elementIndicesOfIndependents;
    (void)dependencyKinds, (void)nDependencies;
    return not_offered(instance, "fmi3GetVariableDependencies", "dependencies are in modelDescription.xml");
}

/* ------------------------------------------------------------------ saved states, derivatives */

EXPORTED fmi3Status fmi3GetFMUState(fmi3Instance instance, fmi3FMUState *FMUState)
{
    ASK("fmi3GetFMUState", READABLE);
    return (fmi3Status)fmu_save(me, FMUState);
}

EXPORTED fmi3Status fmi3SetFMUState(fmi3Instance instance, fmi3FMUState FMUState)
{
    ASK("fmi3SetFMUState", READABLE);
    return (fmi3Status)fmu_restore(me, FMUState);
}

EXPORTED fmi3Status fmi3FreeFMUState(fmi3Instance instance, fmi3FMUState *FMUState)
{
    ASK("fmi3FreeFMUState", READABLE);
    return (fmi3Status)fmu_forget(me, FMUState);
}

EXPORTED fmi3Status fmi3SerializedFMUStateSize(fmi3Instance instance, fmi3FMUState FMUState, size_t *size)
{
    ASK("fmi3SerializedFMUStateSize", READABLE);
    (void)FMUState;
    if (!size) return (fmi3Status)fmu_fail(me, "a place for the size is missing");
    *size = fmu_serialized_size();
    return fmi3OK;
}

EXPORTED fmi3Status fmi3SerializeFMUState(fmi3Instance instance, fmi3FMUState FMUState, fmi3Byte serializedState[],
                                          size_t size)
{
    ASK("fmi3SerializeFMUState", READABLE);
    return (fmi3Status)fmu_serialize(me, FMUState, serializedState, size);
}

EXPORTED fmi3Status fmi3DeserializeFMUState(fmi3Instance instance, const fmi3Byte serializedState[], size_t size,
                                            fmi3FMUState *FMUState)
{
    ASK("fmi3DeserializeFMUState", READABLE);
    return (fmi3Status)fmu_deserialize(me, serializedState, size, FMUState);
}

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

EXPORTED fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance instance)
{
    ASK("fmi3EvaluateDiscreteStates", INITIALIZING | EVENT);
    return fmi3OK;
}

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

EXPORTED fmi3Status fmi3CompletedIntegratorStep(fmi3Instance instance, fmi3Boolean noSetFMUStatePriorToCurrentPoint,
                                                fmi3Boolean *enterEventMode, fmi3Boolean *terminateSimulation)
{
    int event = 0, ended = 0;
    ASK("fmi3CompletedIntegratorStep", CONTINUOUS);
    (void)noSetFMUStatePriorToCurrentPoint;
    if (!enterEventMode || !terminateSimulation) return (fmi3Status)fmu_fail(me, "a place for an answer is missing");
    if (fmu_completed(me, &event, &ended) != FMU_OK) return fmi3Error;
    *enterEventMode = event;
    *terminateSimulation = ended;
    return fmi3OK;
}

EXPORTED fmi3Status fmi3SetTime(fmi3Instance instance, fmi3Float64 time)
{
    ASK("fmi3SetTime", CONTINUOUS | EVENT);
    return (fmi3Status)fmu_set_time(me, time);
}

EXPORTED fmi3Status fmi3SetContinuousStates(fmi3Instance instance, const fmi3Float64 continuousStates[],
                                            size_t nContinuousStates)
{
    ASK("fmi3SetContinuousStates", CONTINUOUS | EVENT);
    return (fmi3Status)fmu_set_states(me, continuousStates, nContinuousStates);
}

EXPORTED fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance instance, fmi3Float64 derivatives[],
                                                      size_t nContinuousStates)
{
    ASK("fmi3GetContinuousStateDerivatives", STARTED | TERMINATED);
    return (fmi3Status)fmu_get_rates(me, derivatives, nContinuousStates);
}

EXPORTED fmi3Status fmi3GetEventIndicators(fmi3Instance instance, fmi3Float64 eventIndicators[],
                                           size_t nEventIndicators)
{
    ASK("fmi3GetEventIndicators", STARTED | TERMINATED);
    return (fmi3Status)fmu_get_indicators(me, eventIndicators, nEventIndicators);
}

EXPORTED fmi3Status fmi3GetContinuousStates(fmi3Instance instance, fmi3Float64 continuousStates[],
                                            size_t nContinuousStates)
{
    ASK("fmi3GetContinuousStates", STARTED | TERMINATED);
    return (fmi3Status)fmu_get_states(me, continuousStates, nContinuousStates);
}

EXPORTED fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance instance, fmi3Float64 nominals[],
                                                      size_t nContinuousStates)
{
    ASK("fmi3GetNominalsOfContinuousStates", READABLE);
    if (nContinuousStates != N_STATES || (nContinuousStates && !nominals))
        return (fmi3Status)fmu_fail(me, "%d values are needed", N_STATES);
    for (size_t i = 0; i < nContinuousStates; i++) nominals[i] = 1.0;
    return fmi3OK;
}

EXPORTED fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance instance, size_t *nEventIndicators)
{
    ASK("fmi3GetNumberOfEventIndicators", READABLE);
    if (!nEventIndicators) return (fmi3Status)fmu_fail(me, "a place for the number is missing");
    *nEventIndicators = N_INDICATORS;
    return fmi3OK;
}

EXPORTED fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance instance, size_t *nContinuousStates)
{
    ASK("fmi3GetNumberOfContinuousStates", READABLE);
    if (!nContinuousStates) return (fmi3Status)fmu_fail(me, "a place for the number is missing");
    *nContinuousStates = N_STATES;
    return fmi3OK;
}

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

EXPORTED fmi3Status fmi3ActivateModelPartition(fmi3Instance instance, fmi3ValueReference clockReference,
                                               fmi3Float64 activationTime)
{
    (void)clockReference, (void)activationTime;
    return not_offered(instance, "fmi3ActivateModelPartition", "scheduled execution is not offered");
}
