UPDATE items SET state = 'claimed', claim = :claim
WHERE recipient = :recipient AND arrival = ANY (:arrivals) AND state = 'pending'
RETURNING arrival
