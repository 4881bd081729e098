-- A receipt from elsewhere: a claim that was acked. Its fence is below that of every claim made here.
INSERT INTO claims (id, recipient, kind, owner, fence, taken_at, ended_at, outcome)
VALUES (:id, :recipient, :kind, :owner, 0, :at, :at, 'acked')
RETURNING number
