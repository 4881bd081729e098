-- The row stays, so that the fence goes on from where it was.
UPDATE leases SET deadline = 0 WHERE name = :name AND holder = :holder AND fence = :fence AND deadline > 0
