"""FMUs of model exchange as parts of a system, against models that need no FMU; variables of all types."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armillary as arm
from armillary.export.fmi import compile_library
from tests.export.fmi.fmu_models import START, Exported, need_compiler
from tests.export.fmi.host import place_of_binary

# ---------------------------------------------------------------- model exchange


def test_states_events_and_clocks_of_an_fmu_become_those_of_the_system(unit: Exported, hopping: Any) -> None:
    """The hopper in its own units inside a system of SI: bounces, a memory renewed at every step, a periodic
    one. Both runs have tolerances of 1e-10 or less.
    """
    s = arm.System("host")
    s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    found = s.fmu("hop", unit.path, inputs={"push": 4.0})
    assert list(s.states) == ["hop_plate_q1", "hop_ball_q1", "hop_plate_u1", "hop_ball_u1", "hop_warm"]
    assert found["ball.q1"] is s.states["hop_ball_q1"].symbol
    model = s.derive().compile()
    run = model.simulate(0.5, rtol=1e-10, atol=1e-12, sample=0.0125)
    alone = hopping.compile().simulate(
        0.5, rtol=1e-12, atol=1e-13, sample=0.0125, initial=START, memory={"push": 4.0}
    )
    assert [e.name for e in run.events] == ["hop event 1"] * 3
    assert [e.time for e in run.events] == pytest.approx([e.time for e in alone.events], rel=1e-9)
    inch = 0.0254
    for name, own, factor in (
        ("hop_ball_q1", "ball.q1", inch), ("hop_ball_u1", "ball.u1", inch), ("hop_height", "height", 1e-3),
        ("hop_plate_q1", "plate.q1", np.pi / 180), ("hop_warm", "warm", 1.0), ("hop_held", "held", 1.0),
    ):  # fmt: skip
        size = 1 + np.max(np.abs(alone[own]))
        assert np.max(np.abs(run[name] / factor - alone[own])) < 1e-8 * size, name
    again = model.simulate(0.5, rtol=1e-10, atol=1e-12, sample=0.0125)
    assert np.array_equal(again.values, run.values)  # each run starts the FMU again


def quarter_car(strut: Path | None) -> Any:
    """A car on a strut with a small mass inside: as an FMU of model exchange, or as part of the model."""
    s = arm.System("quarter car")
    wheel = s.body("wheel", joint=arm.Prismatic("z"), mass=40.0, inertia=0)
    body = s.body("body", joint=arm.Prismatic("z"), mass=350.0, inertia=0)
    s.force("tyre", "-180e3*(wheel.q1 - 0.05)", s.ground.z, at=wheel)
    x, v = wheel.q1 - body.q1, wheel.u1 - body.u1
    if strut:
        force = s.fmu("strut", strut, inputs={"x": x, "v": v})["F"]
    else:
        p = s.body("p", joint=arm.Prismatic("x"), mass=0.2, inertia=0)
        s.force("inner", -800 * (p.q1 - x) - 5 * (p.u1 - v), s.ground.x, at=p)
        force = 40e3 * x + 300 * v + 800 * (x - p.q1) + 5 * (v - p.u1)
    s.force("push", force, s.ground.z, at=body, reaction=wheel)
    return s.derive().compile()


def test_an_fmu_of_model_exchange_is_as_accurate_as_a_part_of_the_model(strut_unit: Path) -> None:
    """No communication step is between them: the same rk4 steps, so that rounding alone differs."""
    runs = [quarter_car(path).simulate(0.2, step=1e-3, sample=0.01) for path in (strut_unit, None)]
    for name in ("body.q1", "wheel.u1"):
        assert np.max(np.abs(runs[0][name] - runs[1][name])) < 1e-13
    assert np.max(np.abs(runs[0]["strut_p_q1"] - runs[1]["p.q1"])) < 1e-13
    moved = quarter_car(strut_unit).simulate(1e-3, step=1e-3, initial={"strut_p_q1": 0.01})
    assert moved["strut_p_q1"][0] == 0.01  # the user's start value, not that of the FMU


def test_an_error_of_the_fmu_ends_the_run_with_its_message(strut_unit: Path) -> None:
    s = arm.System("bad")
    m = s.body("m", joint=arm.Prismatic("x"), mass=1, inertia=0)
    with pytest.raises(arm.ModelError, match=r"extrapolate is for co-simulation; give every=… too"):
        s.fmu("strut", strut_unit, extrapolate=True)
    out = s.fmu("strut", strut_unit, inputs={"x": "0.1*sqrt(0.05 - t)"})
    s.force("F", -out["F"], s.ground.x, at=m.com)
    with pytest.raises(arm.SimulationError, match=r"t = 0\.05"):
        s.derive().compile().simulate(0.1, step=1e-3)


# ---------------------------------------------------------------- variables of all types

TYPES = (
    "Float32",
    "Int8",
    "UInt8",
    "Int16",
    "UInt16",
    "Int32",
    "UInt32",
    "Int64",
    "UInt64",
    "Boolean",
    "Float64",
)
# What is set under a reference is read under the reference plus 100; Float64 is an array of 2 × 2.
SOURCE = """
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#define SHOWN __attribute__((visibility("default")))
static double kept[400][4];
SHOWN char label[64];
SHOWN void *fmi3InstantiateCoSimulation(const char *n, const char *t, const char *r, bool v, bool l, bool e,
    bool y, const unsigned *q, size_t m, void *c, void *g, void *u)
{ (void)n; (void)t; (void)r; (void)v; (void)l; (void)e; (void)y; (void)q; (void)m; (void)c; (void)g; (void)u;
  return kept; }
SHOWN int fmi3EnterInitializationMode(void *c, bool d, double t, double s, bool e, double f)
{ (void)c; (void)d; (void)t; (void)s; (void)e; (void)f; return 0; }
SHOWN int fmi3ExitInitializationMode(void *c) { (void)c; return 0; }
SHOWN int fmi3DoStep(void *c, double t, double h, bool n, bool *e, bool *s, bool *y, double *l)
{ (void)c; (void)n; *e = *s = *y = false; *l = t + h; return 0; }
SHOWN int fmi3Terminate(void *c) { (void)c; return 0; }
SHOWN void fmi3FreeInstance(void *c) { (void)c; }
SHOWN int fmi3SetString(void *c, const unsigned *r, size_t n, const char **v, size_t m)
{ (void)c; (void)r; (void)n; (void)m; strncpy(label, v[0], 63); return 0; }
#define TYPE(name, type, width) \\
SHOWN int fmi3Set##name(void *c, const unsigned *r, size_t n, const type *v, size_t m) \\
{ (void)c; if (m != n * width) return 3; \\
  for (size_t i = 0; i < m; i++) \\
    kept[r[i / width]][i % width] = r[i / width] == 304 ? (double)((long long)v[i] % 1000) : (double)v[i]; \\
  return 0; } \\
SHOWN int fmi3Get##name(void *c, const unsigned *r, size_t n, type *v, size_t m) \\
{ (void)c; if (m != n * width) return 3; \\
  for (size_t i = 0; i < m; i++) v[i] = (type)kept[r[i / width] - 100][i % width]; return 0; }
TYPE(Float32, float, 1) TYPE(Float64, double, 4) TYPE(Boolean, bool, 1)
TYPE(Int8, int8_t, 1) TYPE(UInt8, uint8_t, 1) TYPE(Int16, int16_t, 1) TYPE(UInt16, uint16_t, 1)
TYPE(Int32, int32_t, 1) TYPE(UInt32, uint32_t, 1) TYPE(Int64, int64_t, 1) TYPE(UInt64, uint64_t, 1)
"""


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An FMU that echoes inputs of every type."""
    need_compiler()

    def variable(kind: str, name: str, reference: int, causality: str) -> str:
        size = '<Dimension start="2"/><Dimension valueReference="300"/>' if kind == "Float64" else ""
        start = "" if causality == "output" else ' start="7 7 7 7"' if kind == "Float64" else ' start="1"'
        more = ' variability="discrete"' if kind not in ("Float64", "Float32") else ""
        labels = f'name="{name}" valueReference="{reference}" causality="{causality}"{more}{start}'
        return f"<{kind} {labels}>{size}</{kind}>"

    lines = [variable(kind, f"in {kind}", i, "input") for i, kind in enumerate(TYPES)]
    lines += [variable(kind, f"out {kind}", 100 + i, "output") for i, kind in enumerate(TYPES)]
    lines += [
        variable("Enumeration", "in level", 50, "input"),
        variable("Enumeration", "out level", 150, "output"),
    ]
    lines += [
        '<UInt64 name="columns" valueReference="300" causality="structuralParameter" start="2"/>',
        '<String name="label" valueReference="301" causality="parameter"><Start value="x"/></String>',
        f'<Int64 name="digits" valueReference="304" causality="parameter" start="{2**53 + 1}"/>',
        '<Int32 name="last digits" valueReference="404" causality="output" variability="discrete"/>',
        '<Int32 name="count" valueReference="302" causality="parameter" variability="fixed" start="1"/>',
        '<Binary name="blob" valueReference="303" causality="input"/>',
    ]
    text = (
        '<fmiModelDescription fmiVersion="3.0" modelName="typed" instantiationToken="g">'
        '<CoSimulation modelIdentifier="typed"/><ModelVariables>'
        f"{''.join(lines)}</ModelVariables></fmiModelDescription>"
    )
    folder, suffix = place_of_binary("3.0")
    path = tmp_path_factory.mktemp("typed") / "typed.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", text)
        archive.writestr(f"{folder}/typed{suffix}", compile_library({"typed.c": SOURCE}, suffix))
    return path


def test_numbers_truths_enumerations_and_arrays_cross_the_border(typed: Path) -> None:
    """Whole numbers are rounded to the nearest; an element that is not driven keeps its start value."""
    s = arm.System("all types")
    s.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    given = {
        "in Float32": 0.1, "in Int8": -99.7, "in UInt8": 200.2, "in Int16": -30000, "in UInt16": 60000,
        "in Int32": -2e9, "in UInt32": 4e9, "in Int64": -9e15, "in UInt64": 9e15, "in Boolean": 0.5,
        "in level": 3.2,
    }  # fmt: skip
    arrays = {"in Float64[1,2]": 1.5, "in Float64[2,1]": "t + 2.5"}
    set_once = {"label": "hello", "count": 5, "digits": 2**53 + 3}  # the last one has more than 53 bits
    found = s.fmu("e", typed, every=0.1, inputs=given | arrays, parameters=set_once)
    run = s.derive().compile().simulate(0.2, step=0.1)
    values = {
        name: run[f"e_{name.replace(' ', '_')}"][-1] for name in ("out Float32", "out level", "out Boolean")
    }
    assert values == {"out Float32": float(np.float32(0.1)), "out level": 3.0, "out Boolean": 1.0}
    for kind in TYPES[1:9]:
        exact = given[f"in {kind}"]
        assert run[f"e_out_{kind}"][-1] == np.sign(exact) * np.floor(abs(exact) + 0.5), kind
    assert run["e_last_digits"][-1] == (2**53 + 3) % 1000
    array = [run[f"e_out_Float64_{i}_{j}"][-1] for i in (1, 2) for j in (1, 2)]
    assert array == pytest.approx([7.0, 1.5, 2.7, 7.0], rel=1e-15)
    assert "out Float64[2,2]" in found and len(found) == 16
    other = arm.System("whole array")
    other.body("b", joint=arm.Prismatic("x"), mass=1, inertia=0)
    other.fmu("e", typed, every=0.1, inputs={"in Float64": [1, 2, 3, 4]}, outputs=["out Float64[2,1]"])
    assert other.derive().compile().simulate(0.1, step=0.1)["e_out_Float64_2_1"][-1] == 3.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inputs": {"blob": 1.0}}, "input 'blob' of 'typed' is of type Binary, which cannot be connected"),
        ({"inputs": {"in Float64": [1, 2]}}, "input 'in Float64' has 4 elements, and 2 are given"),
        ({"parameters": {"label": 3}}, "parameter 'label' needs a text, not 3"),
        ({"parameters": {"count": 1.5}}, r"'count' is of type Int32, and 1\.5 is not a whole number"),
        ({"parameters": {"count": 2**31}}, "type Int32, from -2147483648 to 2147483647, not 2147483648"),
        ({"every": None}, "offers no model exchange; give every=…"),
    ],
)
def test_wrong_types_are_sentences(typed: Path, options: dict[str, Any], message: str) -> None:
    s = arm.System("wrong")
    s.body("m", joint=arm.Prismatic("x"), mass=1, inertia=0)
    with pytest.raises(arm.ModelError, match=message):
        s.fmu("e", typed, **({"every": 0.1} | options))
    assert not s.memories and not s.events and not s.states
