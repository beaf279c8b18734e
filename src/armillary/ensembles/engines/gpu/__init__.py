"""Batches on a GPU: CUDA made from the program, compiled by NVRTC through CuPy, one run per thread.

``FixedSteps`` keeps a run in registers, ``Queued`` runs the described solver of single runs (runtime/solver).
Read ``engine.py`` first; ``device.py`` has all calls of CuPy, ``metric_slots.py`` prints the metrics, and the
kernels are in export/cuda/ensemble.py and export/cuda/solver.py.
"""

from armillary.ensembles.engines.gpu.fixed_steps import FixedSteps
from armillary.ensembles.engines.gpu.queued import Queued

__all__ = ["FixedSteps", "Queued"]
