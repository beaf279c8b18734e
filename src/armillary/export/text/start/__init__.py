"""The start of exported runs: closed loops, initial values, and checks of masses."""
