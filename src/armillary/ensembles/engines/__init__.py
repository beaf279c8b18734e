"""Engines that make the runs of a batch: vector lanes, the single run's loop, Python, and a GPU."""
