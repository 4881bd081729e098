-- name: list_open_decisions
-- Open decisions that an entity may answer, the most urgent first. Every owner is over 0; the condition makes SQLite
-- use the index of pending gates, however many have ended.
SELECT q.*
FROM gates g
JOIN decisions d ON d.gate = g.number
JOIN decision_details q ON q.number = d.number
WHERE g.ended_at IS NULL AND g.owner > 0 AND g.kind = 'decision'
    AND EXISTS (SELECT 1 FROM respondents k WHERE k.decision = d.number AND k.entity = :entity)
ORDER BY d.urgency, g.deadline IS NULL, g.deadline, d.number
LIMIT :limit

-- name: count_open_decisions
-- Counted up to a limit.
SELECT count(*) AS total
FROM (
    SELECT 1 AS is_open
    FROM gates g
    JOIN decisions d ON d.gate = g.number
    WHERE g.ended_at IS NULL AND g.owner > 0 AND g.kind = 'decision'
        AND EXISTS (SELECT 1 FROM respondents k WHERE k.decision = d.number AND k.entity = :entity)
    LIMIT :limit
) AS counted

-- name: list_recent_decisions
-- Decisions that were asked or answered since an instant, the newest first; of those asked, among the last few.
SELECT q.*
FROM decision_details q
JOIN decisions d ON d.number = q.number
WHERE d.number IN (
        SELECT n.decision FROM answers n WHERE n.answered_at >= :since
        UNION
        SELECT a.number
        FROM decisions a
        WHERE a.created_at >= :since AND a.number > (SELECT max(l.number) FROM decisions l) - CAST(:depth AS BIGINT)
    )
    AND (
        CAST(:participant AS BIGINT) IS NULL
        OR d.asker = CAST(:participant AS BIGINT)
        OR EXISTS (SELECT 1 FROM respondents k WHERE k.decision = d.number AND k.entity = CAST(:participant AS BIGINT))
    )
ORDER BY d.number DESC
LIMIT :limit

-- name: list_alerts
-- Pending alerts, the newest first. Gatepost sends them with a high priority, so the first few of such items are looked
-- at, in the order of their index.
SELECT * FROM inbox_items
WHERE recipient = :recipient AND type = 'alert' AND arrival IN (
        SELECT i.arrival
        FROM pending i
        WHERE i.recipient = :recipient AND i.priority < 2
            AND (i.expires_at IS NULL OR i.expires_at > :now)
            AND (i.hidden_until IS NULL OR i.hidden_until <= :now)
        ORDER BY i.priority, i.is_from_machine, i.arrival
        LIMIT :depth
    )
ORDER BY arrival DESC
LIMIT :limit

-- name: count_alerts
-- The same, counted.
SELECT count(*) AS total
FROM events e
WHERE e.type = 'alert' AND e.arrival IN (
        SELECT i.arrival
        FROM pending i
        WHERE i.recipient = :recipient AND i.priority < 2
            AND (i.expires_at IS NULL OR i.expires_at > :now)
            AND (i.hidden_until IS NULL OR i.hidden_until <= :now)
        ORDER BY i.priority, i.is_from_machine, i.arrival
        LIMIT :depth
    )

-- name: list_thinking
-- Open runs, the longest first: of all agents, or of those that a viewer is, owns, or is in a space with. Every agent is
-- over 0; the condition makes SQLite use the index of open runs.
SELECT e.name AS agent, e.display, r.id AS run, r.cause, r.started_at
FROM runs r
JOIN entities e ON e.number = r.agent
WHERE r.status = 'running' AND r.agent > 0
    AND (
        CAST(:viewer AS BIGINT) IS NULL
        OR CAST(:viewer AS BIGINT) IN (e.number, e.owner)
        OR EXISTS (
            SELECT 1
            FROM members m
            JOIN members v ON v.space = m.space AND v.entity = CAST(:viewer AS BIGINT)
            WHERE m.entity = e.number
        )
    )
ORDER BY r.number
LIMIT :limit

-- name: list_unread
-- The spaces of an entity with unread messages.
SELECT s.id, s.name, s.last_seq - m.read_seq AS unread
FROM members m
JOIN spaces s ON s.number = m.space
WHERE m.entity = :entity AND s.last_seq > m.read_seq AND s.archived_at IS NULL
ORDER BY s.number
LIMIT :limit

-- name: list_recent_messages
-- The last messages since an instant in the spaces of an entity, or in all, the newest first. A space whose last message
-- is older is not looked into: SQLite joins tables in the order in which CROSS JOIN names them.
SELECT
    m.id, s.id AS space, m.seq, e.name AS sender, e.display AS sender_display, e.kind AS sender_kind, m.content, m.data,
    m.created_at
FROM spaces s
CROSS JOIN messages l
CROSS JOIN messages m
CROSS JOIN entities e
WHERE l.space = s.number AND l.seq = s.last_seq AND l.created_at >= :since
    AND m.space = s.number AND m.seq > s.last_seq - CAST(:limit AS BIGINT) AND m.created_at >= :since
    AND e.number = m.sender
    AND (
        CAST(:entity AS BIGINT) IS NULL
        OR EXISTS (SELECT 1 FROM members k WHERE k.space = s.number AND k.entity = CAST(:entity AS BIGINT))
    )
ORDER BY m.created_at DESC, m.space, m.seq DESC
LIMIT :limit

-- name: count_recent_messages
-- Counted up to a limit in each space.
SELECT count(*) AS total
FROM spaces s
CROSS JOIN messages l
CROSS JOIN messages m
WHERE l.space = s.number AND l.seq = s.last_seq AND l.created_at >= :since
    AND m.space = s.number AND m.seq > s.last_seq - CAST(:depth AS BIGINT) AND m.created_at >= :since
    AND (
        CAST(:entity AS BIGINT) IS NULL
        OR EXISTS (SELECT 1 FROM members k WHERE k.space = s.number AND k.entity = CAST(:entity AS BIGINT))
    )
