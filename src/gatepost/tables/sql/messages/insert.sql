INSERT INTO messages (space, seq, id, sender, content, data, created_at)
VALUES (:space, :seq, :id, :sender, :content, :data, :created_at)
