-- Whoever writes has the whole database.
SELECT arrival FROM events WHERE arrival IN (SELECT value FROM json_each(:arrivals)) ORDER BY arrival
