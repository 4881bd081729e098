UPDATE inboxes SET cursor = :cursor WHERE recipient = :recipient
