-- Events that nobody has or will have.
SELECT count(*), min(e.id)
FROM events e
WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.arrival = e.arrival)
    AND NOT EXISTS (SELECT 1 FROM broadcasts b WHERE b.arrival = e.arrival)
