"""What becomes of one record, inside the caller's transaction: decided, stored and reported."""

import hashlib
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field

from memory_cache import changes, files, paths, private, text_format
from memory_cache.clock import EPOCH, later_than
from memory_cache.drafts import SecretsPolicy
from memory_cache.errors import InvalidInput
from memory_cache.hashing import content_hash
from memory_cache.importing import composing, deciding
from memory_cache.importing.composing import Composed
from memory_cache.importing.deciding import Fate
from memory_cache.importing.placement import Filed, Placement, clean, filed
from memory_cache.importing.records import ConflictFile, MemoryFile, Note, id_of
from memory_cache.importing.report import Done, Left, Report
from memory_cache.models import Project
from memory_cache.project import key_of
from memory_cache.revisions import Cause


@dataclass(slots=True)
class Importing:
    """One import.

    Attributes:
        known: projects with memories here, by name. `texts`: project and text → the memory that says it.
        device: the first digits of this device's id.
        cause: of what is written; None for a dry run, which writes nothing.
        seen: ids that this source had already.
    """

    kind: str
    report: Report
    placement: Placement
    secrets: SecretsPolicy
    known: Mapping[str, Project]
    texts: dict[str, str]
    device: str
    cause: Cause | None = None
    seen: set[str] = field(default_factory=set)

    def note(self, connection: sqlite3.Connection, note: Note) -> None:
        """Take in something that becomes a memory."""
        project, plain = filed(self.placement, self.known, note.project_id, note.project_name)
        memory_id = note.id or id_of(self.kind, note.origin)
        composed = self._composed(note, memory_id, project)
        existing = content_of(connection, memory_id)
        fate = self._fate(existing, composed, one_source=note.id is not None)
        if fate is Fate.OTHER:
            memory_id = id_of(self.kind, f"{note.origin}\n{self.device}")
            composed = self._composed(note, memory_id, project)
            existing = content_of(connection, memory_id)
            fate = self._fate(existing, composed, one_source=True)
        if memory_id in self.seen:
            self.skip(note.where, "Another record of this source has the same id.")
            return
        self.seen.add(memory_id)
        warning = composing.refuse_secrets(composed.body, self.secrets)
        if fate is Fate.NEW:
            if not self._may_be_new(connection, note, composed):
                return
            self._create(connection, composed.data, note.where, None)
        elif fate in (Fate.UPDATED, Fate.REFILED):
            self._refresh(connection, composed, note.where)
        else:
            self._stays(fate, existing or b"", composed.data, note.where)
        if fate in (Fate.NEW, Fate.UPDATED):
            self.report.plain_names.update([plain] if plain else [])
            self._remark(note.where, (*composed.remarks, *([warning] if warning else [])))

    def file(self, connection: sqlite3.Connection, item: MemoryFile) -> None:
        """Take in a memory's own file."""
        data = self._prepared(item.data)
        parsed = text_format.read(data)
        memory_id = parsed.id or ""
        if memory_id in self.seen:
            memory_id = paths.derived_id(memory_id, content_hash(data))
            data = text_format.rewrite(data, set={"id": memory_id})
        self.seen.add(memory_id)
        composing.refuse_long(parsed.body)
        warning = composing.refuse_secrets(data.decode("utf-8", "replace"), self.secrets)
        existing = content_of(connection, memory_id)
        fate = deciding.fate_of_file(existing, data)
        if fate is not Fate.NEW:
            self._stays(fate, existing or b"", data, item.where)
        elif not self._forgotten(connection, memory_id, item.where):
            self._create(connection, data, item.where, item.path)
            self._remark(item.where, (*item.remarks, *([warning] if warning else [])))

    def conflict(self, connection: sqlite3.Connection, item: ConflictFile) -> None:
        """Take in an open conflict of another copy of the store."""
        if files.taken(connection, item.path):
            self.report.unchanged += 1
            return
        if self.cause is not None:
            files.add(connection, item.path, item.data)
        self.report.imported.append(Done("conflict", item.path, item.path.rpartition("/")[2], item.where))

    def skip(self, where: str, reason: str, *, expected: bool = False) -> None:
        """Report something that is not stored."""
        self.report.skipped.append(Left(where, reason))
        self.report.failures += not expected

    def _composed(self, note: Note, memory_id: str, project: Filed) -> Composed:
        links = [id_of(self.kind, origin) for origin in note.linked]
        return composing.compose(note, self.kind, memory_id, project, self.placement.category, links, self.device)

    def _fate(self, existing: bytes | None, composed: Composed, *, one_source: bool) -> Fate:
        return deciding.fate_of_note(
            text_format.read(existing) if existing is not None else None,
            text_format.read(composed.data),
            self.device,
            self.placement.said,
            one_source=one_source,
        )

    def _may_be_new(self, connection: sqlite3.Connection, note: Note, composed: Composed) -> bool:
        if self._forgotten(connection, composed.id, note.where):
            return False
        text = text_key(composed.filed[0], composed.body)
        same = self.texts.setdefault(text, composed.id)
        if same != composed.id:
            self.skip(note.where, f"The same text is here already: {same}.", expected=True)
        return same == composed.id

    def _forgotten(self, connection: sqlite3.Connection, memory_id: str, where: str) -> bool:
        row = connection.execute(
            "SELECT deleted_at FROM trash WHERE memory_id = ? ORDER BY trash_id DESC LIMIT 1", (memory_id,)
        ).fetchone()
        if row is not None:
            day = row["deleted_at"][:10]
            self.skip(where, f"It was deleted here on {day}: `claude-memory restore {memory_id}`.", expected=True)
        return row is not None

    def _create(self, connection: sqlite3.Connection, data: bytes, where: str, path: str | None) -> None:
        parsed = text_format.read(data)
        if self.cause is not None:
            file_id = files.add(connection, self._path(connection, parsed, path), data).file_id
            changes.created(connection, self.cause, file_id)
        self.report.imported.append(Done("memory", parsed.id or "", parsed.title, where))

    def _path(self, connection: sqlite3.Connection, parsed: text_format.ParsedFile, path: str | None) -> str:
        memory_id = parsed.id or ""
        # A path that does not hold the id may be another memory's on another device.
        if path is not None and memory_id[:8].lower() in path.lower() and not files.taken(connection, path):
            return path
        category = parsed.category or paths.DEFAULT_CATEGORY
        try:
            category = paths.valid_category(category)
        except InvalidInput:
            category = paths.DEFAULT_CATEGORY
        created = parsed.created or parsed.updated or EPOCH
        return paths.memory_path(category, created, parsed.title, memory_id, lambda p: files.taken(connection, p))

    def _refresh(self, connection: sqlite3.Connection, new: Composed, where: str) -> None:
        row = row_of(connection, new.id)
        current = bytes(row["content"])
        before, after = text_format.read(current), text_format.read(new.data)
        latest = max(after.updated or EPOCH, later_than(before.updated or EPOCH, EPOCH))
        data = composing.refreshed(current, new, latest, self.placement.said)
        if self.cause is not None:
            files.write(connection, row["file_id"], data, cause=self.cause)
        self.report.updated.append(Done("memory", new.id, after.title, where))

    def _stays(self, fate: Fate, existing: bytes, new: bytes, where: str) -> None:
        if fate is Fate.UNCHANGED:
            self.report.unchanged += 1
            return
        reason = deciding.why_kept(text_format.read(existing), text_format.read(new))
        self.skip(where, reason, expected=True)

    def _remark(self, where: str, remarks: tuple[str, ...]) -> None:
        self.report.remarks.extend(Left(where, remark) for remark in remarks)

    def _prepared(self, data: bytes) -> bytes:
        """The file without private parts and credentials, filed where the user says."""
        parsed = text_format.read(data)
        text = data.decode("utf-8", "replace")
        public = private.strip_private(text)
        if public != text:
            memory_id, data = parsed.id, public.encode()
            parsed = text_format.read(data)
            if parsed.id != memory_id or not parsed.body.strip():
                raise InvalidInput("Nothing is left of it once its private parts are taken out.")
        values = self._filed_anew(parsed)
        if not values:
            return data
        if parsed.problem is not None:
            raise InvalidInput(f"It cannot be changed, and would have to be: {parsed.problem}.")
        return text_format.rewrite(data, set=values)

    def _filed_anew(self, parsed: text_format.ParsedFile) -> dict[str, text_format.Value | text_format.Source | None]:
        values: dict[str, text_format.Value | text_format.Source | None] = {}
        says, project_id = self.placement, parsed.project_id
        if says.says_project:
            project, _ = filed(says, {}, project_id, parsed.project_name)
            if project != (project_id, parsed.project_name):
                values |= {"projectId": project[0], "projectName": project[1]}
        elif project_id and clean(project_id) != project_id:
            values["projectId"] = clean(project_id)
        if says.category and says.category != parsed.category:
            values["category"] = says.category
        return values


def row_of(connection: sqlite3.Connection, memory_id: str) -> sqlite3.Row:
    """File id and bytes of a living memory."""
    row: sqlite3.Row = connection.execute(
        "SELECT f.file_id, f.content FROM memories m JOIN files f USING (file_id) WHERE m.id = ?", (memory_id,)
    ).fetchone()
    return row


def content_of(connection: sqlite3.Connection, memory_id: str) -> bytes | None:
    """The bytes of the living memory with this id, or None."""
    row = row_of(connection, memory_id)
    return None if row is None else bytes(row["content"])


def text_key(project_id: object, body: str) -> str:
    """What two memories have in common that say the same in the same project."""
    project = key_of(project_id) if isinstance(project_id, str) else ""
    return hashlib.sha256(f"{project}\n{body.strip()}".encode("utf-8", "replace")).hexdigest()


def texts_here(connection: sqlite3.Connection) -> dict[str, str]:
    """Which memory says what, of all there are."""
    rows = connection.execute("SELECT id, project_id, body FROM memories ORDER BY created, id")
    found: dict[str, str] = {}
    for row in rows:
        found.setdefault(text_key(row["project_id"], row["body"]), row["id"])
    return found
