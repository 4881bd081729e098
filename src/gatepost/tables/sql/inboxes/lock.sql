-- Whoever claims from an inbox takes the next fence, and with it the inbox, until the end of the transaction.
UPDATE inboxes SET fence = fence + 1 WHERE recipient = :recipient RETURNING fence, cursor
