"""What pytest does before it collects a file of the package."""

from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parent


def pytest_collect_file(file_path: Path) -> None:
    """Import a module of calib by its name.

    Many packages import their modules. pytest, which reads a file by its path, would execute such a
    module a second time: what it registers would be registered twice, or in another registry.
    """
    place = file_path.relative_to(ROOT) if file_path.is_relative_to(ROOT) else file_path
    if place.parts[0] == "calib" and place.suffix == ".py":
        import_module(".".join(place.with_suffix("").parts).removesuffix(".__init__"))
