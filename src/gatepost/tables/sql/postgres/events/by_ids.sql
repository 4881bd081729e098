SELECT id, arrival FROM events WHERE id = ANY (:ids)
