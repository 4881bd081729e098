INSERT INTO claims (id, recipient, kind, owner, fence, taken_at, deadline)
VALUES (:id, :recipient, :kind, :owner, :fence, :now, :deadline)
RETURNING number
