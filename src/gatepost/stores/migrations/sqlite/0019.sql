-- oldest: 19

-- A notice of an urgent item says who sent the item; replies and questions are sent before notices.
ALTER TABLE channel_messages ADD COLUMN notice_of TEXT;
-- A summary counts the notices that it stands for, and is sent when it is due.
ALTER TABLE channel_messages ADD COLUMN notice_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE channel_messages ADD COLUMN due_at INTEGER;
CREATE INDEX channel_messages_notices ON channel_messages (trigger, chat, notice_of, created_at)
WHERE notice_of IS NOT NULL;
