-- Of these events, those that nobody has any more.
DELETE FROM events
WHERE arrival = ANY (:arrivals)
    AND NOT EXISTS (SELECT 1 FROM items i WHERE i.arrival = events.arrival)
    AND NOT EXISTS (SELECT 1 FROM broadcasts b WHERE b.arrival = events.arrival)
