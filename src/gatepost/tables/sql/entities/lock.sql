-- Whoever changes an entity takes its row, so that two changes do not undo each other.
UPDATE entities SET display = display WHERE number = :number
