-- name: insert
INSERT INTO route_rules (id, name, channel, filters, targets, rank, active, made_by, created_at, updated_at)
VALUES (:id, :name, :channel, :filters, :targets, :rank, :active, :made_by, :now, :now)
ON CONFLICT (name) DO NOTHING

-- name: find
SELECT
    r.number, r.id, r.name, r.channel, r.filters, r.targets, r.rank, r.active, e.name AS made_by, r.created_at,
    r.updated_at
FROM route_rules r JOIN entities e ON e.number = r.made_by
WHERE r.id = :id OR r.name = :id

-- name: list_page
SELECT
    r.number, r.id, r.name, r.channel, r.filters, r.targets, r.rank, r.active, e.name AS made_by, r.created_at,
    r.updated_at
FROM route_rules r JOIN entities e ON e.number = r.made_by
WHERE r.number > :after
ORDER BY r.number
LIMIT :limit

-- name: list_active
SELECT
    r.number, r.id, r.name, r.channel, r.filters, r.targets, r.rank, r.active, e.name AS made_by, r.created_at,
    r.updated_at
FROM route_rules r JOIN entities e ON e.number = r.made_by
WHERE r.active AND r.channel IN ('*', :channel)
ORDER BY r.rank DESC, r.number

-- name: update
UPDATE route_rules
SET name = :name, channel = :channel, filters = :filters, targets = :targets, rank = :rank, active = :active,
    updated_at = :now
WHERE number = :number

-- name: delete
DELETE FROM route_rules WHERE number = :number

-- name: insert_unrouted
INSERT INTO unrouted (id, trigger, sender, dedup_key, envelope, event, reason, created_at)
VALUES (:id, :trigger, :sender, :dedup_key, :envelope, :event, :reason, :now)
ON CONFLICT (dedup_key) WHERE dedup_key IS NOT NULL DO NOTHING

-- name: find_unrouted
SELECT
    u.number, u.id, t.name AS trigger, s.name AS sender, u.envelope, u.event, u.reason, u.created_at, u.handled_at,
    e.name AS handled_by, u.outcome
FROM unrouted u
LEFT JOIN triggers t ON t.number = u.trigger
LEFT JOIN entities s ON s.number = u.sender
LEFT JOIN entities e ON e.number = u.handled_by
WHERE u.id = :id

-- name: has_unrouted_key
SELECT TRUE AS has_key FROM unrouted WHERE dedup_key = :dedup_key AND dedup_key IS NOT NULL

-- name: has_unrouted
SELECT TRUE AS has_message FROM unrouted WHERE trigger = :trigger AND handled_at IS NULL LIMIT 1

-- name: list_unrouted
SELECT
    u.number, u.id, t.name AS trigger, s.name AS sender, u.envelope, u.event, u.reason, u.created_at, u.handled_at,
    e.name AS handled_by, u.outcome
FROM unrouted u
LEFT JOIN triggers t ON t.number = u.trigger
LEFT JOIN entities s ON s.number = u.sender
LEFT JOIN entities e ON e.number = u.handled_by
WHERE u.number > :after AND (:has_handled OR u.handled_at IS NULL)
ORDER BY u.number
LIMIT :limit

-- name: count_unrouted
SELECT count(*) AS total FROM unrouted WHERE handled_at IS NULL

-- name: set_handled
UPDATE unrouted SET handled_at = :now, handled_by = :handled_by, outcome = :outcome
WHERE number = :number AND handled_at IS NULL

-- name: forget_trigger
UPDATE unrouted SET trigger = NULL WHERE trigger = :trigger
