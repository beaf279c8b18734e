"""The results of a study on disk: blocks of runs that are there whole or not at all, and how they are read.

``folder.py`` names the files, ``layout.py`` what is kept of a run, ``zarr_store.py`` writes chunks,
``records.py`` decides which blocks are finished, ``consolidate.py`` makes one table of all, and
``reading.py`` gives datasets and tables.
"""
