SELECT digest, body FROM replies WHERE scope = :scope AND key = :key
