-- The next :count places in the order of all events, as a JSON list.
SELECT json_agg(nextval('arrivals'))::text FROM generate_series(1, :count)
