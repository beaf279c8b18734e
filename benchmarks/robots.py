"""Robots of public packages: `example-robot-data` (URDF) beside Pinocchio, `dm_control` (MJCF) beside MuJoCo.

Every file that both programs load is imported, derived, compiled, checked against the peer's accelerations at
random states and timed beside it: Pinocchio's articulated-body algorithm in C++ (joints that mimic others are
free there, which is less work), or the stages of MuJoCo that smooth dynamics needs. What an import leaves out
(contact, tendons, drives of other kinds) is left out of the peer too.
"""

from __future__ import annotations

import ctypes
import json
import math
import re
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import armillary as arm
from armillary.files.robots.rotations import multiple_spelled
from benchmarks.build import HERE, NATIVE, NotAvailable, cached, compile_cached, run
from benchmarks.candidate import (
    OPTIMISED,
    DerivativesRecord,
    Native,
    Operations,
    address,
    generated,
    pointer,
)
from benchmarks.environment import Environment
from benchmarks.peers.pinocchio_cpp import BOOST, include_flags
from benchmarks.text import number, table
from benchmarks.timing import Effort, time_interleaved

TOLERANCE = 1e-6
"""Largest relative difference of accelerations: MuJoCo finds principal axes of inertia to about 1e-7."""
TARGET, SECONDS = 0.4, 5.0
QUICK = ("talos_full_v2", "ur5_robot", "humanoid_CMU")
SKIPPED = ("test", "build_fruitfly", "composer")  # folders of dm_control that hold no robots of their own


def robot_files(environment: Environment) -> list[tuple[str, Path]]:
    """(peer, file) of every robot of both packages that is installed."""
    urdf = environment.site / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
    mjcf = environment.site / "dm_control"
    found = [("pinocchio", path) for path in sorted(urdf.rglob("*.urdf"))]
    found += [
        ("mujoco", path)
        for path in sorted(mjcf.rglob("*.xml"))
        if not any(word in part for part in path.relative_to(mjcf).parts for word in SKIPPED)
    ]
    return found


def measure_robots(environment: Environment, effort: Effort, *, quick: bool = False) -> list[dict[str, Any]]:
    """A record for each robot; those that a program refuses have the reason in it."""
    records = []
    for peer, path in robot_files(environment):
        if quick and path.stem not in QUICK:
            continue
        record: dict[str, Any] = {"name": f"{path.parent.name}/{path.stem}", "peer": peer}
        try:
            record |= _measured(peer, path, environment, effort)
        except NotAvailable as reason:
            record["missing"] = str(reason)
        except arm.ArmillaryError as error:
            record["refused"] = " ".join(str(error).split())[:160]
        if record.get("speeds") != 0:
            records.append(record)
            print(_line(record), flush=True)
    return records


def _spelled(path: Path) -> Path:
    """A copy of a URDF file in which angles that spell a multiple of π/12 are that multiple, as for us."""

    def exact(match: re.Match[str]) -> str:
        words = match[2].split()
        multiples = [multiple_spelled(word) for word in words]
        given = [w if k is None else repr(k * math.pi / 12) for w, k in zip(words, multiples, strict=True)]
        return f"{match[1]}{' '.join(given)}{match[3]}"

    text = path.read_text(encoding="utf-8", errors="replace")
    content = re.sub(r"(\brpy\s*=\s*[\"'])([^\"']*)([\"'])", exact, text)
    return cached(
        f"{path.stem}.urdf", [content], lambda file: {"written": file.write_text(content, encoding="utf-8")}
    ).path


def _measured(peer: str, path: Path, environment: Environment, effort: Effort) -> dict[str, Any]:
    script = HERE / "peers" / "robots_script.py"
    original = path
    path = _spelled(path) if peer == "pinocchio" else path
    try:
        answer = run([environment.python, script, peer, path, "1"])
    except NotAvailable:
        _loaded(peer, original).derive()  # what Armillary refuses too has its words
        raise
    told = json.loads(answer[answer.index("{") :])
    if not told["nv"]:
        return {"speeds": 0}
    theirs = _native_peer(peer, path, told, environment)
    ours, error = _ours(peer, original, told)
    record: dict[str, Any] = {"speeds": told["nv"], "error": error}
    timings = time_interleaved([ours, theirs], effort)
    assert ours.operations is not None
    return record | {
        "formalism": ours.name,
        "operations": ours.operations.total,
        "derive_seconds": ours.derive_seconds,
        "compile_seconds": ours.compile_seconds,
        "nanoseconds": timings[0].minimum,
        "peer_nanoseconds": timings[1].minimum,
    }


def _loaded(peer: str, path: Path) -> arm.System:
    options = {"floating": True, "torques": "all"} if peer == "pinocchio" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return arm.load(path, **options)


def _ours(peer: str, path: Path, told: dict[str, Any]) -> tuple[Native, float]:
    system = _loaded(peer, path)
    assert system.imported is not None
    for constraint in [] if peer == "pinocchio" else list(system.constraints):
        raise NotAvailable(f"it has the constraint '{constraint}', which MuJoCo makes a spring")
    start = time.process_time()
    equations = system.derive()
    derived = time.process_time()
    compiled = equations.compile()
    done = time.process_time()
    # Servos pull at their input, zero; the peer's are switched off.
    off = {name: 0.0 for name in system.parameters if name.startswith(("kp_", "kv_"))}
    states, expected = [], []
    for state in told["states"]:
        values: dict[str, float] = {}
        rates: dict[str, float] = {}
        for joint, coordinates in system.imported.joints.items():
            speeds = [str(u) for u in system.bodies[coordinates[0].partition(".")[0]].speeds]
            values |= dict(zip(coordinates, state["q"][joint], strict=True))
            values |= dict(zip(speeds, state["u"][joint], strict=True))
            rates |= dict(zip(speeds, state["udot"][joint], strict=True))
        states.append([values[x] for x in (*compiled.coordinate_names, *compiled.speed_names)])
        expected.append([rates[name] for name in compiled.speed_names])
    pool = np.array(states)
    constants = np.array([compiled.constants(off)] * len(pool))
    memory, rate = np.zeros(max(1, len(system.memories))), np.zeros(pool.shape[1])
    sizes = len(pool), len(compiled.coordinate_names), len(compiled.speed_names), constants.shape[1]
    arrays = (pointer(x) for x in (pool, constants, memory, rate))
    record = DerivativesRecord(compiled.address("derivatives"), *sizes, *arrays)
    ours = generated(
        "derivatives",
        equations.formalism,
        record,
        (compiled, pool, constants, memory, rate),
        operations=Operations.of(equations),
        derive_seconds=derived - start,
        compile_seconds=done - derived,
    )
    wanted = np.array(expected)
    found = np.array([ours.at(k, wanted.shape[1]) for k in range(len(pool))])
    scale = np.maximum(1.0, np.abs(wanted).max(axis=1, keepdims=True))
    return ours, float(np.max(np.abs(found - wanted) / scale))


def _native_peer(peer: str, path: Path, told: dict[str, Any], environment: Environment) -> Native:
    if peer == "pinocchio":
        return pinocchio_robot(told, environment)
    environment.need("mujoco")
    folder = environment.site / "mujoco"
    libraries = sorted(folder.glob("libmujoco.*"))
    if not libraries:
        raise NotAvailable("the mujoco wheel holds no libmujoco")
    flags = ("-std=c++17", *OPTIMISED, f"-isystem{folder / 'include'}")
    link = (str(libraries[0]), f"-Wl,-rpath,{folder}")
    built = compile_cached("robot_mujoco.so", NATIVE / "robot_mujoco.cpp", flags, link=link)
    return peer_robot(peer, built.path, path, told)


def pinocchio_robot(told: dict[str, Any], environment: Environment, *macros: str) -> Native:
    """A robot by Pinocchio, compiled with these macros."""
    environment.need("pin", "cmeel-eigen")
    wheel = f"-DPINOCCHIO_WHEEL={environment.packages['pin']}"
    flags = ("-std=c++17", *OPTIMISED, "-DNDEBUG", *BOOST, *include_flags(environment), wheel, *macros)
    built = compile_cached("robot_pinocchio.so", NATIVE / "robot_pinocchio.cpp", flags)
    source = cached("robot.txt", [told["text"]], lambda file: {"written": file.write_text(told["text"])})
    return peer_robot("pinocchio", built.path, source.path, told)


def peer_robot(peer: str, library: Path, file: Path, told: dict[str, Any]) -> Native:
    """A robot of a compiled peer with its states, and what is given besides: efforts (zero), or rates."""
    shared = ctypes.CDLL(str(library))
    shared.create.restype = ctypes.c_void_p
    shared.create.argtypes = (ctypes.c_char_p, ctypes.c_long, *[ctypes.c_void_p] * 3)
    shared.failure.restype = ctypes.c_char_p
    q, v = np.array(told["q"]), np.array(told["v"])
    given = np.array(told["given"]) if "given" in told else np.zeros_like(v)
    this = shared.create(str(file).encode(), len(q), pointer(q), pointer(v), pointer(given))
    if not this:
        raise NotAvailable(shared.failure().decode()[:160])
    return Native(
        name=peer,
        loop=address(shared.loop),
        accelerations=address(shared.accelerations),
        self=this,
        keep=(shared, q, v, given),
    )


def wrong(records: Sequence[dict[str, Any]]) -> list[str]:
    """Robots whose accelerations differ from the peer's."""
    return [r["name"] for r in records if not r.get("error", 0.0) <= TOLERANCE]


def _line(record: dict[str, Any]) -> str:
    if "nanoseconds" not in record:
        return f"{record['name']}: {record.get('missing') or record.get('refused')}"
    ratio = record["nanoseconds"] / record["peer_nanoseconds"]
    return (
        f"{record['name']}: {record['speeds']} speeds, {ratio:.2f} of {record['peer']}, {record['error']:.0e}"
    )


def robots_table(records: Sequence[dict[str, Any]]) -> str:
    """Time beside the peer's, and seconds of derivation and compilation; agreeing robots alone are timed."""
    if not records:
        return "Robots: neither example-robot-data nor dm_control is installed"
    head = [
        "robot",
        "speeds",
        "by",
        "operations",
        "ns",
        "peer ns",
        "ratio",
        "derive s",
        "compile s",
        "difference",
    ]
    rows = []
    for r in records:
        if "nanoseconds" in r:
            rows.append([
                r["name"], str(r["speeds"]), r["formalism"], f"{r['operations']:,}",
                number(r["nanoseconds"], 0),
                number(r["peer_nanoseconds"], 0), number(r["nanoseconds"] / r["peer_nanoseconds"]),
                number(r["derive_seconds"]), number(r["compile_seconds"]), f"{r['error']:.0e}",
            ])  # fmt: skip
    lines = ["Robots beside Pinocchio (URDF) and MuJoCo's smooth stages (MJCF)", table(head, rows)]
    lines += [
        f"{r['name']}: {r.get('missing') or r.get('refused')}" for r in records if "nanoseconds" not in r
    ]
    good = [r for r in records if r.get("error", 1.0) <= TOLERANCE]
    quick = sum(r["nanoseconds"] <= TARGET * r["peer_nanoseconds"] for r in good)
    soon = sum(r["derive_seconds"] + r["compile_seconds"] <= SECONDS for r in good)
    lines.append(
        f"{len(good)} robots agree to {TOLERANCE:g}: {quick} of them in at most {TARGET} of the peer's time, "
        f"{soon} derived and compiled in {SECONDS:g} s"
    )
    return "\n".join(lines)
