"""The document of guarantees names tests and profiles that exist."""

import re
from pathlib import Path

from tests.simulation.mutants import MUTANTS
from tests.simulation.profiles import PROFILES

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs/guarantees.md").read_text("utf-8")


def test_every_test_named_in_the_guarantees_exists() -> None:
    written = "\n".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py"))
    known = set(re.findall(r"def (test_\w+)", written))
    assert set(re.findall(r"`(test_\w+)`", DOCUMENT)) - known == set()
    paths = re.findall(r"`((?:tests|daemon)/[\w/]+\.py)`", DOCUMENT)
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_profile_named_there_exists_and_every_mutant_is_counted() -> None:
    assert set(re.findall(r"profile `([\w ]+)`", DOCUMENT)) <= PROFILES.keys()
    assert len(MUTANTS) == 12
