"""Where imported memories are filed: what the user says, else what the source says."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from memory_cache.models import Project
from memory_cache.project import from_remote, key_of

Filed = tuple[str | None, str | None]
"""Id and name of a project; both None for a global memory."""


@dataclass(frozen=True, slots=True)
class Placement:
    """What the user says.

    Attributes:
        project: everything belongs to this project; `make_global`: to none.
        category: everything is of this category.
        names: plain names that a source uses for projects, case ignored, and which projects they are.
    """

    project: Project | None = None
    make_global: bool = False
    category: str | None = None
    names: Mapping[str, Project] = field(default_factory=dict)

    @property
    def says_project(self) -> bool:
        """Whether the user said which project the memories belong to."""
        return self.make_global or self.project is not None or bool(self.names)

    @property
    def said(self) -> frozenset[str]:
        """The front matter entries that the user decides."""
        keys = (("projectId", "projectName") if self.says_project else ()) + (("category",) if self.category else ())
        return frozenset(keys)


def filed(
    placement: Placement, known: Mapping[str, Project], project_id: str | None, project_name: str | None
) -> tuple[Filed, str | None]:
    """The project of a record, and the plain name that nothing explains, if it is one.

    Args:
        known: projects with memories here, by name, case ignored; names that several have are left out.
    """
    if placement.make_global:
        return (None, None), None
    if placement.project is not None:
        return (placement.project.id, placement.project.name), None
    if not project_id:
        return (None, None), None
    meant = _named(placement.names, project_id, project_name)
    if meant is not None:
        return (meant.id, meant.name), None
    if is_plain(project_id):
        meant = _named(known, project_id, None)
        if meant is not None:
            return (meant.id, meant.name), None
        return (project_id, project_name), project_id
    return (clean(project_id), project_name), None


def _named(names: Mapping[str, Project], project_id: str, project_name: str | None) -> Project | None:
    for name in (project_id, project_name):
        if name and name.casefold() in names:
            return names[name.casefold()]
    return None


def is_plain(project_id: str) -> bool:
    """Whether this is a name rather than an id: it tells nothing about where the project is."""
    return not re.search(r"[/\\:@]", project_id)


def clean(project_id: str) -> str:
    """The id without scheme and credentials, which older versions wrote; any other id stays as it is."""
    if "@" not in project_id and "://" not in project_id:
        return project_id
    remote = from_remote(project_id)
    return remote[0] if remote else key_of(project_id)
