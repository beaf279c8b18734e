"""The solver of all runs, in the process and in exported programs, written once in a small language.

In: methods (methods/) and the features of a program. Out: the record of a run and the functions of the
solver, as machine code (llvm/) or as text in each language (export/<language>/solver.py, with
export/text/solver_printer.py). Read language/language.py first: it describes the language in which record.py,
steps.py, step_control.py, events.py, changes.py, rows.py and the other files here are written.
methods/method_text.py writes the functions that depend on a method's tableau; language/translator.py reads
all these files.
"""
