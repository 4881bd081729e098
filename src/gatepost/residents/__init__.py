"""Agents that think here: configuration, mind, think cycle, tools, models."""
