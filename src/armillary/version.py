"""The version, in a file that imports nothing else."""

VERSION = "0.1.0"
