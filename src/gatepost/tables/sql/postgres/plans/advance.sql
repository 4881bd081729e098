UPDATE plans
SET status = c.status, next_at = c.next_at, last_at = c.last_at, fired = c.fired, ended_at = c.ended_at,
    hops = c.hops
FROM unnest(
    :number::bigint[], :status::text[], :next_at::bigint[], :last_at::bigint[], :fired::bigint[], :ended_at::bigint[],
    :hops::bigint[]
) AS c (number, status, next_at, last_at, fired, ended_at, hops)
WHERE plans.number = c.number
