"""The results of a study on disk: blocks of runs that are there whole or not at all, and how they are read.

``folder.py`` names the files and lists the results kept of a run, ``records.py`` writes chunks and decides
which blocks are finished, and ``reading.py`` makes one table of all and gives datasets.
"""
