-- name: read
SELECT version, oldest FROM schema_version
