-- name: account (part)
SELECT
    e.number, e.name,
    coalesce(t.accepted, 0) AS accepted,
    CAST(coalesce(sum(CASE WHEN i.state = 'pending' THEN i.items END), 0) AS BIGINT) AS pending,
    CAST(coalesce(sum(CASE WHEN i.state = 'claimed' THEN i.items END), 0) AS BIGINT) AS claimed,
    CAST(
        coalesce(sum(CASE WHEN i.state = 'delivered' THEN i.items END), 0) + coalesce(max(t.delivered), 0) AS BIGINT
    ) AS delivered,
    CAST(
        coalesce(sum(CASE WHEN i.state = 'expired' THEN i.items END), 0) + coalesce(max(t.expired), 0) AS BIGINT
    ) AS expired,
    CAST(coalesce(sum(CASE WHEN i.state = 'dead' THEN i.items END), 0) AS BIGINT) AS dead,
    CAST(
        coalesce(sum(CASE WHEN i.state = 'discarded' THEN i.items END), 0) + coalesce(max(t.discarded), 0) AS BIGINT
    ) AS discarded,
    CAST(coalesce(max(i.hidden), 0) AS BIGINT) AS hidden
FROM entities e
LEFT JOIN accounts t ON t.recipient = e.number
LEFT JOIN (
    SELECT
        recipient, 'pending' AS state, count(*) AS items, sum(CASE WHEN hidden_until > :now THEN 1 ELSE 0 END) AS hidden
    FROM pending
    WHERE CAST(:recipient AS BIGINT) IS NULL OR recipient = CAST(:recipient AS BIGINT)
    GROUP BY recipient
    UNION ALL
    SELECT
        p.recipient,
        CASE WHEN p.state <> 'taken' THEN p.state WHEN c.outcome = 'acked' THEN 'delivered' ELSE 'claimed' END,
        p.items, 0
    FROM (
        SELECT recipient, state, claim, count(*) AS items
        FROM past
        WHERE CAST(:recipient AS BIGINT) IS NULL OR recipient = CAST(:recipient AS BIGINT)
        GROUP BY recipient, state, claim
    ) p
    LEFT JOIN claims c ON c.number = p.claim
) i ON i.recipient = e.number
WHERE CAST(:recipient AS BIGINT) IS NULL OR e.number = CAST(:recipient AS BIGINT)
GROUP BY e.number, e.name, t.accepted

-- name: read
-- The accounts of one recipient, or of all. It is one statement, so that both sides are of the same moment.
{account}
ORDER BY e.number

-- name: list_page
-- The sums of all accounts, in each row, and some of the accounts: first those that do not balance, then those with the
-- most items that wait or are dead. It is one statement for the same reason. Without accounts it has one row.
WITH account AS MATERIALIZED (
    {account}
), judged AS (
    SELECT
        *, pending + claimed + dead AS open_items,
        CASE WHEN accepted = pending + claimed + delivered + expired + dead + discarded THEN 1 ELSE 0 END AS balanced
    FROM account
), page AS (
    SELECT * FROM judged
    WHERE NOT CAST(:unbalanced AS BOOLEAN) OR balanced = 0
    ORDER BY balanced, open_items DESC, number
    LIMIT :limit OFFSET :after
), total AS (
    SELECT
        count(*) AS inboxes, CAST(coalesce(sum(1 - balanced), 0) AS BIGINT) AS total_unbalanced,
        CAST(coalesce(sum(accepted), 0) AS BIGINT) AS total_accepted,
        CAST(coalesce(sum(pending), 0) AS BIGINT) AS total_pending,
        CAST(coalesce(sum(claimed), 0) AS BIGINT) AS total_claimed,
        CAST(coalesce(sum(delivered), 0) AS BIGINT) AS total_delivered,
        CAST(coalesce(sum(expired), 0) AS BIGINT) AS total_expired,
        CAST(coalesce(sum(dead), 0) AS BIGINT) AS total_dead,
        CAST(coalesce(sum(discarded), 0) AS BIGINT) AS total_discarded
    FROM judged
)
SELECT
    total.*, p.name, p.accepted, p.pending, p.claimed, p.delivered, p.expired, p.dead, p.discarded, p.hidden
FROM total LEFT JOIN page p ON TRUE
ORDER BY p.balanced, p.open_items DESC, p.number

-- name: add (sqlite)
INSERT INTO accounts (recipient, accepted, delivered, expired, discarded)
VALUES (:recipient, :accepted, :delivered, :expired, :discarded)
ON CONFLICT (recipient) DO UPDATE SET
    accepted = accepted + excluded.accepted,
    delivered = delivered + excluded.delivered,
    expired = expired + excluded.expired,
    discarded = discarded + excluded.discarded

-- name: add (postgres)
INSERT INTO accounts (recipient, accepted, delivered, expired, discarded)
SELECT * FROM unnest(
    :recipient::bigint[], :accepted::bigint[], :delivered::bigint[], :expired::bigint[], :discarded::bigint[]
)
ON CONFLICT (recipient) DO UPDATE SET
    accepted = accounts.accepted + excluded.accepted,
    delivered = accounts.delivered + excluded.delivered,
    expired = accounts.expired + excluded.expired,
    discarded = accounts.discarded + excluded.discarded
