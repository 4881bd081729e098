-- name: read_version
SELECT version, oldest FROM schema_version
