WITH old AS MATERIALIZED (
    SELECT scope, key FROM replies WHERE created_at <= :before ORDER BY created_at LIMIT :most FOR UPDATE SKIP LOCKED
)
DELETE FROM replies USING old WHERE replies.scope = old.scope AND replies.key = old.key
