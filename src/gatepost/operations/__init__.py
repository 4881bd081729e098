"""
One operation at every door: a request is declared once, with its answer, access rule and endpoint.

It imports `core` and `errors` alone. Start with `operation.py`; `access.py` decides who may ask for what.
"""
