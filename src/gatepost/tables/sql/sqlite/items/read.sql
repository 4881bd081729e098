SELECT * FROM inbox WHERE recipient = :recipient AND arrival IN (SELECT value FROM json_each(:arrivals)) ORDER BY priority, arrival
