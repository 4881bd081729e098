"""
The command line: noun, then verb. Data goes to stdout, talk to stderr.

It may import every room; the commands of a room lie there, in `*commands.py`. Start with `command.py`, which says how a
command is declared and runs; `main.py` has the exit codes.
"""
