UPDATE plans
SET status = c.status, next_at = c.next_at, last_at = c.last_at, fired = c.fired, ended_at = c.ended_at
FROM unnest(
    :number::bigint[], :status::text[], :next_at::bigint[], :last_at::bigint[], :fired::bigint[], :ended_at::bigint[]
) AS c (number, status, next_at, last_at, fired, ended_at)
WHERE plans.number = c.number
