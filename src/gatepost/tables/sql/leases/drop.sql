-- Whoever holds it has lost it.
UPDATE leases SET fence = fence + 1, deadline = 0 WHERE name = :name
