-- Changes nothing, but whoever would end the claim waits until the end of the transaction.
UPDATE claims SET owner = owner
WHERE id = :id AND owner = :owner AND fence = :fence AND ended_at IS NULL
