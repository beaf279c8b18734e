"""FMUs with libraries for several platforms: what is in them and where, and what is refused."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

import armillary as arm
from armillary.export import fmi
from armillary.export.fmi import PLATFORMS, this_platform
from tests.export.fmi.fmu_models import Exported, strut
from tests.export.fmi.host import Host
from tests.export.fmi.libraries import contents


@pytest.fixture(scope="module")
def eom() -> Any:
    return strut().derive()


# The functions of the standard, as its headers fmi2Functions.h (2.0) and fmi3Functions.h (3.0) list them.
ALIKE = """
    CompletedIntegratorStep DoStep EnterContinuousTimeMode EnterEventMode EnterInitializationMode
    ExitInitializationMode FreeInstance GetBoolean GetContinuousStates GetDirectionalDerivative
    GetEventIndicators GetNominalsOfContinuousStates GetString GetVersion Reset SetBoolean
    SetContinuousStates SetDebugLogging SetString SetTime Terminate
"""
OF_ONE = {
    "2.0": """
        CancelStep DeSerializeFMUstate FreeFMUstate GetBooleanStatus GetDerivatives GetFMUstate
        GetInteger GetIntegerStatus GetReal GetRealOutputDerivatives GetRealStatus GetStatus
        GetStringStatus GetTypesPlatform Instantiate NewDiscreteStates SerializeFMUstate
        SerializedFMUstateSize SetFMUstate SetInteger SetReal SetRealInputDerivatives SetupExperiment
    """,
    "3.0": """
        ActivateModelPartition DeserializeFMUState EnterConfigurationMode EnterStepMode
        EvaluateDiscreteStates ExitConfigurationMode FreeFMUState GetAdjointDerivative GetBinary
        GetClock GetContinuousStateDerivatives GetFMUState GetFloat32 GetFloat64 GetInt16 GetInt32
        GetInt64 GetInt8 GetIntervalDecimal GetIntervalFraction GetNumberOfContinuousStates
        GetNumberOfEventIndicators GetNumberOfVariableDependencies GetOutputDerivatives GetShiftDecimal
        GetShiftFraction GetUInt16 GetUInt32 GetUInt64 GetUInt8 GetVariableDependencies
        InstantiateCoSimulation InstantiateModelExchange InstantiateScheduledExecution SerializeFMUState
        SerializedFMUStateSize SetBinary SetClock SetFMUState SetFloat32 SetFloat64 SetInt16 SetInt32
        SetInt64 SetInt8 SetIntervalDecimal SetIntervalFraction SetShiftDecimal SetShiftFraction
        SetUInt16 SetUInt32 SetUInt64 SetUInt8 UpdateDiscreteStates
    """,
}


def promised(version: str) -> set[str]:
    return {f"fmi{version[0]}{name}" for name in (ALIKE + OF_ONE[version]).split()}


def libraries(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name.startswith("binaries/")}


def test_this_machine_s_library_exports_the_functions_of_the_standard_and_nothing_else(
    unit: Exported,
) -> None:
    for data in libraries(unit.path).values():
        (found,) = contents(data).items()
        assert found[0] == this_platform()
        exported = {name for name in found[1] if not name.startswith("_")}
        assert exported == promised(unit.version)


def test_libraries_for_every_platform_from_one_machine(eom: Any, tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="the compiler for other platforms")
    path = eom.export("fmu", tmp_path / "strut.fmu", version="3.0", platforms="all")
    found: dict[str, set[str]] = {}
    for data in libraries(path).values():
        found |= contents(data)
    assert set(found) == set(PLATFORMS)
    for names in found.values():
        assert promised("3.0") <= names
    one = Host(path)  # that of this machine runs
    one.initialize(0.0, {"x": 10.0})
    one.step(0.0, 0.1)
    assert one.get(["F"])[0] > 40.0 * 10.0  # k·x, and what the inner mass adds
    one.close()


def stand_in(_: Any, name: str) -> bytes:
    """The first bytes of a library, as the universal file of macOS reads them."""
    processor = {"x86_64-darwin": 0x01000007, "aarch64-darwin": 0x0100000C}.get(name, 0)
    return struct.pack("<3I", 0xFEEDFACF, processor, 3) + name.encode()


def test_libraries_are_in_the_folders_where_tools_look(
    eom: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of FMPy's constants: `platform` for FMI 2.0, `platform_tuple` for 3.0."""
    monkeypatch.setattr(fmi, "build_library", stand_in)
    third = libraries(eom.export("fmu", tmp_path / "3.fmu", version="3.0", platforms="all"))
    assert {name: data[12:].decode() for name, data in third.items()} == {
        f"binaries/{name}/strut{p.suffix}": name for name, p in PLATFORMS.items()
    }
    second = libraries(eom.export("fmu", tmp_path / "2.fmu", platforms="all"))
    assert set(second) == {
        *("binaries/linux64/strut.so", "binaries/aarch64-linux/strut.so", "binaries/win64/strut.dll"),
        "binaries/darwin64/strut.dylib",
    }
    assert second["binaries/linux64/strut.so"].endswith(b"x86_64-linux")
    both = second["binaries/darwin64/strut.dylib"]
    places = [struct.unpack_from(">5I", both, 8 + 20 * i) for i in range(2)]
    assert [both[p[2] + 12 : p[2] + p[3]] for p in places] == [b"x86_64-darwin", b"aarch64-darwin"]
    alone = libraries(eom.export("fmu", tmp_path / "arm.fmu", platforms=["aarch64-linux"]))
    assert set(alone) == {"binaries/linux64/strut.so", "binaries/aarch64-linux/strut.so"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"platforms": ["x86_64-window"]}, "unknown platform 'x86_64-window'; did you mean 'x86_64-windows'"),
        ({"platforms": 3}, 'platforms=3 is neither "all" nor a list of names'),
        ({"platforms": "all", "binary": False}, "binary=False omits libraries"),
    ],
)
def test_wrong_platforms_are_sentences(
    eom: Any, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(arm.ArmillaryError, match=message):
        eom.export("fmu", tmp_path / "x.fmu", **options)
    assert not list(tmp_path.iterdir())


def test_a_platform_that_cannot_be_linked_here_is_a_sentence_and_leaves_the_old_file(
    eom: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = eom.export("fmu", tmp_path / "x.fmu", binary=False)
    before = path.read_bytes()
    monkeypatch.setattr(fmi, "has_zig", lambda: False)
    other = next(name for name in PLATFORMS if name != this_platform())
    with pytest.raises(arm.ArmillaryError, match=rf"{other} cannot be linked .* armillary\[platforms\]"):
        eom.export("fmu", path, platforms=[other])
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["x.fmu"]
