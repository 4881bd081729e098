SELECT arrival, priority, sender_is_person, source, size
FROM items
WHERE recipient = :recipient AND arrival IN (SELECT value FROM json_each(:arrivals)) AND state = 'pending'
