"""Couriers and nudges."""
