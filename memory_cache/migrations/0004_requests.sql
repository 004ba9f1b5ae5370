-- What the last requests of sessions led to, so that one that is sent again after a crash is not carried out twice.
-- Without texts, for a short time.
CREATE TABLE requests (
    request_id INTEGER PRIMARY KEY,
    request TEXT NOT NULL UNIQUE,                -- memory_cache.requests.Request.key and the action
    repeated INTEGER NOT NULL,                   -- 1: it was carried out when it came again
    at TEXT NOT NULL,
    result TEXT NOT NULL                         -- JSON
) STRICT;
