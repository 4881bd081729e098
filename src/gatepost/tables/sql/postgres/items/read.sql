SELECT * FROM inbox WHERE recipient = :recipient AND arrival = ANY (:arrivals) ORDER BY priority, arrival
