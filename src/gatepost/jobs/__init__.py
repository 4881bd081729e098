"""
Work that must be done once, or at least once: jobs, leases of processes, requests with an idempotency key, and the loop
of a background task.

It imports the rooms up to inbox. Start with `job_actions.py` and `lease_actions.py`; every background task runs in the
loop of `periodic_duty_background.py`.
"""
