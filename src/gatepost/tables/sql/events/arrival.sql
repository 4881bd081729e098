SELECT arrival FROM events WHERE id = :id
