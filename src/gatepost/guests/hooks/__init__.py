"""Guests who live in another program, visited by way of its hooks."""
