"""The start of a run: initial values, closed loops, momenta, mass centres."""
