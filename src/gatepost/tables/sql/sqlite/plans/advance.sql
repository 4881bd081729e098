UPDATE plans
SET status = :status, next_at = :next_at, last_at = :last_at, fired = :fired, ended_at = :ended_at,
    hops = :hops
WHERE number = :number
