"""remember, recall, list, show, update, forget, history, restore, trash, undo: what they do, print and return."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line.memory_cli import Device

FIELDS = {"id", "title", "category", "tags", "content", "created", "updated"}


def test_remember_prints_the_memory_with_its_similar_ones(device: Device) -> None:
    memory = device.json(
        "remember", "# Use port 3001\n\nBecause.", "--category", "decision", "--tags", "net, web", "--tags", "ports",
        "--priority", "high", "--ttl", "7d",
    )  # fmt: skip
    assert memory.keys() > FIELDS
    assert memory["title"] == "Use port 3001"
    assert memory["tags"] == ["net", "web", "ports"]
    assert (memory["category"], memory["priority"]) == ("decision", "high")
    assert memory["expiresAt"] > memory["created"]
    assert memory["projectId"] == f"local:{device.work.as_posix()}"
    assert memory["similar"] == []


def test_content_comes_from_an_argument_or_standard_input(device: Device) -> None:
    assert device.json("remember", "--category", "task", stdin="from a pipe\n")["content"] == "from a pipe"
    assert device.json("remember", "-", "--category", "task", stdin="\ufeffünï\r\n")["content"] == "ünï"
    assert device.json("remember", "argument", "--category", "task", stdin="pipe")["content"] == "argument"


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (("remember", "--category", "task"), None),
        (("remember", "--category", "task"), ""),
        (("remember", "--category", "task"), b"\xff\xfe"),
        (("remember", "x", "--category", "../../x"), None),
        (("remember", "x", "--category", "task", "--ttl", "0d"), None),
        (("remember", "<private>x</private>", "--category", "task"), None),
        (("remember", "x", "--category", "task", "--project", "/gone"), None),
        (("remember", "x", "--category", "task", "--project", " "), None),
        (("remember", "x", "--category", "task", "--project", "p", "--global"), None),
        (("remember", "x", "--category", "task", "--priority", "urgent"), None),
        (("remember", "x"), None),
        (("show", ""), None),
        (("forget", ""), None),
        (("recall", "x", "--limit", "0"), None),
        (("list", "--cursor", "nonsense"), None),
        (("conflicts", "resolve", "abc"), None),
        (("delete", "--yes"), None),
    ],
)
def test_wrong_use_exits_2_and_says_why(device: Device, words: tuple[str, ...], stdin: str | bytes | None) -> None:
    result = device(*words, stdin=stdin)
    assert result.code == 2
    assert result.err.strip()


def test_private_parts_are_never_stored(device: Device) -> None:
    memory = device.json("remember", "Open <private >SECRET</private> text", "--category", "task")
    assert "SECRET" not in json.dumps(memory)
    for path in device.home.rglob("*"):
        if path.is_file():
            assert b"SECRET" not in path.read_bytes()


def test_an_error_is_an_object_on_stdout_and_a_sentence_on_stderr(device: Device) -> None:
    result = device("show", "01234567", "--json")
    assert result.code == 1
    error = result.data["error"]
    assert error.keys() == {"title", "message", "hint"}
    assert "01234567" in error["message"]
    assert error["message"] in result.err
    plain = device("show", "01234567")
    assert (plain.code, plain.out) == (1, "")


def test_a_wrong_setting_is_named(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_MEMORY_DEVICE_NAM", "x")
    result = device("list")
    assert result.code == 2
    assert "CLAUDE_MEMORY_DEVICE_NAME" in result.err


def test_recall_finds_in_the_project_and_among_the_global_ones(device: Device, tmp_path: Path) -> None:
    here = device.remember("The zebra crossing is closed")
    everywhere = device.remember("Zebra stripes everywhere", "--global")
    other = device.remember("Another zebra", "--project", "other-project")
    found = device.json("recall", "zebra")
    assert {hit["id"] for hit in found["hits"]} == {here, everywhere}
    assert found["more"] == 0
    assert all("score" in hit and "why" in hit and hit["content"] for hit in found["hits"])
    assert [hit["id"] for hit in device.json("recall", "zebra", "--global")["hits"]] == [everywhere]
    assert {hit["id"] for hit in device.json("recall", "zebra", "--all")["hits"]} == {here, everywhere, other}
    named = device.json("recall", "zebra", "--project", "other-project")
    assert {hit["id"] for hit in named["hits"]} == {everywhere, other}
    limited = device.json("recall", "zebra", "--all", "--limit", "1")
    assert (len(limited["hits"]), limited["more"]) == (1, 2)
    assert device.json("recall", "--all")["hits"][0]["id"] == other
    assert "No memories found" in device("recall", "giraffe").out


@pytest.mark.parametrize(
    "query", ["next.js", "what's new", "C#", "a,b", "react AND", "NOT", '"', "*", "日本語", "(", "x:y"]
)
def test_any_query_is_text(device: Device, query: str) -> None:
    assert device("recall", query).code == 0


def test_recall_shows_the_text_with_its_origin(device: Device) -> None:
    memory_id = device.remember("# Zebra\n\nStripes \x1b[31mred\x07")
    out = device("recall", "zebra").out
    assert memory_id[:8] in out
    assert "Stripes" in out
    assert "\x1b" not in out
    assert "\x07" not in out


def test_list_pages_through_everything(device: Device) -> None:
    ids = [device.remember(f"Note {number}") for number in range(5)]
    seen: list[str] = []
    page = device.json("list", "--limit", "2")
    while True:
        seen += [memory["id"] for memory in page["memories"]]
        assert page["more"] == 5 - len(seen)
        if not page["more"]:
            break
        page = device.json("list", "--limit", "2", "--cursor", page["cursor"])
    assert sorted(seen) == sorted(ids)
    assert "No memories found" in device("list", "--category", "task").out


def test_list_narrows_by_category_tag_and_project(device: Device) -> None:
    one = device.remember("One", "--tags", "red")
    two = device.remember("Two", "--global")
    device.remember("Three", "--project", "elsewhere")
    assert len(device.json("list")["memories"]) == 3
    assert [memory["id"] for memory in device.json("list", "--tag", "RED")["memories"]] == [one]
    assert [memory["id"] for memory in device.json("list", "--project-only")["memories"]] == [one]
    assert [memory["id"] for memory in device.json("list", "--global")["memories"]] == [two]
    assert device.json("list", "--category", "task")["memories"] == []


def test_show_takes_a_prefix_and_prints_the_whole_text(device: Device) -> None:
    memory_id = device.remember("# Title\n\nLast line 日本語")
    assert device.json("show", memory_id[:8])["id"] == memory_id
    out = device("show", memory_id).out
    assert f"id: {memory_id}" in out
    assert out.endswith("# Title\n\nLast line 日本語\n")


def test_update_changes_what_it_is_told(device: Device) -> None:
    memory_id = device.remember("Old text", "--tags", "a,b")
    memory = device.json(
        "update",
        memory_id,
        "New text",
        "--add-tag",
        "c",
        "--remove-tag",
        "a",
        "--category",
        "task",
        "--priority",
        "low",
    )
    assert (memory["content"], memory["tags"]) == ("New text", ["b", "c"])
    assert (memory["category"], memory["priority"]) == ("task", "low")
    assert device.json("update", memory_id, "--tags", "x")["tags"] == ["x"]
    assert "expiresAt" in device.json("update", memory_id, "--ttl", "2w")
    assert "expiresAt" not in device.json("update", memory_id, "--ttl", "none")
    assert "projectId" not in device.json("update", memory_id, "--global")
    assert device.json("update", memory_id, stdin="From a pipe")["content"] == "From a pipe"
    assert device.json("update", memory_id, "-", "--priority", "high", stdin="Both")["content"] == "Both"
    assert [r["content"] for r in device.json("history", memory_id)["revisions"]][-1] == "Old text"


def test_an_update_of_nothing_is_an_error(device: Device) -> None:
    memory_id = device.remember("Text")
    for words, stdin in (((), None), ((), ""), (("",), None), (("", "--priority", "low"), None)):
        assert device("update", memory_id, *words, stdin=stdin).code == 2
    assert device.json("show", memory_id)["content"] == "Text"


def test_an_inherited_pipe_does_not_hold_an_update_up(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    from command_line import waiting_input

    monkeypatch.setattr(waiting_input, "_WAIT_SECONDS", 0.05)
    reading, writing = os.pipe()
    with os.fdopen(reading, encoding="utf-8") as silent:
        monkeypatch.setattr("sys.stdin", silent)
        assert waiting_input.waiting_input() is None
        os.write(writing, "spät".encode())
        os.close(writing)
        assert waiting_input.waiting_input() == "spät"
    with open(os.devnull, encoding="utf-8") as nothing:  # noqa: PTH123
        monkeypatch.setattr("sys.stdin", nothing)
        assert waiting_input.waiting_input() is None


def test_forget_trash_restore_and_undo(device: Device) -> None:
    memory_id = device.remember("Keep me")
    assert device.json("forget", memory_id)["id"] == memory_id
    assert device.json("list")["memories"] == []
    assert device("forget", memory_id).code == 1
    trash = device.json("trash")
    assert [(entry["id"], entry["content"]) for entry in trash["trash"]] == [(memory_id, "Keep me")]
    assert device.json("restore", memory_id[:8])["content"] == "Keep me"
    device.json("update", memory_id, "Spoiled")
    assert device.json("undo")["memories"][0]["content"] == "Keep me"
    assert re.search(r"replaced \d{4}-\d\d-\d\d \d\d:\d\d UTC", device("history", memory_id).out)
    revisions = device.json("history", memory_id)["revisions"]
    assert {"Keep me", "Spoiled"} & {revision["content"] for revision in revisions}
    spoiled = next(revision for revision in revisions if revision["content"] == "Spoiled")
    assert device.json("restore", memory_id, "--revision", str(spoiled["revision"]))["content"] == "Spoiled"
    assert device("conflicts", "resolve", "abcd", "--keep", "mine").code == 1
    device.json("forget", memory_id)
    for shown in (memory_id, memory_id[:8]):
        assert "restore brings it back" in device("show", shown).err
    assert device.json("trash", "--purge", "0")["trash"] == []
    assert device("restore", memory_id).code == 1


def test_links_merge_and_many_at_once(device: Device) -> None:
    one, two, three = (device.remember(f"Note {word}") for word in ("alpha", "beta", "gamma"))
    device.json("link", one, two)
    related = device.json("related", one)["memories"]
    assert [(memory["id"], memory["distance"]) for memory in related] == [(two, 1)]
    assert "graph LR" in device("graph").out
    graph = device.json("graph")
    assert graph["links"] == [sorted([one, two])]
    assert "graph" in graph["mermaid"]
    device.json("link", one, two, "--unlink")
    assert device.json("related", one)["memories"] == []
    empty = device("graph")
    assert (empty.code, "graph LR" in empty.out, "No memories are linked yet" in empty.out) == (0, False, True)
    assert device("link", one, one).code == 2
    assert len(device.json("tag", "new", "--query", "note")["memories"]) == 3
    assert device.json("list", "--tag", "new")["more"] == 0
    merged = device.json("merge", one, two, "--title", "Both")
    assert merged["id"] == one
    assert "beta" in merged["content"]
    assert device("merge", one, one).code == 2
    assert device.json("delete", "--query", "gamma")["dryRun"] is True
    assert len(device.json("list")["memories"]) == 2
    assert [memory["id"] for memory in device.json("delete", "--query", "gamma", "--yes")["memories"]] == [three]
    assert device.json("stats")["memories"] == 1


def test_export_is_a_bare_array_or_a_file(device: Device, tmp_path: Path) -> None:
    ids = [device.remember(f"Note {number}\n```\ncode\n```") for number in range(3)]
    exported = device.json("export")
    assert [memory["id"] for memory in exported] == ids
    assert device("export", "--format", "json").data == exported
    markdown = device("export", "--format", "markdown").out
    assert all(memory_id in markdown for memory_id in ids)
    assert "````markdown" in markdown
    target = tmp_path / "export.json"
    assert device.json("export", "--output", str(target)) == {"path": str(target), "format": "json", "count": 3}
    assert json.loads(target.read_text("utf-8")) == exported
    assert device("export", "--output", str(tmp_path / "gone" / "x.json")).code == 2


def test_context_names_project_and_reasons(device: Device) -> None:
    device.remember("Fix the login", "--category", "task")
    context = device.json("context")
    assert context["project"]["source"] == "working directory"
    assert [item["content"] for item in context["items"]] == ["Fix the login"]
    assert all(item["reason"] for item in context["items"])


def test_a_memory_of_a_repository_is_found_from_its_folders(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = device.work / "src" / "deep"
    deep.mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=device.work, check=True)
    with (device.work / ".git" / "config").open("a") as file:
        file.write('[remote "origin"]\n\turl = https://t:TOKEN@github.com/Acme/Widget.git\n')
    memory = device.json("remember", "Zebra", "--category", "task")
    assert (memory["projectId"], memory["projectName"]) == ("github.com/acme/widget", "widget")
    monkeypatch.chdir(deep)
    assert len(device.json("recall", "zebra")["hits"]) == 1
    monkeypatch.chdir(device.work.parent)
    assert device.json("recall", "zebra")["hits"] == []
    assert len(device.json("recall", "zebra", "--project", "widget")["hits"]) == 1
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(deep))
    assert len(device.json("recall", "zebra")["hits"]) == 1


def test_output_that_the_terminal_cannot_show_is_no_error(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    memory_id = device.remember("Ünï 日本語 🎉")
    for words, expected in ((("show", memory_id), "?"), (("show", memory_id, "--json"), "\\u65e5")):
        narrow = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
        monkeypatch.setattr(sys, "stdout", narrow)
        assert device(*words).code == 0
        narrow.seek(0)
        assert expected in narrow.read()


def test_a_terminal_gets_colours_and_the_same_facts(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    memory_id = device.remember("# Zebra [bold]\n\n* one", "--tags", "x")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    for words in (("recall", "zebra", "--explain"), ("list",), ("show", memory_id)):
        screen = Screen()
        monkeypatch.setattr(sys, "stdout", screen)
        assert device(*words).code == 0
        assert memory_id[:8] in screen.getvalue()
        assert "Zebra [bold]" in screen.getvalue()
        assert "\x1b[" in screen.getvalue()


def test_commands_work_as_processes_of_their_own(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CLAUDE_")}
    environ |= {"CLAUDE_MEMORY_HOME": str(tmp_path / "home"), "PYTHONPATH": str(Path(__file__).parents[2])}

    def run(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "command_line", *words], input=stdin, capture_output=True, encoding="utf-8",
            cwd=tmp_path, env=environ, check=False, timeout=60,
        )  # fmt: skip

    stored = run("remember", "--category", "task", "--global", "--json", stdin="Zebra 日本語\n")
    assert stored.returncode == 0, stored.stderr
    memory_id = json.loads(stored.stdout)["id"]
    found = json.loads(run("recall", "日本語", "--json").stdout)
    assert [hit["id"] for hit in found["hits"]] == [memory_id]
    assert run("update", memory_id, "--add-tag", "x").returncode == 0
    assert json.loads(run("show", memory_id, "--json").stdout)["tags"] == ["x"]
    missing = run("show", "ffffffff", "--json")
    assert missing.returncode == 1
    assert "error" in json.loads(missing.stdout)
    assert missing.stderr.count("\n") <= 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("remember", "--category", "learning", "caf\udce9"),
        ("remember", "--category", "learning", "coffee", "--title", "caf\udce9"),
        ("remember", "--category", "learning", "coffee", "--tags", "caf\udce9"),
        ("patterns", "store", "--category", "learning", "drink caf\udce9 in the morning"),
        ("tag", "caf\udce9"),
    ],
)
def test_bytes_that_are_no_text_are_refused_and_not_stored_as_marks(arguments: tuple[str, ...], device: Device) -> None:
    """An argument in another encoding arrives as lone surrogates."""
    refused = device(*arguments)
    assert (refused.code, "not UTF-8" in refused.err) == (2, True)
    assert device.json("list", "--all")["memories"] == []
