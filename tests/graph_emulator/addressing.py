"""Which item and which action a request path means, in every spelling that clients use."""

import re
from dataclasses import dataclass
from urllib.parse import unquote


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed path below `/v1.0`.

    Attributes:
        drive: the id of the drive, or "me".
        anchor: "" (the drive itself), "root", "items" or "special".
        anchor_id: the item id, or the name of the special folder.
        names: path below the anchor, decoded.
        by_path: a path was given, even an empty one.
        action: what follows, such as "children"; empty for the item itself.
    """

    drive: str
    anchor: str
    anchor_id: str
    names: tuple[str, ...]
    by_path: bool
    action: str


_ANCHOR = re.compile(r"^/(?:me/drive|drives/([^/]+))(?:/(root|items/[^/:]+|special/[^/:]+))?(.*)$")


def parse(path: str) -> Address | None:
    """The address, or None when the path is not one of a drive."""
    # Names hold neither slash nor colon, so that an encoded one is always a separator.
    plain = re.sub(r"%2f", "/", re.sub(r"%3a", ":", path, flags=re.IGNORECASE), flags=re.IGNORECASE)
    plain = re.sub(r"/{2,}", "/", plain)
    match = _ANCHOR.match(plain)
    if match is None:
        return None
    drive, anchor, rest = match.groups()
    kind, _, anchor_id = (anchor or "").partition("/")
    names: tuple[str, ...] = ()
    by_path = rest.startswith(":") or rest.startswith("/:")
    if by_path:
        path_text, _, rest = rest.lstrip("/")[1:].partition(":")
        names = tuple(unquote(part) for part in path_text.split("/") if part not in ("", "."))
    return Address(unquote(drive or "me"), kind, unquote(anchor_id), names, by_path, unquote(rest).strip("/"))
