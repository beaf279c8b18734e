"""Batches on a GPU: CUDA made from the program, compiled by NVRTC through CuPy, one run per thread.

``Gpu(plan, precision)(starts, i0, i1)`` makes runs of a plan. Read ``engine.py`` first; ``device.py`` has all
calls of CuPy, ``metric_slots.py`` prints the metrics, and the kernel is in export/cuda/ensemble.py.
"""

from armillary.ensembles.engines.gpu.engine import Gpu

__all__ = ["Gpu"]
