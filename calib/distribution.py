"""How calib is installed: the name of its distribution, its version, and how to add packages."""

import tomllib
from importlib import metadata
from pathlib import Path

# The import and the command are called calib. The distribution is not: on PyPI, that name belongs
# to a program of other people, which a command with it would install and run.
NAME = "calib-dashboard"
PROJECT_FILE = Path(__file__).parents[1] / "pyproject.toml"


def _version() -> str:
    """The version of the checkout that this file is in, or else of the installed distribution."""
    if PROJECT_FILE.is_file():
        project = tomllib.loads(PROJECT_FILE.read_text(encoding="utf-8")).get("project", {})
        if project.get("name") == NAME:
            return str(project["version"])
    try:
        return metadata.version(NAME)
    except metadata.PackageNotFoundError:
        # Somebody copied the folder alone, which works as well.
        return "unknown"


__version__ = _version()


def pip_install(extra: str) -> str:
    """The command that installs the packages of an extra.

    >>> pip_install("scan")
    'pip install "calib-dashboard[scan]"'
    """
    return f'pip install "{NAME}[{extra}]"'
