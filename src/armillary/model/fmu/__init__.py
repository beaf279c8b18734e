"""Imported FMUs: a model of another program as a force element of a system.

Enters: an FMU file. Leaves: its description, which is data (description.py, reading.py), and a verb of
`System` (element.py) that steps the FMU along with the system and gives its outputs as expressions. The
library inside the FMU is machine code; it is loaded by that verb and by nothing else.
"""

from armillary.model.fmu.description import Fmu, FmuVariable, fmu

__all__ = ["Fmu", "FmuVariable", "fmu"]
