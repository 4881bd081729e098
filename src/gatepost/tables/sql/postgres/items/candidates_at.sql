SELECT arrival, priority, sender_is_person, source, size
FROM items
WHERE recipient = :recipient AND arrival = ANY (:arrivals) AND state = 'pending'
