SELECT count(*) FROM messages
