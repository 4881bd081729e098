-- name: take_number
UPDATE counters SET value = value + 1 WHERE name = 'ledger' RETURNING value

-- name: find_account
SELECT account FROM ledger_accounts WHERE entity = :entity

-- name: insert_account
INSERT INTO ledger_accounts (entity, account, created_at) VALUES (:entity, :account, :now)

-- name: insert
INSERT INTO topics (id, kind, memo, entity, work_item, last_sequence, last_timestamp, running_hash, created_at)
VALUES (:id, :kind, :memo, :entity, :work_item, 0, 0, :running_hash, :now)

-- name: find
SELECT * FROM topic_details WHERE id = :id

-- name: find_by_entity
SELECT d.* FROM topics t JOIN topic_details d ON d.number = t.number WHERE t.entity = :entity AND t.kind = :kind

-- name: find_by_work_item
SELECT d.* FROM topics t JOIN topic_details d ON d.number = t.number WHERE t.work_item = :work_item

-- name: find_by_kind
SELECT * FROM topic_details WHERE kind = :kind

-- name: find_by_memo
SELECT * FROM topic_details WHERE kind = 'file' AND memo = :memo

-- name: lock_creation
-- Of two that would make the same topic, the second waits and then finds it.
UPDATE counters SET value = value WHERE name = 'ledger'

-- name: lock
SELECT last_sequence, last_timestamp, running_hash FROM topics WHERE number = :number FOR UPDATE

-- name: advance
UPDATE topics
SET last_sequence = :sequence, last_timestamp = :timestamp, running_hash = :running_hash
WHERE number = :number

-- name: list_page
SELECT d.*
FROM topics t
JOIN topic_details d ON d.number = t.number
WHERE t.number > :after
    AND (CAST(:kind AS text) IS NULL OR t.kind = CAST(:kind AS text))
    AND (
        CAST(:viewer AS bigint) IS NULL
        OR t.entity = CAST(:viewer AS bigint)
        OR t.kind IN ('work', 'broadcast')
    )
ORDER BY t.number
LIMIT :limit

-- name: insert_messages (sqlite)
INSERT INTO topic_messages
    (topic, sequence, timestamp, payer, content, running_hash, chunk_transaction, chunk_number, chunk_total, outgoing)
VALUES
    (:topic, :sequence, :timestamp, :payer, :content, :running_hash, :chunk_transaction, :chunk_number, :chunk_total,
     :outgoing)

-- name: insert_messages (postgres)
INSERT INTO topic_messages
    (topic, sequence, timestamp, payer, content, running_hash, chunk_transaction, chunk_number, chunk_total, outgoing)
SELECT * FROM unnest(
    :topic::bigint[], :sequence::bigint[], :timestamp::bigint[], :payer::text[], :content::text[],
    :running_hash::text[], :chunk_transaction::text[], :chunk_number::bigint[], :chunk_total::bigint[],
    :outgoing::bigint[]
)

-- name: list_messages
SELECT
    m.sequence, m.timestamp, m.payer, m.content, m.running_hash, m.chunk_transaction, m.chunk_number, m.chunk_total,
    o.data AS outgoing_data
FROM topic_messages m
LEFT JOIN outgoing o ON o.number = m.outgoing
WHERE m.topic = :topic AND m.sequence > :after
ORDER BY m.sequence
LIMIT :limit
