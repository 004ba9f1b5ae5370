"""The plain data that the other rooms exchange with the memory cache."""

from datetime import datetime
from enum import StrEnum
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field

Priority = Literal["high", "normal", "low"]


class FileKind(StrEnum):
    """What a file in the storage is, told by its path alone (`memory_cache.paths.kind_of`)."""

    MEMORY = "memory"
    DOCUMENT = "document"
    PATTERN = "pattern"
    CONFLICT = "conflict"
    DEVICE = "device"
    INDEX = "index"


class Record(BaseModel):
    """Base of all exchanged records: immutable, no unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Memory(Record):
    """One memory as its file tells it.

    `content` is the body without front matter; `title` its first line without `#`, ≤100 characters.
    `id` is what the file says, except where two files carry one id: then the later path gets a derived one.
    `read_only` names why this file is shown but never rewritten (broken front matter …), else None.
    """

    id: str
    title: str
    category: str
    tags: tuple[str, ...] = ()
    content: str
    created: datetime
    updated: datetime
    project_id: str | None = None
    project_name: str | None = None
    priority: Priority = "normal"
    expires_at: datetime | None = None
    related_to: tuple[str, ...] = ()
    path: str
    read_only: str | None = None

    def expired(self, now: datetime) -> bool:
        """Whether the memory is past its expiry; such a memory is hidden from every query."""
        return self.expires_at is not None and self.expires_at <= now


class Project(Record):
    """Which project a session works in (`memory_cache.project`).

    Attributes:
        id: what is written into files; never holds a credential.
        key: what is compared: two spellings of one repository have one key.
        source: how it was found: argument, environment, roots, working directory.
    """

    id: str
    key: str
    name: str
    directory: str | None = None
    source: str = "argument"


class Draft(Record):
    """What `remember` is given. `ttl` follows the TTL grammar (`7d`, `2w`, `1m`, `1y`)."""

    content: str
    category: str
    tags: tuple[str, ...] = ()
    title: str | None = None
    project: Project | None = None
    priority: Priority = "normal"
    ttl: str | None = None
    related_to: tuple[str, ...] = ()


class Change(Record):
    """What `update` changes; None leaves a field as it is. `ttl="none"` removes the expiry."""

    content: str | None = None
    title: str | None = None
    tags: tuple[str, ...] | None = None
    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()
    category: str | None = None
    priority: Priority | None = None
    ttl: str | None = None
    make_global: bool = False
    add_links: tuple[str, ...] = ()
    remove_links: tuple[str, ...] = ()

    def is_empty(self) -> bool:
        """True when nothing would change."""
        return self == Change()


class Scope(Record):
    """Which memories a query sees.

    `project_key` with `with_global`: that project's and the global ones (the default of recall).
    `project_key=None` with `with_global`: only the global ones. `everything`: all projects.
    """

    project_key: str | None = None
    with_global: bool = True
    everything: bool = False

    @classmethod
    def all(cls) -> Self:
        """Every memory of every project."""
        return cls(everything=True)


class Filter(Record):
    """Conditions that SQL applies before any limit."""

    scope: Scope = Scope(everything=True)
    category: str | None = None
    tags: tuple[str, ...] = ()
    updated_after: datetime | None = None
    updated_before: datetime | None = None
    with_expired: bool = False


class Hit(Record):
    """One memory found by recall. `why` names each part of the score in words and numbers."""

    memory: Memory
    score: float
    passage: str
    why: str = ""


class SimilarMemory(Record):
    """A near-duplicate that `remember` points out; `difference` shows the words that differ."""

    id: str
    title: str
    score: float
    difference: str = ""


class Remembered(Record):
    """What `remember` did."""

    memory: Memory
    similar: tuple[SimilarMemory, ...] = ()
    warnings: tuple[str, ...] = ()


class Page(Record):
    """Memories in order, how many more there are, and the cursor that continues."""

    memories: tuple[Memory, ...]
    more: int = 0
    cursor: str | None = None


class Revision(Record):
    """A text of a memory that a later write replaced. `content` is the body; `reason` one word for why."""

    revision: int
    memory_id: str
    title: str
    content: str
    replaced_at: datetime
    reason: str


class TrashEntry(Record):
    """A memory in the trash; `restore` brings it back until it is purged. `content` is the body."""

    id: str
    title: str
    category: str
    deleted_at: datetime
    reason: str
    content: str


class BatchResult(Record):
    """What a change to many memories did, or with `dry_run` would do.

    `memories`: those changed or deleted. `skipped`: one sentence for each that could not be changed.
    """

    memories: tuple[Memory, ...]
    skipped: tuple[str, ...] = ()
    dry_run: bool = False


class Undone(Record):
    """What undoing one change did.

    `memories`: those brought back to what they were (as they are now; one that the change had made, as it was).
    `left`: one sentence for each that was left alone, because it was changed since.
    """

    action: str
    at: datetime
    memories: tuple[Memory, ...]
    left: tuple[str, ...] = ()

    def __str__(self) -> str:
        titles = "; ".join(f"{memory.title} ({memory.id})" for memory in self.memories[:10])
        more = f"; {len(self.memories) - 10} more" if len(self.memories) > 10 else ""
        done = f"{self.action} of {self.at:%Y-%m-%d %H:%M:%S} UTC: {titles or 'nothing could be undone'}{more}."
        return " ".join((done, *self.left[:10]))


class Conflict(Record):
    """Two versions of one memory that changed the same lines, each as the whole file. `mine` is the version that
    stands in the memory now (empty when it was deleted), `theirs` the other one, `base` their common ancestor
    (None when unknown)."""

    id: str
    memory_id: str
    title: str
    mine: str
    theirs: str
    base: str | None = None
    device: str = ""
    at: datetime


class Problem(Record):
    """A file that could not be taken in whole; `doctor` lists these."""

    path: str
    code: str
    message: str


class SyncHealth(Record):
    """What the daemon last reported about its work; stored in the cache so that every process can tell.

    `state`: `ok`, `unreachable`, `needs-login`, `throttled`, `full`, `held`, `emptied`, `never`.
    """

    state: str = "never"
    message: str = ""
    hint: str = ""
    last_round: datetime | None = None
    throttled_until: datetime | None = None
    held_deletes: int = 0
    pending: int = 0
    backend: str = ""
    location: str = ""


class Statistics(Record):
    """What `get_statistics` shows. All counts but `expired` leave expired memories out.

    Attributes:
        by_project: by name (else id) of the project; global memories under an empty name.
        by_tag: the most used tags first.
        updated_within: days → how many memories were updated within that time.
        links: pairs of linked memories; `unlinked`: memories in no such pair; `dangling`: links to what is gone.
        content_bytes: size of all memory files; `cache_bytes`: of the SQLite file.
    """

    memories: int
    expired: int
    stale: int
    read_only: int
    by_category: dict[str, int]
    by_project: dict[str, int]
    by_priority: dict[str, int]
    by_tag: dict[str, int]
    oldest: datetime | None
    newest: datetime | None
    last_update: datetime | None
    updated_within: dict[int, int]
    links: int
    unlinked: int
    dangling: int
    trash: int
    conflicts: int
    problems: int
    content_bytes: int
    cache_bytes: int


class Technology(Record):
    """A technology that a project uses, and the file that shows it. `tags`: what memories about it are tagged with."""

    name: str
    evidence: str
    tags: tuple[str, ...] = ()


class ContextItem(Record):
    """A memory of the context. `section`: `task`, `decision`, `preference`, `technology` or `recent`; `reason` says in
    words why it is here; `text` is its body, shortened to what the budget leaves."""

    memory: Memory
    section: str
    reason: str
    text: str


class ProjectContext(Record):
    """What matters for a project now, within a budget. `more`: how many further memories would have been relevant."""

    project: Project | None
    technologies: tuple[Technology, ...] = ()
    items: tuple[ContextItem, ...] = ()
    more: int = 0
    tokens: int = 0


class CacheStatus(Record):
    """Counts for `status`. `notice`: one sentence about a damaged cache that was replaced; usually empty."""

    memories: int
    expired: int
    trash: int
    conflicts: int
    problems: int
    pending: int
    bytes: int = Field(description="size of the SQLite file")
    health: SyncHealth
    device_id: str
    device_name: str
    search: str = Field(default="", description="how recall searches here, or why not by meaning")
    notice: str = ""
