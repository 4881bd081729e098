-- name: take
-- Free, lapsed, or one's own; the fence grows whenever the holder may have changed. Leases of one name last equally long,
-- so one that ends much later than a new one was taken in a future that the clock has left: it has lapsed.
INSERT INTO leases (name, holder, fence, deadline)
VALUES (:name, :holder, 1, :deadline)
ON CONFLICT (name) DO UPDATE SET
    fence = leases.fence + CASE WHEN leases.holder = excluded.holder AND leases.deadline > :now THEN 0 ELSE 1 END,
    holder = excluded.holder,
    deadline = excluded.deadline
WHERE leases.holder = excluded.holder OR leases.deadline <= :now OR leases.deadline > :future
RETURNING fence

-- name: release
-- The row stays, so that the fence goes on from where it was.
UPDATE leases SET deadline = 0 WHERE name = :name AND holder = :holder AND fence = :fence AND deadline > 0

-- name: hold
-- Only the holder finds it; whoever holds it has it for longer from now on. A deadline in a future that the clock has left
-- is brought back.
UPDATE leases SET deadline = CASE WHEN deadline < :deadline OR deadline > :future THEN :deadline ELSE deadline END
WHERE name = :name AND holder = :holder AND fence = :fence AND deadline > 0

-- name: read
SELECT deadline FROM leases WHERE name = :name

-- name: set
INSERT INTO leases (name, holder, fence, deadline)
VALUES (:name, '', 1, :deadline)
ON CONFLICT (name) DO UPDATE SET deadline = excluded.deadline

-- name: drop
-- Whoever holds it has lost it.
UPDATE leases SET fence = fence + 1, deadline = 0 WHERE name = :name
