INSERT INTO leases (name, holder, fence, deadline)
VALUES (:name, '', 1, :deadline)
ON CONFLICT (name) DO UPDATE SET deadline = excluded.deadline
