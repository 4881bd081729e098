SELECT id FROM runs WHERE agent = :agent AND status = 'running'
