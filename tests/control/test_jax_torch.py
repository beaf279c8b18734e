"""Models as functions of JAX and PyTorch: values, gradients, mapped axes, precisions, errors."""

import numpy as np
import pytest

import armillary as arm
from armillary.control.array_functions import ArrayFunctions
from armillary.runtime.models.compiled_program import ModelFunctions
from tests.control.systems import cart_pole, slider

HOW = dict(parameters=["L"], outputs=["tip"], step=0.02)
START = np.array([0.1, 0.3, -0.2, 0.4])
FORCES = np.linspace(-1, 2, 25)[:, None]


@pytest.fixture(scope="module")
def jax():
    found = pytest.importorskip("jax", reason="JAX is not installed: pip install 'armillary[jax]'")
    return found


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'armillary[torch]'")


@pytest.fixture
def double(jax):
    """Numbers of double precision, for one test."""
    jax.config.update("jax_enable_x64", True)
    yield jax
    jax.config.update("jax_enable_x64", False)


# ------------------------------------------------------------ arrays


def test_array_functions_take_parameters_in_the_units_of_the_model():
    """A tilt in degrees and a length in millimetres: rates with the defaults are those of the model."""
    s = arm.System("tilted")
    s.parameter("tilt", 30.0, units="deg")
    s.parameter("L", 250.0, units="mm")
    b = s.body("b", joint=arm.Revolute("z"), com=("L", 0, 0), mass=2.0, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.moment("bias", "1*sin(tilt)", s.ground.z, on=b)
    model = s.derive().compile()
    f = ArrayFunctions(model, parameters=["tilt", "L"], step=0.01)
    assert np.allclose(f.defaults, [np.pi / 6, 0.25], rtol=1e-14)
    found = f.rates.value(0.0, np.array([0.4, 0.3]), np.zeros(0), f.defaults)
    known = (0.5 - 2.0 * 9.81 * 0.25 * np.cos(0.4)) / (2.0 * 0.25**2)
    assert np.allclose(found, [0.3, known], rtol=1e-12)


def test_array_functions_are_those_of_the_model():
    f, model = ArrayFunctions(cart_pole(), **HOW), cart_pole()
    assert f.states == ("cart.q1", "pole.q1", "cart.u1", "pole.u1") and f.inputs == ("F",)
    assert np.array_equal(f.defaults, [0.5])
    v, p = np.array([2.0]), np.array([0.4])
    rates = f.rates.value(0.0, START, v, p)
    assert np.allclose(rates, model.derivatives(0.0, START, {"L": 0.4}, memory={"F": 2.0}), rtol=1e-13)
    shown = f.outputs.value(0.0, START, v, p)
    assert shown == pytest.approx(model.outputs(0.0, START, {"L": 0.4})["tip"], rel=1e-13)
    run = model.simulate(
        0.5, step=0.02, initial=START, parameters={"L": 0.4},
        inputs={"F": arm.Signal(0.02 * np.arange(25), FORCES[:, 0], interpolation="hold")},
    )  # fmt: skip
    found = f.run.value(0.0, START, FORCES, p)
    assert found.shape == (26, 4)
    assert np.allclose(found[:, 1], run["pole.q1"], rtol=1e-11)
    assert np.array_equal(f.step.value(0.0, START, FORCES[0], p), found[1])


def test_parts_divide_a_step():
    whole, halves = (ArrayFunctions(cart_pole(), step=h, parts=n) for h, n in ((0.01, 1), (0.02, 2)))
    v, nothing = np.ones((6, 1)), np.empty(0)
    fine = whole.run.value(0.0, START, v, nothing)
    coarse = halves.run.value(0.0, START, v[::2], nothing)
    assert np.allclose(coarse, fine[::2], rtol=1e-14)
    weights = np.zeros((4, 4))
    weights[-1, 1] = 1.0
    pulled = halves.run.pull(0.0, START, v[::2], nothing, weights)
    spread = np.zeros((7, 4))
    spread[-1, 1] = 1.0
    expected = whole.run.pull(0.0, START, v, nothing, spread)
    assert np.allclose(pulled.v, expected.v.reshape(3, 2, 1).sum(axis=1), rtol=1e-13)
    assert np.allclose(pulled.x, expected.x, rtol=1e-13)


def test_leading_axes_are_runs_of_their_own():
    f = ArrayFunctions(cart_pole(), **HOW)
    rng = np.random.default_rng(4)
    x, v = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 5, 1))
    p, w = rng.uniform(0.4, 0.6, size=(2, 3, 1)), rng.normal(size=(2, 3, 6, 4))
    many, back = f.run.value(0.0, x, v, p), f.run.pull(0.0, x, v, p, w)
    for i in np.ndindex(2, 3):
        assert np.allclose(many[i], f.run.value(0.0, x[i], v[i], p[i]), rtol=1e-13)
        one = f.run.pull(0.0, x[i], v[i], p[i], w[i])
        for a, b in zip(back, one, strict=True):
            assert np.allclose(a[i], b, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", ["rates", "outputs", "step", "run"])
def test_changes_along_a_direction_are_the_transpose_of_pullbacks(name):
    """w · (J d) = (Jᵀ w) · d, for random weights and directions."""
    function = getattr(ArrayFunctions(cart_pole(), parts=2, **HOW), name)
    rng = np.random.default_rng(5)
    v = (3, 1) if function.inputs == 1 else (3, 4, 1)
    shapes = ((3, 4), v, (3, 1))
    x, v, p = (rng.uniform(0.3, 0.6, size=shape) for shape in shapes)
    moves = [rng.normal(size=shape) for shape in shapes]
    pushed = function.push(0.0, x, v, p, *moves)
    weights = rng.normal(size=pushed.shape)
    pulled = function.pull(0.0, x, v, p, weights)
    back = sum(np.sum(a * b) for a, b in zip(pulled, moves, strict=True))
    assert np.sum(weights * pushed) == pytest.approx(back, rel=1e-11)


def test_changes_of_euler_parameters_go_along():
    """Against the differences of runs of a free body, whose steps make Euler parameters unit."""
    s = arm.System("body")
    s.body("b", joint=arm.Free(), mass=1.0, inertia=(0.1, 0.2, 0.3))
    f = ArrayFunctions(s.derive().compile(), step=0.05)
    rng = np.random.default_rng(8)
    x, move = f.start.copy(), rng.normal(size=len(f.start))
    x[-3:] = 1.0, 2.0, 3.0
    move[3:7] -= x[3:7] * (x[3:7] @ move[3:7])
    v, p = np.empty((6, 0)), np.empty(0)
    found = f.run.push(0.0, x, v, p, move, v, p)[-1]
    ways = [f.run.value(0.0, x + sign * 1e-6 * move, v, p)[-1] for sign in (1, -1)]
    assert np.allclose(found, (ways[0] - ways[1]) / 2e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"inputs": ["G"]}, "has no input 'G'"),
        ({"parameters": ["M"]}, "has no parameter 'M'"),
        ({"outputs": ["top"]}, "there is no output 'top'"),
        ({"step": -1.0}, "step"),
        ({"step": 0.0}, "step must be a positive number, not 0"),
        ({"method": "rodas5p"}, "no explicit method"),
    ],
)
def test_wrong_arguments_are_named(how, words):
    with pytest.raises(arm.ArmillaryError, match=words):
        ArrayFunctions(cart_pole(), **how)


# ------------------------------------------------------------ JAX


def _mass():
    """x(T) of 1 kg under held forces: exact in RK4, so that gradients have closed forms."""
    return dict(inputs=["F"], step=0.1)


def test_gradients_in_jax_are_the_closed_forms(double):
    jnp = double.numpy
    f = slider().to_jax(**_mass())
    forces = jnp.linspace(0.0, 1.0, 10)[:, None]
    moved = double.jit(double.grad(lambda v, x: f.run(x, v)[-1, 0], argnums=(0, 1)))
    by_force, by_start = moved(forces, jnp.array([0.0, 1.0]))
    assert np.allclose(by_force[:, 0], 0.1 * (1.0 - 0.1 * np.arange(10) - 0.05), rtol=1e-12)
    assert np.allclose(by_start, [1.0, 1.0], rtol=1e-12)


def test_inputs_and_parameters_of_one_run_serve_a_batch_of_states(double):
    """Arrays with more axes in front: inputs and parameters without them are the same for all."""
    f, jnp = cart_pole().to_jax(**HOW), double.numpy
    starts = np.array([START, 2 * START, -START])
    batch = f.step(jnp.asarray(starts), jnp.asarray([1.5]), jnp.asarray([0.4]))
    assert batch.shape == (3, 4)
    for found, start in zip(batch, starts, strict=True):
        assert np.allclose(
            found, f.step(jnp.asarray(start), jnp.asarray([1.5]), jnp.asarray([0.4])), rtol=1e-14
        )


def test_jit_grad_and_vmap_of_jax_go_through(double):
    from jax.test_util import check_grads

    jnp, f = double.numpy, cart_pole().to_jax(**HOW)

    def cost(x, v, p):
        return jnp.sum(f.run(x, v, p)[-1] ** 2) + f.outputs(x, v[0], p)[0] + f.step(x, v[0], p)[1]

    x, v, p = jnp.array(START), jnp.array(FORCES[:5]), jnp.array([0.5])
    check_grads(cost, (x, v, p), order=1, modes=["fwd", "rev"], rtol=1e-6)
    starts = x + 0.1 * jnp.arange(3)[:, None]
    slope = double.grad(cost)
    mapped = double.jit(double.vmap(slope, in_axes=(0, None, None)))(starts, v, p)
    assert np.allclose(mapped[2], slope(starts[2], v, p), rtol=1e-12)


def test_columns_and_rows_of_jacobians_agree_in_jax(double):
    """Tangents of the steps, and their adjoint: the same products in the other order."""
    f, x = cart_pole().to_jax(**HOW), double.numpy.array(START)
    last = lambda x: f.run(x, FORCES[:5])[-1]  # noqa: E731
    columns, rows = double.jacfwd(last)(x), double.jacrev(last)(x)
    assert np.allclose(columns, rows, rtol=1e-13, atol=1e-15)


def test_a_jacobian_in_jax_is_that_of_the_equations(double):
    """Against differences of the rates: their error is about 1e-9."""
    f, e = cart_pole().to_jax(), 1e-6
    found = double.jacrev(lambda x: f.derivatives(x, np.array([2.0])))(double.numpy.array(START))
    rates = [
        [cart_pole().derivatives(0.0, START + s * e * row, memory={"F": 2.0}) for row in np.eye(4)]
        for s in (1, -1)
    ]
    assert np.allclose(found, np.subtract(*rates).T / (2 * e), atol=1e-8)


def test_arrays_of_jax_are_read_and_returned_without_a_copy(double, monkeypatch):
    """Rows that our code reads are those of JAX's array, and JAX's result is the array that it filled."""
    jnp, made = double.numpy, cart_pole().to_jax(inputs=["F"], outputs=[])
    x, seen = jnp.asarray(np.random.default_rng(1).normal(size=(64, 4))), []
    plain = ModelFunctions.rows

    def rows(functions, name, t, states, *others):
        found = plain(functions, name, t, states, *others)
        seen.append((states, found))
        return found

    monkeypatch.setattr(ModelFunctions, "rows", rows)
    found = made.derivatives(x, jnp.zeros((64, 1)))
    ((states, filled),) = seen
    assert np.shares_memory(states, np.from_dlpack(x))
    assert np.array_equal(np.from_dlpack(found), filled)
    jitted = double.jit(made.derivatives)(x, jnp.zeros((64, 1)))
    assert np.array_equal(found, jitted)


def test_single_precision_stays_single_in_jax(jax):
    f = cart_pole().to_jax(step=0.02)
    x = jax.numpy.array(START, dtype="float32")
    found = f.run(x, steps=3)
    assert found.dtype == x.dtype and found.shape == (4, 4)
    assert np.allclose(found, ArrayFunctions(cart_pole(), step=0.02).run.value(
        0.0, START, np.zeros((3, 1)), np.empty(0)), rtol=1e-6)  # fmt: skip
    assert jax.grad(lambda x: f.step(x)[0])(x).dtype == x.dtype


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda f: f.derivatives(np.zeros(3)),
            r"x has the shape \(3,\), and must end in 4 numbers \(cart.q1",
        ),
        (lambda f: f.derivatives(np.zeros(4), np.zeros(2)), "v has the shape"),
        (lambda f: f.run(np.zeros(4)), "steps="),
        (lambda f: f.step(np.zeros(4)), "give step= where the functions are made"),
        (lambda f: f.derivatives(np.zeros(4), t=np.inf), "t must be finite"),
    ],
)
def test_wrong_arrays_are_named_before_jax_calls_back(jax, call, words):
    with pytest.raises(arm.ArmillaryError, match=words):
        call(cart_pole().to_jax())


@pytest.mark.parametrize("outer", ["jacfwd", "jacrev"])
@pytest.mark.parametrize("inner", ["jacfwd", "jacrev"])
def test_second_derivatives_in_jax_are_refused(double, inner, outer):
    jax = double
    f = cart_pole().to_jax(**HOW)
    twice = getattr(jax, outer)(getattr(jax, inner)(f.derivatives))
    with pytest.raises(arm.ArmillaryError, match=r"derivatives has only first .* model.second_derivatives"):
        twice(np.asarray(START))


def test_a_direction_of_a_derivative_in_jax_has_derivatives_of_its_own(double):
    """A tangent is linear in its direction d: its derivative along d is the tangent itself."""
    jax, f = double, cart_pole().to_jax(**HOW)

    def tangent(d):
        return jax.jvp(f.derivatives, (np.asarray(START),), (d,))[1]

    d = np.array([0.1, -0.2, 0.3, 0.4])
    assert np.allclose(jax.jvp(tangent, (np.ones(4),), (d,))[1], tangent(d), rtol=1e-14)


# ------------------------------------------------------------ PyTorch


def test_gradients_in_torch_are_the_closed_forms(torch):
    f = slider().to_torch(**_mass())
    forces = torch.linspace(0.0, 1.0, 10, dtype=torch.float64)[:, None].requires_grad_()
    start = torch.tensor([0.0, 1.0], dtype=torch.float64, requires_grad=True)
    f.run(start, forces)[-1, 0].backward()
    assert np.allclose(forces.grad[:, 0], 0.1 * (1.0 - 0.1 * np.arange(10) - 0.05), rtol=1e-12)
    assert np.allclose(start.grad, [1.0, 1.0], rtol=1e-12)


def test_torch_checks_the_gradients_and_maps_axes(torch):
    f = cart_pole().to_torch(**HOW)
    real = dict(dtype=torch.float64, requires_grad=True)
    x, v, p = torch.tensor(START, **real), torch.tensor(FORCES[:3], **real), torch.tensor([0.5], **real)
    for function, given in ((f.run, (x, v, p)), (f.outputs, (x, v[0].detach(), p)), (f.derivatives, (x,))):
        assert torch.autograd.gradcheck(function, given)

    def cost(x, v, p):
        return (f.run(x, v, p)[-1] ** 2).sum()

    starts = x.detach() + 0.1 * torch.arange(3)[:, None]
    mapped = torch.func.vmap(torch.func.grad(cost), in_dims=(0, None, None))(starts, v.detach(), p.detach())
    for i in range(3):
        one = torch.func.grad(cost)(starts[i], v.detach(), p.detach())
        assert np.allclose(mapped[i], one, rtol=1e-12)
    assert f.step(x.detach().float()).dtype is torch.float32
    last = lambda x: f.run(x, v.detach())[-1]  # noqa: E731
    assert np.allclose(torch.func.jacfwd(last)(starts[1]), torch.func.jacrev(last)(starts[1]), rtol=1e-12)


def test_second_derivatives_in_torch_are_refused(torch):
    f = cart_pole().to_torch(**HOW)
    x = torch.tensor(START, requires_grad=True)
    (slope,) = torch.autograd.grad(f.derivatives(x)[2], x, create_graph=True)
    with pytest.raises(arm.ArmillaryError, match="second_derivatives"):
        slope.sum().backward()


def test_a_missing_library_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(arm.ArmillaryError, match=r"armillary\[torch\]"):
        cart_pole().to_torch()
