-- name: acquire
-- A lease can be acquired if it is free, past its deadline, or the holder's own; the fence grows whenever the holder
-- may have changed. Leases of one name last equally long, so one that ends much later than a new one was acquired
-- before the clock was set back: it counts as past its deadline.
INSERT INTO leases (name, holder, fence, deadline)
VALUES (:name, :holder, 1, :deadline)
ON CONFLICT (name) DO UPDATE SET
    fence = leases.fence + CASE WHEN leases.holder = excluded.holder AND leases.deadline > :now THEN 0 ELSE 1 END,
    holder = excluded.holder,
    deadline = excluded.deadline
WHERE leases.holder = excluded.holder OR leases.deadline <= :now OR leases.deadline > :future
RETURNING fence

-- name: has_other_holder
SELECT TRUE AS has_other_holder FROM leases
WHERE name = :name AND holder <> :holder AND deadline > :now AND deadline <= :future

-- name: release
-- The row stays, so that the fence keeps growing.
UPDATE leases SET deadline = 0 WHERE name = :name AND holder = :holder AND fence = :fence AND deadline > 0

-- name: renew
-- Only for the holder. The deadline moves forward, except one from before the clock was set back.
UPDATE leases SET deadline = CASE WHEN deadline < :deadline OR deadline > :future THEN :deadline ELSE deadline END
WHERE name = :name AND holder = :holder AND fence = :fence AND deadline > 0

-- name: revoke
-- The holder has lost the lease.
UPDATE leases SET fence = fence + 1, deadline = 0 WHERE name = :name
