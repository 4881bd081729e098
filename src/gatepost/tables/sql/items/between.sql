-- The items of some events, what they have still to take of broadcasts included, from one place on.
SELECT * FROM (
    SELECT
        arrival, recipient, recipient_name, id, state, dedup_key, expires_at, wakes, attempts, seen_at, ended_at,
        claim_kind, claim_owner, claim_at
    FROM inbox
    WHERE arrival BETWEEN :first AND :last
    UNION ALL
    SELECT
        arrival, recipient, recipient_name, id, state, dedup_key, expires_at, wakes, attempts, seen_at, ended_at,
        claim_kind, claim_owner, claim_at
    FROM outbox
    WHERE arrival BETWEEN :first AND :last AND (expires_at IS NULL OR expires_at > :now)
) AS item
WHERE arrival > :arrival OR (arrival = :arrival AND recipient > :recipient)
ORDER BY arrival, recipient
LIMIT :most
