SELECT id, seq FROM messages WHERE id = ANY (:ids)
