"""The generated program as data: its sections, their order and cost, and the checker of what is legal."""
