"""The interpreter that has the peers installed, its packages, and the machine of the run."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.build import NotAvailable, compiler, processor, run

VARIABLE = "ARMILLARY_PEERS_PYTHON"
PACKAGES = ("pin", "cmeel-eigen", "mujoco", "drake", "casadi", "sympy", "exudyn", "bsk")
OURS = ("armillary", "numpy", "scipy", "llvmlite")
QUESTION = """
import importlib.metadata, json, sys, sysconfig
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps({"packages": found, "site": sysconfig.get_path("platlib")}))
"""


@dataclass(frozen=True)
class Environment:
    """Where the peers live; they may stand in an environment of their own, apart from Armillary's."""

    python: str
    site: Path
    packages: dict[str, str]

    def need(self, *names: str) -> None:
        missing = [name for name in names if name not in self.packages]
        if missing:
            raise NotAvailable(
                f"{', '.join(missing)} not installed; pip install 'armillary[peers]' or set {VARIABLE}"
            )


def _ask(python: str, names: tuple[str, ...]) -> dict:
    return json.loads(run([python, "-c", QUESTION, *names]))


def find_environment(python: str | None = None) -> Environment:
    """The environment of `python`, else of $ARMILLARY_PEERS_PYTHON, else of the running interpreter."""
    chosen = python or os.environ.get(VARIABLE) or sys.executable
    answer = _ask(chosen, PACKAGES)
    return Environment(chosen, Path(answer["site"]), answer["packages"])


def describe(environment: Environment) -> dict:
    """Machine, versions and date, for the head of the results."""
    try:
        compiled_by = run([compiler("c"), "--version"]).splitlines()[0]
    except NotAvailable as reason:
        compiled_by = f"not available: {reason}"
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "processor": processor(),
            "architecture": platform.machine(),
            "cores": os.cpu_count(),
            "system": platform.system(),
            "compiler": compiled_by,
        },
        "versions": {
            "python": platform.python_version(),
            **_ask(sys.executable, OURS)["packages"],
            **environment.packages,
        },
    }
