-- name: columns (part)
s.id AS session, e.name AS agent, s.host, s.state, s.started_at, s.seen_at, s.program, s.wake_method, s.waker,
s.armed_at, s.checked_at, s.woken_at, s.proved_at, s.latency

-- name: forget_waker
-- What woke a session in another program, or before it ended, says nothing about it when it begins again. What wakes it in
-- this program may have come first: then it has recorded the program.
UPDATE sessions SET wake_method = NULL, waker = NULL, armed_at = NULL, woken_at = NULL
WHERE id = :id AND (state = 'ended' OR program <> CAST(:program AS TEXT))

-- name: save
-- A session that comes back continues, even with another entity.
INSERT INTO sessions (id, entity, host, state, hops, started_at, seen_at, program, model)
VALUES (:id, :entity, :host, :state, 0, :now, :now, :program, :model)
ON CONFLICT (id) DO UPDATE
SET entity = excluded.entity, host = excluded.host, state = excluded.state, seen_at = excluded.seen_at,
    program = coalesce(excluded.program, sessions.program), model = coalesce(excluded.model, sessions.model)

-- name: read
SELECT {columns}
FROM sessions s
JOIN entities e ON e.number = s.entity
WHERE s.id = :id

-- name: list_recent
-- The newest sessions, of one agent or of all (NULL).
SELECT {columns}
FROM sessions s
JOIN entities e ON e.number = s.entity
WHERE (CAST(:agent AS TEXT) IS NULL OR e.name = :agent) AND (:include_ended OR s.state <> 'ended')
ORDER BY s.seen_at DESC, s.id
LIMIT :limit

-- name: list_of_entities
-- The sessions of these entities that have not ended, and the last one of each.
SELECT {columns}
FROM sessions s
JOIN entities e ON e.number = s.entity
WHERE s.entity IN :entities[]
    AND (s.state <> 'ended' OR s.seen_at = (SELECT max(l.seen_at) FROM sessions l WHERE l.entity = s.entity))
ORDER BY s.seen_at DESC, s.id

-- name: find_model
-- The model of the last session of an agent whose program has said it.
SELECT model FROM sessions WHERE entity = :entity AND model IS NOT NULL ORDER BY seen_at DESC, id LIMIT 1

-- name: list_of_agent
-- The sessions of an agent that have not ended.
SELECT {columns}
FROM sessions s
JOIN entities e ON e.number = s.entity
WHERE e.name = :agent AND s.state <> 'ended'
ORDER BY s.id

-- name: max_priority (part)
coalesce((SELECT t.max_priority FROM attention t WHERE t.entity = n.entity AND t.until > :now), 4)

-- name: has_wake_reason
-- True if an agent has an item that should wake it: `find_wake_reason` says since when.
SELECT TRUE AS has_reason
FROM names n
WHERE n.name = :agent
    AND (
        EXISTS (
            SELECT 1
            FROM pending i
            WHERE i.recipient = n.entity AND i.wakes
                AND i.priority <= {max_priority}
                AND (i.expires_at IS NULL OR i.expires_at > :now)
                AND (i.hidden_until IS NULL OR i.hidden_until <= :now)
        )
        OR EXISTS (
            SELECT 1
            FROM claims c
            JOIN past i ON i.claim = c.number
            WHERE c.recipient = n.entity AND c.ended_at IS NULL AND c.deadline <= :now
                AND i.priority <= {max_priority}
        )
        OR EXISTS (
            SELECT 1
            FROM pending_broadcasts o
            WHERE o.recipient = n.entity AND o.wakes AND o.priority <= {max_priority} AND (o.expires_at IS NULL OR o.expires_at > :now)
        )
    )

-- name: find_wake_reason
-- Since when the first item waits that should wake an agent; an item of a claim past its deadline, since the deadline.
SELECT min(w.since) AS since
FROM (
    SELECT v.created_at AS since
    FROM events v
    WHERE v.arrival = (
        SELECT min(i.arrival)
        FROM names n
        JOIN pending i ON i.recipient = n.entity
        WHERE n.name = :agent AND i.wakes
            AND i.priority <= {max_priority}
            AND (i.expires_at IS NULL OR i.expires_at > :now)
            AND (i.hidden_until IS NULL OR i.hidden_until <= :now)
    )
    UNION ALL
    SELECT c.deadline
    FROM names n
    JOIN claims c ON c.recipient = n.entity
    JOIN past i ON i.claim = c.number
    WHERE n.name = :agent AND c.ended_at IS NULL AND c.deadline <= :now AND i.priority <= {max_priority}
    UNION ALL
    SELECT o.created_at
    FROM names n
    JOIN pending_broadcasts o ON o.recipient = n.entity
    WHERE n.name = :agent AND o.wakes AND o.priority <= {max_priority} AND (o.expires_at IS NULL OR o.expires_at > :now)
) w

-- name: update_state
-- What a session does comes after the last wake, also if the clock was set back meanwhile.
UPDATE sessions
SET state = :state, seen_at = :now, woken_at = CASE WHEN woken_at >= :now THEN :now - 1 ELSE woken_at END
WHERE id = :id

-- name: arm
UPDATE sessions
SET wake_method = :method, waker = :waker, armed_at = :now, checked_at = :now, program = coalesce(:program, program)
WHERE id = :id AND state <> 'ended'

-- name: confirm
UPDATE sessions SET checked_at = :now WHERE id IN :ids[] AND armed_at IS NOT NULL

-- name: disarm
-- The name of its waker stays: a thread of Codex is not given the terminal of another.
UPDATE sessions SET armed_at = NULL
WHERE id = :id AND (CAST(:waker AS TEXT) IS NULL OR waker = :waker)

-- name: begin_wake
UPDATE sessions SET wake_method = :method, woken_at = :now WHERE id = :id

-- name: prove_wake
UPDATE sessions SET woken_at = NULL, proved_at = :now, latency = :latency WHERE id = :id

-- name: forget_wake
UPDATE sessions SET woken_at = NULL WHERE id = :id

-- name: list_hindered
-- Those of these entities that may be lost, or that something may not wake: for others there is nothing to look at.
SELECT e.name
FROM entities e
WHERE e.name IN :names[]
    AND (
        EXISTS (SELECT 1 FROM sessions s WHERE s.entity = e.number)
        OR EXISTS (SELECT 1 FROM attention t WHERE t.entity = e.number)
    )

-- name: list_receptions
-- Those of the entities with these names or aliases that cannot be reached, or that not everything wakes. An agent is lost if it has had sessions,
-- and none can be reached: each has ended, or it is idle and what woke it is gone. Residents are reached here. What
-- wakes a session may begin a moment after its last hook.
SELECT r.name, r.is_lost, t.max_priority, t.until
FROM (
    SELECT
        e.number,
        e.name,
        e.kind = 'agent'
            AND EXISTS (SELECT 1 FROM sessions s WHERE s.entity = e.number)
            AND NOT EXISTS (
                SELECT 1
                FROM sessions s
                WHERE s.entity = e.number AND s.state <> 'ended'
                    AND NOT (
                        s.state = 'idle' AND s.wake_method IS NOT NULL AND s.armed_at IS NULL AND s.woken_at IS NULL
                        AND s.seen_at < :seen_before
                    )
            )
            AND NOT EXISTS (SELECT 1 FROM agents a WHERE a.entity = e.number) AS is_lost
    FROM entities e
    WHERE e.number IN (SELECT n.entity FROM names n WHERE n.name IN :names[])
) r
LEFT JOIN attention t ON t.entity = r.number AND t.until > :now
WHERE r.is_lost OR t.until IS NOT NULL

-- name: list_unseen
-- Urgent items of agents in other programs that no session was shown, and of which nobody was told yet.
-- Those that did not wake because of its attention count from its end; a critical item counts at once.
SELECT v.id, e.name AS agent
FROM (SELECT DISTINCT entity FROM sessions) g
CROSS JOIN entities e
CROSS JOIN pending i
JOIN events v ON v.arrival = i.arrival AND v.created_at <= :unseen_before AND v.created_at > :unseen_after
WHERE e.number = g.entity AND e.retired_at IS NULL
    AND i.recipient = g.entity AND i.priority IN (0, 1) AND i.wakes
    AND (i.expires_at IS NULL OR i.expires_at > :now)
    AND (i.hidden_until IS NULL OR i.hidden_until <= :now)
    AND NOT EXISTS (SELECT 1 FROM agents a WHERE a.entity = g.entity)
    AND NOT EXISTS (
        SELECT 1 FROM attention t WHERE t.entity = g.entity AND t.until > :unseen_before AND i.priority > 0
    )
    AND NOT EXISTS (
        SELECT 1
        FROM dedup_keys d
        WHERE d.dedup_key = CAST(:unseen_key AS TEXT) || v.id || '/' || e.name
            AND d.recipient IN (SELECT o.number FROM entities o WHERE o.number = e.owner OR o.name = 'admin')
    )
ORDER BY i.arrival
LIMIT :limit

-- name: list_programs
-- The programs of the sessions that have not ended.
SELECT id, program FROM sessions WHERE state <> 'ended' AND program IS NOT NULL ORDER BY id

-- name: end_gone
-- Only if the session is still in this program: it may have been continued in another one meanwhile.
UPDATE sessions SET state = 'ended' WHERE id = :id AND program = :program AND state <> 'ended'

-- name: has_pending_gates
SELECT TRUE AS has_gates
FROM names n
JOIN gates g ON g.owner = n.entity
WHERE n.name = :agent AND g.ended_at IS NULL
LIMIT 1

-- name: reap
DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE seen_at < :before ORDER BY seen_at LIMIT :limit)
