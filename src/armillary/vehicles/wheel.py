"""A wheel on a road: its body, the contact point of a disc or torus, slips that lag, and the tyre's loads.

With a the direction of the axle, n the normal of the road and O the hub,

    x = a × n / |a × n|,  y = n × x           axes of the contact, ISO-W
    sin γ = a·n                               camber
    e = a × x                                 from the hub to the road in the wheel plane
    ρ = r + (R − r) cos γ − n·(O − road)      deflection of a torus of crown radius r; r = 0 is a disc
    Vsx = Vx − Re Ω,   Vsy = y·v(contact)     velocities of slip

The slips are states that lag by the relaxation lengths σ. No equation divides by a speed:

    σκ dκ/dt + V κ = −Vsx        σα dw/dt + V w = Vsy        α = atan w        V = max(|Vx|, |Vs|/SLIP_LIMIT)

At standstill these states are deflections of the tyre, so a vehicle stands on a slope without creeping. Below
the speed ``slow`` a damper acts in addition, since the damping by rolling is missing there: the slips in the
tyre's law are κ − g T Vsx/σκ and w + g T Vsy/σα, with g = (1 − (Vx/slow)²)² and the time T, ``damping_time``.

The deflection of a tyre cannot grow beyond the limit of friction. Therefore σ falls with the slope of the
force, by the factor (1 − λ)² of a brush model, where λ ≤ 1 is the slip over the slip of full sliding. Without
this a locked wheel would come to rest with a tyre stretched by σ, and spring back. σ has the lower bounds
QUICKEST·V and SHORTEST_RELAXATION.

Source: Pacejka (2012), sections 7.2.1 and 8.6; the lower limit of V replaces conditions of this source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import armillary as arm
from armillary.vehicles.road import Road
from armillary.vehicles.tyres.tyre import TINY, Forces, Scalar, Tyre, size

SLIP_LIMIT = 5.0  # bound on slips at all speeds; the tyre slides long before
SHORTEST_RELAXATION = 0.005  # m, least relaxation length: the law gives 0 for an unloaded or sliding tyre
QUICKEST = 0.002  # s, least time constant of the slips: RK4 is then stable with steps of 5 ms


@dataclass(frozen=True)
class RoadWheel:
    """A wheel that stands on a road: its body, and expressions for outputs, controllers and further loads."""

    name: str
    body: arm.Body
    carrier: arm.Body
    tyre: Tyre
    forces: Forces  # of the contact, N and N·m
    fz: Scalar
    kappa: Scalar
    alpha: Scalar
    gamma: Scalar
    deflection: Scalar
    spin: Scalar  # Ω, rad/s
    speed: Scalar  # Vx, m/s
    slip_speed_x: Scalar
    slip_speed_y: Scalar
    forward: arm.Vector
    left: arm.Vector
    normal: arm.Vector
    lever: arm.Vector  # from the hub to the contact
    force: arm.Vector  # of the road on the wheel
    moment: arm.Vector  # about the hub

    def power(self) -> Scalar:
        """Return the power of the road on the wheel, N·m/s: F·v + M·ω with the motion of its body."""
        at_hub = arm.dot(self.force, arm.velocity(self.body.origin))
        return at_hub + arm.dot(self.moment, arm.angular_velocity(self.body))

    def slip_power(self) -> Scalar:
        """Return the power lost in sliding: −(Fx Vsx + Fy Vsy)."""
        return -(self.forces.fx * self.slip_speed_x + self.forces.fy * self.slip_speed_y)


def add_wheel(
    system: arm.System,
    name: str,
    parent: arm.Body,
    tyre: Tyre,
    *,
    at: Sequence[Scalar] = (0, 0, 0),
    mass: Scalar,
    inertia: Scalar | Sequence[Scalar],
    road: Road | None = None,
    crown_radius: Scalar = 0.0,
    pressure: Scalar | None = None,
    slow: float = 1.0,
    damping_time: float = 0.02,
    parameters: Sequence[str] = (),
    outputs: bool = True,
) -> RoadWheel:
    """Add a wheel with a tyre to a system: a body that spins about the parent's y, two states, and loads.

    at            the hub in the parent's frame
    mass, inertia of the wheel, as `System.body` takes them; the second moment is about the spin axis
    road          by default flat at height zero; z of the ground is up
    crown_radius  of the tyre's cross-section: the contact moves sideways as the wheel leans
    slow          m/s, speed below which the damper of standstill acts and trail and rolling resistance fade
    damping_time  T of the damper of standstill, s
    parameters    numbers of the tyre that become parameters of the model, such as "LMUY"
    outputs       add the forces, the slips and the camber as outputs

    Names start with the wheel's name: states NAME_kappa and NAME_slip, loads NAME_force, NAME_moment and
    NAME_spin. The force and the moment across the axle act on the parent, at the hub, and the moment about
    the axle on the wheel. The motion is the same as if all acted on the wheel, but no equation contains the
    angle of its spin. The units of the model must be SI.
    """
    ground, road = system.ground, road or Road()
    body = system.body(name, parent, arm.Revolute("y"), at=at, mass=mass, inertia=inertia)
    tyre = tyre.with_parameters(system, name, parameters)
    radius = tyre.free_radius
    body.shape(arm.Wheel(radius, 0.6 * radius), colour="#3c3c3c")
    centre = parent.point(*at)
    unit = system.parameter(f"{name}_slow", slow, units="m/s", about="where rolling ends")

    # The plane of the road below the hub.
    place = arm.position(centre)
    x, y, z = (arm.dot(place, axis) for axis in (ground.x, ground.y, ground.z))
    below = road.below_wheel(system, name, x, y)
    if isinstance(below.slope_x, arm.Expr) or isinstance(below.slope_y, arm.Expr):
        stretch = 1 / arm.sqrt(1 + below.slope_x * below.slope_x + below.slope_y * below.slope_y)
        normal = stretch * (ground.z - below.slope_x * ground.x - below.slope_y * ground.y)
        height = (z - below.height) * stretch
    else:
        normal = 1 * ground.z
        height = z - below.height

    # The contact.
    axle = parent.y
    sine = arm.dot(axle, normal)
    cosine = arm.sqrt(1 - sine * sine)
    forward = arm.cross(axle, normal) / cosine
    left = arm.cross(normal, forward)
    down = arm.cross(axle, forward)
    gamma = arm.asin(sine)
    crown = (radius - crown_radius) * down
    lever = crown - (height - (radius - crown_radius) * cosine) * normal
    deflection = crown_radius + (radius - crown_radius) * cosine - height

    # The velocity at the contact is that of the wheel plane, which does not spin.
    velocity = arm.velocity(centre)
    at_contact = velocity + arm.cross(arm.angular_velocity(parent), lever)
    speed = arm.dot(velocity, forward)
    spin = arm.dot(arm.angular_velocity(parent), axle) + body.u1
    fz = tyre.vertical_force(deflection, -arm.dot(at_contact, normal), omega=spin, pressure=pressure)
    effective = tyre.effective_radius(fz, spin, pressure)
    slip_x = speed - effective * spin
    slip_y = arm.dot(at_contact, left)

    # Slips as states.
    sliding = arm.sqrt(slip_x * slip_x + slip_y * slip_y + TINY)
    travel = arm.max(size(speed), sliding / SLIP_LIMIT)
    floor = _least_relaxation(system, name, travel)
    along, across = tyre.relaxation_lengths(fz, gamma, pressure)
    kappa_state = system.state(f"{name}_kappa", about="longitudinal slip that acts")
    slip_state = system.state(f"{name}_slip", about="tangent of the slip angle that acts")
    pace = arm.min(arm.max(speed / unit, -1.0), 1.0)
    gate = (1 - pace * pace) * (1 - pace * pace)
    limits = tyre.sliding_slips(fz)
    share = (kappa_state / limits[0]) ** 2 + (slip_state / limits[1]) ** 2
    stuck = 1 - arm.min(arm.sqrt(share + TINY), 1.0)
    slope = stuck * stuck
    system.rate(f"{name}_kappa", -(slip_x + travel * kappa_state) / arm.max(along * slope, floor))
    system.rate(f"{name}_slip", (slip_y - travel * slip_state) / arm.max(across * slope, floor))
    delay = system.parameter(
        f"{name}_damping_time", damping_time, units="s", about="of the slow tyre's damper"
    )
    kappa = kappa_state - gate * delay * slip_x / arm.max(along, floor)
    alpha = arm.atan(slip_state + gate * delay * slip_y / arm.max(across, floor))

    gripping = tyre if _is_one(below.friction) else tyre.with_friction(below.friction)
    forces = gripping.forces(
        fz,
        kappa,
        alpha,
        gamma,
        pressure,
        speed=speed,
        rolling=pace * (3 - pace * pace) / 2,
        sliding=sliding,
    )
    force = forces.fx * forward + forces.fy * left + fz * normal
    moment = arm.cross(lever, force) + forces.mx * forward + forces.my * left + forces.mz * normal
    system.force_vector(f"{name}_force", force, at=centre)
    about_axle = arm.dot(moment, axle)
    system.moment_vector(f"{name}_moment", moment - about_axle * axle, on=parent)
    system.moment(f"{name}_spin", about_axle, axle, on=body)
    if outputs:
        for label, value, units in (
            ("Fx", forces.fx, "N"), ("Fy", forces.fy, "N"), ("Fz", fz, "N"), ("Mz", forces.mz, "N*m"),
            ("kappa", kappa, None), ("alpha", alpha, "deg"), ("gamma", gamma, "deg"),
        ):  # fmt: skip
            system.output(f"{name} {label}", value, units=units)
    return RoadWheel(name, body, parent, tyre, forces, fz, kappa, alpha, gamma, deflection, spin, speed,
                 slip_x, slip_y, forward, left, normal, lever, force, moment)  # fmt: skip


def _least_relaxation(system: arm.System, name: str, travel: Scalar) -> Scalar:
    """Return the lower bound of a wheel's relaxation lengths at a speed of travel."""
    shortest = system.parameter(f"{name}_shortest_relaxation", SHORTEST_RELAXATION, units="m")
    quickest = system.parameter(f"{name}_quickest_slip", QUICKEST, units="s")
    return arm.max(shortest, quickest * travel)


def _is_one(value: Scalar) -> bool:
    return not isinstance(value, arm.Expr) and value == 1


# A wheel that rolls at a given speed under a given load: a thin disc with a side force that lags.
#
#     σ dFy/dt + |Vx| Fy = |Vx| F(α, γ),      α = atan2(Vsy, |Vx|)
#
# This wheel is for models of lateral motion at constant speed, without load transfer and longitudinal slip.
# No equation divides by a speed, and σ has the lower bounds of `add_wheel`. A wheel of `add_wheel`, in
# contrast, computes its load and its spin.


def add_rolling_wheel(
    system: arm.System,
    name: str,
    parent: arm.Body,
    tyre: Tyre,
    *,
    load: Scalar,
    speed: Scalar,
    spin_inertia: Scalar = 0,
    at: Sequence[Scalar] = (0, 0, 0),
    outputs: bool = True,
) -> arm.Body:
    """Add a wheel of the tyre's radius that spins with ``speed``/radius, and return its body.

    The load acts at the contact, the lowest point of the disc, along z of the ground; so does the side force,
    which is a state ``name_fy``. Mass and the inertia across the axle belong to the parent.
    """
    ground = system.ground
    if not isinstance(tyre.free_radius, arm.Expr):
        tyre = tyre.with_parameters(system, name)
    if not isinstance(load, arm.Expr):
        load = system.parameter(f"{name}_load", load, units="N", about="of the tyre")
    radius = tyre.free_radius
    body = system.body(
        name, parent, arm.Revolute("y"), at=at, mass=0, inertia=(0, spin_inertia, 0), check_inertia=False
    )
    body.shape(arm.Wheel(radius, 0.2 * radius))
    system.prescribe(body.u1, speed / radius)
    axle = parent.y
    sine = arm.dot(axle, ground.z)
    forward = arm.cross(axle, ground.z) / arm.sqrt(1 - sine * sine)
    left = arm.cross(ground.z, forward)
    lever = radius * arm.cross(axle, forward)
    hub = parent.point(*at)
    velocity = arm.velocity(hub) + arm.cross(arm.angular_velocity(parent), lever)
    ahead = size(arm.dot(velocity, forward))
    sideways = arm.dot(velocity, left)
    alpha, gamma = arm.atan2(sideways, ahead), arm.asin(sine)
    fy = system.state(f"{name}_fy", units="N", about="side force of the tyre")
    _, relaxation = tyre.relaxation_lengths(load)
    forces = tyre.forces(load, 0.0, alpha, gamma)
    lag = arm.max(relaxation, _least_relaxation(system, name, ahead))
    system.rate(f"{name}_fy", ahead * (forces.fy - fy) / lag)
    force = fy * left + load * ground.z
    system.force_vector(f"{name}_force", force, at=hub)
    system.moment_vector(f"{name}_moment", arm.cross(lever, force) + forces.mz * ground.z, on=parent)
    if outputs:
        system.output(f"{name} alpha", alpha, units="deg")
        system.output(f"{name} gamma", gamma, units="deg")
    return body
