-- oldest: 16

-- How an entity is shown, without regard to case and to the form of its letters: no two persons may look alike.
ALTER TABLE entities ADD COLUMN display_key TEXT NOT NULL DEFAULT '';
UPDATE entities SET display_key = fold_text(display);
CREATE INDEX entities_display ON entities (display_key);
