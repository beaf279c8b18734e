"""The sections of a text model: which verbs of ``System`` each holds, and what their arguments may be.

This one table reads models, writes them, renames what is included and makes the published schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from armillary.files.model.objects import BEAMS, PLATES
from armillary.model.kinds import (
    ARRAY,
    AXIS,
    BODY,
    COUNT,
    EXPRESSION,
    FLAG,
    LABELLED,
    MATRIX,
    NAME,
    NUMBER,
    NUMBERS,
    PATH,
    POINT,
    QUANTITY,
    TRIPLE,
    UNITS,
    VECTOR,
    WORDS,
    Either,
    Form,
    Kind,
    ListOf,
    OneOf,
    TableOf,
    Turned,
    choice,
)
from armillary.model.text_objects import FRICTIONS, JOINT, ORBITS


@dataclass(frozen=True)
class Verb:
    """A verb of a system as an entry of a section: keys are its arguments, but for the one key that tells it.

    ``key`` tells this verb from its neighbours in the section, and stands for ``argument``.
    """

    method: str
    fields: Mapping[str, Kind]
    key: str = ""
    argument: str = ""
    needs: tuple[str, ...] = ()
    names: str = "name"  # the argument that the entry's own name stands for
    extra: Mapping[str, Kind] = field(default_factory=dict)  # keys that the reader treats by itself

    @property
    def form(self) -> Form:
        needed = tuple(dict.fromkeys([*([self.key] if self.key else []), *self.needs]))
        return Form(f"'{self.key or self.method}'", {**self.fields, **self.extra}, needed)


ENDS = ListOf(POINT, 2)
ORIENT = Either((MATRIX, Turned(EXPRESSION)))
INERTIA = Either((EXPRESSION, TRIPLE, ListOf(EXPRESSION, 6), MATRIX))
PULSES = Either((EXPRESSION, ListOf(ListOf(EXPRESSION, 2))))
# "z" or three values, or two of these.
AXES = Either((AXIS, ListOf(AXIS, 2)))
PER_GIMBAL = Either((EXPRESSION, ListOf(EXPRESSION)))

FLEXIBLE: dict[str, Kind] = {
    "beam": OneOf(BEAMS), "plate": OneOf(PLATES), "part": PATH, "held": WORDS, "spin": NUMBERS,
    "modes": COUNT, "frequency_limit": NUMBER, "damping": ARRAY, "damping_matrix": ARRAY, "stiffening": FLAG,
    "second_order": FLAG, "mass_matrix": Either((PATH, ARRAY)), "stiffness_matrix": Either((PATH, ARRAY)),
    "positions": Either((ARRAY, TableOf(NUMBERS, keys=False))), "basis": WORDS,
    "fixed": Either((ARRAY, ListOf(WORDS))), "interface": Either((ARRAY, ListOf(WORDS))),
    "nodes": Either((ARRAY, TableOf(NUMBERS, keys=False))),
    "masses": Either((ARRAY, TableOf(NUMBER, keys=False))),
    "inertias": Either((ARRAY, TableOf(NUMBERS, keys=False))),
    "shapes": Either((ARRAY, TableOf(NUMBERS, keys=False))),
    "rotations": Either((ARRAY, TableOf(NUMBERS, keys=False))),
    "frequencies": ARRAY, "stiffness": ARRAY, "total_mass": NUMBER, "shortening": ARRAY,
    "coupling": ListOf(ARRAY, 2), "complex_shapes": ListOf(ARRAY, 2), "about": NUMBERS,
    **dict.fromkeys(("m", "c", "J", "P", "H", "M", "Q", "R", "S", "K", "C"), ARRAY),
}  # fmt: skip

ADDED: dict[str, Kind] = {
    "points": TableOf(TRIPLE, keys=False), "flexible": Form("a flexible part", FLEXIBLE),
    "nodes": ListOf(Either((WORDS, NUMBERS))),
}  # fmt: skip

BODIES = (
    Verb(
        "body",
        {
            "parent": BODY, "joint": JOINT, "at": TRIPLE, "orient": ORIENT, "com": TRIPLE,
            "mass": EXPRESSION, "inertia": INERTIA, "check_inertia": FLAG,
        },
        extra=ADDED,
    ),
    Verb(
        "reaction_wheel",
        {
            "wheel_on": BODY, "axis": AXIS, "inertia": EXPRESSION, "transverse": EXPRESSION,
            "mass": EXPRESSION,
            "at": TRIPLE, "drive": WORDS, "torque": EXPRESSION, "speed": EXPRESSION,
        },
        key="wheel_on", argument="on", needs=("axis", "inertia"), extra=ADDED,
    ),
    Verb(
        "control_moment_gyro",
        {
            "gyro_on": BODY, "gimbal_axis": AXES, "spin_axis": AXIS, "wheel_inertia": EXPRESSION,
            "wheel_speed": EXPRESSION, "wheel_transverse": EXPRESSION,
            "gimbal_inertia": Either((INERTIA, ListOf(INERTIA))), "mass": EXPRESSION, "at": TRIPLE,
            "gimbal_rate": PER_GIMBAL, "gimbal_torque": PER_GIMBAL,
        },
        key="gyro_on", argument="on", needs=("gimbal_axis", "spin_axis", "wheel_inertia", "wheel_speed"),
    ),
)  # fmt: skip

LOADS = (
    Verb(
        "force",
        {"force": EXPRESSION, "direction": VECTOR, "at": POINT, "reaction": POINT},
        key="force", argument="magnitude", needs=("direction", "at"),
    ),
    Verb(
        "moment",
        {"moment": EXPRESSION, "direction": VECTOR, "on": BODY, "reaction": BODY},
        key="moment", argument="magnitude", needs=("direction", "on"),
    ),
    Verb("strut", {"strut": EXPRESSION, "between": ENDS}, key="strut", argument="law", needs=("between",)),
    Verb(
        "stop",
        {
            "stop": NAME, "lower": EXPRESSION, "upper": EXPRESSION, "stiffness": EXPRESSION,
            "damping": EXPRESSION, "exponent": NUMBER,
        },
        key="stop", argument="coordinate", needs=("stiffness",),
    ),
    Verb(
        "brake",
        {
            "brake": NAME, "capacity": EXPRESSION, "stiffness": EXPRESSION, "damping": EXPRESSION,
            "static": EXPRESSION,
        },
        key="brake", argument="coordinate", needs=("capacity", "stiffness", "damping"),
    ),
    Verb(
        "contact",
        {
            "contact": POINT, "plane": ListOf(VECTOR, 2), "stiffness": EXPRESSION, "damping": EXPRESSION,
            "exponent": NUMBER, "friction": OneOf(FRICTIONS),
        },
        key="contact", argument="point", needs=("plane", "stiffness"),
    ),
    Verb(
        "thruster",
        {
            "thrust": EXPRESSION, "direction": VECTOR, "at": POINT, "on": PULSES,
            "specific_impulse": EXPRESSION,
        },
        key="thrust", argument="thrust", needs=("direction", "at"),
    ),
    Verb(
        "solar_pressure",
        {
            "solar_area": EXPRESSION, "at": POINT, "sun": VECTOR, "normal": VECTOR, "specular": EXPRESSION,
            "diffuse": EXPRESSION, "pressure": EXPRESSION, "two_sided": FLAG, "shadow": NAME,
        },
        key="solar_area", argument="area", needs=("at", "sun"),
    ),
)  # fmt: skip

CONSTRAINTS = (
    Verb(
        "constrain",
        {"zero": EXPRESSION, "eliminate": NAME, "at": POINT, "along": VECTOR, "on": BODY, "about": WORDS},
        key="zero", argument="expression",
    ),
    Verb(
        "close_loop",
        {"close": ENDS, "directions": Either((VECTOR, ListOf(VECTOR))), "eliminate": Either((NAME,
        ListOf(NAME)))},
        key="close", argument="p",
    ),
    Verb(
        "close_joint",
        {
            "joint": choice("revolute", "spherical", "universal", "prismatic", "cylindrical", "distance",
            "fixed"),
            "between": ENDS, "axis": AXES, "length": EXPRESSION,
        },
        key="joint", argument="kind", needs=("between",),
    ),
)  # fmt: skip

OUTPUTS = (
    Verb("output", {"value": EXPRESSION, **LABELLED}, key="value", argument="expression"),
    Verb(
        "attitude_output",
        {"attitude": BODY, "kind": WORDS, "relative_to": BODY, "units": UNITS},
        key="attitude", argument="body",
    ),
)  # fmt: skip

EVENTS = (
    Verb(
        "event",
        {
            "when": EXPRESSION, "direction": COUNT, "set": TableOf(EXPRESSION), "lock": ListOf(NAME),
            "unlock": ListOf(NAME), "stop": FLAG, "about": WORDS,
        },
        key="when", argument="expression",
    ),
)  # fmt: skip

TABLE: dict[str, Kind] = {
    "x": ARRAY, "y": ARRAY, "kind": choice("linear", "smooth"), "outside": choice("clamp", "extend"),
    "x_units": UNITS, "y_units": UNITS, "label": WORDS,
}  # fmt: skip
CURVE = Form("a table", TABLE, ("x", "y"))
SURFACE = Form("a table", {**TABLE, "z": ARRAY, "z_units": UNITS}, ("x", "y", "z"))

# Sections of named entries, in the order in which they are read. One entry, one verb.
SECTIONS: dict[str, tuple[Verb, ...]] = {
    "inputs": (Verb("input", {"default": NUMBER, **LABELLED}),),
    "memory": (Verb("memory", {"initial": NUMBER, "update": EXPRESSION, "every": NUMBER, **LABELLED}),),
    "states": (Verb("state", {"rate": EXPRESSION, "initial": NUMBER, **LABELLED}, needs=("rate",)),),
    "bodies": BODIES,
    "attractors": (
        Verb(
            "attractor",
            {
                "mu": EXPRESSION, "at": TRIPLE, "J2": EXPRESSION, "radius": EXPRESSION,
                "axis": Either((VECTOR, TRIPLE)), "field": WORDS, "indirect": FLAG,
            },
            needs=("mu",),
        ),
    ),
    "fmus": (
        Verb(
            "fmu",
            {
                "file": PATH, "every": NUMBER, "inputs": TableOf(EXPRESSION, keys=False),
                "parameters": TableOf(NUMBER, keys=False), "outputs": ListOf(WORDS), "extrapolate": FLAG,
            },
            key="file", argument="source", needs=("every",),
        ),
    ),
    "loads": LOADS,
    "constraints": CONSTRAINTS,
    "events": EVENTS,
    "outputs": OUTPUTS,
    "start_mass_centre": (
        Verb("start_mass_centre", {"position": TRIPLE, "velocity": TRIPLE}, needs=("position",),
        names="body"),
    ),
    "start_orbit": (
        Verb("start_orbit", {"orbit": OneOf(ORBITS), "around": NAME}, needs=("orbit",), names="body"),
    ),
}  # fmt: skip

PARAMETER = Form("a parameter", {"value": QUANTITY, **LABELLED})
FUNCTION = Form("a function", {"arguments": ListOf(WORDS), "value": EXPRESSION}, ("arguments", "value"))
DEFINED = Form("an expression", {"value": EXPRESSION, "label": WORDS, "units": UNITS}, ("value",))
GRAVITY = Form(
    "a field of gravity", {"magnitude": EXPRESSION, "direction": VECTOR}, ("magnitude", "direction")
)
INCLUDE = Form(
    "an included model",
    {
        "file": PATH,
        "prefix": WORDS,
        "on": BODY,
        "share": ListOf(WORDS),
        "set": TableOf(EXPRESSION, keys=False),
    },
    ("file",),
)

TOP: dict[str, Kind] = {
    "armillary": COUNT, "name": WORDS, "units": UNITS, "about": WORDS,
    "lock": ListOf(NAME), "small": ListOf(EXPRESSION), "large": ListOf(EXPRESSION),
    "include": TableOf(INCLUDE, keys=False),
    "parameters": TableOf(Either((QUANTITY, PARAMETER), 'a number, a text such as "25 mm", or a table')),
    "tables": TableOf(Either((CURVE, SURFACE), "points of a curve, x and y, or of a surface, x, y and z")),
    "functions": TableOf(FUNCTION),
    "expressions": TableOf(Either((EXPRESSION, DEFINED))),
    "gravity": Either((GRAVITY, ListOf(GRAVITY))),
    "prescribe": TableOf(EXPRESSION), "armature": TableOf(EXPRESSION), "start": TableOf(EXPRESSION),
}  # fmt: skip
# The order of sections in a file that Armillary writes.
LAYOUT = (
    "armillary", "name", "units", "about", "lock", "small", "large", "include", "parameters", "inputs",
    "memory", "states",
    "tables", "functions", "expressions", "bodies", "gravity", "attractors", "fmus", "loads", "constraints",
    "prescribe", "armature",
    "events", "outputs", "start", "start_mass_centre", "start_orbit",
)  # fmt: skip


def verb_of(section: str, entry: Mapping[str, object]) -> Verb | None:
    """The verb that an entry of a section means; None where no key tells it."""
    verbs = SECTIONS[section]
    told = [verb for verb in verbs if verb.key and verb.key in entry]
    if told:
        return told[0]
    return verbs[0] if len(verbs) == 1 or not verbs[0].key else None
