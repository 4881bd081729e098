-- name: take_number
UPDATE counters SET value = value + 1 WHERE name = 'ledger' RETURNING value

-- name: find_account
SELECT account FROM ledger_accounts WHERE network = :network AND entity = :entity

-- name: find_accounts
SELECT entity, account FROM ledger_accounts WHERE network = :network AND entity IN :entities[]

-- name: find_account_owner
SELECT e.number, e.name, e.kind, e.display, e.team, e.role, o.name AS owner, e.created_at, e.retired_at
FROM ledger_accounts a
JOIN entities e ON e.number = a.entity
LEFT JOIN entities o ON o.number = e.owner
WHERE a.network = :network AND a.account = :account

-- name: insert_account
INSERT INTO ledger_accounts (network, entity, account, created_at) VALUES (:network, :entity, :account, :now)

-- name: read_profile
SELECT profile, profile_topic FROM ledger_accounts WHERE network = :network AND entity = :entity

-- name: save_profile
UPDATE ledger_accounts SET profile = :profile, profile_topic = :profile_topic
WHERE network = :network AND entity = :entity

-- name: insert
INSERT INTO topics
    (network, id, kind, memo, entity, work_item, last_sequence, last_timestamp, running_hash, created_at)
VALUES (:network, :id, :kind, :memo, :entity, :work_item, :last_sequence, 0, :running_hash, :now)

-- name: find
SELECT * FROM topic_details WHERE network = :network AND id = :id

-- name: find_by_number
SELECT * FROM topic_details WHERE number = :number

-- name: find_by_entity
SELECT d.* FROM topics t JOIN topic_details d ON d.number = t.number 
WHERE t.entity = :entity AND t.network = :network AND t.kind = :kind AND t.kind IN ('inbound', 'outbound')

-- name: find_by_work_item
SELECT d.* FROM topics t JOIN topic_details d ON d.number = t.number 
WHERE t.work_item = :work_item AND t.network = :network

-- name: find_by_kind
SELECT * FROM topic_details WHERE network = :network AND kind = :kind

-- name: find_by_memo
SELECT * FROM topic_details WHERE network = :network AND kind = 'file' AND memo = :memo

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
WHERE t.number > :after AND t.network = :network
    AND (CAST(:kind AS text) IS NULL OR t.kind = CAST(:kind AS text))
    AND (
        CAST(:viewer AS bigint) IS NULL
        OR t.entity = CAST(:viewer AS bigint)
        OR t.kind IN ('work', 'broadcast', 'definitions')
    )
ORDER BY t.number
LIMIT :limit

-- name: insert_messages (sqlite)
INSERT INTO topic_messages
    (topic, sequence, timestamp, payer, content, running_hash, chunk_transaction, chunk_number, chunk_total, outgoing,
     refused)
VALUES
    (:topic, :sequence, :timestamp, :payer, :content, :running_hash, :chunk_transaction, :chunk_number, :chunk_total,
     :outgoing, :refused)

-- name: insert_messages (postgres)
INSERT INTO topic_messages
    (topic, sequence, timestamp, payer, content, running_hash, chunk_transaction, chunk_number, chunk_total, outgoing,
     refused)
SELECT * FROM unnest(
    :topic::bigint[], :sequence::bigint[], :timestamp::bigint[], :payer::text[], :content::text[],
    :running_hash::text[], :chunk_transaction::text[], :chunk_number::bigint[], :chunk_total::bigint[],
    :outgoing::bigint[], :refused::text[]
)

-- name: list_messages
SELECT
    m.sequence, m.timestamp, m.payer, m.content, m.running_hash, m.chunk_transaction, m.chunk_number, m.chunk_total,
    m.refused, o.data AS outgoing_data
FROM topic_messages m
LEFT JOIN outgoing o ON o.number = m.outgoing
WHERE m.topic = :topic AND m.sequence > :after AND (NOT :refused_only OR m.refused IS NOT NULL)
ORDER BY m.sequence
LIMIT :limit

-- name: list_chunks
SELECT sequence, timestamp, payer, content, running_hash, chunk_transaction, chunk_number, chunk_total, refused
FROM topic_messages
WHERE topic = :topic AND chunk_transaction = :transaction AND chunk_transaction IS NOT NULL
ORDER BY sequence
LIMIT :limit

-- name: list_kinds
-- Without topics of connections that have ended before, and of agents outside that were not asked, or have answered.
SELECT d.*
FROM topics t
JOIN topic_details d ON d.number = t.number
WHERE t.network = :network AND t.kind IN :kinds[] AND t.number > :after
    AND (
        t.kind <> 'connection'
        OR EXISTS (
            SELECT 1 FROM connections c
            WHERE c.topic = t.number AND (c.state IN ('open', 'closing') OR c.ended_at >= :since)
        )
    )
    AND (
        t.kind <> 'peer'
        OR EXISTS (
            SELECT 1 FROM connections c
            WHERE c.peer_inbound = t.id AND c.network = t.network AND c.state IN ('requested', 'accepting')
        )
    )
ORDER BY t.number
LIMIT :limit

-- name: count_posted
SELECT count(*) AS total FROM outgoing WHERE posted_at >= :since
