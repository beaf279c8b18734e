"""Benchmark models in the formats the peers read: a list of numbers for our C++, and MJCF for MuJoCo."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.linkages import Linkage
from benchmarks.models import Model

JOINT_NUMBER = {"revolute": 0, "prismatic": 1, "free": 2}
MUJOCO_JOINT = {"revolute": "hinge", "prismatic": "slide"}
MUJOCO_OFF = (
    "contact", "frictionloss", "limit", "actuation", "autoreset", "sensor", "midphase", "warmstart", "island"
)  # fmt: skip
"""MuJoCo's stages that no benchmark needs; measured, neither a warm start nor islands speed a linkage up."""
MUJOCO_OFF_TREE = ("constraint", "equality")
"""And those that smooth dynamics does not need either."""
MUJOCO_HARD = 'solref="0.002 1" solimp="0.9999 0.9999 0.001 0.5 2"'
"""The hardest constraints: the largest impedance, and a time constant of two steps of 1 ms."""


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(x)) for x in values)


def model_text(model: Model) -> str:
    """The text that native/model.hpp reads."""
    lines = [f"{model.key} {len(model.links)} {_numbers(model.gravity)}"]
    for link in model.links:
        numbers = (*link.axis, *link.at, link.mass, *link.com, *link.inertia, link.stiffness, link.damping)
        lines.append(f"{link.parent} {JOINT_NUMBER[link.joint]} {_numbers(numbers)}")
    return "\n".join(lines) + "\n"


def mjcf(model: Model) -> str:
    """MuJoCo's XML. MuJoCo refuses a zero principal inertia, so zero becomes 2e-15 kg m²."""
    children: dict[int, list[int]] = {i: [] for i in range(-1, len(model.links))}
    for i, link in enumerate(model.links):
        children[link.parent].append(i)

    closures = model.closures if isinstance(model, Linkage) else ()
    sites: dict[int, list[str]] = {i: [] for i in range(len(model.links))}
    for k, closure in enumerate(closures):
        sites[closure.link].append(f'<site name="s{k}a" pos="{_numbers(closure.point)}"/>')
        sites[closure.other].append(f'<site name="s{k}b" pos="{_numbers(closure.other_point)}"/>')

    def body(i: int) -> str:
        link = model.links[i]
        if link.joint == "free":
            joint = f'<freejoint name="j{i}"/>'
        else:
            joint = (
                f'<joint name="j{i}" type="{MUJOCO_JOINT[link.joint]}" axis="{_numbers(link.axis)}" '
                f'stiffness="{link.stiffness!r}" damping="{link.damping!r}"/>'
            )
        inertia = _numbers(max(x, 2e-15) for x in link.inertia)
        return (
            f'<body name="b{i}" pos="{_numbers(link.at)}">{joint}'
            f'<inertial pos="{_numbers(link.com)}" mass="{link.mass!r}" diaginertia="{inertia}"/>\n'
            f"{''.join(sites[i])}"
            f"{''.join(body(child) for child in children[i])}</body>\n"
        )

    off = MUJOCO_OFF if closures else (*MUJOCO_OFF, *MUJOCO_OFF_TREE)
    flags = " ".join(f'{stage}="disable"' for stage in off)
    connects = "".join(
        f'<connect site1="s{k}a" site2="s{k}b" {MUJOCO_HARD}/>\n' for k in range(len(closures))
    )
    return (
        f'<mujoco model="{model.key}"><compiler angle="radian" autolimits="false"/>\n'
        f'<option gravity="{_numbers(model.gravity)}" integrator="RK4"><flag {flags}/></option>\n'
        f"<worldbody>\n{''.join(body(i) for i in children[-1])}</worldbody>\n"
        f"<equality>{connects}</equality></mujoco>\n"
    )
