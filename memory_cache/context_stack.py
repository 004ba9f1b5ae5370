"""Which technologies a project uses, told by its files: well-known names, and the direct dependencies in its manifests.

Reads names to a small depth and a few manifests of limited size; runs nothing; any content is safe.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from memory_cache.context_dependencies import READERS
from memory_cache.models import Technology

MAX_DEPTH = 4
MAX_ENTRIES = 3_000
MAX_DEPENDENCIES = 60
_MANIFEST_BYTES = 300_000
_WILD = re.compile(r"[*?\[]")
# fmt: off
_SKIPPED = frozenset([
    ".git", ".hg", ".svn", "node_modules", "bower_components", "vendor", ".venv", "venv", "env", ".tox", ".nox",
    "__pycache__", "site-packages", "target", "build", "dist", "out", "bin", "obj", ".gradle", ".idea",
    ".vscode", ".next", ".nuxt", ".cache", ".mypy_cache", ".ruff_cache", ".pytest_cache", "coverage", "Pods",
    "DerivedData", ".terraform", ".dart_tool",
])
# fmt: on


@dataclass(frozen=True, slots=True)
class Sign:
    """Files that show a technology. A name without `/` matches in any folder, else from the project's root."""

    name: str
    files: tuple[str, ...]
    tags: tuple[str, ...]


def _sign(name: str, files: str, tags: str) -> Sign:
    return Sign(name, tuple(files.split()), tuple(tags.split()))


# The first matching file is the evidence, so the most telling names come first.
SIGNS = (
    _sign(
        "Python",
        "pyproject.toml setup.py setup.cfg requirements*.txt Pipfile uv.lock poetry.lock environment.yml tox.ini *.py",
        "python py",
    ),
    _sign("Rust", "Cargo.toml Cargo.lock rust-toolchain* *.rs", "rust cargo"),
    _sign("Go", "go.mod go.work go.sum *.go", "go golang"),
    _sign("Kotlin", "build.gradle.kts settings.gradle.kts *.kt", "kotlin jvm"),
    _sign("Java", "pom.xml build.gradle mvnw gradlew *.java", "java jvm"),
    _sign("Maven", "pom.xml", "maven"),
    _sign("Gradle", "build.gradle build.gradle.kts settings.gradle gradlew", "gradle"),
    _sign("Scala", "build.sbt *.scala", "scala jvm"),
    _sign("TypeScript", "tsconfig.json tsconfig.*.json *.ts *.tsx", "typescript ts"),
    _sign("JavaScript", "package.json jsconfig.json *.js *.mjs *.cjs *.jsx", "javascript js"),
    _sign("Node.js", "package.json .nvmrc .node-version", "node nodejs node.js npm"),
    _sign("pnpm", "pnpm-lock.yaml pnpm-workspace.yaml", "pnpm"),
    _sign("Yarn", "yarn.lock .yarnrc.yml", "yarn"),
    _sign("Bun", "bun.lockb bun.lock bunfig.toml", "bun"),
    _sign("Deno", "deno.json deno.jsonc deno.lock", "deno"),
    _sign("Next.js", "next.config.*", "nextjs next.js next react"),
    _sign("Vite", "vite.config.*", "vite"),
    _sign("Svelte", "svelte.config.* *.svelte", "svelte sveltekit"),
    _sign("Vue", "vue.config.* *.vue", "vue vuejs"),
    _sign("Angular", "angular.json", "angular"),
    _sign("Tailwind CSS", "tailwind.config.*", "tailwind tailwindcss css"),
    _sign(
        ".NET",
        "*.sln *.slnx *.csproj *.fsproj *.vbproj global.json Directory.Build.props *.cs",
        ".net dotnet csharp c#",
    ),
    _sign("F#", "*.fsproj *.fs", "f# fsharp"),
    _sign("Ruby", "Gemfile Gemfile.lock *.gemspec .ruby-version Rakefile *.rb", "ruby"),
    _sign("Rails", "config/routes.rb", "rails ruby-on-rails"),
    _sign("PHP", "composer.json composer.lock *.php", "php"),
    _sign("Laravel", "artisan", "laravel"),
    _sign("C++", "*.cpp *.cc *.cxx *.hpp", "c++ cpp"),
    _sign("C", "*.c *.h", "c"),
    _sign("CMake", "CMakeLists.txt CMakePresets.json", "cmake"),
    _sign("Make", "Makefile GNUmakefile makefile", "make makefile"),
    _sign("Bazel", "MODULE.bazel WORKSPACE BUILD.bazel", "bazel"),
    _sign("Swift", "Package.swift *.xcodeproj *.swift", "swift ios"),
    _sign("Dart", "pubspec.yaml *.dart", "dart flutter"),
    _sign("Elixir", "mix.exs *.ex", "elixir"),
    _sign("Haskell", "*.cabal stack.yaml *.hs", "haskell"),
    _sign("Zig", "build.zig *.zig", "zig"),
    _sign("Shell", "*.sh *.bash *.zsh", "shell bash sh"),
    _sign("PowerShell", "*.ps1 *.psm1", "powershell pwsh"),
    _sign("SQL", "*.sql", "sql database"),
    _sign("Prisma", "schema.prisma", "prisma database"),
    _sign("Alembic", "alembic.ini", "alembic database"),
    _sign("Jupyter", "*.ipynb", "jupyter notebook"),
    _sign(
        "Docker",
        "Dockerfile Dockerfile.* *.dockerfile Containerfile .dockerignore docker-compose*.y*ml compose.y*ml",
        "docker container containers",
    ),
    _sign("Docker Compose", "docker-compose*.y*ml compose.y*ml", "docker-compose compose"),
    _sign("Dev Containers", ".devcontainer/* .devcontainer.json", "devcontainer"),
    _sign("Kubernetes", "kustomization.y*ml k8s/* kubernetes/* skaffold.yaml Tiltfile", "kubernetes k8s"),
    _sign("Helm", "Chart.yaml helmfile.y*ml", "helm kubernetes"),
    _sign("Terraform", "*.tf *.tfvars terragrunt.hcl", "terraform infrastructure iac"),
    _sign("Pulumi", "Pulumi.yaml", "pulumi infrastructure iac"),
    _sign("Ansible", "ansible.cfg playbook*.yml roles/*", "ansible infrastructure"),
    _sign("Bicep", "*.bicep azuredeploy.json", "bicep azure infrastructure"),
    _sign("CloudFormation", "template.yaml samconfig.toml cdk.json", "cloudformation aws infrastructure"),
    _sign("Serverless", "serverless.y*ml", "serverless"),
    _sign("Nix", "flake.nix shell.nix default.nix", "nix"),
    _sign("GitHub Actions", ".github/workflows/*.y*ml", "github-actions ci github"),
    _sign("GitLab CI", ".gitlab-ci.yml", "gitlab-ci ci gitlab"),
    _sign("Azure Pipelines", "azure-pipelines*.y*ml .azure-pipelines/*", "azure-pipelines azure-devops ci"),
    _sign("CircleCI", ".circleci/config.yml", "circleci ci"),
    _sign("Jenkins", "Jenkinsfile", "jenkins ci"),
    _sign("Travis CI", ".travis.yml", "travis ci"),
    _sign("pre-commit", ".pre-commit-config.yaml", "pre-commit"),
    _sign("systemd", "*.service *.timer", "systemd"),
    _sign("Nginx", "nginx.conf", "nginx"),
    _sign("OpenAPI", "openapi.y*ml openapi.json swagger.y*ml swagger.json", "openapi swagger api"),
    _sign("Protocol Buffers", "*.proto buf.yaml", "protobuf grpc"),
    _sign("GraphQL", "*.graphql *.gql", "graphql"),
    _sign("MCP", ".mcp.json", "mcp"),
    _sign("Claude Code", "CLAUDE.md .claude/*", "claude claude-code"),
)


class Names:
    """File names of a project, relative and `/`-separated, the nearest first, ready to be searched by pattern."""

    def __init__(self, names: Sequence[str]) -> None:
        self.all = tuple(names)
        self._by_base: dict[str, str] = {}
        self._by_suffix: dict[str, str] = {}
        for name in names:
            base = name.rsplit("/", 1)[-1]
            self._by_base.setdefault(base, name)
            if "." in base:
                self._by_suffix.setdefault(base[base.rindex(".") :], name)

    def first(self, pattern: str) -> str | None:
        """The first name that a pattern matches: `*.tf` in any folder, `docs/*.md` from the root."""
        if "/" in pattern:
            plain = pattern.removeprefix("./").replace("**/", "*")
            return next((name for name in self.all if fnmatchcase(name, plain)), None)
        if not _WILD.search(pattern):
            return self._by_base.get(pattern)
        if pattern.startswith("*.") and not _WILD.search(pattern[1:]) and pattern.count(".") == 1:
            return self._by_suffix.get(pattern[1:])
        return next((name for base, name in self._by_base.items() if fnmatchcase(base, pattern)), None)


@dataclass(frozen=True, slots=True)
class Stack:
    """What a project's files show."""

    technologies: tuple[Technology, ...]
    names: Names


def detect(directory: Path) -> Stack:
    """The technologies of the project in this directory; empty when it cannot be read."""
    names = Names(file_names(directory))
    found = [technology for sign in SIGNS if (technology := _shown_by(sign, names))]
    known = {tag for technology in found for tag in technology.tags}
    dependencies = [t for t in _dependencies(directory, names) if t.tags[0] not in known]
    return Stack((*found, *dependencies[:MAX_DEPENDENCIES]), names)


def file_names(directory: Path) -> list[str]:
    """Names of files below the directory, the nearest first; bounded, and without what tools generate."""
    names: list[str] = []
    folders: list[tuple[str, int]] = [("", 1)]
    looked_at = 0
    while folders and looked_at < MAX_ENTRIES:
        prefix, depth = folders.pop(0)
        try:
            with os.scandir(directory / prefix) as entries:
                ordered = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in ordered[: MAX_ENTRIES - looked_at]:
            looked_at += 1
            if not _is_folder(entry):
                names.append(prefix + entry.name)
            elif depth < MAX_DEPTH and entry.name not in _SKIPPED:
                folders.append((f"{prefix}{entry.name}/", depth + 1))
            if entry.name.endswith(".xcodeproj"):
                names.append(prefix + entry.name)
    return names


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _shown_by(sign: Sign, names: Names) -> Technology | None:
    for pattern in sign.files:
        evidence = names.first(pattern)
        if evidence is not None:
            return Technology(name=sign.name, evidence=evidence, tags=sign.tags)
    return None


def _dependencies(directory: Path, names: Names) -> list[Technology]:
    found: dict[str, Technology] = {}
    for name in names.all:
        reader = next((read for pattern, read in READERS if fnmatchcase(name.rsplit("/", 1)[-1], pattern)), None)
        if reader is None or name.count("/") > 2:
            continue
        for dependency in reader(_text(directory / name)):
            key = dependency.lower()
            found.setdefault(key, Technology(name=dependency, evidence=name, tags=(key,)))
        if len(found) > 4 * MAX_DEPENDENCIES:
            break
    return list(found.values())


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MANIFEST_BYTES).decode("utf-8-sig", "replace")
    except OSError:
        return ""
