"""
The programs that use each peer, as its own documentation shows it. Each runs in the environment of its peer, without
Gatepost, and is driven by `harness.py`; those of Gatepost itself run in `.venv`.

A program has `work(config, receive)`, which hands over what was sent, for ever, and one of

    open_sender(config)          returns a function that sends a text; it is called by several threads
    open_async_sender(config)    an asynchronous context manager for one that several tasks of a loop await

A text may have a key: a second text with it is a repeat. `prepare(config)` runs once, before everything else.
"""
