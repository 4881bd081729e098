SELECT arrival, recipient FROM items WHERE arrival IN (SELECT value FROM json_each(:arrivals))
