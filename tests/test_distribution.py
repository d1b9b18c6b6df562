"""The version of a checkout, of an installed wheel, and of a copied folder."""

from importlib import metadata

import pytest

from calib import distribution


@pytest.fixture
def installed(monkeypatch):
    """Another version is installed than the checkout has."""
    monkeypatch.setattr(metadata, "version", {distribution.NAME: "9.8.7"}.__getitem__)


def test_a_checkout_has_its_own_version(installed, monkeypatch, tmp_path):
    project = tmp_path / "pyproject.toml"
    project.write_text(f'[project]\nname = "{distribution.NAME}"\nversion = "1.2.3"\n')
    monkeypatch.setattr(distribution, "PROJECT_FILE", project)
    assert distribution._version() == "1.2.3"


@pytest.mark.parametrize("text", [None, "[tool.ruff]\n", '[project]\nname = "x"\nversion = "1"\n'])
def test_an_installed_wheel_has_that_of_the_distribution(text, installed, monkeypatch, tmp_path):
    # A file of another project may stand beside the installed packages.
    project = tmp_path / "pyproject.toml"
    if text is not None:
        project.write_text(text)
    monkeypatch.setattr(distribution, "PROJECT_FILE", project)
    assert distribution._version() == "9.8.7"


def test_a_copied_folder_has_none(monkeypatch, tmp_path):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    monkeypatch.setattr(distribution, "PROJECT_FILE", tmp_path / "pyproject.toml")
    assert distribution._version() == "unknown"
