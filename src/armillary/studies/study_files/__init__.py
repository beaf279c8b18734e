"""Studies as text files: ``study_file.py`` reads them, ``setup.py`` makes the study with its model, and
``schema.py`` is for editors.
"""
