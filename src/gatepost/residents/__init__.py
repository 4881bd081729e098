"""
Agents that think here: a model, or a Python function, reads their inbox in cycles and acts by tools.

It imports every room up to `channels`. Start with `agent_config.py` (what a resident is), then
`background/think_cycle.py` (one cycle) and `runs/journal_actions.py` (why a crash loses nothing of it).
"""
