SELECT arrival, recipient FROM items WHERE arrival = ANY (:arrivals)
