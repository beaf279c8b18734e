/* fmu.h: one instance of the model, whatever version of FMI asks for it.
 *
 *  variables.c   (generated)  numbers, names and start values of this model
 *  <model>.c     (generated)  its equations, <model>_directional.c their directional derivatives
 *  fmu.c         variables by reference, modes
 *  events.c      what happens between steps
 *  stepper.c     co-simulation: fixed steps of the classical Runge-Kutta method, events located
 *  partial.c     directional and adjoint derivatives
 *  saved.c       states of an instance, saved and restored
 *  fmi2.c, fmi3.c             the functions of the standard, one file per version
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

enum { FMU_OK, FMU_WARNING, FMU_DISCARD, FMU_ERROR };  /* the same numbers in FMI 2 and 3 */

/* Where an instance stands; single bits, so that a function can list those in which it may be called. */
enum {
    INSTANTIATED = 1,
    INITIALIZING = 2,
    EVENT = 4,
    CONTINUOUS = 8,
    STEPPING = 16,
    TERMINATED = 32,
    FAILED = 64
};
#define STARTED (INITIALIZING | EVENT | CONTINUOUS | STEPPING)
#define READABLE (STARTED | INSTANTIATED | TERMINATED | FAILED)

/* All that a saved state holds. */
typedef struct {
    double time;
    double parameters[ROOM(N_PARAMETERS)];  /* in the units of modelDescription.xml */
    double constants[ROOM(N_CONSTANTS)];    /* what follows from them, computed once */
    double state[ROOM(N_STATES)];           /* like the memory in the model's own units */
    double memory[ROOM(N_MEMORY)];          /* inputs, discrete states, clocks */
    double sign[ROOM(N_EVENTS)];            /* of each event function; 0: to be seen */
    double side[ROOM(N_EVENTS)];            /* from which it last came */
    double reach[ROOM(N_EVENTS)];           /* of the event functions at the start of a step */
    double last[ROOM(N_EVENTS)];            /* time at which each last happened */
    double gap[ROOM(N_EVENTS)];             /* and how long after the time before */
    double longest[ROOM(N_EVENTS)];         /* of such gaps in a streak, in which none doubles */
    double streak[ROOM(N_EVENTS)];          /* gaps in the streak so far */
    double stuck[ROOM(N_EVENTS)];           /* gaps in a row that are as short as rounding */
    double fired;                           /* events so far */
    int32_t given[ROOM(N_STATES)];          /* 1 for states that the importer has set */
    int32_t changed;                        /* a parameter or a coordinate is not that of the description */
    int32_t mode;
    int32_t fresh;      /* the first event iteration is still to come */
    int32_t completed;  /* a step has been completed since the last event iteration */
    int32_t ended;      /* an event has ended the run */
} fmu_values;

typedef struct fmu fmu;

typedef void fmu_log(const fmu *instance, int status, const char *message);
typedef void *fmu_allocate(size_t count, size_t size);
typedef void fmu_free(void *block);

struct fmu {
    fmu_values now;
    int cosimulation;
    int stale;   /* constants have to be computed anew */
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
typedef enum { TIME, PARAMETER, MEMORY, STATE, RATE, OUTPUT, INDICATOR, UNKNOWN } fmu_kind;
fmu_kind fmu_find(uint32_t reference, size_t *index);
void fmu_constants(fmu *me);
void fmu_start(fmu *me);
int fmu_fail(fmu *me, const char *format, ...);
int fmu_allowed(fmu *me, const char *function, int modes);
int fmu_get(fmu *me, const uint32_t *references, size_t count, double *values);
int fmu_set(fmu *me, const uint32_t *references, size_t count, const double *values);
int fmu_enter_initialization(fmu *me, double start);
int fmu_exit_initialization(fmu *me);
int fmu_set_time(fmu *me, double time);
int fmu_set_states(fmu *me, const double *states, size_t count);
int fmu_get_states(fmu *me, double *states, size_t count);
int fmu_get_rates(fmu *me, double *rates, size_t count);
int fmu_get_indicators(fmu *me, double *indicators, size_t count);

/* partial.c */
int fmu_directional(fmu *me, const uint32_t *unknowns, size_t n, const uint32_t *knowns, size_t m,
                    const double *seed, double *sensitivity);
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
int fmu_happens(const fmu *me, int k, double g);
int fmu_clock_due(const fmu *me, int k, double time);
int fmu_accumulates(fmu *me, int k);
int fmu_fire(fmu *me, const int *happening);
int fmu_discrete(fmu *me, fmu_news *news);
int fmu_completed(fmu *me, int *event, int *ended);

/* stepper.c */
int fmu_advance(fmu *me, double from, double length);

#endif
