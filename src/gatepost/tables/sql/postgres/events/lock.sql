SELECT arrival FROM events WHERE arrival = ANY (:arrivals) ORDER BY arrival FOR UPDATE
