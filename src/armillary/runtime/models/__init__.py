"""Compiled models: programs that can be called and run through time."""
