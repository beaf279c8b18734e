/* Stopwatch, and the timed loops over generated functions.
 *
 * Every candidate is a loop `double loop(void* self, long evaluations)` that walks its pool of states in
 * compiled code and returns a checksum, and `void accelerations(void* self, long state, double* a)`, which
 * evaluates the very data that the loop uses. Library peers bring both (candidate.hpp); generated functions get
 * them here, by address, one pair per calling convention. So does LAPACK.
 */
#include <math.h>
#include <string.h>
#include <time.h>

typedef double (*loop_function)(void* self, long evaluations);

/* Thread CPU time: on a shared machine, preemption must not be charged to a candidate. */
double chunk_seconds(loop_function loop, void* self, long evaluations)
{
    struct timespec start, stop;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    volatile double checksum = loop(self, evaluations);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &stop);
    (void)checksum;
    return (double)(stop.tv_sec - start.tv_sec) + 1e-9 * (double)(stop.tv_nsec - start.tv_nsec);
}

#define LOOP(name, type, evaluate)                              \
    double name(void* self, long evaluations)                   \
    {                                                           \
        const type* s = self;                                   \
        double checksum = 0.0;                                  \
        for (long n = 0, k = 0; n < evaluations; n++) {         \
            checksum += evaluate(s, k)[s->nv - 1];              \
            if (++k == s->states) k = 0;                        \
        }                                                       \
        return checksum;                                        \
    }

#define ACCELERATIONS(name, type, evaluate)                     \
    void name(void* self, long k, double* a)                    \
    {                                                           \
        const type* s = self;                                   \
        memcpy(a, evaluate(s, k), sizeof(double) * s->nv);      \
    }

/* Armillary: the efforts are parameters, so there is one row of constants for each state. */
typedef struct {
    void (*function)(double t, const double* state, const double* constants, const double* memory, double* rate);
    long states, nq, nv, n_constants;
    const double *state, *constants, *memory;
    double* rate;
} Derivatives;

static inline const double* derivatives_evaluate(const Derivatives* s, long k)
{
    s->function(0.0, s->state + k * (s->nq + s->nv), s->constants + k * s->n_constants, s->memory, s->rate);
    return s->rate + s->nq;
}
LOOP(derivatives_loop, Derivatives, derivatives_evaluate)

/* Evaluations that each wait for the one before, as in a simulation: a wide core overlaps independent ones.
 * The state is renewed element by element: vector loads would wait for the scalar stores of the derivatives. */
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("no-tree-vectorize", "no-tree-slp-vectorize")))
#endif
double derivatives_chain(void* self, long evaluations)
{
    const Derivatives* s = self;
    const long n = s->nq + s->nv;
    double y[n];
    memcpy(y, s->state, sizeof y);
    for (long i = 0; i < evaluations; i++) {
        s->function(0.0, y, s->constants, s->memory, s->rate);
        for (long k = 0; k < n; k++) y[k] += 1e-30 * s->rate[k];
    }
    return y[0];
}
ACCELERATIONS(derivatives_accelerations, Derivatives, derivatives_evaluate)

/* Armillary's inverse dynamics: a state is followed by the rates of its speeds, nq + nv numbers in all; nv efforts. */
static inline const double* efforts_evaluate(const Derivatives* s, long k)
{
    s->function(0.0, s->state + k * (s->nq + s->nv), s->constants + k * s->n_constants, s->memory, s->rate);
    return s->rate;
}
LOOP(efforts_loop, Derivatives, efforts_evaluate)
ACCELERATIONS(efforts_accelerations, Derivatives, efforts_evaluate)

/* Plain C: f(q, v, tau, a). */
typedef struct {
    void (*function)(const double* q, const double* v, const double* tau, double* a);
    long states, nq, nv;
    const double *q, *v, *tau;
    double* a;
} Plain;

static inline const double* plain_evaluate(const Plain* s, long k)
{
    s->function(s->q + k * s->nq, s->v + k * s->nv, s->tau + k * s->nv, s->a);
    return s->a;
}
LOOP(plain_loop, Plain, plain_evaluate)
ACCELERATIONS(plain_accelerations, Plain, plain_evaluate)

/* CasADi: f(arg, res, iw, w, mem) with arg = {q, v, tau} and res = {a}. */
typedef struct {
    int (*function)(const double** arg, double** res, long long* iw, double* w, int mem);
    long states, nq, nv;
    const double *q, *v, *tau;
    double* a;
    const double** arg;
    double** res;
    long long* iw;
    double* w;
} Casadi;

static inline const double* casadi_evaluate(const Casadi* s, long k)
{
    s->arg[0] = s->q + k * s->nq;
    s->arg[1] = s->v + k * s->nv;
    s->arg[2] = s->tau + k * s->nv;
    s->res[0] = s->a;
    s->function(s->arg, s->res, s->iw, s->w, 0);
    return s->a;
}
LOOP(casadi_loop, Casadi, casadi_evaluate)
ACCELERATIONS(casadi_accelerations, Casadi, casadi_evaluate)

/* LAPACK's Cholesky solution of M a = f, one matrix per state. It overwrites what it is given, so both are copied
 * first; `copy_loop` times that alone. */
typedef struct {
    void (*potrf)(char* uplo, int* n, double* a, int* lda, int* info);
    void (*potrs)(char* uplo, int* n, int* nrhs, double* a, int* lda, double* b, int* ldb, int* info);
    long states, nv;
    const double *matrix, *right;
    double *work, *a;
} Cholesky;

static inline const double* copy_evaluate(const Cholesky* s, long k)
{
    memcpy(s->work, s->matrix + k * s->nv * s->nv, sizeof(double) * s->nv * s->nv);
    memcpy(s->a, s->right + k * s->nv, sizeof(double) * s->nv);
    __asm__ volatile("" : : "r"(s->work) : "memory");
    return s->a;
}
LOOP(copy_loop, Cholesky, copy_evaluate)
ACCELERATIONS(copy_accelerations, Cholesky, copy_evaluate)

static inline const double* cholesky_evaluate(const Cholesky* s, long k)
{
    char lower = 'L';
    int n = (int)s->nv, one = 1, info = 0;
    copy_evaluate(s, k);
    s->potrf(&lower, &n, s->work, &n, &info);
    if (info == 0) s->potrs(&lower, &n, &one, s->work, &n, s->a, &n, &info);
    if (info != 0) s->a[0] = NAN;
    return s->a;
}
LOOP(cholesky_loop, Cholesky, cholesky_evaluate)
ACCELERATIONS(cholesky_accelerations, Cholesky, cholesky_evaluate)
