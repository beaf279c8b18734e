/* A run by SUNDIALS' CVODE (BDF, dense Newton iterations) on a model's compiled functions, for benchmarks/stiff.py. */
#include <cvode/cvode.h>
#include <nvector/nvector_serial.h>
#include <string.h>
#include <sundials/sundials_config.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

typedef void section(double t, const double *state, const double *constants, const double *memory, double *out);

typedef struct {
    section *rates, *partials; /* of partial derivatives, column after column, or rates and elements; 0: differences */
    const double *constants, *memory, *partial_constants;
    int n;
    int elements; /* of the Jacobian that can differ from zero, by row and column; -1: all */
    const int *rows, *columns;
    double *work; /* n*(n + 1) */
} model;

static int rates(double t, N_Vector y, N_Vector out, void *given)
{
    const model *m = given;
    m->rates(t, N_VGetArrayPointer(y), m->constants, m->memory, N_VGetArrayPointer(out));
    return 0;
}

static int jacobian(double t, N_Vector y, N_Vector f, SUNMatrix J, void *given, N_Vector a, N_Vector b, N_Vector c)
{
    const model *m = given;
    (void)f, (void)a, (void)b, (void)c;
    m->partials(t, N_VGetArrayPointer(y), m->partial_constants, m->memory, m->work);
    if (m->elements < 0) {
        memcpy(SUNDenseMatrix_Data(J), m->work, sizeof(double) * (size_t)m->n * (size_t)m->n);
        return 0;
    }
    SUNMatZero(J);
    for (int e = 0; e < m->elements; e++)
        SM_ELEMENT_D(J, m->rows[e], m->columns[e]) = m->work[m->n + e];
    return 0;
}

/* States at `count` equal parts of the duration after the start, into rows; the number of steps, or CVODE's error. */
long run_cvode(const model *m, const double *start, double duration, int count, double rtol, double atol, double longest,
               double *rows)
{
    SUNContext context;
#if SUNDIALS_VERSION_MAJOR >= 7
    SUNContext_Create(SUN_COMM_NULL, &context);
#else
    SUNContext_Create(0, &context);
#endif
    N_Vector y = N_VNew_Serial(m->n, context);
    memcpy(N_VGetArrayPointer(y), start, sizeof(double) * (size_t)m->n);
    void *memory = CVodeCreate(CV_BDF, context);
    SUNMatrix J = SUNDenseMatrix(m->n, m->n, context);
    SUNLinearSolver solver = SUNLinSol_Dense(y, J, context);
    CVodeInit(memory, rates, 0.0, y);
    CVodeSStolerances(memory, rtol, atol);
    CVodeSetUserData(memory, (void *)m);
    CVodeSetMaxNumSteps(memory, 100000000);
    CVodeSetMaxStep(memory, longest);
    CVodeSetLinearSolver(memory, solver, J);
    if (m->partials)
        CVodeSetJacFn(memory, jacobian);
    long found = 0;
    for (int i = 1; i <= count && found >= 0; i++) {
        double t;
        int status = CVode(memory, duration * i / count, y, &t, CV_NORMAL);
        found = status < 0 ? status : 0;
        memcpy(rows + (size_t)(i - 1) * (size_t)m->n, N_VGetArrayPointer(y), sizeof(double) * (size_t)m->n);
    }
    if (found == 0)
        CVodeGetNumSteps(memory, &found);
    CVodeFree(&memory);
    SUNLinSolFree(solver);
    SUNMatDestroy(J);
    N_VDestroy(y);
    SUNContext_Free(&context);
    return found;
}
