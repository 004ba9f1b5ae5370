"""Change files below the root so that no observer sees half a file, and nobody's save is ever destroyed.

A replacement is exchanged with the living file in one step, and what was displaced is looked at afterwards: when it
is not what the caller had seen (an editor saved in that very instant), it goes back. Where the file system
cannot exchange, the living file is first renamed away, looked at, and only then followed by its successor.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from unicodedata import normalize

from storage_backends.errors import AlreadyExists, InvalidName, ItemBusy, NotFound, StorageError, VersionMismatch
from storage_backends.folder_directory import Directory
from storage_backends.folder_errors import translated
from storage_backends.folder_rename import ExchangeUnsupported
from storage_backends.folder_root import Root
from storage_backends.folder_scan import why_hidden
from storage_backends.folder_snapshot import digest_of, is_version, stamp_of
from storage_backends.folder_temporary import Leftover, Stage, parse, temporary_name
from storage_backends.names import same_name_key


class Seen:
    """The bytes of a file and the file they were in, as it was before a change."""

    def __init__(self, data: bytes, status: os.stat_result) -> None:
        self.data = data
        self.status = status
        self.digest = digest_of(data)

    def is_in(self, directory: Directory, name: str) -> bool:
        """Whether the file is still this one with these bytes. Its time of change moved with the rename itself."""
        try:
            data, status = directory.read(name)
        except (OSError, StorageError):
            return False
        return data == self.data and os.path.samestat(status, self.status)


def create(root: Root, path: str, data: bytes) -> tuple[str, os.stat_result]:
    """Write a new file and its folders.

    Returns: the path as it is on disk (a folder that is there may be written in another case) and the status.
    """
    *folders, name = path.split("/")
    with root.locked() as top, _made_folders(root, top, folders) as (directory, actual_folders):
        if directory.spelling(name, listed=False) is not None:
            raise AlreadyExists(f"{path} is there already.")
        temporary = temporary_name(Stage.WRITING, name, ours=digest_of(data))
        directory.write_new(temporary, data, None)
        try:
            directory.rename_new(temporary, name)
        except BaseException:
            with suppress(OSError):
                directory.unlink(temporary)
            raise
        directory.sync()
        return "/".join([*actual_folders, name]), directory.status_of(name)


def update(root: Root, path: str, data: bytes, version: str) -> os.stat_result:
    """Replace the bytes of the file at `version`."""
    with root.locked() as top, _living(root, top, path) as (directory, name):
        seen = _look(directory, name, path, version)
        temporary = temporary_name(Stage.READY, name, seen=seen.digest, ours=digest_of(data))
        writing = temporary_name(Stage.WRITING, name, ours=digest_of(data))
        directory.write_new(writing, data, seen.status)
        directory.rename(writing, temporary)
        try:
            directory.exchange(temporary, name)
        except ExchangeUnsupported:
            _follow(directory, temporary, name, path, seen)
        except BaseException:
            with suppress(OSError):
                directory.unlink(temporary)
            raise
        else:
            _verify_exchanged(directory, temporary, name, path, seen, digest_of(data))
        directory.sync()
        directory.unlink(temporary)
        return directory.status_of(name)


def delete(root: Root, path: str, version: str) -> None:
    """Remove the file at `version`; one that is gone already is fine."""
    with root.locked() as top, suppress(NotFound), _living(root, top, path) as (directory, name):
        seen = _look(directory, name, path, version)
        away = _rename_away(directory, name, path, seen, Stage.DELETED)
        directory.sync()
        directory.unlink(away)


def clear_leftover(directory: Directory, name: str) -> None:
    """Clear up after a process that died in the middle of a change; `name` is such a file.

    Bytes that nobody has seen yet (somebody saved in the very instant in which that process died) come back
    under a name that everybody sees.
    """
    leftover = parse(name)
    with suppress(FileNotFoundError, NotADirectoryError):
        status = directory.status_of(name)
        if leftover is None or not stat.S_ISREG(status.st_mode):
            return
        lost = leftover.stage is Stage.AWAITED and not directory.has(leftover.original)
        if lost or (leftover.stage is not Stage.WRITING and not _is_known(directory, name, leftover)):
            _bring_back(directory, name, leftover.original)
        else:
            directory.unlink(name)
        directory.sync()


def _is_known(directory: Directory, name: str, leftover: Leftover) -> bool:
    data, _ = directory.read(name)
    return digest_of(data) in (leftover.seen, leftover.ours)


def _look(directory: Directory, name: str, path: str, version: str) -> Seen:
    """The file before the change. Raises: VersionMismatch, ItemBusy, NotFound."""
    data, status = directory.read(name)
    if not is_version(version, stamp_of(status), data):
        raise VersionMismatch(f"{path} was changed meanwhile.")
    if directory.is_open_for_writing(name):
        raise ItemBusy(f"{path} is open for writing in another program.")
    return Seen(data, status)


def _verify_exchanged(directory: Directory, temporary: str, name: str, path: str, seen: Seen, ours: str) -> None:
    """Keep the exchange if what it displaced is what was seen; otherwise undo it and raise."""
    problem = _displaced_problem(directory, temporary, path, seen)
    if problem is None:
        return
    try:
        directory.exchange(temporary, name)
    except FileNotFoundError:
        _bring_back(directory, temporary, name)  # removed in that instant: the displaced version stays
        raise problem from None
    displaced = _digest_of_file(directory, temporary)
    if displaced == ours:
        directory.unlink(temporary)
    else:
        _bring_back(directory, temporary, name)  # saved once more, in the instant of the undoing: both stay
    directory.sync()
    raise problem


def _follow(directory: Directory, temporary: str, name: str, path: str, seen: Seen) -> None:
    """Without exchange: rename the living file away, look at it, put the new one into its place.

    Afterwards `temporary` holds the displaced version, as after an exchange.
    """
    try:
        away = _rename_away(directory, name, path, seen, Stage.AWAITED)
    except BaseException:
        with suppress(OSError):
            directory.unlink(temporary)
        raise
    try:
        directory.rename_new(temporary, name)
    except FileExistsError:  # somebody saved anew in that instant: that stays, the one the caller knows goes
        directory.unlink(away)
        directory.unlink(temporary)
        raise VersionMismatch(f"{path} was changed meanwhile.") from None
    except BaseException:
        _bring_back(directory, away, name)
        raise
    directory.rename(away, temporary)


def _rename_away(directory: Directory, name: str, path: str, seen: Seen, stage: Stage) -> str:
    """Rename the file to a name of ours, if it is still the one that was seen; otherwise put it back and raise."""
    away = temporary_name(stage, name, seen=seen.digest)
    try:
        directory.rename(name, away)
    except FileNotFoundError:
        raise NotFound(f"{path} is gone.") from None
    problem = _displaced_problem(directory, away, path, seen)
    if problem is not None:
        _bring_back(directory, away, name)
        raise problem
    return away


def _displaced_problem(directory: Directory, name: str, path: str, seen: Seen) -> StorageError | None:
    """Why the displaced file must not go: it is another version, or somebody is about to write into it.

    Never raises: the caller has to undo what it did.
    """
    if directory.is_open_for_writing(name):
        return ItemBusy(f"{path} is open for writing in another program.")
    # Nobody can open it any more under a name that only we know: what is in it now stays in it
    return None if seen.is_in(directory, name) else VersionMismatch(f"{path} was changed meanwhile.")


def _bring_back(directory: Directory, away: str, name: str) -> None:
    """Give a displaced file its name back; when that is taken, one beside it that people and programs know."""
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    stem, ending = os.path.splitext(name)  # noqa: PTH122
    beside = (f"{stem} (conflicted copy {day}{number}){ending}" for number in ("", *range(2, 1000)))
    for candidate in (name, *beside):
        with suppress(FileExistsError):
            directory.rename_new(away, candidate)
            directory.sync()
            return


def _digest_of_file(directory: Directory, name: str) -> str | None:
    try:
        return digest_of(directory.read(name)[0])
    except (OSError, StorageError):
        return None


@contextmanager
def _living(root: Root, top: Directory, path: str) -> Iterator[tuple[Directory, str]]:
    """The folder and the written form of the file at this path. Raises: NotFound."""
    *folders, name = path.split("/")
    with translated(path), root.folder(top, folders, exact=False) as directory:
        actual = directory.spelling(name, listed=not root.case_sensitive)
        if actual is None:
            hidden = why_hidden(directory, name)
            if hidden is not None:
                raise ItemBusy(f"{path} {hidden}.")
            raise NotFound(f"There is no file {path}.")
        yield directory, actual


@contextmanager
def _made_folders(root: Root, top: Directory, folders: list[str]) -> Iterator[tuple[Directory, list[str]]]:
    """The folder at this path, made where it is missing, and how its parts are written."""
    with ExitStack() as stack:
        directory, actual_folders = top, []
        for name in folders:
            actual = _make_folder(directory, name, ignores_case=not root.case_sensitive)
            try:
                directory = stack.enter_context(directory.child(actual))
            except NotADirectoryError:
                raise InvalidName(f"{name!r} is a file or a link, not a folder.") from None
            actual_folders.append(normalize("NFC", actual))
        yield directory, actual_folders


def _make_folder(directory: Directory, name: str, *, ignores_case: bool) -> str:
    """Make the folder unless it is there; how its name is written."""
    actual = directory.spelling(name, listed=False)
    if actual is None:
        with suppress(FileExistsError):  # another program was faster
            directory.make(name)
        return name
    if ignores_case:
        key = same_name_key(name)
        return next((known for known in directory.names() if same_name_key(known) == key), actual)
    return actual
