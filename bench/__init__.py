"""
Benchmarks: one module for each claim in docs/performance.md, with a `main(effort)` that yields what it measured, a row
each. Modules whose names begin with an underscore are what they share.
"""
