"""The version of the installed program."""

from importlib import metadata


def version() -> str:
    """As the package says; `0.0.0` in a checkout that is not installed."""
    try:
        return metadata.version("claude-onedrive-memory")
    except metadata.PackageNotFoundError:
        return "0.0.0"
