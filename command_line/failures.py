"""What went wrong, for people and for programs: the one place where errors become a sentence and an exit code.

0  done
1  failed
2  wrong usage, wrong argument, wrong setting
3  a person has to log in
4  the storage is not reachable (or is suddenly empty)
5  held back until the user confirms
"""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

OK, FAILED, USAGE, LOGIN, UNREACHABLE, HELD = range(6)
_INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as it is shown: `title` in a few words, `message` one sentence, `hint` what to do next."""

    title: str
    message: str
    hint: str
    code: int


def failure_of(error: BaseException) -> Failure:
    """The failure that an error is. A group of errors counts as its first."""
    from command_line.errors import CommandFailed
    from daemon.errors import DaemonError, StorageEmptied
    from memory_cache.errors import InvalidInput, MemoryCacheError, SettingsError
    from storage_backends.errors import LoginRequired, StorageError, TransientError

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, CommandFailed):
        return Failure(error.title, error.message, error.hint, error.code)
    if isinstance(error, (MemoryCacheError, StorageError, DaemonError)):
        code = FAILED
        if isinstance(error, (InvalidInput, SettingsError)):
            code = USAGE
        elif isinstance(error, LoginRequired):
            code = LOGIN
        elif isinstance(error, (TransientError, StorageEmptied)):
            code = UNREACHABLE
        return Failure(error.title, error.message, error.hint, code)
    if isinstance(error, CommandFailed):
        return Failure(error.title, error.message, error.hint, error.code)
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return Failure("System error", f"{place}{error.strerror or error}.", "", FAILED)
    return Failure(
        "Unexpected error",
        f"{type(error).__name__}: {error}",
        "This is a fault of the program. `python -X dev -m command_line …` shows where it happened.",
        FAILED,
    )


def report(failure: Failure, *, as_json: bool) -> None:
    """The sentence and the hint on stderr; with `as_json` the error object on stdout as well."""
    if as_json:
        shown = {"title": failure.title, "message": failure.message, "hint": failure.hint}
        print(json.dumps({"error": shown}), flush=True)
    sys.stderr.write(f"{failure.title}: {failure.message}\n")
    if failure.hint:
        sys.stderr.write(f"{failure.hint}\n")


def guarded(run: Callable[[], int], *, as_json: bool) -> int:
    """The exit code of a command; whatever it raises is reported and becomes one as well."""
    try:
        code = run()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader has enough (`… | head`). Python would complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except BaseExceptionGroup as group:
        if group.subgroup((KeyboardInterrupt, SystemExit)):
            return _INTERRUPTED
        return _failed(group, as_json)
    except Exception as error:  # noqa: BLE001 - the last line of defence: a sentence instead of a traceback
        return _failed(error, as_json)
    return code


def _failed(error: BaseException, as_json: bool) -> int:
    if sys.flags.dev_mode:
        raise error
    failure = failure_of(error)
    report(failure, as_json=as_json)
    return failure.code
