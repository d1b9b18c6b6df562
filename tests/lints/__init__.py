"""Rules about text and files, which `make check` tries: no test here runs the program."""
