"""Names of the direct dependencies in manifests of the usual ecosystems. Pure; any other text gives none."""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Reader = Callable[[str], list[str]]

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def _requirements(lines: Iterable[object]) -> Iterator[str]:
    for line in lines:
        match = _REQUIREMENT.match(line) if isinstance(line, str) else None
        if match:
            yield match[1]


def _table(value: Any, *keys: str) -> dict[str, Any]:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _json(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def pyproject(text: str) -> list[str]:
    """pyproject.toml: dependencies, extras, groups; Poetry's tables too."""
    data = _toml(text)
    lists = [_list(_table(data, "project").get("dependencies"))]
    lists += [_list(value) for value in _table(data, "project", "optional-dependencies").values()]
    lists += [_list(value) for value in _table(data, "dependency-groups").values()]
    poetry = [*_table(data, "tool", "poetry", "dependencies"), *_table(data, "tool", "poetry", "dev-dependencies")]
    for group in _table(data, "tool", "poetry", "group").values():
        poetry += _table(group, "dependencies")
    names = [name for entries in lists for name in _requirements(entries)]
    return _unique([*names, *(name for name in poetry if name != "python")])


def requirements(text: str) -> list[str]:
    """requirements.txt."""
    return _unique(_requirements(line for line in text.splitlines() if not line.lstrip().startswith(("#", "-"))))


def pipfile(text: str) -> list[str]:
    """Pipfile."""
    data = _toml(text)
    return _unique([*_table(data, "packages"), *_table(data, "dev-packages")])


def package_json(text: str) -> list[str]:
    """package.json; `@nestjs/core` counts as `nestjs`."""
    data = _json(text)
    names = [*_table(data, "dependencies"), *_table(data, "devDependencies"), *_table(data, "peerDependencies")]
    return _unique(
        name[1:].split("/")[0] if name.startswith("@") else name for name in names if not name.startswith("@types/")
    )


def cargo(text: str) -> list[str]:
    """Cargo.toml, also of a workspace."""
    data = _toml(text)
    return _unique(
        [
            *_table(data, "dependencies"),
            *_table(data, "workspace", "dependencies"),
            *_table(data, "dev-dependencies"),
            *_table(data, "build-dependencies"),
        ]
    )


_GO_MODULE = re.compile(r"^\s*(?:require\s+)?([\w.-]+\.[\w.-]+/[\w./-]+)\s+v\d[^\n]*$", re.MULTILINE | re.ASCII)


def go_mod(text: str) -> list[str]:
    """go.mod without indirect modules; `github.com/gin-gonic/gin/v2` counts as `gin`."""
    modules = [match[1] for match in _GO_MODULE.finditer(text) if "// indirect" not in match[0]]
    return _unique(re.sub(r"/v\d+$", "", module).rsplit("/", 1)[-1] for module in modules)


def pom(text: str) -> list[str]:
    """pom.xml."""
    return _unique(re.findall(r"<dependency>.{0,300}?<artifactId>\s*([\w.-]{1,100})\s*</artifactId>", text, re.DOTALL))


def gradle(text: str) -> list[str]:
    """build.gradle and build.gradle.kts."""
    return _unique(re.findall(r"""["'][\w.-]{1,100}:([\w.-]{1,100})(?::[^"']{0,100})?["']""", text))


def gemfile(text: str) -> list[str]:
    """Gemfile."""
    return _unique(re.findall(r"""^\s*gem\s+["']([\w.-]{1,100})["']""", text, re.MULTILINE))


def composer(text: str) -> list[str]:
    """composer.json; `laravel/framework` counts as `laravel`."""
    data = _json(text)
    names = [*_table(data, "require"), *_table(data, "require-dev")]
    parts = (name.split("/") for name in names if "/" in name)
    return _unique(vendor if package in ("framework", "core") else package for vendor, package, *_ in parts)


def msbuild(text: str) -> list[str]:
    """Project files of .NET."""
    return _unique(re.findall(r"""<PackageReference\s+(?:Include|Update)\s*=\s*["']([\w.-]{1,100})["']""", text))


def pubspec(text: str) -> list[str]:
    """pubspec.yaml, read by its indentation."""
    block = re.search(r"^dependencies:\s*\n((?:[ \t]+.*\n|\s*\n)*)", f"{text}\n", re.MULTILINE)
    return _unique(re.findall(r"^ {2}(\w+):", block[1], re.MULTILINE)) if block else []


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name))


READERS: tuple[tuple[str, Reader], ...] = (
    ("pyproject.toml", pyproject),
    ("requirements*.txt", requirements),
    ("Pipfile", pipfile),
    ("package.json", package_json),
    ("Cargo.toml", cargo),
    ("go.mod", go_mod),
    ("pom.xml", pom),
    ("build.gradle", gradle),
    ("build.gradle.kts", gradle),
    ("Gemfile", gemfile),
    ("composer.json", composer),
    ("*.csproj", msbuild),
    ("*.fsproj", msbuild),
    ("pubspec.yaml", pubspec),
)
