"""
Live streams: spaces, inboxes, agents and runs as server-sent events.

Start with `server_sent_events.py`, which writes a stream; `resume_positions.py` says where a reader goes on that comes
back, and `live_readers.py` why it misses nothing and gets nothing twice.
"""
