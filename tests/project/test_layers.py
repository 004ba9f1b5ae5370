"""The table of rooms in docs/architecture.md, as a test: who may import whom."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("memory_cache", "storage_backends", "daemon", "mcp_server", "dashboard", "command_line")
MAY_IMPORT = {
    "memory_cache": set(),
    "storage_backends": set(),
    "daemon": {"memory_cache", "storage_backends"},
    "mcp_server": {"memory_cache"},
    "dashboard": {"memory_cache"},
    "command_line": {"memory_cache", "storage_backends", "daemon", "mcp_server", "dashboard"},
}
# Memory and answers never touch the network or the storage's libraries.
FOREIGN = {
    "memory_cache": {"httpx", "mcp", "msgraph", "azure", "watchfiles", "websockets", "starlette", "uvicorn"},
    "storage_backends": {"mcp", "aiosqlite", "sqlite3", "pydantic"},
    "daemon": {"mcp", "msgraph", "azure", "httpx"},
    "mcp_server": {"msgraph", "azure", "httpx", "watchfiles"},
    "dashboard": {"mcp", "msgraph", "azure", "httpx", "watchfiles", "websockets", "aiosqlite"},
}


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add((node.module or "").partition(".")[0])
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_its_layer_may(room: str) -> None:
    forbidden = (set(ROOMS) - {room} - MAY_IMPORT[room]) | FOREIGN.get(room, set()) | {"tests", "benchmarks"}
    offenders = {
        str(path.relative_to(ROOT)): sorted(imports_of(path) & forbidden)
        for path in (ROOT / room).rglob("*.py")
        if imports_of(path) & forbidden
    }
    assert offenders == {}


def test_the_memory_has_no_circle_of_imports() -> None:
    """Imports inside functions count too: they only hide a circle."""
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in (ROOT / "memory_cache").rglob("*.py")
    }
    imported = {name: modules_imported_by(path) & modules.keys() - {name} for name, path in modules.items()}
    TopologicalSorter(imported).prepare()  # raises CycleError, which names the circle


def modules_imported_by(path: Path) -> set[str]:
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
        waiting.extend(ast.iter_child_nodes(node))
    return found


def test_no_file_has_grown_into_two_rooms() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for room in (*ROOMS, "tests", "benchmarks")
        for path in (ROOT / room).rglob("*.py")
        if (lines := len(path.read_text("utf-8").splitlines())) > 420
    }
    assert long == {}


def test_nothing_evaluates_text_or_loads_unsafe_yaml() -> None:
    offenders = []
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call):
                    called = ast.unparse(node.func)
                    if called in {
                        "eval",
                        "exec",
                        "pickle.loads",
                        "pickle.load",
                        "yaml.load",
                        "yaml.unsafe_load",
                        "os.system",
                    }:
                        offenders.append(f"{path.relative_to(ROOT)}:{node.lineno} {called}")
    assert offenders == []
