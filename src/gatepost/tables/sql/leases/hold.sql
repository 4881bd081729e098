-- Only the holder finds it; whoever holds it has it for longer from now on.
UPDATE leases SET deadline = CASE WHEN deadline < :deadline THEN :deadline ELSE deadline END
WHERE name = :name AND holder = :holder AND fence = :fence AND deadline > 0
