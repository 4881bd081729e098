UPDATE items SET state = 'claimed', claim = :claim
WHERE recipient = :recipient AND arrival IN (SELECT value FROM json_each(:arrivals)) AND state = 'pending'
RETURNING arrival
