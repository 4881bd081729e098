SELECT id, seq FROM messages WHERE id IN (SELECT value FROM json_each(:ids))
