"""Weightings and samples of studies."""

from __future__ import annotations

import numpy as np

import armillary as arm
from tests.kept_numbers.analyses import oscillator
from tests.kept_numbers.entries import Named, entry


@entry
def weightings() -> Named:
    from armillary.results.spectra import iso2631_weighting

    f = np.array([0.02, 0.1, 0.16, 0.4, 0.8, 1.25, 2.0, 4.0, 6.3, 12.5, 31.5, 63.0, 100.0, 400.0])
    for name in ("Wk", "Wd", "Wf", "Wc", "We", "Wj"):
        yield name, iso2631_weighting(f, name)


@entry
def samples_of_studies() -> Named:
    from armillary.studies.sampling import distributions as d
    from armillary.studies.sampling.design import Correlated, Design

    u = np.array([1e-9, 0.01, 0.3, 0.5, 0.77, 0.999])
    for one in (
        d.Uniform(-2, 5),
        d.Normal(3, 2, low=2.0, high=7.0),
        d.LogNormal(3, 0.5, high=9.0),
        d.Triangular(1, 2, 5),
        d.Choice([1.0, 4.0, 2.5], [0.2, 0.5, 0.3]),
    ):
        yield type(one).__name__, one.ppf(u)
    three = {
        "a": d.Normal(0, 1, low=-2, high=3),
        "b": d.Uniform(2, 3),
        "c": d.LogNormal(1, 0.3, low=0.2, high=4.0),
    }
    for kind, runs in (("random", 20), ("lhs", 20), ("sobol", 16), ("morris", 20), ("saltelli", 40)):
        design = Design(three, kind, runs, 5)
        yield kind, design.block(0, 12)
    design = Design(
        {"ab": Correlated({"a": d.Normal(0, 1), "b": d.Normal(2, 3)}, [[1, 0.6], [0.6, 1]])}, "random", 3, 6
    )
    yield "correlated", design.block(0, 3)


@entry
def batches() -> Named:
    """Metrics of all kinds, histories, and statistics of a batch with a table as an input."""
    push = arm.Signal([0.0, 0.4, 1.1, 3.0], [0.0, 2.0, -1.0, 0.5])
    kinds = (arm.Final, arm.Maximum, arm.Minimum, arm.Mean, arm.Rms)
    batch = oscillator().simulate_batch(
        2.0,
        parameters={"k": [3.0, 4.0, 5.5], "c": [0.1, 0.3, 0.2]},
        initial={"b.q1": [1.0, 0.5, -0.2]},
        inputs={"F": push},
        sample=0.25,
        metrics={
            **{kind.__name__: kind("x") for kind in kinds},
            "rises": arm.Crossing("x", 100.0, "rising"),
            "falls": arm.Crossing("b.u1", 0.2, "falling"),
            "shares": arm.Histogram("x", -1000.0, 1000.0, 6),
        },
    )
    for name, values in batch.metrics.items():
        yield name, np.nan_to_num(values, nan=-1.0)
    yield "ends", batch.t_stop
