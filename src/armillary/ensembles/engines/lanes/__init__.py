"""Many runs at once, each in a lane of a vector register: `engines.py` first."""
