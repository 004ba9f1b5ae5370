-- Small values of this device: device id and name, storage scope, cursor, health.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- One row per file: what this device holds (content), and what both sides held when last in step (base).
-- The long columns come last, so that a scan of the short ones never reads them.
CREATE TABLE files (
    file_id INTEGER PRIMARY KEY,
    path TEXT NOT NULL,
    kind TEXT NOT NULL,
    local_version INTEGER NOT NULL DEFAULT 1,    -- grows with every change of content or path
    content_hash TEXT,                           -- SHA-256 of content; NULL with it
    item_id TEXT UNIQUE,                         -- NULL: not bound to an item of the storage
    base_version TEXT,                           -- these three are NULL together with item_id
    base_path TEXT,
    base_hash TEXT,
    sent_hash TEXT,                              -- what an upload of unknown outcome carried
    content BLOB,                                -- NULL: deleted on this device, not yet in the storage
    base_content BLOB,                           -- NULL where base_hash is NULL or equals content_hash
    sent_content BLOB
) STRICT;
CREATE INDEX files_path ON files (path);
CREATE INDEX files_kind ON files (kind);

-- The storage as last observed. Persisted with the cursor, in one transaction.
CREATE TABLE remote_items (
    item_id TEXT PRIMARY KEY,
    path TEXT NOT NULL,
    version TEXT NOT NULL,
    size INTEGER NOT NULL,
    modified REAL,
    generation INTEGER NOT NULL,                 -- the enumeration that saw it last
    state TEXT NOT NULL CHECK (state IN ('present', 'absent', 'removed'))
    -- absent: a complete enumeration did not name it (to be confirmed); removed: the storage said so
) STRICT;

-- The memories, derived from files of kind 'memory' by one code path (memory_cache.indexing).
CREATE TABLE memories (
    file_id INTEGER PRIMARY KEY REFERENCES files ON DELETE CASCADE,
    id TEXT NOT NULL UNIQUE,
    written_id TEXT,                             -- the id in the file; differs where two files carry one id
    category TEXT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    project_id TEXT,
    project_key TEXT,
    project_name TEXT,
    priority TEXT NOT NULL,
    expires_at TEXT,
    related_to TEXT NOT NULL DEFAULT '[]',       -- JSON array of ids
    tags TEXT NOT NULL DEFAULT '[]',             -- JSON array, in file order
    read_only TEXT
) STRICT;
CREATE INDEX memories_updated ON memories (updated);
CREATE INDEX memories_project ON memories (project_key, category);
CREATE INDEX memories_expires ON memories (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX memories_written_id ON memories (written_id);

CREATE TABLE memory_tags (
    file_id INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    tag_key TEXT NOT NULL,                       -- casefolded NFC
    PRIMARY KEY (file_id, tag_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_tags_key ON memory_tags (tag_key);

-- Memories whose search terms are to be refreshed: after a change to very many, this follows in small steps.
CREATE TABLE search_later (
    file_id INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE
) STRICT;

CREATE TABLE memory_links (
    file_id INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    target_id TEXT NOT NULL,
    PRIMARY KEY (file_id, target_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_links_target ON memory_links (target_id);

-- What a tool did in one call, so that it can be undone; bounded.
CREATE TABLE changes (
    change_id INTEGER PRIMARY KEY,
    action TEXT NOT NULL,
    at TEXT NOT NULL,
    undone INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE change_creations (
    change_id INTEGER NOT NULL REFERENCES changes ON DELETE CASCADE,
    memory_id TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    PRIMARY KEY (change_id, memory_id)
) STRICT, WITHOUT ROWID;

-- Memories deleted or expired here, or seen deleted in the storage.
CREATE TABLE trash (
    trash_id INTEGER PRIMARY KEY,
    memory_id TEXT NOT NULL,
    path TEXT NOT NULL,
    title TEXT NOT NULL,
    category TEXT NOT NULL,
    deleted_at TEXT NOT NULL,
    reason TEXT NOT NULL,
    change_id INTEGER,                           -- the change of this device that did it, if one did
    content_hash TEXT NOT NULL,
    content BLOB NOT NULL
) STRICT;
CREATE INDEX trash_memory ON trash (memory_id);
CREATE INDEX trash_change ON trash (change_id) WHERE change_id IS NOT NULL;

-- Texts that a later write replaced; bounded.
CREATE TABLE revisions (
    revision_id INTEGER PRIMARY KEY,
    memory_id TEXT NOT NULL,
    path TEXT NOT NULL,
    replaced_at TEXT NOT NULL,
    reason TEXT NOT NULL,
    change_id INTEGER,
    content_hash TEXT NOT NULL,
    replaced_by TEXT,                            -- hash of what came instead; NULL for a text that was never in the file
    content BLOB NOT NULL
) STRICT;
CREATE INDEX revisions_memory ON revisions (memory_id, revision_id);
CREATE INDEX revisions_change ON revisions (change_id) WHERE change_id IS NOT NULL;

-- Open conflicts, derived from files of kind 'conflict'.
CREATE TABLE conflicts (
    file_id INTEGER PRIMARY KEY REFERENCES files ON DELETE CASCADE,
    id TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    theirs TEXT NOT NULL,
    base TEXT,
    device TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX conflicts_memory ON conflicts (memory_id);

CREATE TABLE problems (
    file_id INTEGER NOT NULL REFERENCES files ON DELETE CASCADE,
    code TEXT NOT NULL,
    message TEXT NOT NULL,
    PRIMARY KEY (file_id, code)
) STRICT, WITHOUT ROWID;
