-- Cached documents, derived from files of kind 'document'; those that stay on this device have no file.
CREATE TABLE documents (
    document_id INTEGER PRIMARY KEY,
    file_id INTEGER UNIQUE REFERENCES files ON DELETE CASCADE,
    id TEXT NOT NULL,                            -- hex, from the content: one content is one document
    title TEXT NOT NULL,
    type TEXT NOT NULL,
    source TEXT NOT NULL,                        -- library id or URL
    source_tool TEXT NOT NULL,
    content TEXT,                                -- NULL: in the file
    content_hash TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    metadata TEXT NOT NULL DEFAULT '{}',         -- JSON object
    memory_session_id TEXT,
    memory_id TEXT
) STRICT;
CREATE INDEX documents_id ON documents (id);
CREATE INDEX documents_updated ON documents (updated);

CREATE TABLE document_projects (
    document_id INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    project_key TEXT NOT NULL,
    project_id TEXT NOT NULL,
    PRIMARY KEY (document_id, project_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX document_projects_key ON document_projects (project_key);

-- What this device read, by the document's id: not derived, it outlives a rebuild.
CREATE TABLE document_access (
    id TEXT PRIMARY KEY,
    access_count INTEGER NOT NULL,
    last_accessed TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Terms as memory_cache.search.text gives them; rowid = documents.document_id.
CREATE VIRTUAL TABLE document_text USING fts5 (
    title, source, body,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co' tokenchars '_'"
);

-- Skill patterns, derived from files of kind 'pattern'. A pattern's count is the number of its occurrences.
CREATE TABLE patterns (
    file_id INTEGER PRIMARY KEY REFERENCES files ON DELETE CASCADE,
    id TEXT NOT NULL,                            -- hex, from category, project and first description
    description TEXT NOT NULL,
    category TEXT NOT NULL,
    project_id TEXT,
    project_key TEXT,
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    skill_at TEXT                                -- when it was marked as made into a skill
) STRICT;
CREATE INDEX patterns_id ON patterns (id);
CREATE INDEX patterns_scope ON patterns (category, project_key);

CREATE TABLE pattern_occurrences (
    file_id INTEGER NOT NULL REFERENCES patterns ON DELETE CASCADE,
    occurrence_id TEXT NOT NULL,
    at TEXT NOT NULL,
    device TEXT NOT NULL,
    example TEXT NOT NULL,
    PRIMARY KEY (file_id, occurrence_id)
) STRICT, WITHOUT ROWID;
