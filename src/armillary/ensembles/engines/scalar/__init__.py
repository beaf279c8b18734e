"""Many runs one after another by the compiled loop of single runs: `engine.py` first."""
