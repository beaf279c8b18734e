"""`armillary info`: versions, extras, compilers, and the cache of compiled models."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version

import click

from armillary.cli import options, show
from armillary.untyped import DataTable

_REQUIRED = ("armillary", "numpy", "scipy", "llvmlite", "click")
_EXTRAS = {
    "matplotlib": "plots",
    "xarray": "NetCDF files and labelled data",
    "h5netcdf": "NetCDF files",
    "pandas": "tables",
    "pyarrow": "Parquet files",
    "pint": "quantities with units in Python",
    "fmpy": "checking FMUs",
    "jax": "running exported JAX code",
    "ziglang": "compiling FMUs without a system compiler, and for other platforms",
}
_COMPILERS = ("cc", "gcc", "clang", "gfortran", "nvcc", "octave")


@options.command(
    """
    armillary info
    armillary info --clear-cache
    """
)
@click.option("--clear-cache", is_flag=True, help="Remove all cached models.")
def info(clear_cache: bool, json_wanted: bool) -> int:
    """Versions, extras, compilers, and the cache of compiled models."""
    removed = _clear() if clear_cache else None
    versions = {name: _version(name) for name in (*_REQUIRED, *_EXTRAS)}
    compilers = {
        name: shutil.which(os.environ.get("CC", name) if name == "cc" else name) for name in _COMPILERS
    }
    data: DataTable = {
        "command": "info",
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "versions": versions,
        "compilers": compilers,
        "cache": _cache(),
    }
    if removed is not None:
        data["removed"] = removed
    show.emit(json_wanted, data, _text(data))
    return 0


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cache() -> DataTable:
    from armillary import cache

    folder, (files, size) = cache.folder(), cache.size()
    return {"folder": None if folder is None else str(folder), "files": files, "bytes": size}


def _clear() -> int:
    from armillary import cache

    return cache.clear()


def _text(data: DataTable) -> str:
    versions, cache = data["versions"], data["cache"]
    absent = show.faint("not installed")
    lines = [
        click.style(f"Armillary {versions['armillary']}", bold=True),
        f"  Python {data['python']} on {data['platform']}, {data['processors']} processors",
        f"  {data['executable']}",
        "",
    ]
    rows = [
        [name, versions[name] or absent, _EXTRAS.get(name, "")] for name in versions if name != "armillary"
    ]
    lines += [show.columns(rows, header=False), ""]
    lines.append(
        show.columns([[n, p or show.faint("not found")] for n, p in data["compilers"].items()], header=False)
    )
    size = f"{cache['folder']}, {cache['files']} files, {cache['bytes'] / 1e6:.1f} MB"
    lines += ["", f"  cache of compiled models: {size if cache['folder'] else 'off'}"]
    if "removed" in data:
        lines.append(f"  removed {data['removed']} files from the cache")
    return "\n".join(lines)
