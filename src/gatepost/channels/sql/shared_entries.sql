-- name: take_number
-- One lock for all entries: they and their changes become visible in the order of their numbers.
UPDATE counters SET value = value + 1 WHERE name = 'shared' RETURNING value

-- name: insert
INSERT INTO shared_entries
    (number, id, kind, channel, session, trigger, sender, person, display, content, status, metadata, decision,
     created_at, position)
VALUES
    (:number, :id, :kind, :channel, :session, :trigger, :sender, :person, :display, :content, :status, :metadata,
     :decision, :now, :number)

-- name: list_page
SELECT e.*, t.name AS trigger_name, s.name AS sender_name, d.id AS decision_id
FROM shared_entries e
LEFT JOIN triggers t ON t.number = e.trigger
LEFT JOIN entities s ON s.number = e.sender
LEFT JOIN decisions d ON d.number = e.decision
WHERE e.number > :after
    AND (CAST(:channel AS text) IS NULL OR e.channel = CAST(:channel AS text))
    AND (CAST(:session AS text) IS NULL OR e.session = CAST(:session AS text))
    AND (CAST(:kind AS text) IS NULL OR e.kind = CAST(:kind AS text))
    AND (NOT :is_pending OR e.status = 'pending')
    AND (CAST(:person AS bigint) IS NULL OR e.person = CAST(:person AS bigint))
ORDER BY e.number
LIMIT :limit

-- name: find
SELECT e.*, t.name AS trigger_name, s.name AS sender_name, d.id AS decision_id
FROM shared_entries e
LEFT JOIN triggers t ON t.number = e.trigger
LEFT JOIN entities s ON s.number = e.sender
LEFT JOIN decisions d ON d.number = e.decision
WHERE e.id = :id AND (CAST(:person AS bigint) IS NULL OR e.person = CAST(:person AS bigint))

-- name: list_changes
-- New entries and those that have changed, in that order.
SELECT e.*, t.name AS trigger_name, s.name AS sender_name, d.id AS decision_id
FROM shared_entries e
LEFT JOIN triggers t ON t.number = e.trigger
LEFT JOIN entities s ON s.number = e.sender
LEFT JOIN decisions d ON d.number = e.decision
WHERE e.position > :after
    AND (CAST(:channel AS text) IS NULL OR e.channel = CAST(:channel AS text))
    AND (CAST(:session AS text) IS NULL OR e.session = CAST(:session AS text))
    AND (CAST(:kind AS text) IS NULL OR e.kind = CAST(:kind AS text))
    AND (NOT :is_pending OR e.status = 'pending')
    AND (CAST(:person AS bigint) IS NULL OR e.person = CAST(:person AS bigint))
ORDER BY e.position
LIMIT :limit

-- name: list_recent
SELECT e.*, t.name AS trigger_name, s.name AS sender_name, d.id AS decision_id
FROM shared_entries e
LEFT JOIN triggers t ON t.number = e.trigger
LEFT JOIN entities s ON s.number = e.sender
LEFT JOIN decisions d ON d.number = e.decision
WHERE (CAST(:before AS bigint) IS NULL OR e.number < CAST(:before AS bigint))
    AND (CAST(:channel AS text) IS NULL OR e.channel = CAST(:channel AS text))
    AND (CAST(:session AS text) IS NULL OR e.session = CAST(:session AS text))
    AND (CAST(:kind AS text) IS NULL OR e.kind = CAST(:kind AS text))
    AND (NOT :is_pending OR e.status = 'pending')
    AND (CAST(:person AS bigint) IS NULL OR e.person = CAST(:person AS bigint))
ORDER BY e.number DESC
LIMIT :limit

-- name: list_pending
-- The questions on a route that wait for an answer, the oldest first.
SELECT e.*, t.name AS trigger_name, s.name AS sender_name, d.id AS decision_id
FROM shared_entries e
LEFT JOIN triggers t ON t.number = e.trigger
LEFT JOIN entities s ON s.number = e.sender
LEFT JOIN decisions d ON d.number = e.decision
WHERE e.channel = :channel AND e.session = :session AND e.status = 'pending'
    AND coalesce(e.trigger, 0) = coalesce(CAST(:trigger AS bigint), 0)
ORDER BY e.number
LIMIT :limit

-- name: list_by_decision
SELECT e.*, t.name AS trigger_name, s.name AS sender_name, d.id AS decision_id
FROM shared_entries e
LEFT JOIN triggers t ON t.number = e.trigger
LEFT JOIN entities s ON s.number = e.sender
LEFT JOIN decisions d ON d.number = e.decision
WHERE e.decision = :decision AND e.decision IS NOT NULL
ORDER BY e.number

-- name: end_question
UPDATE shared_entries SET status = :status, answer = :answer, answered_at = :now, position = :position
WHERE number = :number AND status = 'pending'

-- name: set_metadata
UPDATE shared_entries SET metadata = :metadata WHERE number = :number

-- name: find_last_position
SELECT value FROM counters WHERE name = 'shared'

-- name: move
-- Questions that wait in a chat whose id has changed.
UPDATE shared_entries SET session = replace(session, :old_part, :new_part)
WHERE trigger = :trigger AND status = 'pending' AND session LIKE :pattern
