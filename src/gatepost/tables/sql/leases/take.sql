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
