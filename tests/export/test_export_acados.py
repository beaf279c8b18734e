"""C for acados, CasADi and hand-written solvers, compiled and called, against the model in the process."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import armillary as arm
from tests.control.systems import cart_pole

REALS = ctypes.POINTER(ctypes.c_double)
X, F, L = np.array([0.1, 0.7, -0.4, 1.2]), 3.0, 0.45
H = 0.05  # the step of discrete models
PLACE = {"cart.q1": 0.1, "pole.q1": 0.7, "cart.u1": -0.4, "pole.u1": 1.2, "F": F}
STEM = "cart_and_pole"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The exported functions, as a shared library."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler, cc")
    folder = tmp_path_factory.mktemp("acados")
    cart_pole().equations.export("c", folder / "code", profile="acados", parameters=["L"], step=H)
    strict = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Dcasadi_int=int"]
    command = ["cc", *strict, "-fPIC", "-shared", f"code/{STEM}_functions.c", "-o", "functions.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "functions.so"))


def call(library, name, *arguments):
    """Dense results of a function by CasADi's interface, with casadi_int as int."""
    whole = ctypes.POINTER(ctypes.c_int)
    describe = getattr(library, f"{STEM}_{name}_sparsity_out")
    describe.restype, describe.argtypes = whole, [ctypes.c_int]
    given = [np.ascontiguousarray(np.ravel(a, order="F"), dtype=float) for a in arguments]
    assert getattr(library, f"{STEM}_{name}_n_in")() == len(given)
    shapes = []
    for k in range(getattr(library, f"{STEM}_{name}_n_out")()):
        s = describe(k)
        rows, columns = s[0], s[1]
        starts = [0] * (columns + 1) if s[2] == 1 else [s[2 + j] for j in range(columns + 1)]
        dense = s[2] == 1
        places = [(i, j) for j in range(columns) for i in range(rows)] if dense else [
            (s[3 + columns + e], j) for j in range(columns) for e in range(starts[j], starts[j + 1])
        ]  # fmt: skip
        shapes.append((rows, columns, places))
    outs = [np.full(max(len(places), 1), np.nan) for _, _, places in shapes]
    pointers = [(REALS * len(group))(*(a.ctypes.data_as(REALS) for a in group)) for group in (given, outs)]
    assert getattr(library, f"{STEM}_{name}")(*pointers, None, None, 0) == 0
    found = []
    for (rows, columns, places), values in zip(shapes, outs, strict=True):
        dense = np.zeros((rows, columns))
        for (i, j), value in zip(places, values, strict=False):
            dense[i, j] = value
        found.append(dense)
    return found


def test_explicit_and_implicit_models_are_those_of_the_process(library):
    model, own = cart_pole(), {"parameters": {"L": L}}
    rates = model.derivatives(0.0, X, memory={"F": F}, **own)
    lin = model.linearize(PLACE, ["F"], **own)
    rng = np.random.default_rng(1)
    Sx, Su, w = rng.normal(size=(4, 4)), rng.normal(size=(4, 1)), rng.normal(size=4)
    H = model.second_derivatives(PLACE, ["F"], weights=w, **own)
    whole, S = np.hstack([lin.A, lin.B]), np.block([[Sx, Su], [np.zeros((1, 4)), np.eye(1)]])

    def close(a, b):
        assert np.allclose(a, b, rtol=1e-12, atol=1e-12)

    close(call(library, "expl_ode_fun", X, F, L)[0][:, 0], rates)
    f, forward_x, forward_u = call(library, "expl_vde_forw", X, Sx, Su, F, L)
    close(f[:, 0], rates)
    close(forward_x, lin.A @ Sx)
    close(forward_u, lin.A @ Su + lin.B)
    close(call(library, "expl_vde_adj", X, w, F, L)[0][:, 0], whole.T @ w)
    adjoint, triangle = call(library, "expl_ode_hess", X, Sx, Su, w, F, L)
    close(adjoint[:, 0], whole.T @ w)
    projected = S.T @ H @ S
    close(triangle[:, 0], np.concatenate([projected[j:, j] for j in range(5)]))
    slope, none = rng.normal(size=4), np.empty(0)
    dae = (X, slope, F, none, 0.0, L)
    close(call(library, "impl_dae_fun", *dae)[0][:, 0], slope - rates)
    for name, parts in (
        ("impl_dae_fun_jac_x_xdot_z", (None, -lin.A, np.eye(4), np.empty((4, 0)))),
        ("impl_dae_jac_x_xdot_u_z", (-lin.A, np.eye(4), -lin.B, np.empty((4, 0)))),
        ("impl_dae_fun_jac_x_xdot_u", (None, -lin.A, np.eye(4), -lin.B)),
        ("impl_dae_fun_jac_x_xdot_u_z", (None, -lin.A, np.eye(4), -lin.B, np.empty((4, 0)))),
    ):
        for found, known in zip(call(library, name, *dae), parts, strict=True):
            close(found, (slope - rates)[:, None] if known is None else known)
    (bent,) = call(library, "impl_dae_hess", X, slope, F, none, w, 0.0, L)
    known = np.zeros((9, 9))
    places = np.array([0, 1, 2, 3, 8])
    known[np.ix_(places, places)] = -H
    close(bent, known)


def test_a_discrete_step_and_its_derivatives_are_those_of_a_run_and_of_its_differences(library):
    """acados orders [u, x]; second derivatives against differences of first ones, of order four."""
    model, w, change = cart_pole(), np.array([0.3, -1.0, 2.0, 0.7]), 2e-3
    initial = {name: value for name, value in PLACE.items() if name != "F"}
    run = model.simulate(H, step=H, initial=initial, inputs={"F": F}, parameters={"L": L})
    end = [run.final[name] for name in initial]
    (plain,) = call(library, "dyn_disc_phi_fun", X, F, L)
    assert np.allclose(plain[:, 0], end, rtol=1e-13, atol=1e-14)
    phi, jac = call(library, "dyn_disc_phi_fun_jac", X, F, L)
    again, same, bent = call(library, "dyn_disc_phi_fun_jac_hess", X, F, w, L)
    assert np.array_equal(again, phi) and np.array_equal(same, jac)
    assert np.allclose(phi, plain, rtol=1e-13, atol=1e-14)

    def difference(function):
        slopes = []
        for move in change * np.eye(5):
            near, far = (
                function(X + k * move[1:], F + k * move[0]) - function(X - k * move[1:], F - k * move[0])
                for k in (1, 2)
            )
            slopes.append((8 * near - far) / (12 * change))
        return np.array(slopes)

    known = difference(lambda x, u: call(library, "dyn_disc_phi_fun", x, u, L)[0][:, 0])
    assert np.allclose(jac, known, rtol=1e-9, atol=1e-10)
    known = difference(lambda x, u: call(library, "dyn_disc_phi_fun_jac", x, u, L)[1] @ w)
    assert np.allclose(bent, known, rtol=1e-8, atol=1e-9) and np.abs(bent).max() > 1e-3


def test_plain_functions_have_the_same_derivatives(library):
    model, own = cart_pole(), {"parameters": {"L": L}}
    lin = model.linearize(PLACE, ["F"], **own)
    w, along = np.array([0.3, -1.0, 2.0, 0.7]), np.array([1.0, 0.5, -0.2, 0.1, 2.0])
    x, u, p = X.copy(), np.array([F]), np.array([L])
    f, A, B, H, product = np.empty(4), np.empty(16), np.empty(4), np.empty(25), np.empty(5)

    def plain(name, *arrays):
        getattr(library, f"{STEM}_{name}")(ctypes.c_double(0.0), *(a.ctypes.data_as(REALS) for a in arrays))

    plain("jacobian", x, u, p, f, A, B)
    assert np.allclose(A.reshape(4, 4).T, lin.A, rtol=1e-12) and np.allclose(B, lin.B[:, 0], rtol=1e-12)
    plain("hessian", x, u, p, w, H)
    known = model.second_derivatives(PLACE, ["F"], weights=w, **own)
    assert np.allclose(H.reshape(5, 5), known, rtol=1e-12, atol=1e-13)
    plain("hessian_product", x, u, p, w, along, product)
    assert np.allclose(product, known @ along, rtol=1e-12)


def test_what_cannot_be_exported_for_acados_is_named(tmp_path):
    equations = cart_pole().equations
    with pytest.raises(arm.ParameterError, match="has no parameter 'M'"):
        equations.export("c", tmp_path / "a", profile="acados", parameters=["M"])
    with pytest.raises(arm.ArmillaryError, match="method: programs of profile='acados' have no such option"):
        equations.export("c", tmp_path / "a", profile="acados", method="rk4")
    with pytest.raises(arm.ParameterError, match="step= must be a finite time, more than zero, not 0"):
        equations.export("c", tmp_path / "a", profile="acados", step=0.0)
    with pytest.raises(arm.ArmillaryError, match="step: only profile='acados'"):
        equations.export("c", tmp_path / "a", step=0.1)
    with pytest.raises(arm.ArmillaryError, match="parameters: only profile='acados'"):
        equations.export("c", tmp_path / "a", parameters=["L"])
    s = arm.System("driven")
    body = s.body("b", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.force("push", "1*sin(t)", s.ground.x, at=body.com)
    with pytest.raises(arm.ArmillaryError, match="depend on time"):
        s.derive().export("c", tmp_path / "a", profile="acados")
    readme = equations.export("c", tmp_path / "b", profile="acados") / "README.md"
    assert "the operations of a function bound its time" in readme.read_text(encoding="utf-8")


def test_casadi_loads_the_library_as_external_functions(tmp_path):
    casadi = pytest.importorskip("casadi", reason="CasADi is not installed: pip install 'armillary[casadi]'")
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler, cc")
    cart_pole().equations.export("c", tmp_path / "code", profile="acados")
    source, target = str(tmp_path / "code" / f"{STEM}_functions.c"), str(tmp_path / "f.so")
    subprocess.run(["cc", "-std=c99", "-fPIC", "-shared", source, "-o", target, "-lm"], check=True)
    f = casadi.external(f"{STEM}_jacobian_casadi", target)
    _, A, B = f(0, X, F, [])
    lin = cart_pole().linearize(PLACE, ["F"])
    assert np.allclose(A, lin.A, rtol=1e-12, atol=1e-12) and np.allclose(B, lin.B, rtol=1e-12)


# The interface of acados' external functions, written from its documentation (acados.h's generic external
# functions of CasADi): types of the pointers, and the dense matrices that acados makes of sparse results.
_ACADOS = """
#include <stdlib.h>
typedef struct {
    int (*casadi_fun)(const double **, double **, int *, double *, void *);
    int (*casadi_work)(int *, int *, int *, int *);
    const int *(*casadi_sparsity_in)(int);
    const int *(*casadi_sparsity_out)(int);
    int (*casadi_n_in)(void);
    int (*casadi_n_out)(void);
} external_function;

#define DECLARE(f) int f(const double **, double **, int *, double *, void *); \\
    int f##_work(int *, int *, int *, int *); const int *f##_sparsity_in(int); \\
    const int *f##_sparsity_out(int); int f##_n_in(void); int f##_n_out(void);
#define ENTRY(f) {f, f##_work, f##_sparsity_in, f##_sparsity_out, f##_n_in, f##_n_out},
FUNCTIONS(DECLARE)
static const external_function functions[] = {FUNCTIONS(ENTRY)};

static int elements(const int *s) { return s[2] == 1 ? s[0] * s[1] : s[2 + s[1]]; }

static void dense(const int *s, const double *from, double *to)
{
    int rows = s[0], columns = s[1];
    for (int i = 0; i < rows * columns; i++) to[i] = s[2] == 1 ? from[i] : 0.0;
    if (s[2] != 1)
        for (int j = 0; j < columns; j++)
            for (int e = s[2 + j]; e < s[3 + j]; e++) to[s[3 + columns + e] + j * rows] = *from++;
}

/* Arguments one after the other, dense; results likewise, in order of columns. The number of results. */
int evaluate(int which, const double *given, double *found)
{
    const external_function f = functions[which];
    int arguments, results, integers, reals, n_in = f.casadi_n_in(), n_out = f.casadi_n_out(), count = 0;
    if (f.casadi_work(&arguments, &results, &integers, &reals)) return -1;
    if (arguments < n_in || results < n_out) return -1;
    const double **in = calloc((size_t)arguments, sizeof *in);
    double **out = calloc((size_t)results, sizeof *out), *work = calloc((size_t)reals + 1, sizeof *work);
    int *whole = calloc((size_t)integers + 1, sizeof *whole);
    for (int k = 0; k < n_in; k++) {
        in[k] = given;
        given += elements(f.casadi_sparsity_in(k));
    }
    for (int k = 0; k < n_out; k++) {
        size_t size = (size_t)elements(f.casadi_sparsity_out(k)) + 1;
        out[k] = calloc(size, sizeof **out);
    }
    if (f.casadi_fun(in, out, whole, work, NULL)) return -2;
    for (int k = 0; k < n_out; k++) {
        const int *s = f.casadi_sparsity_out(k);
        dense(s, out[k], found + count);
        count += s[0] * s[1];
        free(out[k]);
    }
    free(in), free(out), free(work), free(whole);
    return count;
}
"""


def test_functions_have_the_sizes_and_results_that_acados_reads(library, tmp_path):
    """Called from C through acados' pointers, with its work sizes and its dense matrices."""
    rng, none = np.random.default_rng(2), np.empty(0)
    Sx, Su, w, slope = (rng.normal(size=n) for n in ((4, 4), (4, 1), 4, 4))
    implicit = (X, slope, F, none, 0.0, L)
    external = {
        "expl_ode_fun": (X, F, L),
        "expl_vde_forw": (X, Sx, Su, F, L),
        "expl_vde_adj": (X, w, F, L),
        "expl_ode_hess": (X, Sx, Su, w, F, L),
        "impl_dae_fun": implicit,
        "impl_dae_fun_jac_x_xdot_z": implicit,
        "impl_dae_jac_x_xdot_u_z": implicit,
        "impl_dae_fun_jac_x_xdot_u": implicit,
        "impl_dae_fun_jac_x_xdot_u_z": implicit,
        "impl_dae_hess": (X, slope, F, none, w, 0.0, L),
        "dyn_disc_phi_fun": (X, F, L),
        "dyn_disc_phi_fun_jac": (X, F, L),
        "dyn_disc_phi_fun_jac_hess": (X, F, w, L),
    }
    names = [f"{STEM}_{name}" for name in external]
    listed = f"#define FUNCTIONS(DO) {' '.join(f'DO({name})' for name in names)}\n"
    (tmp_path / "caller.c").write_text(listed + _ACADOS, encoding="utf-8")
    strict = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fPIC", "-shared"]
    command = ["cc", *strict, "caller.c", library._name, "-o", "caller.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    caller = ctypes.CDLL(str(tmp_path / "caller.so"))
    for which, (name, given) in enumerate(external.items()):
        expected = np.concatenate([a.ravel(order="F") for a in call(library, name, *given)])
        flat = np.concatenate([np.ravel(a, order="F") for a in given]).astype(float)
        found = np.full(len(expected), np.nan)
        pointers = (a.ctypes.data_as(REALS) for a in (flat, found))
        assert caller.evaluate(which, *pointers) == len(expected)
        assert np.array_equal(found, expected), name
