SELECT deadline FROM leases WHERE name = :name
