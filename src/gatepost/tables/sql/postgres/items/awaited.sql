SELECT arrival, recipient FROM outbox WHERE arrival = ANY (:arrivals)
