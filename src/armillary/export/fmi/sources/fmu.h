/* fmu.h: one instance of the model, for all versions of FMI.
 *
 *  variables.c   (generated)  numbers, names and start values of this model
 *  <model>.c     (generated)  its equations, <model>_directional.c their directional derivatives
 *  fmu.c         variables by reference, modes
 *  <model>_solver.c (generated)  runs through time: steps, events, memory
 *  events.c      what happens between steps of the importer's integrator
 *  stepper.c     co-simulation: the solver from one communication point to the next
 *  partial.c     directional and adjoint derivatives
 *  saved.c       states of an instance, saved and restored
 *  fmi2.c, fmi3.c             the functions of the standard, one file per version; standard.h has their common part
 *
 *  Where joints lock or dependent speeds are exchanged, the states of the FMU are the motion: all coordinates, all speeds,
 *  user's states. The states of the present configuration's equations, `run.state`, are some of them.
 *
 *  There are no globals: all data of an instance are in its own struct.
 */
#ifndef FMU_H
#define FMU_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "variables.h"

/* Arrays of C have at least one entry. */
#define ROOM(n) ((n) > 0 ? (n) : 1)

/* States of the present configuration of an instance `me`: their number, and their indices in the FMU's states. */
#if CHANGING
#define USED (me->now.run.used)
#define PLACE(i) (STATE_PLACES[me->now.run.configuration][i])
#else
#define USED N_STATES
#define PLACE(i) (i)
#endif

enum { FMU_OK, FMU_WARNING, FMU_DISCARD, FMU_ERROR };  /* the same numbers in FMI 2 and 3 */

/* The mode of an instance; single bits, so that a function can list the modes in which it may be called. */
enum {
    INSTANTIATED = 1,
    INITIALIZING = 2,
    EVENT = 4,
    CONTINUOUS = 8,
    STEPPING = 16,
    TERMINATED = 32,
    FAILED = 64,
    INTERMEDIATE = 128 /* between two inner steps */
};
#define STARTED (INITIALIZING | EVENT | CONTINUOUS | STEPPING | INTERMEDIATE)
#define READABLE (STARTED | INSTANTIATED | TERMINATED | FAILED)

/* All that a saved state holds. */
typedef struct {
    model_run run;                          /* time, state, memory and constants, in the model's own units */
    double parameters[ROOM(N_PARAMETERS)];  /* in the units of modelDescription.xml */
    double last_slopes[ROOM(N_MEMORY)];     /* of inputs, in the last communication step */
#if CHANGING
    double motion[N_STATES + N_BEYOND];   /* as the importer has set it or last read it */
    int32_t loose;                          /* run.state still has to follow from it */
#endif
#if HAS_JUMPS
    double time;                            /* model exchange: as the importer has set it, */
    double after, before;                   /* and what bounds the time that the equations see, between events */
#endif
    double tolerance;                       /* of the importer; 0: none */
    int32_t given[ROOM(N_STATES)];          /* 1 for states that the importer has set */
    int32_t changed;                        /* a parameter or a coordinate differs from the description */
    int32_t mode;
    int32_t fresh;      /* the first event iteration is still to come */
    int32_t completed;  /* a step has been completed since the last event iteration */
    int32_t ended;      /* an event has ended the run */
} fmu_values;

typedef struct fmu fmu;

typedef void fmu_log(const fmu *instance, int status, const char *message);
typedef int fmu_between(fmu *instance, double *until); /* whether a step shall end early */
typedef void *fmu_allocate(size_t count, size_t size);
typedef void fmu_free(void *block);

struct fmu {
    fmu_values now;
    int cosimulation;
    int events;  /* co-simulation: the importer handles events itself */
    int early;   /* and lets steps end early */
    int fed;     /* inputs have been set between two inner steps */
    fmu_between *between;
    void *update; /* of the importer, for `between` */
    int stale;   /* constants have to be computed again */
    int known;   /* what follows is up to date */
    double rates[ROOM(N_STATES)];
    double outputs[ROOM(N_OUTPUTS)];
    double shown[ROOM(N_MEMORY)];
    char name[128];
    const char *function;  /* of the standard, now running; for messages */
    fmu_log *log;
    fmu_allocate *allocate;
    fmu_free *release;
    void *environment;  /* of the importer */
    void *logger;       /* of the importer, for `log` */
};

typedef struct {
    int more;       /* another event iteration is needed */
    int ended;
    int moved;      /* continuous states have jumped */
    int scheduled;  /* there is a next time event */
    double next;
} fmu_news;

/* fmu.c */
typedef enum { TIME, PARAMETER, MEMORY, STATE, RATE, OUTPUT, INDICATOR, TICK, UNKNOWN } fmu_kind;
fmu_kind fmu_find(uint32_t reference, size_t *index);
void fmu_constants(fmu *me); /* up to date, and the state, too */
double *fmu_states(fmu *me);  /* the FMU's states, in the model's own units, up to date */
void fmu_rates(fmu *me, const double *memory, double *rates);
int fmu_near_place(const fmu *me); /* where constraints lose rank */
int fmu_crossing(const fmu *me);   /* model exchange: in the step across such a place */
void fmu_event_functions(fmu *me, double *g);
void fmu_start(fmu *me);
int fmu_fail(fmu *me, const char *format, ...);
int fmu_allowed(fmu *me, const char *function, int modes);
int fmu_get(fmu *me, const uint32_t *references, size_t count, double *values);
int fmu_set(fmu *me, const uint32_t *references, size_t count, const double *values);
int fmu_set_slopes(fmu *me, const uint32_t *references, size_t count, const int32_t *orders, const double *values);
int fmu_enter_initialization(fmu *me, double start, double tolerance);
int fmu_exit_initialization(fmu *me);
int fmu_set_time(fmu *me, double time);
int fmu_set_states(fmu *me, const double *states, size_t count);
int fmu_get_states(fmu *me, double *states, size_t count);
int fmu_get_rates(fmu *me, double *rates, size_t count);
int fmu_get_indicators(fmu *me, double *indicators, size_t count);

/* partial.c */
int fmu_directional(fmu *me, const uint32_t *unknowns, size_t n, const uint32_t *knowns, size_t m,
                    const double *seed, double *sensitivity);
int fmu_output_rates(fmu *me, const uint32_t *outputs, size_t n, const int32_t *orders, double *values);
int fmu_adjoint(fmu *me, const uint32_t *unknowns, size_t n, const uint32_t *knowns, size_t m,
                const double *seed, double *sensitivity);

/* saved.c */
int fmu_save(fmu *me, void **saved);
int fmu_restore(fmu *me, const void *saved);
int fmu_forget(fmu *me, void **saved);
size_t fmu_serialized_size(void);
int fmu_serialize(fmu *me, const void *saved, unsigned char *bytes, size_t size);
int fmu_deserialize(fmu *me, const unsigned char *bytes, size_t size, void **saved);

/* events.c */
void fmu_adopt_signs(fmu *me);
int fmu_accumulates(fmu *me, int k);
int fmu_stopped(fmu *me, int k);
#if N_GAPS > 0
int fmu_opened(fmu *me); /* loops that cannot be closed after an event has set coordinates */
#endif
int fmu_happening(fmu *me, int *happening); /* one truth per event that happens now; whether any does */
double fmu_next_jump(fmu *me); /* of data; model exchange */
int fmu_discrete(fmu *me, fmu_news *news);
int fmu_completed(fmu *me, int *event, int *ended);

/* stepper.c */
int fmu_advance(fmu *me, double from, double length);

#endif
