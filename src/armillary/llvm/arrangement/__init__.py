"""Scheduling and register allocation of straight-line code, and its machine code for arm64 and x86-64."""
