-- name: insert
INSERT INTO gates
    (id, name, kind, owner, made_by, awaits, awaited_entity, event_type, event_source, since, instruction, deadline,
     at_deadline, fail, check_at, hops, hops_at, created_at)
VALUES
    (:id, :name, :kind, :owner, :made_by, :awaits, :awaited_entity, :event_type, :event_source, :since, :instruction,
     :deadline, :at_deadline, :fail, :check_at, :hops, :hops_at, :now)
RETURNING number

-- name: lock
SELECT number FROM gates WHERE id = :id FOR UPDATE

-- name: read
SELECT h.*, g.hops, g.hops_at
FROM gates g
JOIN gate_details h ON h.number = g.number
WHERE g.id = :id

-- name: list_filters (part)
-- A filter that is null matches everything.
    AND (CAST(:owner AS BIGINT) IS NULL OR g.owner = CAST(:owner AS BIGINT))
    AND (CAST(:kind AS TEXT) IS NULL OR g.kind = CAST(:kind AS TEXT))
    AND (CAST(:is_pending AS BOOLEAN) IS NULL OR (g.ended_at IS NULL) = CAST(:is_pending AS BOOLEAN))
    AND (
        CAST(:waiter AS BIGINT) IS NULL
        OR EXISTS (SELECT 1 FROM waiters w WHERE w.gate = g.number AND w.entity = CAST(:waiter AS BIGINT))
    )
    AND (
        CAST(:participant AS BIGINT) IS NULL
        OR CAST(:participant AS BIGINT) IN (g.owner, g.made_by)
        OR (g.kind = 'human' AND g.awaited_entity = CAST(:participant AS BIGINT))
        OR EXISTS (SELECT 1 FROM entities e WHERE e.number = g.owner AND e.owner = CAST(:participant AS BIGINT))
        OR EXISTS (SELECT 1 FROM waiters w WHERE w.gate = g.number AND w.entity = CAST(:participant AS BIGINT))
    )

-- name: list_page
SELECT h.*, g.hops, g.hops_at
FROM gate_details h
JOIN gates g ON g.number = h.number
WHERE g.number > :after
    {list_filters}
ORDER BY g.number
LIMIT :limit

-- name: list_newest
-- The same, the newest first; before a number.
SELECT h.*, g.hops, g.hops_at
FROM gate_details h
JOIN gates g ON g.number = h.number
WHERE g.number < :before
    {list_filters}
ORDER BY g.number DESC
LIMIT :limit

-- name: list_pending
SELECT h.*, g.hops, g.hops_at
FROM gates g
JOIN gate_details h ON h.number = g.number
WHERE g.owner = :owner AND g.ended_at IS NULL
ORDER BY g.number

-- name: count_pending
SELECT count(*) AS total FROM (SELECT 1 FROM gates WHERE owner = :owner AND ended_at IS NULL LIMIT :limit) AS pending

-- name: find_uninstructed
-- Pending gates that the owner can end, and whose instruction the owner has not got yet.
SELECT number
FROM gates
WHERE owner = :owner AND ended_at IS NULL AND instructed_at IS NULL
    AND (kind = 'command' OR (kind = 'human' AND awaited_entity = owner))

-- name: set_instructed_at
UPDATE gates SET instructed_at = CAST(:at AS bigint) WHERE id = :id

-- name: read_hops
SELECT hops FROM gates WHERE number = :number AND hops_at > :since

-- name: extend_chain
-- A chain that is not long past is not made shorter.
UPDATE gates SET hops = CASE WHEN hops_at > :since AND hops > :hops THEN hops ELSE :hops END, hops_at = :now
WHERE number = :number

-- name: end
UPDATE gates SET ended_at = :now WHERE number = :number

-- name: set_deadline
UPDATE gates SET deadline = :deadline WHERE number = :number

-- name: take_due
-- Gates that another transaction has locked are skipped: they end with its commit, or are due again.
SELECT id
FROM gates
WHERE ended_at IS NULL AND escalated_at IS NULL AND deadline <= :now
ORDER BY deadline, number
LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: find_next_deadline
SELECT min(deadline) AS deadline FROM gates WHERE ended_at IS NULL AND deadline IS NOT NULL AND escalated_at IS NULL

-- name: find_matches
-- Those of these gates whose owner has got the event that they wait for since they were created, each with the first
-- such event; also by a broadcast that the owner has not taken yet.
SELECT g.number, g.id, e.id AS event, e.hops
FROM gates g
JOIN events e ON e.arrival = (
    SELECT min(d.arrival)
    FROM (
        SELECT i.arrival FROM past i WHERE i.recipient = g.owner AND i.arrival > g.since
        UNION ALL
        SELECT i.arrival FROM pending i WHERE +i.recipient = g.owner AND i.arrival > g.since
        UNION ALL
        SELECT b.arrival FROM broadcasts b WHERE b.arrival > g.since AND (b.sender IS NULL OR b.sender <> g.owner)
    ) d
    JOIN events v ON v.arrival = d.arrival
    WHERE v.type = g.event_type
        AND (g.event_source IS NULL OR v.source = g.event_source)
        AND (g.kind <> 'mail' OR v.sender = g.awaited_entity)
)
WHERE g.number IN :gates[] AND g.ended_at IS NULL
ORDER BY g.number

-- name: broadcast_deliveries (part)
SELECT f.*, g.owner
FROM new_events f
JOIN gates g ON g.event_type = f.type AND g.ended_at IS NULL AND (f.sender IS NULL OR f.sender <> g.owner)
WHERE f.is_broadcast

-- name: first_matches (part)
SELECT g.number, g.id, e.id AS event, e.hops
FROM (
    SELECT w.number, min(d.arrival) AS arrival
    FROM deliveries d
    JOIN gates w ON w.owner = d.recipient AND w.event_type = d.type AND w.ended_at IS NULL
    WHERE d.arrival > w.since
        AND (w.event_source IS NULL OR d.source = w.event_source)
        AND (w.kind <> 'mail' OR d.sender = w.awaited_entity)
    GROUP BY w.number
) AS matches
JOIN gates g ON g.number = matches.number
JOIN events e ON e.arrival = matches.arrival
ORDER BY g.number

-- name: find_matches_after (sqlite)
-- The same for all gates, among the events after a position: the cost grows with the new events only. There is one
-- writer, so the arrival is the position; transactions have no number.
WITH new_events AS MATERIALIZED (
    SELECT
        e.arrival, e.type, e.source, e.sender,
        EXISTS (SELECT 1 FROM broadcasts b WHERE b.arrival = e.arrival) AS is_broadcast
    FROM events e
    WHERE e.arrival > :arrival + :transaction
        AND e.type IN (SELECT event_type FROM gates WHERE ended_at IS NULL AND event_type IS NOT NULL)
),
deliveries AS MATERIALIZED (
    SELECT f.*, i.recipient
    FROM new_events f
    CROSS JOIN pending i ON i.arrival = f.arrival
    UNION ALL
    SELECT f.*, i.recipient
    FROM new_events f
    CROSS JOIN past i ON i.arrival = f.arrival
    UNION ALL
    {broadcast_deliveries}
)
{first_matches}

-- name: find_matches_after (postgres)
-- The same for all gates, among the events after a position: the cost grows with the new events only (OFFSET keeps the
-- planner from reading all items first).
WITH new_events AS MATERIALIZED (
    SELECT
        e.arrival, e.type, e.source, e.sender,
        EXISTS (SELECT 1 FROM broadcasts b WHERE b.arrival = e.arrival) AS is_broadcast
    FROM events e
    WHERE (e.xid, e.arrival) > (:transaction::text::xid8, :arrival)
        AND e.type IN (SELECT event_type FROM gates WHERE ended_at IS NULL AND event_type IS NOT NULL)
),
deliveries AS MATERIALIZED (
    SELECT f.*, i.recipient
    FROM new_events f
    CROSS JOIN LATERAL (
        SELECT recipient FROM pending WHERE pending.arrival = f.arrival
        UNION ALL
        SELECT recipient FROM past WHERE past.arrival = f.arrival
        OFFSET 0
    ) AS i
    UNION ALL
    {broadcast_deliveries}
)
{first_matches}

-- name: list_event_gates
SELECT g.number, e.name AS owner, g.event_type
FROM gates g
JOIN entities e ON e.number = g.owner
WHERE g.ended_at IS NULL AND g.event_type IS NOT NULL

-- name: list_orphaned
-- Gates that cannot end without an entity: their owner, or the one who has to act. Gates of decisions are left out:
-- they go on as long as one respondent is live.
SELECT id
FROM gates
WHERE ended_at IS NULL AND kind <> 'decision' AND (owner = :entity OR awaited_entity = :entity)
ORDER BY number

-- name: escalate
UPDATE gates SET escalated_at = :now WHERE number = :number

-- name: take_checks (sqlite)
-- One gate of each owner, then a second of each; owners continue after the one who had the last turn.
UPDATE gates SET check_at = :until
WHERE number IN (
    SELECT number
    FROM (
        SELECT g.number, o.name, row_number() OVER (PARTITION BY g.owner ORDER BY g.check_at, g.number) AS turn
        FROM gates g
        JOIN entities o ON o.number = g.owner
        WHERE g.ended_at IS NULL AND g.check_at <= :now
    )
    ORDER BY turn, name <= :after, name
    LIMIT :limit
)
RETURNING id

-- name: take_checks (postgres)
-- One gate of each owner, then a second of each; owners continue after the one who had the last turn. A gate that
-- another process has taken meanwhile is not due any more: the condition is checked again once the row is locked.
-- Materialized, because a subquery that the planner runs more than once skips what it has locked, and so takes more
-- than the limit.
WITH due_gates AS MATERIALIZED (
    SELECT g.number
    FROM gates g
    JOIN (
        SELECT d.number, o.name COLLATE "C" AS name,
            row_number() OVER (PARTITION BY d.owner ORDER BY d.check_at, d.number) AS turn
        FROM gates d
        JOIN entities o ON o.number = d.owner
        WHERE d.ended_at IS NULL AND d.check_at <= :now
    ) AS due ON due.number = g.number
    WHERE g.ended_at IS NULL AND g.check_at <= :now
    ORDER BY due.turn, due.name <= :after, due.name
    LIMIT :limit
    FOR UPDATE OF g SKIP LOCKED
)
UPDATE gates SET check_at = :until FROM due_gates WHERE gates.number = due_gates.number
RETURNING gates.id

-- name: make_checks_due
UPDATE gates SET check_at = :now WHERE ended_at IS NULL AND check_at > :now

-- name: find_next_check
SELECT min(check_at) AS check_at FROM gates WHERE ended_at IS NULL AND check_at IS NOT NULL

-- name: record_check
UPDATE gates SET trouble = :trouble, check_at = :check_at WHERE number = :number

-- name: reap
-- The gate of a decision stays.
DELETE FROM gates WHERE number IN (
    WITH old AS MATERIALIZED (
        SELECT g.number
        FROM gates g
        WHERE g.ended_at IS NOT NULL AND g.ended_at <= :before AND g.kind <> 'decision'
            AND NOT EXISTS (SELECT 1 FROM plans p WHERE p.gate = g.number)
        ORDER BY g.ended_at
        LIMIT :limit
        FOR UPDATE OF g SKIP LOCKED
    )
    SELECT number FROM old
)
