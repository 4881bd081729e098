SELECT id, arrival FROM events WHERE id IN (SELECT value FROM json_each(:ids))
