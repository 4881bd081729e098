-- name: ensure_session
-- A session belongs to one person: another one begins a new generation.
INSERT INTO channel_sessions
    (channel, trigger, base, generation, person, chat, user_id, thread, display, created_at, last_at)
VALUES (:channel, :trigger, :base, 0, :person, :chat, :user_id, :thread, :display, :now, :now)
ON CONFLICT (channel, coalesce(trigger, 0), base) DO UPDATE
SET last_at = excluded.last_at, display = coalesce(excluded.display, channel_sessions.display),
    person = coalesce(excluded.person, channel_sessions.person),
    generation = channel_sessions.generation + CASE WHEN excluded.person <> channel_sessions.person THEN 1 ELSE 0 END
RETURNING number

-- name: find_session
SELECT
    s.number, s.channel, t.name AS trigger, s.base, s.generation, p.name AS person, s.chat, s.user_id, s.thread,
    s.display, s.created_at, s.last_at
FROM channel_sessions s
LEFT JOIN triggers t ON t.number = s.trigger
LEFT JOIN entities p ON p.number = s.person
WHERE s.channel = :channel AND coalesce(s.trigger, 0) = coalesce(CAST(:trigger AS bigint), 0) AND s.base = :base

-- name: raise_generation
UPDATE channel_sessions SET generation = generation + 1, last_at = :now WHERE number = :number RETURNING generation

-- name: list_sessions
SELECT
    s.number, s.channel, t.name AS trigger, s.base, s.generation, p.name AS person, s.chat, s.user_id, s.thread,
    s.display, s.created_at, s.last_at
FROM channel_sessions s
LEFT JOIN triggers t ON t.number = s.trigger
LEFT JOIN entities p ON p.number = s.person
WHERE s.number > :after
    AND (CAST(:channel AS text) IS NULL OR CAST(:channel AS text) IN (s.channel, t.name))
    AND (CAST(:person AS bigint) IS NULL OR s.person = CAST(:person AS bigint))
ORDER BY s.number
LIMIT :limit

-- name: copy_sessions
-- A group has become a supergroup with another id. The sessions of the old one stay, for replies to earlier events.
INSERT INTO channel_sessions
    (channel, trigger, base, generation, person, chat, user_id, thread, display, created_at, last_at)
SELECT
    channel, trigger, replace(base, :old_part, :new_part), generation, person, :new_chat, user_id, thread, display,
    created_at, last_at
FROM channel_sessions
WHERE trigger = :trigger AND chat = :old_chat
ORDER BY number
ON CONFLICT (channel, coalesce(trigger, 0), base) DO NOTHING

-- name: move_sessions
UPDATE channel_sessions SET chat = :new_chat WHERE trigger = :trigger AND chat = :old_chat

-- name: read_cursor
SELECT last_update, epoch, updated_at FROM channel_cursors WHERE trigger = :trigger

-- name: set_cursor
INSERT INTO channel_cursors (trigger, last_update, epoch, updated_at) VALUES (:trigger, :last_update, :epoch, :now)
ON CONFLICT (trigger) DO UPDATE
SET last_update = excluded.last_update, epoch = excluded.epoch, updated_at = excluded.updated_at

-- name: lock_trigger
SELECT number FROM triggers WHERE number = :trigger FOR UPDATE

-- name: insert_pairing
INSERT INTO pairings
    (id, trigger, chat, user_id, display, code, state, expires_at, created_at)
VALUES (:id, :trigger, :chat, :user_id, :display, :code, 'requested', :expires_at, :now)

-- name: find_pairing
SELECT
    p.number, p.id, t.name AS trigger, p.chat, p.user_id, p.display, p.state, e.name AS person,
    a.name AS answered_by, p.expires_at, p.created_at, p.answered_at
FROM pairings p
JOIN triggers t ON t.number = p.trigger
LEFT JOIN entities e ON e.number = p.person
LEFT JOIN entities a ON a.number = p.answered_by
WHERE p.id = :id

-- name: find_pairing_by_user
SELECT
    p.number, p.id, t.name AS trigger, p.chat, p.user_id, p.display, p.state, e.name AS person,
    a.name AS answered_by, p.expires_at, p.created_at, p.answered_at
FROM pairings p
JOIN triggers t ON t.number = p.trigger
LEFT JOIN entities e ON e.number = p.person
LEFT JOIN entities a ON a.number = p.answered_by
WHERE p.trigger = :trigger AND p.chat = :chat AND p.user_id = :user_id AND p.state IN ('requested', 'approved')

-- name: find_pairing_elsewhere
-- The pairing of a user in another chat with the bot.
SELECT
    p.number, p.id, t.name AS trigger, p.chat, p.user_id, p.display, p.state, e.name AS person,
    a.name AS answered_by, p.expires_at, p.created_at, p.answered_at
FROM pairings p
JOIN triggers t ON t.number = p.trigger
JOIN entities e ON e.number = p.person
LEFT JOIN entities a ON a.number = p.answered_by
WHERE p.trigger = :trigger AND p.user_id = :user_id AND p.chat <> :chat AND p.state = 'approved'
    AND e.retired_at IS NULL
ORDER BY p.number
LIMIT 1

-- name: find_pairing_by_code
SELECT
    p.number, p.id, t.name AS trigger, p.chat, p.user_id, p.display, p.state, e.name AS person,
    a.name AS answered_by, p.expires_at, p.created_at, p.answered_at
FROM pairings p
JOIN triggers t ON t.number = p.trigger
LEFT JOIN entities e ON e.number = p.person
LEFT JOIN entities a ON a.number = p.answered_by
WHERE p.code = :code AND p.state = 'requested'

-- name: list_pairings
-- A request that was not answered in time has expired, whether that is noted or not.
SELECT
    p.number, p.id, t.name AS trigger, p.chat, p.user_id, p.display, e.name AS person, a.name AS answered_by,
    p.expires_at, p.created_at, p.answered_at,
    CASE WHEN p.state = 'requested' AND p.expires_at <= :now THEN 'expired' ELSE p.state END AS state
FROM pairings p
JOIN triggers t ON t.number = p.trigger
LEFT JOIN entities e ON e.number = p.person
LEFT JOIN entities a ON a.number = p.answered_by
WHERE p.number > :after
    AND (
        CAST(:state AS text) IS NULL
        OR CASE WHEN p.state = 'requested' AND p.expires_at <= :now THEN 'expired' ELSE p.state END
            = CAST(:state AS text)
    )
ORDER BY p.number
LIMIT :limit

-- name: count_requested_pairings
SELECT count(*) AS total FROM pairings WHERE trigger = :trigger AND state = 'requested' AND expires_at > :now

-- name: end_pairing
UPDATE pairings SET state = :state, person = :person, answered_by = :answered_by, answered_at = :now, code = ''
WHERE number = :number AND state = 'requested'

-- name: expire_pairings
UPDATE pairings SET state = 'expired', answered_at = :now, code = '' WHERE state = 'requested' AND expires_at <= :now

-- name: revoke_pairing
UPDATE pairings SET state = 'denied', answered_by = :answered_by, answered_at = :now
WHERE number = :number AND state = 'approved'

-- name: list_chats_of_person
-- The private chats of a person: their ids are those of the users.
SELECT p.trigger, p.chat
FROM pairings p
JOIN triggers t ON t.number = p.trigger AND t.active
WHERE p.person = :person AND p.state = 'approved' AND p.person IS NOT NULL AND p.chat = p.user_id
ORDER BY p.number

-- name: move_pairings
UPDATE pairings SET chat = :new_chat
WHERE trigger = :trigger AND chat = :old_chat
    AND NOT EXISTS (
        SELECT 1
        FROM pairings p
        WHERE p.trigger = :trigger AND p.chat = :new_chat AND p.user_id = pairings.user_id
            AND p.state IN ('requested', 'approved')
    )

-- name: is_used
SELECT TRUE AS is_used
WHERE EXISTS (SELECT 1 FROM channel_sessions WHERE trigger = :trigger)
    OR EXISTS (SELECT 1 FROM pairings WHERE trigger = :trigger)
    OR EXISTS (SELECT 1 FROM shared_entries WHERE trigger = :trigger)
    OR EXISTS (SELECT 1 FROM channel_messages WHERE trigger = :trigger)
    OR EXISTS (SELECT 1 FROM voice_messages WHERE trigger = :trigger)

-- name: count_own_sessions
SELECT count(*) AS total FROM channel_sessions WHERE channel = :channel AND trigger IS NULL

-- name: list_statuses
-- Nobody writes on a webhook, a schedule or a service.
SELECT
    t.*,
    (SELECT count(*) FROM channel_sessions s WHERE s.trigger = t.number) AS sessions,
    (
        SELECT count(*) FROM pairings p
        WHERE p.trigger = t.number AND p.state = 'requested' AND p.expires_at > :now
    ) AS requests
FROM triggers t
WHERE t.number > :after AND t.provider NOT IN ('webhook', 'cron', 'service')
ORDER BY t.number
LIMIT :limit

-- name: set_error
UPDATE triggers SET error = CAST(:error AS text)
WHERE number = :trigger AND coalesce(error, '') <> coalesce(CAST(:error AS text), '')

-- name: count_failing
SELECT count(*) AS total FROM triggers WHERE active AND error IS NOT NULL

-- name: delete_cursor
DELETE FROM channel_cursors WHERE trigger = :trigger
