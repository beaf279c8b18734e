"""Studies on a Dask cluster: ``dispatch.py`` sends blocks as tasks, ``task.py`` is what a worker runs,
``workers.py`` keeps the list of workers that can take part, ``worker_check.py`` is sent to each of them.
"""
