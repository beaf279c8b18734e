"""What a study costs besides its runs: overhead per block, and the time to resume after a kill.

    python -m benchmarks.studies                   # 10,000 blocks, in a folder that is removed again
    python -m benchmarks.studies --blocks 1000 --runs 64 --folder /some/disk

Blocks are made by an engine that costs nothing, by a real one of a pendulum that takes a single step, and by
that on a Dask cluster of one worker process per core, with scheduler and client beside them. A study of so
many blocks is killed at its last block but one, and resumed: finished blocks must be recognised by their
checksums within 10 s, and none made again.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from armillary.errors import require
from armillary.run_files.resolve import example_system
from armillary.studies import Study
from armillary.studies.folder import VARIED, Made
from armillary.studies.records import finished_blocks
from armillary.studies.sampling import Normal, Uniform
from benchmarks.cores import processors

SAMPLES = 50
ROOT = Path(__file__).resolve().parents[1]


class Costless(Study):
    """A study whose runs are numbers at hand; it ends itself, as hard as can be, at block ``killed``."""

    killed = -1
    made = 0

    def _run_maker(self, threads: int | None, device: str) -> Any:
        layout = self._definition.layout
        noise = np.random.default_rng(1).normal(size=(layout.block, SAMPLES))

        def maker(values: Any, first: int) -> Made:
            if first == self.killed * layout.block:
                os.kill(os.getpid(), signal.SIGKILL)
            type(self).made += 1
            n = len(next(iter(values.values())))
            columns = np.zeros((len(layout.columns), n))
            for row, column in zip(columns, layout.columns, strict=True):
                row[:] = values[column.name] if column.kind == VARIED else 0.0
            return Made(columns, tuple(noise[:n, : array.size] for array in layout.arrays))

        return maker


def study(kind: type[Study], folder: Path, blocks: int, runs: int, t_end: float, step: float) -> Study:
    """A pendulum's study with two histories and three metrics."""
    model = example_system("pendulum").derive().compile()
    return kind(
        model, folder, t_end, step=step, sample=t_end / (SAMPLES - 1) if kind is Costless else t_end,
        vary={"L": Uniform(0.5, 2.0), "g": Normal(9.81, 0.1), "bob.q1": Uniform(-1.0, 1.0)},
        design="random", runs=blocks * runs, block=runs, seed=3,
        metrics={"peak": "maximum(bob.q1)", "mean": "mean(energy)", "end": "final(height)"},
        outputs=["bob.q1", "height"],
    )  # fmt: skip


def costless(folder: Path, blocks: int, runs: int) -> Costless:
    made = study(Costless, folder, blocks, runs, SAMPLES - 1.0, 0.5)
    assert isinstance(made, Costless)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--blocks", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=64, help="in a block")
    parser.add_argument("--folder", type=Path, help="where studies are made; else a temporary one")
    parser.add_argument("--kill", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    blocks, runs = options.blocks, options.runs
    if options.kill:
        Costless.killed = blocks - 1
        costless(options.kill, blocks, runs).run()
        return
    measure_studies(blocks, runs, options.folder)


def measure_studies(blocks: int, runs: int = 64, folder: Path | None = None) -> dict[str, Any]:
    """Milliseconds per block beside its runs, and seconds to resume."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        return {
            "blocks": blocks,
            "runs": runs,
            **overhead(Path(place), blocks, runs),
            **on_cluster(Path(place), blocks // 10, runs),
            **resuming(Path(place), blocks, runs),
        }


def overhead(place: Path, blocks: int, runs: int) -> dict[str, float]:
    began = time.perf_counter()
    costless(place / "costless", blocks, runs).run()
    nothing = 1e3 * (time.perf_counter() - began) / blocks
    print(f"{blocks} blocks of {runs} runs that cost nothing: {nothing:.2f} ms per block")
    real = study(Study, place / "real", blocks // 10, runs, 0.01, 0.01).run(threads=1)
    began = time.perf_counter()
    again = study(Study, place / "again", blocks // 10, runs, 0.01, 0.01).run(threads=1)
    one_step = 1e3 * (time.perf_counter() - began) / (blocks // 10)
    assert real.table().equals(again.table())
    print(f"{blocks // 10} blocks of {runs} runs of one step: {one_step:.2f} ms per block")
    return {"overhead_milliseconds": nothing, "one_step_milliseconds": one_step}


def on_cluster(place: Path, blocks: int, runs: int) -> dict[str, float]:
    """Milliseconds per block on a cluster on this machine, from the first finished block to the table."""
    distributed = require("distributed", extra="cluster", purpose="Clusters")
    times: list[float] = []
    workers = len(processors())
    with (
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as local,
        distributed.Client(local) as client,
    ):
        made = study(Study, place / "cluster", blocks, runs, 0.01, 0.01)
        made.run(client, progress=lambda status: times.append(time.perf_counter()))
        found = 1e3 * (time.perf_counter() - times[0]) / (blocks - 1)
    assert made.status().complete
    print(f"{blocks} blocks of {runs} runs of one step on {workers} Dask workers: {found:.2f} ms per block")
    return {"cluster_milliseconds": found, "cluster_workers": workers}


def resuming(place: Path, blocks: int, runs: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.studies", f"--blocks={blocks}", f"--runs={runs}"]
    ended = subprocess.run([*command, f"--kill={place / 'killed'}"], check=False, cwd=ROOT)
    assert ended.returncode == -signal.SIGKILL
    Costless.made, Costless.killed = 0, -1
    resumed = costless(place / "killed", blocks, runs)
    began = time.perf_counter()
    resumed.run(progress=lambda status: print(f"  first new block after {time.perf_counter() - began:.2f} s"))
    seconds = time.perf_counter() - began
    assert Costless.made == 1, f"{Costless.made} blocks were made instead of the missing one"
    size = sum(file.stat().st_size for file in (place / "killed").rglob("*") if file.is_file())
    print(f"killed at its last block and resumed: {seconds:.2f} s with the final table; {size / 1e6:.0f} MB")
    definition = resumed._definition
    began = time.perf_counter()
    found = finished_blocks(resumed._folder, definition.layout, definition.digest)
    compared = time.perf_counter() - began
    print(f"  {found.compared} of {blocks} blocks compared with their checksums, in {compared:.2f} s")
    return {"resume_seconds": seconds, "compare_seconds": compared, "megabytes": size / 1e6}


if __name__ == "__main__":
    main()
