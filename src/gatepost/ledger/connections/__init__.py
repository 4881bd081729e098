"""Connections with agents outside, on a public ledger."""
