"""
What `gatepost doctor` checks.

    finding          a line of its output
    checks           the list of all checks, in the order of their lines; a new check is a function there
    home_checks      the home, settings, keys, the gateway, drivers, hooks
    store_checks     the database and its contents
    reach_checks     models, triggers and rules: who would not get what, or not answer
"""
