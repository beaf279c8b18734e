"""The functions of an FMU's library, called through FMPy and by hand: derivatives, saved states, many
instances, and calls that must fail.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from tests.export.fmi.fmu_models import Exported, begun, get, opened, put, references
from tests.later import later

later("fmpy", reason="FMPy opens the FMUs of these tests")


def step(one: Any, t: float, h: float) -> None:
    one.doStep(currentCommunicationPoint=t, communicationStepSize=h)


def test_directional_derivatives_are_finite_differences(unit: Exported) -> None:
    path, folder, version = unit
    place = references(path)
    one = begun(opened(path, folder, exchange=True), version)
    if version == "2.0":
        one.newDiscreteStates()
    else:
        one.updateDiscreteStates()
    one.enterContinuousTimeMode()
    states = ["plate.q1", "ball.q1", "plate.u1", "ball.u1", "warm"]
    knowns = [place[n] for n in [*states, "push"]]
    unknowns = [place[n] for n in [*(f"der({s})" for s in states), "height", "spring", "brake", "ball.q1"]]
    x = np.array(get(one, [place[s] for s in states]))

    def at(change: np.ndarray) -> np.ndarray:
        moved = x + change[:5]
        one.setContinuousStates((ctypes.c_double * 5)(*moved), 5)
        put(one, [place["push"]], [2.0 + change[5]])
        return np.array(get(one, unknowns))

    columns = []
    for j in range(6):
        seed = [float(i == j) for i in range(6)]
        at(np.zeros(6))
        found = np.array(one.getDirectionalDerivative(unknowns, knowns, seed))
        size = 1e-5
        centred = (at(size * np.array(seed)) - at(-size * np.array(seed))) / (2 * size)
        np.testing.assert_allclose(found, centred, rtol=1e-7, atol=1e-7)
        columns.append(found)
    at(np.zeros(6))
    both = one.getDirectionalDerivative(unknowns, knowns, [1.0, -2.0, 0.5, 3.0, -0.7, 0.25])
    np.testing.assert_allclose(
        both, np.transpose(columns) @ [1.0, -2.0, 0.5, 3.0, -0.7, 0.25], rtol=1e-12, atol=1e-12
    )
    if version == "3.0":
        weights = np.linspace(-1, 1, len(unknowns))
        adjoint = one.getAdjointDerivative(unknowns, knowns, list(weights), nSensitivity=len(knowns))
        np.testing.assert_allclose(adjoint, weights @ np.transpose(columns), rtol=1e-12, atol=1e-12)
    one.terminate()
    one.freeInstance()


def test_a_restored_state_replays_bit_for_bit(unit: Exported) -> None:
    path, folder, version = unit
    places = [r for n, r in references(path).items() if n != "time"]
    one = begun(opened(path, folder), version)
    for i in range(30):
        step(one, 0.01 * i, 0.01)
    saved = one.getFMUState()
    as_bytes = one.serializeFMUState(saved)

    def onwards(unit: Any) -> list[list[float]]:
        rows = []
        for i in range(30, 60):
            step(unit, 0.01 * i, 0.01)
            rows.append(get(unit, places))
        return rows

    first = onwards(one)
    one.setFMUState(saved)
    assert onwards(one) == first
    other = begun(opened(path, folder, name="other"), version)
    other.setFMUState(other.deserializeFMUState(as_bytes))
    assert onwards(other) == first
    one.freeFMUState(saved)
    one.reset()
    assert get(one, [references(path)["ball.q1"]]) == [1.0]
    other.terminate()
    for instance in (one, other):
        instance.freeInstance()


def test_many_instances_do_not_know_of_each_other(unit: Exported) -> None:
    path, folder, version = unit
    place = references(path)
    pushes = np.linspace(-3, 3, 32)

    def alone(push: float) -> list[float]:
        one = begun(opened(path, folder), version)
        put(one, [place["push"]], [push])
        for i in range(20):
            step(one, 0.01 * i, 0.01)
        found = get(one, [place["ball.q1"], place["bounces"]])
        one.freeInstance()
        return found

    units = [begun(opened(path, folder, name=f"unit {i}"), version) for i in range(32)]
    for one, push in zip(units, pushes, strict=True):
        put(one, [place["push"]], [push])
    for i in range(20):
        for one in units:
            step(one, 0.01 * i, 0.01)
    together = [get(one, [place["ball.q1"], place["bounces"]]) for one in units]
    for one in units:
        one.freeInstance()
    assert together[::8] == [alone(p) for p in pushes[::8]]
    assert len({tuple(values) for values in together}) > 16


def test_calls_that_make_no_sense_return_an_error_and_say_why(unit: Exported) -> None:
    path, folder, version = unit
    place = references(path)
    library = ctypes.CDLL(opened(path, folder).dll._name)
    said: list[str] = []
    second = version == "2.0"
    letter = version[0]
    log = (
        ctypes.CFUNCTYPE(
            None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p
        )(lambda *a: said.append(a[-1].decode()))
        if second
        else ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)(
            lambda *a: said.append(a[-1].decode())
        )
    )
    import fmpy

    token = fmpy.read_model_description(str(path)).guid.encode()
    make = getattr(library, "fmi2Instantiate" if second else "fmi3InstantiateCoSimulation")
    make.restype = ctypes.c_void_p
    if second:
        callbacks = (ctypes.c_void_p * 5)(ctypes.cast(log, ctypes.c_void_p).value, None, None, None, None)

        def made(token: bytes | None) -> int | None:
            return make(b"one", 1, token, b"", callbacks, 0, 0)
    else:

        def made(token: bytes | None) -> int | None:
            no = ctypes.c_bool(False)
            return make(b"one", token, b"", no, no, no, no, None, ctypes.c_size_t(0), None, log, None)

    assert made(b"{another}") is None and "does not belong to this model" in said[-1]
    assert made(None) is None
    me = ctypes.c_void_p(made(token))

    def call(name: str, *arguments: Any) -> int:
        return getattr(library, f"fmi{letter}{name}")(*arguments)

    one = ctypes.c_size_t(1)
    number = (ctypes.c_double * 1)(1.0)
    flags = (ctypes.c_bool * 3)()
    last = ctypes.c_double()
    more = () if second else (one,)
    getter, setter = ("GetReal", "SetReal") if second else ("GetFloat64", "SetFloat64")
    noticed = (
        (ctypes.c_int(1),)
        if second
        else (
            ctypes.c_bool(True),
            *(ctypes.byref(flags, i) for i in range(3)),
            ctypes.byref(last),
        )
    )

    def at(name: str) -> Any:
        return (ctypes.c_uint32 * 1)(place[name])

    assert call("DoStep", me, ctypes.c_double(0.0), ctypes.c_double(0.1), *noticed) == 3
    assert "not allowed while the FMU is instantiated" in said[-1]
    assert call(getter, me, (ctypes.c_uint32 * 1)(99999), one, number, *more) == 3 and "99999" in said[-1]
    assert call(getter, me, None, one, number, *more) == 3
    assert call(getter, None, at("k"), one, number, *more) == 3
    assert call(setter, me, at("height"), one, number, *more) == 3 and "cannot be set" in said[-1]
    number[0] = float("nan")
    assert call(setter, me, at("push"), one, number, *more) == 3 and "finite" in said[-1]
    assert call("SetFMUstate" if second else "SetFMUState", me, None) == 3
    assert call("GetInteger" if second else "GetInt32", me, at("k"), one, number, *more) == 3
    assert call("EnterContinuousTimeMode", me) == 3
    if second:
        zero, no = ctypes.c_double(0.0), ctypes.c_int(0)
        assert call("SetupExperiment", me, no, zero, zero, no, zero) == 0
        assert call("EnterInitializationMode", me) == 0
    else:
        zero, false = ctypes.c_double(0.0), ctypes.c_bool(False)
        assert call("EnterInitializationMode", me, false, zero, zero, false, zero) == 0
    assert call("ExitInitializationMode", me) == 0
    assert call("DoStep", me, ctypes.c_double(0.7), ctypes.c_double(0.1), *noticed) == 3 and "0.7" in said[-1]
    assert call("DoStep", me, ctypes.c_double(0.0), ctypes.c_double(-0.1), *noticed) == 3
    assert call("DoStep", me, ctypes.c_double(0.0), ctypes.c_double(0.1), *noticed) == 0
    bytes_ = (ctypes.c_char * 16)()
    kept = ctypes.c_void_p()
    name = "DeSerializeFMUstate" if second else "DeserializeFMUState"
    assert call(name, me, bytes_, ctypes.c_size_t(16), ctypes.byref(kept)) == 3
    assert "not a state of this model" in said[-1]
    getattr(library, f"fmi{letter}FreeInstance")(me)
    getattr(library, f"fmi{letter}FreeInstance")(None)
