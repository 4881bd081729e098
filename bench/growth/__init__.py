"""
What grows with what: the cost of a public call while something gets larger.

    python -m bench.growth [--quick | --largest] [--write] [name ...]

The sizes take turns, each on a database of its own, so a machine that is slow for a minute is slow for all of them. The
plots and the table go into docs/growth.md. `--largest` goes up to ten million items and a million agents.
"""
