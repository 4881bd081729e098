"""
Words that every room uses: ids, times, text, addresses, policy, signals, and the ports. All of it is pure: no I/O, no
clock.

It imports only `errors`. Start with `ports.py`: what a transaction and a store are.
"""
