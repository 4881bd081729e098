"""
Benchmarks: one module for each claim in docs/performance.md. Its `main(effort)` yields one row for each figure. Modules
whose names begin with an underscore are shared.
"""
