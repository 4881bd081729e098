"""Agents that live in other programs: sessions, hooks, spool, courier, nudge, settings of their programs."""
