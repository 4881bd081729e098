UPDATE broadcasts SET size = size + :by WHERE sender = :sender
