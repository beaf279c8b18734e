"""Pinocchio's articulated-body algorithm in C++, from the headers of the `pin` wheel, compiled for this
processor.

The wheel's own library is compiled for a generic processor; measured, the two differ by a few per cent
either way.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.build import NATIVE, cached, compile_cached
from benchmarks.candidate import OPTIMISED, Candidate, library
from benchmarks.environment import Environment
from benchmarks.exchange import model_text
from benchmarks.models import Model, Pool

# Pinocchio's joint variants are longer than the lists Boost has ready-made.
BOOST = (
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
)


def include_flags(environment: Environment) -> tuple[str, ...]:
    headers = environment.site / "cmeel.prefix" / "include"
    return (f"-I{NATIVE}", f"-isystem{headers}", f"-isystem{headers / 'eigen3'}")


def model_file(model: Model) -> Path:
    """The model as text, for our C++ to read."""
    text = model_text(model)

    def make(path: Path) -> dict:
        path.write_text(text)
        return {}

    return cached(f"{model.key}.txt", [text], make).path


def candidates(model: Model, states: Pool, environment: Environment) -> list[Candidate]:
    environment.need("pin", "cmeel-eigen")
    flags = ("-std=c++17", *OPTIMISED, "-DNDEBUG", *BOOST, *include_flags(environment))
    version = f"-DPINOCCHIO_WHEEL={environment.packages['pin']}"  # a new wheel is a new build
    built = compile_cached("pinocchio_aba.so", NATIVE / "pinocchio_aba.cpp", (*flags, version))
    return [
        library(f"Pinocchio C++ ABA {option}", built.path, model_file(model), option, states)
        for option in ("local", "world")
    ]
