"""SymPy's KanesMethod, then common subexpressions, then C with a dense LDLᵀ solution in the same function.

The derivation runs in a process of its own (`kane_script.py`), with a limit on its CPU time.
"""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path

import numpy as np

from benchmarks.build import HERE, NotAvailable, cached, compile_cached, run
from benchmarks.candidate import (
    OPTIMISED,
    Candidate,
    Operations,
    PlainRecord,
    address,
    generated,
    plain_fields,
)
from benchmarks.environment import Environment
from benchmarks.exchange import model_text
from benchmarks.models import Model, Pool

WITHIN_REACH = ("arm", "spacecraft2", "chain4", "chain8")
CPU_LIMIT = 600
SCRIPT = Path(__file__).with_name("kane_script.py")


def derivation(model: Model, environment: Environment) -> tuple[Path, dict]:
    """The generated C file and the record of its making: CPU seconds of each stage, and the operations."""
    environment.need("sympy")
    if model.key not in WITHIN_REACH:
        raise NotAvailable(
            "not tried: 16 links did not derive in 600 CPU s, and no compiler digests the tree"
        )
    variables = {**os.environ, "PYTHONPATH": str(HERE.parent), "PYTHONDONTWRITEBYTECODE": "1"}

    def make(path: Path) -> dict:
        print(f"  deriving {model.key} with SymPy ...", flush=True)
        command: list[str | Path] = [environment.python, SCRIPT, model.key, path]
        return json.loads(run(command, env=variables, cpu_limit=CPU_LIMIT))

    ingredients: list[str | bytes] = [model_text(model), SCRIPT.read_bytes(), environment.packages["sympy"]]
    built = cached(f"{model.key}_kane.c", ingredients, make)
    return built.path, built.record


def candidates(model: Model, states: Pool, environment: Environment) -> list[Candidate]:
    source, record = derivation(model, environment)
    built = compile_cached(f"{model.key}_kane.so", source, OPTIMISED, link=("-lm",))
    shared, a = ctypes.CDLL(str(built.path)), np.zeros(model.nv)
    fields = PlainRecord(*plain_fields(address(shared.forward_dynamics), model, states, a))
    candidate = generated(
        "plain", "SymPy KanesMethod C", fields, (shared, states, a),
        operations=Operations(**record["operations"]),
        derive_seconds=record["derive_seconds"] + record["cse_seconds"] + record["print_seconds"],
        compile_seconds=built.record["cpu_seconds"],
    )  # fmt: skip
    return [candidate]
