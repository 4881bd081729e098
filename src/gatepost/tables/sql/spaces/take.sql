-- Takes the space until the end of the transaction, and with it the next number of a message, or (by 0) none.
UPDATE spaces SET last_seq = last_seq + :by
WHERE id = :id
RETURNING number, id, name, last_seq, created_at, archived_at
