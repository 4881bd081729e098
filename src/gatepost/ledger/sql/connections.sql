-- name: insert
INSERT INTO connections
    (id, network, entity, peer_account, peer_inbound, is_incoming, state, request, note, created_at)
VALUES (:id, :network, :entity, :peer_account, :peer_inbound, :is_incoming, 'requested', :request, :note, :now)

-- name: find
SELECT * FROM connection_details WHERE id = :id

-- name: find_by_topic
SELECT d.* FROM connections c JOIN connection_details d ON d.number = c.number
WHERE c.topic = :topic AND c.topic IS NOT NULL

-- name: find_open
SELECT d.* FROM connections c JOIN connection_details d ON d.number = c.number
WHERE c.peer = :peer AND c.entity = :entity AND c.network = :network AND c.state = 'open' AND c.peer IS NOT NULL
ORDER BY c.number DESC
LIMIT 1

-- name: is_peer
SELECT TRUE AS is_peer FROM connections WHERE peer = :peer AND peer IS NOT NULL LIMIT 1

-- name: list_requested
-- The requests of an entity that its peer has not answered, by the peer's inbound topic.
SELECT * FROM connection_details
WHERE network = :network AND peer_inbound = :inbound AND state = 'requested' AND NOT is_incoming
    AND request IS NOT NULL

-- name: count_requested
SELECT count(*) AS total FROM connections
WHERE network = :network AND entity = :entity AND is_incoming AND state = 'requested'

-- name: find_pending
-- A connection of the two that is asked for or open.
SELECT d.* FROM connections c JOIN connection_details d ON d.number = c.number
WHERE c.network = :network AND c.entity = :entity AND c.peer_account = :peer_account
    AND c.state IN ('requested', 'accepting', 'open')
ORDER BY c.number
LIMIT 1

-- name: find_peer
SELECT e.name
FROM connections c
JOIN entities e ON e.number = c.peer
WHERE c.network = :network AND c.peer_account = :account AND c.peer IS NOT NULL
ORDER BY e.retired_at IS NOT NULL, c.number
LIMIT 1

-- name: has_refused
SELECT TRUE AS has_refused FROM connections
WHERE network = :network AND entity = :entity AND peer_account = :peer_account AND state = 'refused'
    AND ended_at >= :since
LIMIT 1

-- name: list_page
SELECT * FROM connection_details
WHERE number > :after
    AND (CAST(:network AS text) IS NULL OR network = CAST(:network AS text))
    AND (CAST(:state AS text) IS NULL OR state = CAST(:state AS text))
    AND (CAST(:entity AS text) IS NULL OR entity = CAST(:entity AS text))
    AND (CAST(:is_incoming AS boolean) IS NULL OR is_incoming = CAST(:is_incoming AS boolean))
ORDER BY number
LIMIT :limit

-- name: set_state
UPDATE connections
SET state = :state, ended_at = CASE WHEN :state IN ('refused', 'closed') THEN CAST(:now AS bigint) ELSE NULL END
WHERE number = :number AND state IN :before[]

-- name: set_request
UPDATE connections SET request = :request, peer_inbound = :peer_inbound WHERE number = :number

-- name: open
UPDATE connections SET state = 'open', peer = :peer, topic = :topic WHERE number = :number

-- name: count_message
UPDATE connections
SET hour_count = CASE WHEN hour = :hour THEN hour_count + 1 ELSE 1 END, hour = :hour
WHERE number = :number

-- name: read_message_count
SELECT hour_count FROM connections WHERE number = :number AND hour = :hour
