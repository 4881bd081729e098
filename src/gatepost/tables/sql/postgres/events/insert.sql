INSERT INTO events
    (arrival, id, type, source, sender, subject, content, data, priority, created_at,
     ref_type, ref_id, route_channel, route_session, hops, trust, occurred_at)
SELECT * FROM unnest(
    :arrival::bigint[], :id::text[], :type::text[], :source::text[], :sender::bigint[], :subject::text[],
    :content::text[], :data::text[], :priority::smallint[], :created_at::bigint[],
    :ref_type::text[], :ref_id::text[], :route_channel::text[], :route_session::text[], :hops::smallint[], :trust::text[],
    :occurred_at::bigint[]
)
