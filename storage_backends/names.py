"""Which paths a store accepts, and which names are other programs' temporary files.

Two strengths. A path that is *read* has to be safe: it cannot leave the root. A path that is *created* also has
to be portable: every storage and every machine that shares the store can hold it. So a file that a person
named `what?.md` on Linux can be read, while this project never makes one.
"""

import re
import unicodedata

from storage_backends.errors import InvalidName

MAX_PATH_CHARACTERS = 400  # OneDrive's limit for the whole path; the strictest of those we know
MAX_NAME_BYTES = 255  # ext4, APFS, NTFS (there in UTF-16 units, which are never more than the UTF-8 bytes)

_FORBIDDEN = frozenset('"*:<>?|')
_DRIVE = re.compile(r"[A-Za-z]:")
_RESERVED_STEM = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])", re.IGNORECASE)

_TEMPORARY_NAMES = frozenset(
    (
        # vim tries out whether it may write into a folder
        "4913",
        # systems' own files
        ".ds_store", "desktop.ini", "thumbs.db", ".trashes", ".fseventsd", ".spotlight-v100", ".temporaryitems",
        ".documentrevisions-v100", "$recycle.bin", "system volume information", "lost+found",
        # other programs' books
        ".git", ".hg", ".svn", ".stfolder", ".stversions", ".stignore", ".owncloudsync.log",
    )
)  # fmt: skip
_TEMPORARY = re.compile(
    r"""
      ~\$ .*                                # Office owner files
    | \.~ .*                                # LibreOffice locks, Nextcloud downloads, our own
    | \.\# .*                               # Emacs locks
    | \# .* \#                              # Emacs auto-save
    | \._ .*                                # AppleDouble
    | .* ~                                  # backups of vim, Emacs, Kate …
    | .* \. (tmp | temp | part | partial | crdownload | kate-swp)
    | \. .* \. s[u-w][a-z]                  # vim swap files
    | .* ___jb_(tmp | old)___               # JetBrains safe write
    | sed [A-Za-z0-9]{6}                    # sed -i
    | \.goutputstream- .*                   # GLib
    | \.nfs [0-9a-f]{8,} | \.fuse_hidden .* # deleted but still open
    | \.dropbox .* | \.syncthing\. .* | ~syncthing~ .* | \.stfolder .* | \.unison\. .*
    | \._?sync_ .* \.db .* | \.\~? lock\. .*
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)


def is_temporary(name: str) -> bool:
    """Whether a file or folder of this name is another program's (or our own) passing business, not content.

    Conflict copies of sync clients are content: they are never temporary.
    """
    return name.lower() in _TEMPORARY_NAMES or _TEMPORARY.fullmatch(name) is not None


def same_name_key(path: str) -> str:
    """Two paths with the same key are one file on a storage that ignores case and Unicode form."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def validate_safe_path(path: str) -> None:
    """Refuse what could leave the root or is no path at all. Raises: InvalidName."""
    if not path:
        raise InvalidName("The path is empty.")
    if "\0" in path:
        raise InvalidName("The path holds a NUL character.")  # ends the name inside the operating system
    if "\\" in path:
        raise InvalidName(f"{_shown(path)} holds a backslash.")  # a separator on Windows, a letter elsewhere
    if path.startswith("/"):
        raise InvalidName(f"{_shown(path)} is absolute.")
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidName(f"{_shown(path)} is not valid Unicode.") from None
    if not unicodedata.is_normalized("NFC", path):
        raise InvalidName(f"{_shown(path)} is not in Unicode form NFC.")  # one file, one spelling
    for name in path.split("/"):
        if name in ("", ".", ".."):
            raise InvalidName(f"{_shown(path)} has an empty, '.' or '..' part.")
        if _DRIVE.match(name):
            raise InvalidName(f"{_shown(path)} names a drive.")  # on Windows it would replace all before it


def validate_path(path: str) -> None:
    """Refuse what some storage or machine cannot hold. For every path that we create. Raises: InvalidName."""
    validate_safe_path(path)
    if len(path) > MAX_PATH_CHARACTERS:
        raise InvalidName(f"The path has {len(path)} characters; {MAX_PATH_CHARACTERS} are allowed.")
    folders, _, _ = path.rpartition("/")
    if any(name.startswith("~") for name in folders.split("/")):
        raise InvalidName(f"A folder of {_shown(path)} begins with '~'.")  # refused by OneDrive for Business
    for name in path.split("/"):
        reason = _why_not_portable(name)
        if reason:
            raise InvalidName(f"{_shown(name)} {reason}.")


def _why_not_portable(name: str) -> str | None:
    if len(name.encode("utf-8")) > MAX_NAME_BYTES:
        return f"is longer than {MAX_NAME_BYTES} bytes"
    if any(character in _FORBIDDEN for character in name):
        return 'holds one of " * : < > ? |, which Windows and OneDrive refuse'
    if any(ord(character) < 0x20 or ord(character) == 0x7F for character in name):
        return "holds a control character"
    if name != name.strip(" "):
        return "begins or ends with a space"  # stripped silently by Windows and OneDrive
    if name.endswith("."):
        return "ends with a dot"  # stripped silently by Windows
    if _RESERVED_STEM.fullmatch(name.split(".", 1)[0].rstrip(" ")):
        return "is a device name on Windows, with any extension"
    if name.lower() == ".lock" or "_vti_" in name.lower():
        return "is a name that SharePoint keeps for itself"
    if is_temporary(name):
        return "would be taken for a temporary file and never be read"
    return None


def _shown(path: str) -> str:
    """The path as it may stand in a message: short, printable."""
    text = path if len(path) <= 80 else path[:79] + "…"
    return repr(text)
