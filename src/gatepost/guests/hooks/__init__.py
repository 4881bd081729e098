"""
Answers to the hooks of agent programs: may the agent stop, and which items is it shown?

Hooks import verbs, as handlers do, and late what a hook with nothing to do does not need. Start with
`handler_chain.py`.
"""
