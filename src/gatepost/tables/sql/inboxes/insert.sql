INSERT INTO inboxes (recipient, fence, cursor) VALUES (:recipient, 0, :cursor)
