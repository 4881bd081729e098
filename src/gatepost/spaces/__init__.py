"""
Spaces: where people and agents talk. A message goes to the inbox of every other agent in the space.

It imports the rooms up to inbox. Start with `space.py`, then `actions.py`, which argues why the numbers of messages
have no gaps.
"""
