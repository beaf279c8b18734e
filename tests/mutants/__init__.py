"""Faults planted in the code, to see that the tests notice them: `make mutants`, not part of `make test`."""
