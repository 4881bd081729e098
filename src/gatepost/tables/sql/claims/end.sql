-- Only its owner, with its fence, ends an open claim.
UPDATE claims SET ended_at = :now, outcome = :outcome
WHERE id = :id AND owner = :owner AND fence = :fence AND ended_at IS NULL
RETURNING number, recipient
