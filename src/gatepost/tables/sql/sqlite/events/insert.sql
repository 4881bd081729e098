INSERT INTO events
    (arrival, id, type, source, sender, subject, content, data, priority, created_at,
     ref_type, ref_id, route_channel, route_session, hops, trust, occurred_at)
VALUES
    (:arrival, :id, :type, :source, :sender, :subject, :content, :data, :priority, :created_at,
     :ref_type, :ref_id, :route_channel, :route_session, :hops, :trust, :occurred_at)
