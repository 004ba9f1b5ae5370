-- What differs from the storage's version, for the daemon's look after every change (daemon/loops.py: unsent).
CREATE INDEX files_unsent ON files (file_id)
    WHERE content_hash IS NOT base_hash OR path IS NOT base_path OR item_id IS NULL;
