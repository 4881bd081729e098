"""
The gateway: HTTP, live streams, credentials and OpenAPI.

It imports every room but `cli` and `testing`. Start with `web_app.py`, which finds the operation of a request, and
`dispatch.py`, which answers it; `serve.py` is the process.
"""
