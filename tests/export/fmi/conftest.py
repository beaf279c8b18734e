"""FMUs that several files test, each built once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from examples import four_bar
from tests.export.fmi.fmu_models import START, VERSIONS, Exported, hopper, need_compiler, strut


@pytest.fixture(scope="session")
def hopping() -> Any:
    """The equations of the hopper."""
    return hopper().derive()


@pytest.fixture(scope="session", params=VERSIONS)
def unit(request: pytest.FixtureRequest, hopping: Any, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """The hopper's FMU in both versions."""
    need_compiler()
    folder = tmp_path_factory.mktemp("hopper")
    path = hopping.export("fmu", folder / "hopper.fmu", version=request.param, initial=START)
    return Exported(path, folder / "unpacked", request.param)


@pytest.fixture(scope="session", params=VERSIONS)
def strut_unit(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The strut's FMU in both versions."""
    need_compiler()
    path = tmp_path_factory.mktemp("strut") / "strut.fmu"
    return strut().derive().export("fmu", path, version=request.param, step=1e-4)


@pytest.fixture(scope="session")
def four_bar_unit(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The four-bar linkage's FMU in a version."""
    need_compiler()
    equations, folder = four_bar.system().derive(), tmp_path_factory.mktemp("four-bar")
    return cache(lambda version: Path(equations.export("fmu", folder / f"{version}.fmu", version=version)))
