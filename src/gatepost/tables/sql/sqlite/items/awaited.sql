SELECT arrival, recipient FROM outbox WHERE arrival IN (SELECT value FROM json_each(:arrivals))
