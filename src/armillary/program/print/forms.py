"""The ways to print M u̇ = f that users choose from."""

FORMS = ("M u' = f", "M u' + h = Q", "rows")  # the second keeps velocity terms h on the left
SPEEDS = ("u", "q'")  # q' for speeds that are rates of coordinates
NAMES = ("short", "full")  # numbered symbols, or the model's names
