"""Runs: what residents did, as a journal of steps that another process can continue."""
