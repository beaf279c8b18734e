"""Random systems as text models: what the verbs accept is saved, reads back the same, saves the same."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import armillary as arm
from armillary.model.snapshot import find_differences
from tests.files.model.random_systems import Teller

# What a file cannot say: the sentences with which it is refused.
REFUSED = ["was made by another verb", "would be called"]


def faults(system: arm.System, folder: Path) -> list[str]:
    """What a text model does not keep of a system."""
    first, second = folder / "model.toml", folder / "again" / "model.toml"
    second.parent.mkdir()
    system.save(first)
    again = arm.load(first)
    found = find_differences(system, again)
    again.save(second)
    return found + ([] if second.read_text() == first.read_text() else ["the text of the second file"])


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_whatever_the_verbs_accept_reads_back_the_same(seed):
    system = Teller(random.Random(seed)).s
    with TemporaryDirectory() as folder:
        try:
            assert faults(system, Path(folder)) == []
        except arm.ModelError as error:
            assert any(reason in str(error) for reason in REFUSED)
            assert not any(path.is_file() for path in Path(folder).iterdir())


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_what_reads_back_moves_the_same(seed):
    system = Teller(random.Random(seed)).s
    assume(0 < len(system.speeds) <= 8)
    with TemporaryDirectory() as folder:
        try:
            system.save(Path(folder) / "model.toml")
            one = system.derive("kane").compile()
        except arm.ArmillaryError:  # a random system need not have equations
            assume(False)
        other = arm.load(Path(folder) / "model.toml").derive("kane").compile()
    values = {name: 1.0 + 0.1 * i for i, (name, v) in enumerate(one.parameters.items()) if v is None}
    state = np.random.default_rng(seed).normal(size=len(one.equations.program.state))
    a, b = (model.derivatives(0.3, state, values) for model in (one, other))
    # Of 248 such systems 246 were equal to the last bit, the others to 9e-15: the terms of a sum stand in the
    # order in which their parts were first made.
    np.testing.assert_allclose(a, b, rtol=1e-11)
