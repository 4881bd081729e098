"""
Benchmarks: one module for each claim in docs/performance.md. Its `main(effort)` yields one row for each figure. What
they share is in `bench.support`.
"""
