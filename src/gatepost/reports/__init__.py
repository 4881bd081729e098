"""
Reports: what a store did and what waits (overview, history, and the list of fires).

It imports every room before it and changes nothing. Start with `overview_handlers.py`.
"""
