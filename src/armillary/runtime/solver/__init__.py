"""The solver of runs in the process and of exported programs, written once.

Enters: the tableaux of the exported methods (runtime/integrators) and the features of a program. Leaves: the
record of a run and the functions of the solver, which a printer of each language writes. Read
runtime/language/language.py first: it describes the small language in which steps.py, step_control.py,
events.py, rows.py and record.py are written. methods.py adds what comes from a method's
tableau; runtime/language/translator.py reads all of it; export/text/solver_printer.py is what
printers share. A printer is export/<language>/solver.py.
"""
