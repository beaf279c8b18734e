"""Programs as machine code, with parameter values and configurations: `compiled_program.py` first."""
