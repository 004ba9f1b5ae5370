"""What must hold when the world has come to rest."""

from collections.abc import Mapping, Sequence

from daemon.round_report import RoundReport
from memory_cache.paths import in_scope
from tests.simulation.book import Book
from tests.simulation.devices import SimulatedDevice
from tests.simulation.fate import Violation
from tests.simulation.stores import SimulatedStore


def no_failed_rounds(reports: Sequence[RoundReport | str]) -> None:
    """Without faults every round ends well."""
    for report in reports:
        if isinstance(report, str):
            raise Violation(f"a round without faults ended with {report}")
        if report.errors:
            raise Violation(f"a round without faults reported {report.errors[0]}")


def all_in_step(devices: Sequence[SimulatedDevice], stores: Sequence[SimulatedStore]) -> None:
    """I2: all devices and all stores hold the same files, byte for byte, and know it."""
    expected = _shared(stores[0].files())
    for store in stores[1:]:
        _same(f"folder {store.name}", expected, _shared(store.files()))
    for device in devices:
        _same(device.name, expected, _shared(device.texts()))
        row = device.connection.execute(
            "SELECT path FROM files WHERE content IS NULL OR item_id IS NULL OR content_hash IS NOT base_hash"
        ).fetchone()
        if row is not None:
            raise Violation(f"I2: {device.name} still has work to do with {row['path']}")


def nothing_resurrected(book: Book, store: SimulatedStore) -> None:
    """What was deleted in the sight of all, and touched by nobody since, is gone."""
    back = book.resurrected(dict(store.files()))
    if back:
        raise Violation(f"I4: deleted and back again: {back}")


def few_writes(writes: int, events: int, devices: int) -> None:
    """I6: no two devices answer each other's writes for ever."""
    if writes > 30 + 12 * events * devices:
        raise Violation(f"I6: {writes} writes after {events} events on {devices} devices")


def _shared(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {path: data for path, data in files.items() if in_scope(path)}


def _same(name: str, expected: dict[str, bytes], found: dict[str, bytes]) -> None:
    for path in sorted(expected.keys() | found.keys()):
        if expected.get(path) != found.get(path):
            raise Violation(f"I2: {name} differs at {path}: {found.get(path)!r} instead of {expected.get(path)!r}")


def nothing_lost(book: Book, store: SimulatedStore) -> None:
    """I3: every line ever saved is alive, in an open conflict, or was given up by somebody who had seen it."""
    missing = book.missing(dict(store.files()))
    if missing:
        raise Violation(f"I3: lost {missing}")
