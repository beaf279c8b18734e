"""Runs through several configurations: programs, changes, and steps across places of lost rank."""
