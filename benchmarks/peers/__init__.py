"""The peers: one file each, all of one shape.

`candidates(model, states, environment)` builds the model with the peer and gives back candidates ready to be
timed; it raises `NotAvailable` with the reason when the peer is missing, cannot be built, or has no answer
for this model. Adding a peer is a new file and a line here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.candidate import Candidate
from benchmarks.environment import Environment
from benchmarks.models import Model, Pool
from benchmarks.peers import casadi_c, exudyn_py, mujoco_c, pinocchio_cpp, sympy_kane

Builder = Callable[[Model, Pool, Environment], Sequence[Candidate]]

TREE_PEERS: dict[str, Builder] = {
    "pinocchio": pinocchio_cpp.candidates,
    "casadi": casadi_c.candidates,
    "mujoco": mujoco_c.candidates,
    "sympy": sympy_kane.candidates,
}
LOOP_PEERS: dict[str, Builder] = {"mujoco": mujoco_c.candidates, "exudyn": exudyn_py.candidates}
RUN_PEERS = ("basilisk",)  # of whole runs only: see panels.py
PEERS = tuple(dict.fromkeys((*TREE_PEERS, *LOOP_PEERS, *RUN_PEERS)))
