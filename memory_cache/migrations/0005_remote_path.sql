-- Every new memory asks whether its path is taken in the storage.
CREATE INDEX remote_items_path ON remote_items (path);
