-- name: insert
INSERT INTO plans
    (id, owner, name, instruction, cron, zone, catch_up, status, active, next_at, gate, hops, fired, created_at)
VALUES
    (:id, :owner, :name, :instruction, :cron, :zone, :catch_up, 'pending', :active, :next_at, :gate, :hops, 0, :now)
RETURNING number

-- name: count_pending
SELECT count(*) AS total FROM (SELECT 1 FROM plans WHERE owner = :owner AND status = 'pending' LIMIT :limit) AS pending

-- name: lock
SELECT number FROM plans WHERE id = :id FOR UPDATE

-- name: read
SELECT
    p.number, p.id, o.name AS owner, p.name, p.instruction, p.cron, p.zone, p.catch_up, p.status, p.active, p.next_at,
    p.last_at, p.fired, p.created_at, p.ended_at, g.id AS gate, p.hops
FROM plans p
JOIN entities o ON o.number = p.owner
LEFT JOIN gates g ON g.number = p.gate
WHERE p.id = :id

-- name: list_page
SELECT
    p.number, p.id, o.name AS owner, p.name, p.instruction, p.cron, p.zone, p.catch_up, p.status, p.active, p.next_at,
    p.last_at, p.fired, p.created_at, p.ended_at, g.id AS gate, p.hops
FROM plans p
JOIN entities o ON o.number = p.owner
LEFT JOIN gates g ON g.number = p.gate
WHERE p.number > :after
    AND (CAST(:owner AS BIGINT) IS NULL OR p.owner = CAST(:owner AS BIGINT))
    AND (CAST(:status AS TEXT) IS NULL OR p.status = CAST(:status AS TEXT))
ORDER BY p.number
LIMIT :limit

-- name: update
UPDATE plans
SET name = :name, instruction = :instruction, cron = :cron, zone = :zone, catch_up = :catch_up, status = :status,
    active = :active, next_at = :next_at, gate = :gate, hops = :hops, ended_at = :ended_at
WHERE number = :number

-- name: delete
DELETE FROM plans WHERE number = :number

-- name: take_due
-- Plans that another scheduler has locked are skipped: they are advanced with its commit.
SELECT
    p.number, p.id, o.name AS owner, p.name, p.instruction, p.cron, p.zone, p.catch_up, p.status, p.active, p.next_at,
    p.last_at, p.fired, p.created_at, p.ended_at, g.id AS gate, p.hops
FROM plans p
JOIN entities o ON o.number = p.owner
LEFT JOIN gates g ON g.number = p.gate
WHERE p.status = 'pending' AND p.active AND p.next_at <= :now
ORDER BY p.next_at, p.number
LIMIT :limit
FOR UPDATE OF p SKIP LOCKED

-- name: advance (sqlite)
UPDATE plans
SET status = :status, next_at = :next_at, last_at = :last_at, fired = :fired, ended_at = :ended_at,
    hops = :hops
WHERE number = :number

-- name: advance (postgres)
UPDATE plans
SET status = c.status, next_at = c.next_at, last_at = c.last_at, fired = c.fired, ended_at = c.ended_at,
    hops = c.hops
FROM unnest(
    :number::bigint[], :status::text[], :next_at::bigint[], :last_at::bigint[], :fired::bigint[], :ended_at::bigint[],
    :hops::bigint[]
) AS c (number, status, next_at, last_at, fired, ended_at, hops)
WHERE plans.number = c.number

-- name: count_fire
UPDATE plans SET fired = fired + 1 WHERE number = :number

-- name: list_recurring
SELECT
    p.number, p.id, o.name AS owner, p.name, p.instruction, p.cron, p.zone, p.catch_up, p.status, p.active, p.next_at,
    p.last_at, p.fired, p.created_at, p.ended_at, g.id AS gate, p.hops
FROM plans p
JOIN entities o ON o.number = p.owner
LEFT JOIN gates g ON g.number = p.gate
WHERE p.status = 'pending' AND p.active AND p.cron IS NOT NULL AND p.next_at > :now AND p.number > :after
ORDER BY p.number
LIMIT :limit

-- name: reschedule
UPDATE plans SET next_at = CAST(:next_at AS BIGINT)
WHERE number = :number AND status = 'pending' AND next_at = :previous_at AND next_at > CAST(:next_at AS BIGINT)

-- name: lock_by_gate
SELECT
    p.number, p.id, o.name AS owner, p.name, p.instruction, p.cron, p.zone, p.catch_up, p.status, p.active, p.next_at,
    p.last_at, p.fired, p.created_at, p.ended_at, g.id AS gate, p.hops
FROM plans p
JOIN entities o ON o.number = p.owner
JOIN gates g ON g.number = p.gate
WHERE p.gate = :gate AND p.status = 'pending' AND p.next_at IS NULL
ORDER BY p.number
FOR UPDATE OF p

-- name: find_next_due
SELECT min(next_at) AS next_at FROM plans WHERE status = 'pending' AND active

-- name: reap
DELETE FROM plans WHERE number IN (
    WITH old AS MATERIALIZED (
        SELECT number FROM plans WHERE ended_at IS NOT NULL AND ended_at <= :before ORDER BY ended_at LIMIT :limit
        FOR UPDATE SKIP LOCKED
    )
    SELECT number FROM old
)
