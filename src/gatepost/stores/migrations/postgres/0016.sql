-- oldest: 16

-- How an entity is shown, without regard to case and to the form of its letters: no two persons may look alike.
ALTER TABLE entities ADD COLUMN display_key text NOT NULL DEFAULT '';
-- It is compared with names, which are ASCII: other letters need not be in lower case here.
UPDATE entities SET
    display_key = replace(replace(lower(normalize(display, NFKC) COLLATE "C"), 'ß', 'ss'), 'ẞ', 'ss');
CREATE INDEX entities_display ON entities (display_key);
