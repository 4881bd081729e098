-- name: insert
INSERT INTO channel_messages
    (id, trigger, chat, thread, user_id, person, content, options, decision, replaces, state, sent_ids, created_at,
     notice_of, notice_count, due_at)
VALUES
    (:id, :trigger, :chat, :thread, :user_id, :person, :content, :options, :decision, :replaces, 'pending', '[]', :now,
     :notice_of, :notice_count, :due_at)
RETURNING number

-- name: find
SELECT m.*, t.name AS trigger_name, d.id AS decision_id, p.name AS person_name
FROM channel_messages m
JOIN triggers t ON t.number = m.trigger
LEFT JOIN decisions d ON d.number = m.decision
LEFT JOIN entities p ON p.number = m.person
WHERE m.id = :id

-- name: read
SELECT m.*, t.name AS trigger_name, d.id AS decision_id, p.name AS person_name
FROM channel_messages m
JOIN triggers t ON t.number = m.trigger
LEFT JOIN decisions d ON d.number = m.decision
LEFT JOIN entities p ON p.number = m.person
WHERE m.number = :number

-- name: list_pending
-- What is to be sent to a chat, up to a message, the oldest first; but notices are sent after everything else.
SELECT m.*, t.name AS trigger_name, d.id AS decision_id, p.name AS person_name
FROM channel_messages m
JOIN triggers t ON t.number = m.trigger
LEFT JOIN decisions d ON d.number = m.decision
LEFT JOIN entities p ON p.number = m.person
WHERE m.trigger = :trigger AND m.chat = :chat AND m.state = 'pending'
    AND (m.due_at IS NULL OR m.due_at <= :now)
    AND CASE
        WHEN CAST(:is_notice AS BOOLEAN) THEN m.notice_of IS NULL OR m.number <= :number
        ELSE m.notice_of IS NULL AND m.number <= :number
    END
ORDER BY m.notice_of IS NOT NULL, m.number
LIMIT :limit

-- name: find_summary
-- The summary of a sender's notices that is not due yet.
SELECT number, id, notice_count FROM channel_messages
WHERE trigger = :trigger AND chat = :chat AND notice_of = :sender AND notice_of IS NOT NULL
    AND notice_count > 0 AND state = 'pending' AND due_at > :now
FOR UPDATE

-- name: count_notice
UPDATE channel_messages SET notice_count = :count, content = :content WHERE number = :number

-- name: move_summary
UPDATE channel_messages SET due_at = :due_at WHERE number = :number

-- name: read_notices
-- How many notices of a sender a chat has got since then, and when the first was written.
SELECT count(*) AS total, min(created_at) AS first_at
FROM channel_messages
WHERE trigger = :trigger AND chat = :chat AND notice_of = :sender AND notice_of IS NOT NULL
    AND notice_count = 0 AND created_at > :since

-- name: list_by_decision
SELECT m.*, t.name AS trigger_name, d.id AS decision_id, p.name AS person_name
FROM channel_messages m
JOIN triggers t ON t.number = m.trigger
LEFT JOIN decisions d ON d.number = m.decision
LEFT JOIN entities p ON p.number = m.person
WHERE m.decision = :decision AND m.replaces IS NULL AND m.decision IS NOT NULL
ORDER BY m.number

-- name: find_by_sent_id
-- The message with a question to which the channel gave this id.
SELECT m.*, t.name AS trigger_name, d.id AS decision_id, p.name AS person_name
FROM channel_messages m
JOIN triggers t ON t.number = m.trigger
LEFT JOIN decisions d ON d.number = m.decision
LEFT JOIN entities p ON p.number = m.person
WHERE m.trigger = :trigger AND m.chat = :chat AND m.sent_ids LIKE :pattern
    AND (m.decision IS NOT NULL OR m.options IS NOT NULL)
ORDER BY m.number DESC
LIMIT 1

-- name: save_part
UPDATE channel_messages SET sent_ids = :sent_ids WHERE number = :number

-- name: set_state
UPDATE channel_messages SET state = :state, error = :error, sent_at = :now WHERE number = :number AND state = 'pending'

-- name: fail_chat
UPDATE channel_messages SET state = 'failed', error = :error, sent_at = :now
WHERE trigger = :trigger AND chat = :chat AND state = 'pending'

-- name: move
UPDATE channel_messages SET chat = :new_chat WHERE trigger = :trigger AND chat = :old_chat

-- name: reap
DELETE FROM channel_messages
WHERE number IN (
    SELECT number FROM channel_messages
    WHERE state <> 'pending' AND sent_at <= :before AND replaces IS NULL AND decision IS NULL AND options IS NULL
    ORDER BY number
    LIMIT :limit
)

-- name: insert_voice
INSERT INTO voice_messages (id, trigger, dedup_key, person, envelope, state, due_at, created_at)
VALUES (:id, :trigger, :dedup_key, :person, :envelope, 'pending', :due_at, :now)
ON CONFLICT (dedup_key) DO NOTHING

-- name: find_voice
SELECT
    v.id, v.trigger, v.dedup_key, (SELECT name FROM entities e WHERE e.number = v.person) AS person_name, v.envelope,
    v.state, v.due_at
FROM voice_messages v
WHERE v.id = :id
FOR UPDATE

-- name: list_due_voices
SELECT id FROM voice_messages WHERE state = 'pending' AND due_at <= :now ORDER BY due_at LIMIT :limit

-- name: end_voice
UPDATE voice_messages SET state = :state WHERE id = :id AND state = 'pending'
