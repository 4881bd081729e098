"""
Requests of services: webhooks and CloudEvents are verified, parsed and stored; calls with a key trigger an agent.

It may import triggers, wording and the intake of channels. Start with `verification.py`, then `delivery_actions.py`.
"""
