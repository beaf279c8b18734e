"""SSP packages: several FMUs and the connections between them in one file (.ssp).

Enters: equations and FMU files, or a package. Leaves: a package (writing.py), or a verb of `System` that
makes its FMUs parts of a system, from the descriptions in the package (package.py). `load_ssp` in
files/model/load.py makes a system of a package alone. The standard is SSP 1.0 (https://ssp-standard.org).
"""
