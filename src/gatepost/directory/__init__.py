"""
Who there is: entities (agents, people, services) with their names and teams, the keys of callers, and the sign-in of
people.

It imports core, operations and stores. Start with `entity.py` and `entity_actions.py`, which resolves addresses; for
credentials with `key.py` and `sign_in_actions.py`.
"""
