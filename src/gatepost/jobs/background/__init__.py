"""Loops, and the runner of jobs."""
