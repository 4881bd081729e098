"""
Voice messages, and what transcribes them.

It may import the intake of channels. Start with `voice_actions.py`; the transcribers are adapters behind the port in
`transcriber.py`.
"""
