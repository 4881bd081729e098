-- name: save
-- A session that comes back continues, even with another entity.
INSERT INTO sessions (id, entity, host, state, hops, started_at, seen_at)
VALUES (:id, :entity, :host, :state, 0, :now, :now)
ON CONFLICT (id) DO UPDATE
SET entity = excluded.entity, host = excluded.host, state = excluded.state, seen_at = excluded.seen_at

-- name: read
SELECT s.id, e.name AS agent, s.host, s.state, s.started_at, s.seen_at
FROM sessions s
JOIN entities e ON e.number = s.entity
WHERE s.id = :id

-- name: update_state
UPDATE sessions SET state = :state, seen_at = :now WHERE id = :id

-- name: has_pending_gates
SELECT TRUE AS has_gates
FROM names n
JOIN gates g ON g.owner = n.entity
WHERE n.name = :agent AND g.ended_at IS NULL
LIMIT 1

-- name: reap
DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE seen_at < :before ORDER BY seen_at LIMIT :limit)
