"""A controller of do-mpc that balances a pole, with the equations that Armillary has derived.

do-mpc (Fiedler et al. 2023, do-mpc: Towards FAIR nonlinear and robust model predictive control, Control
Engineering Practice 140) states predictive controllers over functions of CasADi: `pip install do-mpc`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import armillary as arm

STEP = 0.05  # s, over which the force is held
HORIZON = 20  # steps
FORCE = 8.0  # N at most


def system() -> arm.System:
    """A cart of 1 kg with an upright pole, a point of 0.3 kg on a rod of 0.5 m."""
    s = arm.System("cart and pole")
    cart = s.body("cart", joint=arm.Prismatic("x"), mass=1.0, inertia=0)
    s.body("pole", parent=cart, joint=arm.Revolute("z"), com=(0, 0.5, 0), mass=0.3, inertia=0)
    s.gravity(9.81, -s.ground.y)
    s.input("F", units="N", interpolation="hold")
    s.force("motor", "F", s.ground.x, at=cart.com)
    return s


def controller(equations: Any) -> Any:
    """Return a controller whose states are those of the model, in its order.

    CasADi's expressions suit do-mpc, which differentiates its whole problem. With `kind="external"` and a
    model of "MX", its functions call our compiled code; this takes 30 times as long here, since each point
    of the horizon is a call through Python.
    """
    import casadi
    import do_mpc

    made = equations.to_casadi(outputs=[])
    model = do_mpc.model.Model("continuous", "SX")
    names = [name.replace(".", "_") for name in made.states]
    states = [model.set_variable("_x", name) for name in names]
    inputs = [model.set_variable("_u", name) for name in made.inputs]
    rates = made.rates(0.0, casadi.vertcat(*states), casadi.vertcat(*inputs), made.defaults)
    for i, name in enumerate(names):
        model.set_rhs(name, rates[i])
    model.setup()
    mpc = do_mpc.controller.MPC(model)
    mpc.settings.n_horizon, mpc.settings.t_step = HORIZON, STEP
    mpc.settings.supress_ipopt_output()
    x, angle, v, turning = states
    cost = x**2 + 10 * angle**2 + 0.1 * v**2 + 0.1 * turning**2
    mpc.set_objective(mterm=cost, lterm=cost)
    mpc.set_rterm(F=1e-3)
    mpc.bounds["lower", "_u", "F"], mpc.bounds["upper", "_u", "F"] = -FORCE, FORCE
    mpc.setup()
    return mpc


def balance(equations: Any, seconds: float = 3.0, lean: float = 0.3) -> Any:
    """Return the run of the model under the controller, which sees its state at every step."""
    model, mpc = equations.compile(), controller(equations)
    names = [*model.coordinate_names, *model.speed_names]
    start = state = dict.fromkeys(names, 0.0) | {"pole.q1": lean}
    mpc.x0 = np.array(list(start.values()))
    mpc.set_initial_guess()
    forces = []
    for _ in range(round(seconds / STEP)):
        forces.append(float(mpc.make_step(np.array(list(state.values())))[0, 0]))
        run = model.simulate(STEP, initial=state, inputs={"F": ([0.0], [forces[-1]])})
        state = {name: float(run.final[name]) for name in names}
    return model.simulate(seconds, initial=start, inputs={"F": (STEP * np.arange(len(forces)), forces)})


def main(folder: str = "out") -> None:
    """Balance the pole, and draw how."""
    equations = system().derive()
    print(f"derivatives: {equations.operations}")
    run = balance(equations)
    force, lean = abs(run["F"]).max(), run.final["pole.q1"]
    print(f"largest force {force:.1f} N; at the end the pole leans by {lean:.3f} rad")
    Path(folder).mkdir(parents=True, exist_ok=True)
    run.plot("pole.q1", "cart.q1", "F", path=Path(folder) / "do_mpc_cart_pole.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
