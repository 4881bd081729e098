-- name: insert
INSERT INTO agents (entity, config, version, cycles, tokens, failures, updated_at)
VALUES (:entity, :config, 1, 0, 0, 0, :now)
ON CONFLICT (entity) DO NOTHING

-- name: update
UPDATE agents SET config = :config, version = version + 1, failures = 0, rest_until = NULL, updated_at = :now
WHERE entity = :entity

-- name: pause
UPDATE agents SET paused_at = :at WHERE entity = :entity

-- name: is_paused
SELECT TRUE AS is_paused FROM agents WHERE entity = :entity AND paused_at IS NOT NULL

-- name: set_rest
UPDATE agents SET failures = :failures, rest_until = :rest_until, batch_limit = :batch_limit WHERE entity = :number

-- name: end_rests
UPDATE agents SET rest_until = :now WHERE rest_until > :now

-- name: record_cycles
UPDATE agents SET cycles = :cycles, tokens = :tokens, failures = 0, rest_until = NULL, batch_limit = NULL
WHERE entity = :number

-- name: is_ready
-- True if a resident has something to think about: an open run, or an item that should wake it; with `include_quiet`
-- any pending item.
SELECT TRUE AS is_ready
FROM agents a
JOIN entities e ON e.number = a.entity AND e.retired_at IS NULL
WHERE a.entity = :entity
    AND a.paused_at IS NULL
    AND (a.rest_until IS NULL OR a.rest_until <= :now)
    AND (
        EXISTS (SELECT 1 FROM runs r WHERE r.agent = a.entity AND r.status = 'running')
        OR EXISTS (
            SELECT 1
            FROM pending i
            WHERE i.recipient = a.entity
                AND (i.expires_at IS NULL OR i.expires_at > :now)
                AND (i.hidden_until IS NULL OR i.hidden_until <= :now)
                AND (:include_quiet OR i.priority <= coalesce((
                    SELECT t.max_priority FROM attention t WHERE t.entity = a.entity AND t.until > :now
                ), 4))
                AND (:include_quiet OR i.wakes OR (i.priority = 4 AND EXISTS (
                    SELECT 1 FROM events v WHERE v.arrival = i.arrival AND v.created_at <= :fyi_before
                )))
        )
        OR EXISTS (
            SELECT 1
            FROM pending_broadcasts o
            WHERE o.recipient = a.entity AND (o.expires_at IS NULL OR o.expires_at > :now)
                AND (:include_quiet OR (o.wakes AND o.priority <= coalesce((
                    SELECT t.max_priority FROM attention t WHERE t.entity = a.entity AND t.until > :now
                ), 4)))
        )
    )

-- name: list_presences
-- What residents are doing: one that has an open run works, and one that is paused is away.
SELECT
    a.entity,
    CASE
        WHEN EXISTS (SELECT 1 FROM runs r WHERE r.agent = a.entity AND r.status = 'running') THEN 'working'
        WHEN a.paused_at IS NULL THEN 'idle'
        ELSE 'away'
    END AS presence
FROM agents a
WHERE a.entity IN :entities[]

-- name: read
SELECT
    a.entity AS number, e.name, e.display, e.skills, a.config, a.version, a.paused_at, a.cycles, a.tokens,
    a.failures, a.rest_until, a.batch_limit
FROM agents a
JOIN entities e ON e.number = a.entity
WHERE a.entity = :entity

-- name: find_by_name
-- The entity with this name or alias, and its resident if it has one.
SELECT
    e.number, e.name, e.kind, e.display, e.team, e.role, o.name AS owner, e.created_at, e.retired_at, e.skills,
    a.config, a.version, a.paused_at, a.cycles, a.tokens, a.failures, a.rest_until, a.batch_limit
FROM names n
JOIN entities e ON e.number = n.entity
LEFT JOIN entities o ON o.number = e.owner
LEFT JOIN agents a ON a.entity = e.number
WHERE n.name = :name

-- name: read_many
SELECT
    a.entity AS number, e.name, e.display, e.skills, a.config, a.version, a.paused_at, a.cycles, a.tokens,
    a.failures, a.rest_until, a.batch_limit
FROM agents a
JOIN entities e ON e.number = a.entity
WHERE a.entity IN :entities[]

-- name: list_live
SELECT
    a.entity AS number, e.name, e.display, e.skills, a.config, a.version, a.paused_at, a.cycles, a.tokens,
    a.failures, a.rest_until, a.batch_limit
FROM agents a
JOIN entities e ON e.number = a.entity AND e.retired_at IS NULL
ORDER BY a.entity

-- name: list_skills
SELECT number, skills FROM entities WHERE number IN :entities[] AND skills <> '[]'

-- name: set_skills
UPDATE entities SET skills = :skills WHERE number = :entity
