-- Only the holder finds it; whoever holds it has it for longer from now on. A deadline in a future that the clock has left
-- is brought back.
UPDATE leases SET deadline = CASE WHEN deadline < :deadline OR deadline > :future THEN :deadline ELSE deadline END
WHERE name = :name AND holder = :holder AND fence = :fence AND deadline > 0
