"""Spaces: where people and agents talk."""
