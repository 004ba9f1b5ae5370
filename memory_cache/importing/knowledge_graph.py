"""The reference memory server: a graph of entities with observations, and relations between them, as JSON Lines.

Each entity becomes a memory with its observations as a list; a relation becomes a link and a line of text.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from memory_cache import paths
from memory_cache.errors import InvalidInput
from memory_cache.importing.reading import file_bytes, json_lines, json_of, modified, one_line, text_of, tilde
from memory_cache.importing.records import Item, Note, Skipped

KIND = "server-memory"


@dataclass(slots=True)
class _Entity:
    name: str
    type: str
    line: int
    observations: dict[str, None] = field(default_factory=dict)
    relations: dict[tuple[str, str], None] = field(default_factory=dict)  # kind and target


def read(path: Path, home: Path) -> Iterator[Item]:
    """Every entity. Raises: InvalidInput when the file cannot be read."""
    entities: dict[str, _Entity] = {}
    relations: list[tuple[int, Mapping[str, Any]]] = []
    for number, value in _objects(file_bytes(path)):
        where = f"{path.name}, line {number}"
        if isinstance(value, InvalidInput):
            yield Skipped(where, f"It is {value.message}.")
        elif not isinstance(value, dict):
            yield Skipped(where, "It is neither an entity nor a relation.")
        elif "from" in value and "to" in value:
            relations.append((number, value))
        elif isinstance(value.get("name"), str) and value["name"].strip():
            _add(entities, number, value)
        else:
            yield Skipped(where, "It is neither an entity nor a relation.")
    for number, value in relations:
        ends = (value["from"], value["to"])
        missing = [end for end in ends if not isinstance(end, str) or end not in entities]
        if missing:
            reason = f"It relates to {one_line(str(missing[0]), 60)}, which is not in the file."
            yield Skipped(f"{path.name}, line {number}", reason)
        else:
            kind = one_line(str(value.get("relationType") or "related to"))
            entities[ends[0]].relations[kind, ends[1]] = None
    scope, written = tilde(path.absolute(), home), modified(path)
    for entity in entities.values():
        yield _note(entity, path, scope, written)


def _objects(data: bytes) -> Iterator[tuple[int, Any]]:
    """Lines of JSON; or one JSON object, as `read_graph` answers."""
    text = text_of(data)[0].removeprefix("\ufeff").lstrip()
    graph = None
    if text.startswith("{") and ('"entities"' in text[:100_000] or "\n " in text[:1000]):
        try:
            graph = json_of(data)
        except InvalidInput:
            graph = None
    if not isinstance(graph, dict) or not isinstance(graph.get("entities"), list):
        yield from json_lines(data)
        return
    members = [*graph["entities"], *(graph["relations"] if isinstance(graph.get("relations"), list) else [])]
    yield from enumerate(members, 1)


def _add(entities: dict[str, _Entity], number: int, value: Mapping[str, Any]) -> None:
    # A name that comes twice is one entity, with the observations of both.
    kind = value.get("entityType")
    entity = entities.setdefault(value["name"], _Entity(value["name"], kind if isinstance(kind, str) else "", number))
    observations = value.get("observations")
    for observation in observations if isinstance(observations, list) else []:
        text = observation.get("content") if isinstance(observation, dict) else observation
        if isinstance(text, str) and text.strip():
            entity.observations[text.strip()] = None


def _note(entity: _Entity, path: Path, scope: str, written: datetime | None) -> Note:
    lines = [f"# {' '.join(entity.name.split())}"]
    if entity.observations:
        lines += ["", *(f"- {_indented(text)}" for text in entity.observations)]
    if entity.relations:
        lines += ["", "## Relations", "", *(f"- {kind}: {one_line(target)}" for kind, target in entity.relations)]
    kind = entity.type.strip()
    category = kind.lower() if kind.lower() in paths.CATEGORIES else None
    return Note(
        origin=f"{scope}\n{entity.name}",
        where=f"{path.name}, line {entity.line}: {one_line(entity.name, 60)}",
        body="\n".join(lines),
        category=category,
        tags=(kind,) if kind and category is None else (),
        created=written,
        updated=written,
        linked=tuple(dict.fromkeys(f"{scope}\n{target}" for _, target in entity.relations if target != entity.name)),
    )


def _indented(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\n  ")
