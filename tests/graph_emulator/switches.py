"""Every way in which the emulated service can differ from the tidy one of the documentation."""

from dataclasses import dataclass, field
from enum import StrEnum


class Account(StrEnum):
    """The two kinds of OneDrive; they differ in ids, tags, delta and hashes."""

    PERSONAL = "personal"
    BUSINESS = "business"


class Tombstone(StrEnum):
    """How much a deletion says about the item: all fields, all but the name, or nothing but the id."""

    FULL = "full"
    NAMELESS = "nameless"
    BARE = "bare"


@dataclass
class Switches:
    """Behaviour of the service. A test sets what it is about; None means: as this kind of account does.

    Attributes:
        folder_delta: delta works below the root of a drive (else 501).
        root_delta_denied: delta at the root answers 403, as for a token limited to the app folder.
        latest_refused: `token=latest` is refused with 400.
        parent_path_in_delta: `parentReference.path` is there in delta.
        child_tombstones: deleting a folder names what was in it.
        ancestors_in_delta: a changed item comes with its parent folders.
        drop_tombstones: probability that a deletion is never told.
        duplicate_items: probability that an item comes twice in a round.
        shuffle: items of a round come in any order.
        page_size: items on a page of delta; also of children when smaller than asked for.
        empty_pages: each round begins with an empty page that has a nextLink.
        delta_lag: seconds until delta knows of a change.
        endless_pages: "same" answers with the very link that was asked, "cycle" with two links in turn.
        expire_cursors: every stored link of before is answered with this status (410, 404, 400 …).
        gone_location_fails: the link in `Location` of a 410 answers 500.
        etag_moves_after_upload: the eTag changes by itself after the answer to an upload.
        ctag_moves_on_rename: renaming changes the cTag too.
        hashes: names of the hashes in `file.hashes`.
        drive_id_flips: the drive id changes its letter case, and loses leading zeros, from answer to answer.
        content_redirects: `/content` answers 302 (else it streams the bytes itself).
        download_urls: items carry `@microsoft.graph.downloadUrl`.
        implicit_folders: PUT by path makes the missing folders (else 404).
        session_false_mismatch: createUploadSession with a right If-Match answers 412.
        drives_list_broken: `GET /me/drives` answers 403 serviceReadOnly.
        app_folder_broken: tokens limited to the app folder get 403 everywhere.
        app_folder_name: the folder `Apps` in the account's language.
        quota: bytes of the drive.
        read_only: every write answers 403 serviceReadOnly.
        socket_refused: the notification endpoint answers 400 notSupported.
        socket_silent: notifications are accepted and never sent.
        socket_lifetime: seconds until a notification URL ends.
        captive_downloads: the content host serves a login page instead of the bytes, with status 200.
        stale_downloads: the content host serves the bytes of the version before.
        locked_items: ids that answer 423 to every write.
    """

    folder_delta: bool | None = None
    root_delta_denied: bool = False
    latest_refused: bool = False
    parent_path_in_delta: bool = True
    tombstone: Tombstone | None = None
    child_tombstones: bool | None = None
    ancestors_in_delta: bool = True
    drop_tombstones: float = 0.0
    duplicate_items: float = 0.0
    shuffle: bool = False
    page_size: int = 200
    empty_pages: bool = False
    delta_lag: float = 0.0
    endless_pages: str = ""
    expire_cursors: int = 0
    gone_location_fails: bool = False
    etag_moves_after_upload: bool = False
    ctag_moves_on_rename: bool | None = None
    hashes: tuple[str, ...] | None = None
    drive_id_flips: bool = False
    content_redirects: bool = True
    download_urls: bool = True
    implicit_folders: bool = True
    session_false_mismatch: bool = False
    drives_list_broken: bool = True
    app_folder_broken: bool = False
    app_folder_name: str = "Apps"
    quota: int = 5 * 1024**3
    read_only: bool = False
    socket_refused: bool = False
    socket_silent: bool = False
    socket_lifetime: float = 3600.0
    captive_downloads: bool = False
    stale_downloads: bool = False
    locked_items: set[str] = field(default_factory=set)
