"""Posters and listeners of a public ledger."""
