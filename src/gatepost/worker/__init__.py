"""
The worker: all background work of one process. It imports every room before it, and is started by the gateway and the
embedded API. Start with `background_tasks.py`, which lists what runs.
"""
