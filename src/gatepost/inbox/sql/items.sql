-- name: insert (sqlite)
INSERT INTO pending
    (recipient, priority, is_from_machine, arrival, source, expires_at, wakes, attempts, size, times)
VALUES
    (:recipient, :priority, :is_from_machine, :arrival, :source, :expires_at, :wakes, 0, :size, 1)

-- name: insert (postgres)
INSERT INTO pending
    (recipient, priority, is_from_machine, arrival, source, expires_at, wakes, attempts, size, times)
SELECT recipient, priority, is_from_machine, arrival, source, expires_at, wakes, 0, size, 1
FROM unnest(
    :recipient::bigint[], :priority::smallint[], :is_from_machine::boolean[], :arrival::bigint[], :source::text[],
    :expires_at::bigint[], :wakes::boolean[], :size::integer[]
) AS item (recipient, priority, is_from_machine, arrival, source, expires_at, wakes, size)

-- name: list_candidates
-- The first in the order in which items get into a batch.
SELECT arrival, priority, NOT is_from_machine AS sender_is_person, source, size
FROM pending
WHERE recipient = coalesce(
        CAST(:recipient AS BIGINT), (SELECT n.entity FROM names n WHERE n.name = CAST(:name AS TEXT))
    )
    AND (expires_at IS NULL OR expires_at > :now)
    AND (hidden_until IS NULL OR hidden_until <= :now)
ORDER BY priority, is_from_machine, arrival
LIMIT :limit

-- name: list_candidates_at
SELECT arrival, priority, NOT is_from_machine AS sender_is_person, source, size
FROM pending
WHERE recipient = :recipient AND arrival IN :arrivals[]
    AND (hidden_until IS NULL OR hidden_until <= :now)

-- name: read_states (sqlite)
-- Items of a recipient by their keys, or by the ids of their events. Both parts begin with the keys or ids: a recipient
-- may have many items.
SELECT e.dedup_key, e.id AS event, i.arrival, i.state, i.expires_at, i.hidden_until
FROM json_each(:keys) k
CROSS JOIN dedup_keys d ON d.recipient = :recipient AND d.dedup_key = k.value
CROSS JOIN items i ON i.recipient = :recipient AND i.arrival = d.arrival
JOIN events e ON e.arrival = i.arrival
UNION
SELECT e.dedup_key, e.id AS event, i.arrival, i.state, i.expires_at, i.hidden_until
FROM json_each(:events) k
CROSS JOIN events e ON e.id = k.value
CROSS JOIN items i ON i.recipient = :recipient AND i.arrival = e.arrival

-- name: read_states (postgres)
-- Items of a recipient by their keys, or by the ids of their events.
SELECT e.dedup_key, e.id AS event, i.arrival, i.state, i.expires_at, i.hidden_until
FROM dedup_keys d
JOIN items i ON i.recipient = :recipient AND i.arrival = d.arrival
JOIN events e ON e.arrival = i.arrival
WHERE d.recipient = :recipient AND d.dedup_key IN :keys[]
UNION
SELECT e.dedup_key, e.id AS event, i.arrival, i.state, i.expires_at, i.hidden_until
FROM events e
JOIN items i ON i.recipient = :recipient AND i.arrival = e.arrival
WHERE e.id IN :events[]

-- name: other_sources (part)
-- The sources are stepped through by their index.
step (source, steps) AS (
    SELECT (SELECT min(source) FROM pending WHERE recipient = :recipient), 1
    UNION ALL
    SELECT
        (
            SELECT min(i.source)
            FROM pending i
            WHERE i.recipient = :recipient AND i.source > step.source
        ),
        steps + 1
    FROM step
    WHERE step.source IS NOT NULL AND steps < :max_steps
),
other (source) AS (
    SELECT source
    FROM step
    WHERE source IS NOT NULL AND source NOT IN :seen_sources[]
    ORDER BY source
    LIMIT :max_sources
)

-- name: list_source_heads (sqlite)
-- The first few items of each source that is not among those seen.
WITH RECURSIVE {other_sources}
SELECT i.arrival, i.priority, NOT i.is_from_machine AS sender_is_person, i.source, i.size
FROM other
JOIN pending i ON i.recipient = :recipient AND i.arrival IN (
    SELECT j.arrival
    FROM pending j
    WHERE j.recipient = :recipient AND j.source = other.source
        AND (j.expires_at IS NULL OR j.expires_at > :now)
        AND (j.hidden_until IS NULL OR j.hidden_until <= :now)
    ORDER BY j.priority, j.arrival
    LIMIT :per_source
)
ORDER BY i.priority, i.is_from_machine, i.arrival
LIMIT :limit

-- name: list_source_heads (postgres)
-- The same.
WITH RECURSIVE {other_sources}
SELECT i.arrival, i.priority, NOT i.is_from_machine AS sender_is_person, i.source, i.size
FROM other
CROSS JOIN LATERAL (
    SELECT *
    FROM pending j
    WHERE j.recipient = :recipient AND j.source = other.source
        AND (j.expires_at IS NULL OR j.expires_at > :now)
        AND (j.hidden_until IS NULL OR j.hidden_until <= :now)
    ORDER BY j.priority, j.arrival
    LIMIT :per_source
) AS i
ORDER BY i.priority, i.is_from_machine, i.arrival
LIMIT :limit

-- name: count_pending
-- Counted up to a limit, so that the cost is bounded.
SELECT count(*) AS total
FROM (
    SELECT 1 AS waiting
    FROM pending
    WHERE recipient = :recipient AND (expires_at IS NULL OR expires_at > :now)
        AND (hidden_until IS NULL OR hidden_until <= :now)
    LIMIT :limit
) AS counted

-- name: count_fyi
-- Pending items that wake nobody, and such broadcasts that were not taken yet; counted up to a limit.
SELECT count(*) AS total
FROM (
    SELECT arrival
    FROM pending
    WHERE recipient = :recipient AND priority = 4 AND (expires_at IS NULL OR expires_at > :now)
        AND (hidden_until IS NULL OR hidden_until <= :now)
    UNION ALL
    SELECT arrival
    FROM pending_broadcasts
    WHERE recipient = :recipient AND priority = 4 AND (expires_at IS NULL OR expires_at > :now)
    LIMIT :limit
) AS counted

-- name: has_pending_key
-- Whether an item of this source waits whose key matches a pattern.
SELECT TRUE AS has_key
FROM pending i
JOIN events e ON e.arrival = i.arrival
WHERE i.recipient = :recipient AND i.source = :source AND e.dedup_key LIKE :pattern
    AND (i.expires_at IS NULL OR i.expires_at > :now)
LIMIT 1

-- name: find_oldest_pending
-- The time of the oldest pending item of an agent or a service.
SELECT created_at
FROM events
WHERE arrival = (
    SELECT i.arrival
    FROM pending i
    JOIN entities r ON r.number = i.recipient
    WHERE (i.expires_at IS NULL OR i.expires_at > :now)
        AND (i.hidden_until IS NULL OR i.hidden_until <= :now)
        AND r.kind <> 'human' AND r.retired_at IS NULL
    ORDER BY i.arrival
    LIMIT 1
)

-- name: classes (part)
-- Pending items of one inbox lie in the order of their arrival within each of these.
classes (priority, is_from_machine) AS (
    VALUES
        (0, FALSE), (0, TRUE), (1, FALSE), (1, TRUE), (2, FALSE), (2, TRUE), (3, FALSE), (3, TRUE), (4, FALSE), (4, TRUE)
)

-- name: list_classes (sqlite)
-- Those that an inbox has items of.
WITH {classes}
SELECT c.priority, c.is_from_machine
FROM classes c
WHERE EXISTS (
    SELECT 1
    FROM pending i
    WHERE i.recipient = :recipient AND i.priority = c.priority AND i.is_from_machine = c.is_from_machine
)

-- name: of_class (part)
-- The pending items of a class. Whole rows are compared, because by equal columns PostgreSQL may take another index or
-- none, and reads the whole inbox to find that a class has no items.
(p.recipient, p.priority, p.is_from_machine, p.arrival) > (:recipient, c.priority, c.is_from_machine, 0)
    AND (p.recipient, p.priority, p.is_from_machine, p.arrival)
        < (:recipient, c.priority, c.is_from_machine, 9223372036854775807)

-- name: list_classes (postgres)
-- Those that an inbox has items of.
WITH {classes}
SELECT c.priority, c.is_from_machine
FROM classes c
WHERE (
    SELECT TRUE
    FROM pending p
    WHERE {of_class}
    ORDER BY p.recipient, p.priority, p.is_from_machine, p.arrival
    LIMIT 1
)

-- name: chain_steps (part)
step (recipient, arrival, hops, is_last, steps) AS (
    SELECT number, 9223372036854775807, CAST(NULL AS INTEGER), FALSE, 0 FROM entities WHERE number IN :entities[]
    UNION ALL
    SELECT
        step.recipient,
        e.arrival,
        CASE
            WHEN e.sender = step.recipient
                AND EXISTS (SELECT 1 FROM pending i WHERE i.arrival = e.arrival AND i.recipient = step.recipient)
            THEN e.hops - 1 ELSE e.hops
        END,
        e.hops = 0 AND EXISTS (SELECT 1 FROM entities s WHERE s.number = e.sender AND s.kind = 'human'),
        step.steps + 1
    FROM step
    JOIN events e ON e.arrival = (
        SELECT max(last.arrival)
        FROM (
            SELECT max(i.arrival) AS arrival
            FROM past i
            WHERE i.recipient = step.recipient AND i.arrival < step.arrival
            UNION ALL

-- name: longest_chains (part)
FROM classes c
        ) AS last
    )
    WHERE NOT step.is_last AND step.steps < :limit AND e.created_at > :since AND e.created_at < :until
)
SELECT recipient, max(hops) AS hops
FROM (
    SELECT recipient, hops FROM step WHERE hops IS NOT NULL
    UNION ALL
    SELECT agent, hops FROM runs WHERE agent IN :entities[] AND status = 'running'
) AS links
GROUP BY recipient

-- name: find_longest_chains (sqlite)
-- The longest chain before the next event of each of these entities: of its open run, and of the items in its inbox.
-- The items are stepped through, newest first, back to the last one from a person, to `since`, or for `limit` items. An
-- item that the entity sent to itself and has not read yet is not before its next event, but beside it.
WITH RECURSIVE {classes},
{chain_steps}
            SELECT (
                SELECT max(i.arrival)
                FROM pending i
                WHERE i.recipient = step.recipient AND i.priority = c.priority
                    AND i.is_from_machine = c.is_from_machine AND i.arrival < step.arrival
            )
            {longest_chains}

-- name: find_longest_chains (postgres)
-- The same. Rows are compared as in `of_class`.
WITH RECURSIVE {classes},
{chain_steps}
            SELECT (
                SELECT p.arrival
                FROM pending p
                WHERE (p.recipient, p.priority, p.is_from_machine, p.arrival)
                        > (step.recipient, c.priority, c.is_from_machine, 0)
                    AND (p.recipient, p.priority, p.is_from_machine, p.arrival)
                        < (step.recipient, c.priority, c.is_from_machine, step.arrival)
                ORDER BY p.recipient DESC, p.priority DESC, p.is_from_machine DESC, p.arrival DESC
                LIMIT 1
            )
            {longest_chains}

-- name: read
SELECT * FROM inbox_items WHERE recipient = :recipient AND arrival IN :arrivals[] ORDER BY priority, arrival

-- name: peek_filters (part)
-- The type is looked up for one item after another: a join could begin with all events of that type.
    (j.expires_at IS NULL OR j.expires_at > :now)
    AND (j.hidden_until IS NULL OR j.hidden_until <= :now)
    AND (
        CAST(:type AS TEXT) IS NULL
        OR (SELECT e.type FROM events e WHERE e.arrival = j.arrival) = CAST(:type AS TEXT)
    )

-- name: peek_broadcasts (part)
SELECT *
FROM pending_broadcasts
WHERE recipient = :recipient AND priority >= :priority AND (priority > :priority OR arrival > :arrival)
    AND (expires_at IS NULL OR expires_at > :now) AND (CAST(:type AS TEXT) IS NULL OR type = CAST(:type AS TEXT))
ORDER BY priority, arrival
LIMIT :limit

-- name: peek (sqlite)
-- After the item of a priority and an arrival: the first of each class, and of these the first with their events. No
-- class is read further than to the limit, so an inbox is never sorted as a whole.
WITH {classes},
page AS MATERIALIZED (
    SELECT i.arrival
    FROM classes c
    CROSS JOIN pending i ON i.recipient = :recipient AND i.priority = c.priority
        AND i.is_from_machine = c.is_from_machine AND i.arrival IN (
            SELECT j.arrival
            FROM pending j
            WHERE j.recipient = :recipient AND j.priority = c.priority AND j.is_from_machine = c.is_from_machine
                AND j.arrival > CASE WHEN c.priority = :priority THEN :arrival ELSE 0 END
                AND {peek_filters}
            ORDER BY j.arrival
            LIMIT :limit
        )
    WHERE c.priority >= :priority
    ORDER BY i.priority, i.arrival
    LIMIT :limit
)
SELECT item.*
FROM page
CROSS JOIN inbox_items item ON item.recipient = :recipient AND item.arrival = page.arrival
UNION ALL
{peek_broadcasts}

-- name: peek (postgres)
-- The same. Rows are compared as in `of_class`; OFFSET keeps the planner from another index too, and from reading the
-- whole inbox for the page.
WITH {classes},
page AS MATERIALIZED (
    SELECT i.arrival
    FROM classes c
    CROSS JOIN LATERAL (
        SELECT j.arrival
        FROM (
            SELECT p.arrival, p.expires_at, p.hidden_until
            FROM pending p
            WHERE (p.recipient, p.priority, p.is_from_machine, p.arrival) > (
                    :recipient, c.priority, c.is_from_machine,
                    CASE WHEN c.priority = :priority THEN CAST(:arrival AS BIGINT) ELSE 0 END
                )
                AND (p.recipient, p.priority, p.is_from_machine, p.arrival)
                    < (:recipient, c.priority, c.is_from_machine, 9223372036854775807)
            ORDER BY p.recipient, p.priority, p.is_from_machine, p.arrival
            OFFSET 0
        ) AS j
        WHERE {peek_filters}
        LIMIT :limit
    ) AS i
    WHERE c.priority >= :priority
    ORDER BY c.priority, i.arrival
    LIMIT :limit
)
SELECT item.*
FROM page
CROSS JOIN LATERAL (
    SELECT * FROM inbox_items WHERE recipient = :recipient AND arrival = page.arrival OFFSET 0
) AS item
UNION ALL
{peek_broadcasts}

-- name: list_since (sqlite)
-- The items of an inbox after one position, up to another; a broadcast that was not taken yet is shown as the item that
-- it will be. There is one writer, so the arrival is the position; transactions have no number. Of what is pending only
-- the new part is read, in all inboxes (the plus forbids another index).
WITH page AS MATERIALIZED (
    SELECT arrival
    FROM past
    WHERE recipient = :recipient AND arrival > :after_arrival AND arrival <= :to_arrival
    UNION ALL
    SELECT arrival
    FROM pending
    WHERE +recipient = :recipient AND arrival > :after_arrival AND arrival <= :to_arrival
    UNION ALL
    SELECT arrival
    FROM pending_broadcasts
    WHERE recipient = :recipient AND arrival > :after_arrival AND arrival <= :to_arrival
        AND (expires_at IS NULL OR expires_at > :now)
    ORDER BY arrival
    LIMIT :limit
)
SELECT :after_transaction + :to_transaction AS xid, item.*
FROM page
CROSS JOIN inbox_items item ON item.recipient = :recipient AND item.arrival = page.arrival
UNION ALL
SELECT :after_transaction + :to_transaction AS xid, item.*
FROM page
CROSS JOIN pending_broadcasts item ON item.recipient = :recipient AND item.arrival = page.arrival
ORDER BY arrival

-- name: list_since (postgres)
-- The items of an inbox after one position, up to another; a broadcast that was not taken yet is shown as the item that
-- it will be. Events are walked in their order, and each is looked up in the inbox: the cost grows with the new events
-- only (OFFSET keeps the planner from reading the whole inbox first). Only events with an item are then read in full.
WITH page AS MATERIALIZED (
    SELECT e.xid, e.arrival
    FROM events e
    WHERE (e.xid, e.arrival) > (:after_transaction::text::xid8, :after_arrival)
        AND (e.xid, e.arrival) <= (:to_transaction::text::xid8, :to_arrival)
        AND (
            EXISTS (SELECT 1 FROM items i WHERE i.recipient = :recipient AND i.arrival = e.arrival OFFSET 0)
            OR EXISTS (
                SELECT 1 FROM pending_broadcasts o
                WHERE o.recipient = :recipient AND o.arrival = e.arrival
                    AND (o.expires_at IS NULL OR o.expires_at > :now)
                OFFSET 0
            )
        )
    ORDER BY e.xid, e.arrival
    LIMIT :limit
)
SELECT page.xid::text::bigint AS xid, item.*
FROM page
CROSS JOIN LATERAL (
    SELECT * FROM inbox_items WHERE recipient = :recipient AND arrival = page.arrival
    UNION ALL
    SELECT * FROM pending_broadcasts WHERE recipient = :recipient AND arrival = page.arrival
) AS item
ORDER BY page.xid, page.arrival

-- name: list_by_event
-- Content and data are in the first row only: they may be large, and the items many.
SELECT
    recipient, arrival, recipient_name, id, type, source, sender_name, sender_display, sender_kind, subject,
    CASE WHEN row_number() OVER (ORDER BY recipient) = 1 THEN content END AS content,
    CASE WHEN row_number() OVER (ORDER BY recipient) = 1 THEN data END AS data,
    priority, dedup_key, created_at, expires_at, ref_type, ref_id, route_channel, route_session, hops, trust, wakes,
    state, attempts, seen_at, ended_at, claim_kind, claim_owner, claim_at, occurred_at, times, hidden_until, awaits
FROM inbox_items
WHERE id = :event AND (CAST(:recipient AS BIGINT) IS NULL OR recipient = CAST(:recipient AS BIGINT))
ORDER BY recipient

-- name: list_by_broadcast
SELECT * FROM pending_broadcasts WHERE id = :event ORDER BY recipient LIMIT :limit

-- name: list_last_prompts (sqlite)
-- The prompts of a session among the last items of a recipient, the newest first.
WITH {classes}
SELECT e.id, e.route_channel AS channel, e.source
FROM events e
WHERE e.type = 'channel' AND e.route_session = :session AND e.arrival IN (
    SELECT last.arrival
    FROM (
        SELECT arrival FROM (
            SELECT arrival FROM past WHERE recipient = :recipient ORDER BY arrival DESC LIMIT :limit
        ) AS read_items
        UNION ALL
        SELECT i.arrival
        FROM classes c
        JOIN pending i ON i.recipient = :recipient AND i.arrival IN (
            SELECT j.arrival
            FROM pending j
            WHERE j.recipient = :recipient AND j.priority = c.priority AND j.is_from_machine = c.is_from_machine
            ORDER BY j.arrival DESC
            LIMIT :limit
        )
    ) AS last
)
ORDER BY e.arrival DESC
LIMIT :limit

-- name: list_last_prompts (postgres)
-- The same.
WITH {classes}
SELECT e.id, e.route_channel AS channel, e.source
FROM events e
WHERE e.type = 'channel' AND e.route_session = :session AND e.arrival IN (
    SELECT last.arrival
    FROM (
        SELECT arrival FROM (
            SELECT arrival FROM past WHERE recipient = :recipient ORDER BY arrival DESC LIMIT :limit
        ) AS read_items
        UNION ALL
        SELECT i.arrival
        FROM classes c
        CROSS JOIN LATERAL (
            SELECT p.arrival
            FROM pending p
            WHERE {of_class}
            ORDER BY p.recipient DESC, p.priority DESC, p.is_from_machine DESC, p.arrival DESC
            LIMIT :limit
        ) AS i
    ) AS last
)
ORDER BY e.arrival DESC
LIMIT :limit
