"""Benchmarks: one module for each claim in docs/performance.md, with a `main()` that prints what it measured."""
