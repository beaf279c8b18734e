"""MuJoCo's C library: the stages of mj_forward that smooth dynamics needs, and no others."""

from __future__ import annotations

from pathlib import Path

from benchmarks.build import NATIVE, NotAvailable, cached, compile_cached
from benchmarks.candidate import OPTIMISED, Candidate, library
from benchmarks.environment import Environment
from benchmarks.exchange import mjcf
from benchmarks.models import Model, Pool
from benchmarks.peers.pinocchio_cpp import model_file


def candidates(model: Model, states: Pool, environment: Environment) -> list[Candidate]:
    environment.need("mujoco")
    folder = environment.site / "mujoco"
    libraries = sorted(folder.glob("libmujoco.*"))
    if not libraries:
        raise NotAvailable("the mujoco wheel holds no libmujoco")
    built = compile_cached(
        "mujoco_smooth.so",
        NATIVE / "mujoco_smooth.cpp",
        ("-std=c++17", *OPTIMISED, f"-I{NATIVE}", f"-isystem{folder / 'include'}"),
        link=(str(libraries[0]), f"-Wl,-rpath,{folder}"),
    )
    return [library("MuJoCo smooth stages", built.path, model_file(model), str(_xml(model)), states)]


def _xml(model: Model) -> Path:
    text = mjcf(model)

    def make(path: Path) -> dict:
        path.write_text(text)
        return {}

    return cached(f"{model.key}.xml", [text], make).path
