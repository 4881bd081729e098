"""Jobs, which run at least once, leases, and requests that run once."""
