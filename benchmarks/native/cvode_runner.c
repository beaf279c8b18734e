/* A run by SUNDIALS' CVODE (BDF) on a model's compiled functions, for benchmarks/stiff.py.
 *
 * Small models have a dense Jacobian, which CVODE factorises. Large ones have the sparse equations of our own implicit
 * steps (src/armillary/program/sparse_rates.py): with their factors as preconditioner, CVODE's GMRES converges in one
 * or two iterations, and a step takes time proportional to the number of elements.
 */
#include <cvode/cvode.h>
#include <nvector/nvector_serial.h>
#include <string.h>
#include <sundials/sundials_config.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunlinsol/sunlinsol_spgmr.h>
#include <sunmatrix/sunmatrix_dense.h>

typedef void section(double t, const double *state, const double *constants, const double *memory, double *out);

typedef struct {
    section *rates, *partials; /* of partial derivatives, column after column, or of elements of sparse equations */
    const double *constants, *memory;
    int n;
    int unknowns; /* of sparse equations; 0: they are dense */
    const int *row_start, *upper_start, *column, *entry_start, *entry_column, *state_of;
    double *entries, *factors, *pivots, *solution; /* of sparse equations; `entries` has n*(n + 1) partials, too */
    double gamma; /* of the factors */
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
    m->partials(t, N_VGetArrayPointer(y), m->constants, m->memory, m->entries);
    memcpy(SUNDenseMatrix_Data(J), m->entries, sizeof(double) * (size_t)m->n * (size_t)m->n);
    return 0;
}

/* Factorise I/gamma - df/dy, row after row: `factorise_entries` of src/armillary/solver/linearly_implicit.py. */
static int factorise(double t, N_Vector y, N_Vector f, int kept, int *renewed, double gamma, void *given)
{
    model *m = given;
    double *x = m->solution;
    (void)f;
    if (!kept)
        m->partials(t, N_VGetArrayPointer(y), m->constants, m->memory, m->entries);
    *renewed = !kept;
    m->gamma = gamma;
    for (int i = 0; i < m->unknowns; i++) {
        for (int e = m->row_start[i]; e < m->row_start[i + 1]; e++)
            x[m->column[e]] = 0.0;
        x[i] = m->state_of[i] < 0 ? 1.0 : 1.0 / gamma;
        for (int e = m->entry_start[i]; e < m->entry_start[i + 1]; e++)
            x[m->entry_column[e]] -= m->entries[e];
        for (int e = m->row_start[i]; e < m->upper_start[i]; e++) {
            int before = m->column[e];
            double factor = m->factors[e] = x[before] * m->pivots[before];
            for (int k = m->upper_start[before]; k < m->row_start[before + 1]; k++)
                x[m->column[k]] -= factor * m->factors[k];
        }
        for (int e = m->upper_start[i]; e < m->row_start[i + 1]; e++)
            m->factors[e] = x[m->column[e]];
        m->pivots[i] = 1.0 / x[i];
    }
    return 0;
}

static int solve(double t, N_Vector y, N_Vector f, N_Vector right, N_Vector out, double gamma, double delta, int left,
                 void *given)
{
    const model *m = given;
    double *x = m->solution;
    (void)t, (void)y, (void)f, (void)gamma, (void)delta, (void)left;
    for (int i = 0; i < m->unknowns; i++) {
        double total = m->state_of[i] < 0 ? 0.0 : N_VGetArrayPointer(right)[m->state_of[i]] / m->gamma;
        for (int e = m->row_start[i]; e < m->upper_start[i]; e++)
            total -= m->factors[e] * x[m->column[e]];
        x[i] = total;
    }
    for (int i = m->unknowns - 1; i >= 0; i--) {
        for (int e = m->upper_start[i]; e < m->row_start[i + 1]; e++)
            x[i] -= m->factors[e] * x[m->column[e]];
        x[i] *= m->pivots[i];
        if (m->state_of[i] >= 0)
            N_VGetArrayPointer(out)[m->state_of[i]] = x[i];
    }
    return 0;
}

/* States at `count` equal parts of the duration after the start, into rows; the number of steps, or CVODE's error. */
long run_cvode(model *m, const double *start, double duration, int count, double rtol, double atol, double longest,
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
    SUNMatrix J = m->unknowns ? NULL : SUNDenseMatrix(m->n, m->n, context);
    SUNLinearSolver solver = m->unknowns ? SUNLinSol_SPGMR(y, SUN_PREC_LEFT, 0, context) : SUNLinSol_Dense(y, J, context);
    CVodeInit(memory, rates, 0.0, y);
    CVodeSStolerances(memory, rtol, atol);
    CVodeSetUserData(memory, m);
    CVodeSetMaxNumSteps(memory, 100000000);
    CVodeSetMaxStep(memory, longest);
    CVodeSetLinearSolver(memory, solver, J);
    if (m->unknowns)
        CVodeSetPreconditioner(memory, factorise, solve);
    else if (m->partials)
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
    if (J)
        SUNMatDestroy(J);
    N_VDestroy(y);
    SUNContext_Free(&context);
    return found;
}
