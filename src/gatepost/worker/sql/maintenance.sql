-- name: list_due_tasks
-- The tasks of the janitor that have something to do: each condition is that of the task's own statements.
SELECT 'lapse claims' AS task
WHERE EXISTS (
    SELECT 1
    FROM claims
    WHERE ended_at IS NULL AND (deadline <= :now OR (deadline IS NOT NULL AND taken_at > :future))
)
UNION ALL
SELECT 'expire items'
WHERE EXISTS (SELECT 1 FROM pending WHERE expires_at IS NOT NULL AND expires_at <= :now)
UNION ALL
SELECT 'return snoozed items'
WHERE EXISTS (SELECT 1 FROM pending WHERE hidden_until IS NOT NULL AND hidden_until <= :now)
UNION ALL
SELECT 'remove old rows'
WHERE EXISTS (
    SELECT 1 FROM past WHERE state <> 'dead' AND ended_at <= :before
) OR EXISTS (
    SELECT 1
    FROM claims c
    WHERE c.ended_at IS NOT NULL AND c.ended_at <= :before
        AND (
            EXISTS (SELECT 1 FROM past i WHERE i.claim = c.number AND i.state = 'taken')
            OR (
                NOT EXISTS (SELECT 1 FROM pending i WHERE i.claim = c.number)
                AND NOT EXISTS (SELECT 1 FROM past i WHERE i.claim = c.number)
            )
        )
) OR EXISTS (
    SELECT 1
    FROM broadcasts b
    WHERE (b.expires_at IS NOT NULL AND b.expires_at <= :broadcasts_before)
        OR (
            (SELECT e.created_at FROM events e WHERE e.arrival = b.arrival) <= :broadcasts_before
            AND b.number <= (
                SELECT coalesce(min(i.cursor), b.number)
                FROM inboxes i
                JOIN entities e ON e.number = i.recipient
                WHERE e.kind = 'agent' AND e.retired_at IS NULL
            )
        )
) OR EXISTS (
    SELECT 1 FROM jobs WHERE ended_at IS NOT NULL AND ended_at <= :before
) OR EXISTS (
    SELECT 1 FROM plans WHERE ended_at IS NOT NULL AND ended_at <= :before
) OR EXISTS (
    SELECT 1
    FROM gates g
    WHERE g.ended_at IS NOT NULL AND g.ended_at <= :before AND g.kind <> 'decision'
        AND NOT EXISTS (SELECT 1 FROM plans p WHERE p.gate = g.number)
) OR EXISTS (
    SELECT 1 FROM idempotency_keys WHERE created_at <= :before
) OR EXISTS (
    SELECT 1
    FROM channel_messages
    WHERE state <> 'pending' AND sent_at <= :before AND replaces IS NULL AND decision IS NULL AND options IS NULL
)
UNION ALL
SELECT 'expire calls'
WHERE EXISTS (
    SELECT 1 FROM calls WHERE status = 'pending' AND expires_at <= :now
) OR EXISTS (
    SELECT 1
    FROM runs r
    JOIN entities e ON e.number = r.agent
    WHERE r.status = 'running' AND e.retired_at IS NOT NULL
)
UNION ALL
SELECT 'report unread mail'
WHERE EXISTS (SELECT 1 FROM outgoing WHERE ack = 'pending' AND ack_deadline <= :now)
UNION ALL
SELECT 'deliver mail'
WHERE EXISTS (SELECT 1 FROM outgoing WHERE deliver_at <= :now AND deliver_at IS NOT NULL)
UNION ALL
SELECT 'report unseen items'
WHERE EXISTS (
    SELECT 1
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
            SELECT 1
            FROM dedup_keys d
            WHERE d.dedup_key = CAST(:unseen_key AS TEXT) || v.id || '/' || e.name
                AND d.recipient IN (SELECT o.number FROM entities o WHERE o.number = e.owner OR o.name = 'admin')
        )
)

-- name: read_note
SELECT deadline AS noted_at, fence AS digest FROM leases WHERE name = 'clock'

-- name: write_note
INSERT INTO leases (name, holder, fence, deadline)
VALUES ('clock', '', :digest, :now)
ON CONFLICT (name) DO UPDATE SET deadline = excluded.deadline, fence = excluded.fence

-- name: digest_waits
-- Another number whenever a time changes that a repair of the clock computes anew. The rests of agents have no index; an
-- event or a run comes before each of them.
SELECT CAST(coalesce(sum(at % 1000000007 + 1), 0) AS BIGINT) AS digest
FROM (
    SELECT next_at AS at FROM plans WHERE status = 'pending' AND active
    UNION ALL
    SELECT next_at FROM triggers WHERE next_at IS NOT NULL
    UNION ALL
    SELECT due_at + coalesce(deadline, 0) FROM jobs WHERE ended_at IS NULL
    UNION ALL
    SELECT check_at FROM gates WHERE ended_at IS NULL AND check_at IS NOT NULL
    UNION ALL
    SELECT max(arrival) FROM events
    UNION ALL
    SELECT max(number) FROM runs
) times
