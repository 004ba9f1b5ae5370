"""The context of a project: what a developer wants to see first, why it is there, within a budget."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_cache import context, context_dependencies, context_stack
from memory_cache.cache import MemoryCache
from memory_cache.errors import InvalidInput
from memory_cache.models import Draft, Memory, Project

from .cache_fixtures import GADGET
from .store import NOW, Clock

pytestmark = pytest.mark.anyio


@pytest.fixture
def widget(tmp_path: Path) -> Project:
    """A project with a directory of its own."""
    directory = tmp_path / "widget"
    directory.mkdir()
    return Project(id="github.com/acme/widget", key="github.com/acme/widget", name="widget", directory=str(directory))


def write(directory: str | Path | None, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = Path(str(directory)) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


async def remember(cache: MemoryCache, content: str, category: str, **fields: object) -> Memory:
    return (await cache.remember(Draft(content=content, category=category, **fields))).memory  # type: ignore[arg-type]


async def test_tasks_decisions_preferences_and_what_fits_the_stack_come_with_their_reasons(
    cache: MemoryCache, widget: Project
) -> None:
    write(widget.directory, {"pyproject.toml": '[project]\ndependencies = ["FastAPI>=1"]\n', "Dockerfile": ""})
    task = await remember(cache, "fix the port", "task", project=widget, priority="high")
    decision = await remember(cache, "we use sqlite", "decision", project=widget)
    preference = await remember(cache, "tabs never", "preference")
    elsewhere = await remember(cache, "yield dependencies close late", "learning", project=GADGET, tags=("fastapi",))
    named = await remember(cache, "Docker layers are cached by line", "learning")
    note = await remember(cache, "the widget has two heads", "project", project=widget)
    for text, category in (("foreign task", "task"), ("foreign decision", "decision"), ("foreign", "learning")):
        await remember(cache, text, category, project=GADGET)
    found = await cache.context(widget)
    reasons = {item.memory.id: (item.section, item.reason) for item in found.items}
    assert reasons == {
        task.id: ("task", "open task of this project, high priority"),
        decision.id: ("decision", "decision of this project"),
        preference.id: ("preference", "global preference"),
        elsewhere.id: ("technology", "tag fastapi fits FastAPI (pyproject.toml)"),
        named.id: ("technology", "title names Docker (Dockerfile)"),
        note.id: ("recent", "about this project, changed today"),
    }
    assert [item.section for item in found.items] == sorted(
        (item.section for item in found.items), key=context.SECTIONS.index
    )
    assert {"Python", "Docker", "FastAPI"} <= {technology.name for technology in found.technologies}
    assert found.more == 0


async def test_tasks_that_are_done_are_not_open(cache: MemoryCache, widget: Project) -> None:
    for content, tags in [
        ("done by tag", ("Done",)),
        ("[x] ticked in the title", ()),
        ("# Steps\n\n- [x] one\n- [X] two", ()),
    ]:
        await remember(cache, content, "task", project=widget, tags=tags)
    half = await remember(cache, "# Half\n\n- [x] one\n- [ ] two", "task", project=widget)
    assert [item.memory.id for item in (await cache.context(widget)).items] == [half.id]


async def test_the_budget_holds_and_what_is_left_out_is_counted(cache: MemoryCache, widget: Project) -> None:
    for category in ("task", "decision", "preference"):
        for number in range(6):
            await remember(cache, f"{category} {number}\n" + "many words follow here " * 200, category, project=widget)
    found = await cache.context(widget, limit=4, max_tokens=600)
    assert found.tokens <= 600
    assert {item.section for item in found.items} == {"task", "decision", "preference"}, "each section has its share"
    assert found.more == 18 - len(found.items)
    assert any(item.text.endswith("…") for item in found.items)
    assert len((await cache.context(widget, limit=2, max_tokens=100_000)).items) == 6
    with pytest.raises(InvalidInput):
        await cache.context(widget, limit=0)


async def test_new_and_important_memories_come_first(cache: MemoryCache, widget: Project, clock: Clock) -> None:
    old = await remember(cache, "old", "decision", project=widget)
    important = await remember(cache, "important", "decision", project=widget, priority="high")
    clock.forward(days=200)
    new = await remember(cache, "new", "decision", project=widget)
    assert [item.memory.id for item in (await cache.context(widget)).items] == [important.id, new.id, old.id]


async def test_without_a_project_only_what_is_global_is_shown(cache: MemoryCache, widget: Project) -> None:
    await remember(cache, "secret of a project", "task", project=widget)
    mine = await remember(cache, "global task", "task")
    assert [item.memory.id for item in (await cache.context(None)).items] == [mine.id]


async def test_the_users_own_file_patterns_choose_tags(cache: MemoryCache, widget: Project) -> None:
    write(widget.directory, {"docs/api/users.adoc": ""})
    memory = await remember(cache, "write in present tense", "learning", tags=("Docs",))
    patterns = [{"pattern": "docs/**/*.adoc", "tags": ["docs"], "description": "API docs"}, {"pattern": 3}, "x"]
    place = cache.database.path.parent / "patterns.json"
    place.write_text("\ufeff" + json.dumps(patterns), encoding="utf-8")
    (item,) = (await cache.context(widget)).items
    assert (item.memory.id, item.reason) == (memory.id, "tag docs fits API docs (docs/api/users.adoc)")
    place.write_text("{broken", encoding="utf-8")
    assert (await cache.context(widget)).items == ()


STACKS = {
    "Python": ["pyproject.toml", "requirements-dev.txt", "setup.py", "src/app/main.py"],
    "Rust": ["Cargo.toml"],
    "Go": ["go.mod"],
    "Java": ["pom.xml", "app/build.gradle"],
    "Kotlin": ["build.gradle.kts"],
    "TypeScript": ["tsconfig.json", "web/src/index.tsx"],
    "JavaScript": ["package.json"],
    ".NET": ["Acme.sln", "src/Acme/Acme.csproj"],
    "Ruby": ["Gemfile"],
    "PHP": ["composer.json"],
    "Docker": ["Dockerfile", "Dockerfile.dev", "Containerfile", "compose.yaml", "docker-compose.prod.yml"],
    "Kubernetes": ["k8s/app.yaml", "kustomization.yaml"],
    "Helm": ["deploy/chart/Chart.yaml"],
    "Terraform": ["infra/main.tf"],
    "GitHub Actions": [".github/workflows/ci.yml"],
    "GitLab CI": [".gitlab-ci.yml"],
    "Azure Pipelines": ["azure-pipelines.yml"],
    "Jenkins": ["Jenkinsfile"],
    "Bicep": ["infra/app.bicep"],
    "Ansible": ["ansible.cfg"],
}


@pytest.mark.parametrize(("name", "file"), [(name, file) for name, files in STACKS.items() for file in files])
def test_each_ecosystem_is_told_by_its_files(tmp_path: Path, name: str, file: str) -> None:
    write(tmp_path, {file: "", "README.md": "", "node_modules/x/Cargo.toml": ""})
    found = {technology.name: technology.evidence for technology in context_stack.detect(tmp_path).technologies}
    assert found[name] == file
    assert "Rust" not in found or name == "Rust", "what tools put there shows nothing"


MANIFESTS = {
    "pyproject.toml": (
        '[project]\ndependencies=["Django>=5","httpx[http2]"]\n[dependency-groups]\ndev=["pytest",{include-group="x"}]\n'
        '[tool.poetry.dependencies]\npython="^3.11"\npydantic="*"\n',
        ["Django", "httpx", "pytest", "pydantic"],
    ),
    "requirements.txt": ("# c\n-r other.txt\nnumpy==2 ; python_version>'3'\n\ntorch\n", ["numpy", "torch"]),
    "package.json": (
        '{"dependencies":{"react":"19","@nestjs/core":"1","@types/node":"1"},"devDependencies":{"vitest":"1"}}',
        ["react", "nestjs", "vitest"],
    ),
    "Cargo.toml": ('[dependencies]\ntokio={version="1"}\n[dev-dependencies]\ninsta="1"\n', ["tokio", "insta"]),
    "go.mod": (
        "module acme.com/x\n\nrequire (\n\tgithub.com/gin-gonic/gin/v2 v2.0.1\n"
        "\tgolang.org/x/sys v0.1.0 // indirect\n)\n",
        ["gin"],
    ),
    "pom.xml": ("<dependency><groupId>g</groupId>\n<artifactId>spring-core</artifactId></dependency>", ["spring-core"]),
    "build.gradle.kts": ('implementation("io.ktor:ktor-server-core:3.0")\n', ["ktor-server-core"]),
    "Gemfile": ("source 'https://x'\n  gem 'rails', '~> 8'\n", ["rails"]),
    "composer.json": ('{"require":{"php":"8","laravel/framework":"1","guzzlehttp/guzzle":"7"}}', ["laravel", "guzzle"]),
    "x.csproj": ('<PackageReference Include="Dapper" Version="2"/>', ["Dapper"]),
    "pubspec.yaml": (
        "dependencies:\n  riverpod: ^2\n  http:\n    git: x\ndev_dependencies:\n  lints: 1\n",
        ["riverpod", "http"],
    ),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_direct_dependencies_are_read_from_manifests(tmp_path: Path, name: str) -> None:
    text, expected = MANIFESTS[name]
    write(tmp_path, {name: text})
    found = [t.name for t in context_stack.detect(tmp_path).technologies if t.evidence == name]
    assert [dependency for dependency in found if dependency in expected] == expected


@given(st.text(max_size=400) | st.sampled_from(["[" * 5000, "{" * 5000, '{"dependencies": 3}', "dependencies = 3"]))
def test_no_manifest_text_makes_a_reader_fail(text: str) -> None:
    for _, reader in context_dependencies.READERS:
        assert isinstance(reader(text), list)


def test_a_directory_that_cannot_be_read_shows_nothing(tmp_path: Path) -> None:
    assert context_stack.detect(tmp_path / "missing").technologies == ()


def test_looking_at_a_huge_project_is_bounded(tmp_path: Path) -> None:
    deep = tmp_path / "a/b/c/d/e/f"
    deep.mkdir(parents=True)
    write(deep, {"Cargo.toml": ""})
    for number in range(60):
        write(tmp_path / f"dir{number}", {f"file{n}.txt": "" for n in range(60)})
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    names = context_stack.file_names(tmp_path)
    assert len(names) <= context_stack.MAX_ENTRIES
    assert not any("Cargo.toml" in name for name in names)


@given(st.text(max_size=300), st.integers(-5, 100))
def test_a_shortened_text_fits_its_budget_and_is_a_beginning(text: str, tokens: int) -> None:
    short = context.shortened(text, tokens)
    assert context.tokens_of(short) <= max(tokens, 0) or short == text
    assert text.startswith(short.removesuffix(" …").rstrip())


def test_age_is_told_in_words() -> None:
    memory = Memory(id="x", title="t", category="c", content="", created=NOW, updated=NOW, path="p")
    assert context._ago(memory, NOW) == "today"
    assert context._ago(memory, NOW + timedelta(days=1)) == "yesterday"
    assert context._ago(memory, NOW + timedelta(days=40)) == "40 days ago"
