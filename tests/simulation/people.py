"""What people and tools do: with a device's cache through the memory's own functions, with the store by hand."""

import random
import re
import sqlite3

from memory_cache import conflicts, files, memories, paths, resolving, text_format, trash, writing
from memory_cache.errors import MemoryCacheError
from memory_cache.models import Change
from memory_cache.paths import in_scope
from memory_cache.revisions import Cause
from storage_backends.errors import StorageError
from tests.simulation.book import Book
from tests.simulation.devices import SimulatedDevice
from tests.simulation.stores import SimulatedStore

_TAGS = ("alpha", "beta", "gamma", "delta")
_WORDS = ("port", "cache", "index", "daemon", "ütf", "存储", "line", "refused")


def line(book: Book, chance: random.Random) -> str:
    """A line with a mark of its own."""
    return f"{book.new_mark()} {chance.choice(_WORDS)} {chance.choice(_WORDS)}"


def edited(lines: list[str], book: Book, chance: random.Random) -> list[str]:
    """A body after a person changed it a little."""
    lines = list(lines)
    for _ in range(chance.choice((1, 1, 1, 2))):
        at = chance.randrange(len(lines) + 1)
        match chance.choice(("add", "add", "append", "change", "change", "remove")):
            case "add":
                lines.insert(at, line(book, chance))
            case "append":
                lines.append(line(book, chance))
            case "change" if lines:
                lines[at % len(lines)] = line(book, chance)
            case "remove" if len(lines) > 1:
                del lines[at % len(lines)]
    return lines or [line(book, chance)]


def use_device(device: SimulatedDevice, chance: random.Random) -> None:
    """One call of a tool on this device."""
    action = chance.choice(
        ("remember", "remember", "update", "update", "update", "tags", "forget", "restore", "resolve", "back")
    )
    use(device, action, chance)


def use(device: SimulatedDevice, action: str, chance: random.Random) -> None:
    """This call."""
    cause = Cause(action, device.now())
    try:
        {"remember": remember, "update": _update, "tags": _tags, "forget": forget, "restore": _restore,
         "resolve": _resolve, "back": _earlier_text}[action](device, chance, cause)  # fmt: skip
    except MemoryCacheError as error:
        device.fate.note(f"{device.name} {action}: {error}")
    else:
        device.fate.note(f"{device.name} {action}")


def _picked(device: SimulatedDevice, chance: random.Random) -> memories.Stored | None:
    rows = device.connection.execute(
        "SELECT file_id FROM memories m JOIN files f USING (file_id) WHERE read_only IS NULL ORDER BY f.path"
    ).fetchall()
    if not rows:
        return None
    file_id = chance.choice(rows)["file_id"]
    return memories.Stored(file_id, memories.by_file(device.connection, file_id))


def _content(device: SimulatedDevice, file_id: int) -> bytes | None:
    record = files.get(device.connection, file_id)
    return record.content if record is not None else None


def remember(device: SimulatedDevice, chance: random.Random, cause: Cause | None = None) -> None:
    """A new memory."""
    cause = cause or Cause("remember", device.now())
    memory_id = f"{chance.randrange(16**8):08x}-0000-4000-8000-{chance.randrange(16**12):012x}"
    body = "\n".join([f"# {chance.choice(_WORDS)} {chance.choice(_WORDS)}", *edited([], device.book, chance)])
    category, tags = chance.choice(paths.CATEGORIES), chance.sample(_TAGS, chance.randrange(3))
    content = text_format.render(
        id=memory_id, category=category, tags=tags, created=cause.at, updated=cause.at, body=body
    )  # fmt: skip
    title = text_format.title_of(body)

    at = cause.at

    def add(connection: sqlite3.Connection) -> None:
        path = paths.memory_path(category, at, title, memory_id, lambda p: files.taken(connection, p))
        files.add(connection, path, content)

    device.do(add)
    device.book.save(f"remember on {device.name}", [], content)


def _update(device: SimulatedDevice, chance: random.Random, cause: Cause) -> None:
    stored = _picked(device, chance)
    if stored is None:
        return
    seen = _content(device, stored.file_id)
    body = "\n".join(edited(stored.memory.content.split("\n"), device.book, chance))
    device.do(lambda c: writing.update(c, stored, Change(content=body), cause, "allow"))
    device.book.save(f"update on {device.name}", [seen], _content(device, stored.file_id))


def _tags(device: SimulatedDevice, chance: random.Random, cause: Cause) -> None:
    stored = _picked(device, chance)
    if stored is not None:
        change = Change(add_tags=(chance.choice(_TAGS),), remove_tags=(chance.choice(_TAGS),))
        if chance.random() < 0.3:
            change = Change(priority=chance.choice(("high", "low", "normal")))
        device.book.touch(_content(device, stored.file_id) or b"")
        device.do(lambda c: writing.update(c, stored, change, cause, "allow"))


def forget(device: SimulatedDevice, chance: random.Random, cause: Cause | None = None) -> None:
    """A memory is deleted, and its conflicts with it."""
    cause = cause or Cause("forget", device.now())
    stored = _picked(device, chance)
    if stored is None:
        return
    seen = [_content(device, stored.file_id)]
    record = files.get(device.connection, stored.file_id)
    device.deleted_by_user |= {record.base if record is not None else None, stored.memory.id}
    device.book.delete(f"forget on {device.name}", seen[0])
    doomed = [stored.memory.path]
    for conflict_file in conflicts.of_memory(device.connection, stored.memory.id):
        record = files.get(device.connection, conflict_file)
        if record is not None:
            doomed.append(record.path)
            seen.append(record.content)
    device.do(lambda c: trash.move_in(c, stored.file_id, cause))
    device.deleted_by_user |= set(doomed)
    device.book.save(f"forget on {device.name}", seen, None)


def _restore(device: SimulatedDevice, chance: random.Random, cause: Cause) -> None:
    rows = device.connection.execute("SELECT trash_id FROM trash ORDER BY trash_id").fetchall()
    if rows:
        trash_id = chance.choice(rows)["trash_id"]
        file_id = device.do(lambda c: trash.restore(c, trash_id, device.now()))
        device.book.save(f"restore on {device.name}", [], _content(device, file_id))


def _earlier_text(device: SimulatedDevice, chance: random.Random, cause: Cause) -> None:
    stored = _picked(device, chance)
    if stored is None:
        return
    rows = device.connection.execute(
        "SELECT revision_id FROM revisions WHERE memory_id = ? ORDER BY revision_id", (stored.memory.id,)
    ).fetchall()
    if rows and chance.random() < 0.3:
        seen = _content(device, stored.file_id)
        revision = chance.choice(rows)["revision_id"]
        device.do(lambda c: writing.restore(c, stored.memory.id, revision, cause))
        device.book.save(f"earlier text on {device.name}", [seen], _content(device, stored.file_id))


def _resolve(device: SimulatedDevice, chance: random.Random, cause: Cause) -> None:
    rows = device.connection.execute(
        "SELECT c.id, f.path, f.content, c.memory_id FROM conflicts c JOIN files f USING (file_id) ORDER BY f.path"
    ).fetchall()
    if not rows:
        return
    row = chance.choice(rows)
    theirs = conflicts.decode(row["content"]).theirs
    before = {path: data for path, data in device.texts().items() if path.startswith("memories/")}
    keep = chance.choice(("mine", "theirs", "both"))
    device.book.gone.pop(row["memory_id"], None)
    device.do(lambda c: resolving.resolve(c, row["id"], keep, None, cause, "allow"))  # type: ignore[arg-type]
    after = device.texts()
    changed = [path for path in after if path.startswith("memories/") and after[path] != before.get(path)]
    mine = [before.get(path) for path in changed]
    standing = b"".join(data for path, data in after.items() if path.startswith("memories/"))
    device.deleted_by_user.add(row["path"])
    device.book.save(f"resolve on {device.name}", [theirs, *mine], standing)


def use_folder(store: SimulatedStore, book: Book, chance: random.Random, who: str) -> None:
    """One thing that a person does in the storage with an editor or a file manager."""
    visible = {path: data for path, data in store.files().items() if in_scope(path) and path.startswith("memories/")}
    action = chance.choice(("write", "edit", "edit", "edit", "rename", "delete", "copy", "break", "ends", "again"))
    if chance.random() < 0.03:
        store.put("index.json", b"{}")  # the older server is at work, too
    if action == "write" or not visible:
        text = "\n".join(edited([], book, chance)).encode() + chance.choice((b"", b"\n"))
        path = f"memories/{chance.choice(('note', 'idea', 'Über'))} {chance.randrange(1000)}.md"
        if path not in visible:
            store.put(path, text)
            book.save(f"{who} writes {path}", [], text)
        return
    path = chance.choice(sorted(visible))
    data = visible[path]
    store.fate.note(f"{who} {action} {path}")
    if action != "delete":
        book.touch(data)
    try:
        by_hand(action, store, book, chance, path, who)
    except StorageError as error:
        store.fate.note(f"{who} {action}: {error.title}")


def by_hand(action: str, store: SimulatedStore, book: Book, chance: random.Random, path: str, who: str) -> None:
    """This action with this file."""
    data = store.files()[path]
    folder, _, name = path.rpartition("/")
    match action:
        case "edit":
            _saved(store, book, path, data, _edited_by_hand(data, book, chance), who)
        case "rename":
            stem = re.sub(r"^(renamed-)+", "", name)
            store.move(path, f"{folder}/{chance.choice(('renamed-', 'Renamed-', 'sub/'))}{stem}"[:200])
        case "delete" if chance.random() < 0.4:
            book.delete(f"{who} deletes {path}", data)
            store.remove(path)
            book.save(f"{who} deletes {path}", [data], None)
        case "copy" if len(path) < 150:
            stem = path.removesuffix(".md")
            target = f"{stem}{chance.choice((' (1)', '-LAPTOP-AB12CD', ' (conflicted copy)'))}.md"
            if target not in store.files():
                text = chance.choice((data, _edited_by_hand(data, book, chance)))
                store.put(target, text)
                book.save(f"{who} copies {path}", [], text)
        case "break" if chance.random() < 0.3:
            _saved(store, book, path, data, chance.choice((data.replace(b"id: ", b"id: [", 1), data + b"\xff\n")), who)
        case "ends":
            _saved(store, book, path, data, data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"), who)
        case "again":
            store.remove(path)
            store.put(path, data)


def _edited_by_hand(data: bytes, book: Book, chance: random.Random) -> bytes:
    """The body changed a little, the front matter left alone."""
    head, fence, body = data.rpartition(b"---\n")
    lines = body.decode("utf-8", "surrogateescape").split("\n")
    return head + fence + "\n".join(edited(lines, book, chance)).encode("utf-8", "surrogateescape")


def _saved(store: SimulatedStore, book: Book, path: str, before: bytes, after: bytes, who: str) -> None:
    store.put(path, after)
    book.save(f"{who} edits {path}", [before], after)
