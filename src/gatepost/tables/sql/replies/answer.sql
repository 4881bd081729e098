UPDATE replies SET body = :body WHERE scope = :scope AND key = :key
