-- A chain that is going on is not made shorter.
UPDATE gates SET hops = CASE WHEN hops_at > :since AND hops > :hops THEN hops ELSE :hops END, hops_at = :now
WHERE number = :number
