"""The distribution has one name and one version, and no text installs the program called `calib`.

On PyPI that name belongs to other people: a command that installs it runs their code.
"""

import re
import subprocess
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import calib
from calib import distribution

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FOREIGN = "calib"  # Texts below are put together from it, so that this file is checked as well.
# The name is an argument: neither a part of another word nor of a path or an address.
PACKAGE = rf"(?<![\w./@-]){FOREIGN}(?:\[[^\]\n]*\])?(?=[\s\"'`,;)\\=<>~!]|\.?$|\.\s)"
ARGUMENTS = r"(?:(?![.,:] )[^`;&|])*?"  # A mark and a blank end the command in a sentence.
RUNNERS = r"\b(?:uvx|uv tool run|pipx run)\b"
INSTALLS = re.compile(
    "|".join(
        (
            rf"\b(?:pip3?|pipx|uv|conda|mamba|poetry|pdm)\b{ARGUMENTS}"
            rf"\b(?:install|download|wheel|add)\b{ARGUMENTS}{PACKAGE}",
            rf"--(?:from|with|spec)[ =][\"']?{PACKAGE}",
            # With --from, the first argument is a command of another package.
            rf"{RUNNERS}(?!{ARGUMENTS}--(?:from|spec)){ARGUMENTS}{PACKAGE}",
            rf"(?<![\w./@-]){FOREIGN}\[[a-z]+(?:, ?[a-z]+)*\]",
            rf"^\s*(?:- )?[\"']?{FOREIGN}\s*[=<>~!]=",
            rf"\b(?:version|distribution|metadata|requires|files)\([\"']{FOREIGN}[\"']\)",
        )
    )
)


def foreign_installs(files: Iterable[Path]) -> list[str]:
    """Each place of these files that would install or read the foreign program, with its line."""
    places = []
    for file in files:
        content = file.read_bytes()
        if b"\0" in content:
            continue
        places += [
            f"{file}:{number}: {' '.join(line.split())}"
            for number, line in commands(content.decode("utf-8", "replace"))
            if FOREIGN in line and INSTALLS.search(line)
        ]
    return places


def commands(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a text with their numbers; one that ends with a backslash goes on."""
    begun = ""
    for number, line in enumerate(text.splitlines(), 1):
        begun += line.removesuffix("\\")
        if not line.endswith("\\"):
            # A list of words, as programs start it, reads like a command.
            yield number, re.sub(r"([\"']), \1", " ", begun)
            begun = ""


def tracked() -> list[Path]:
    """All files of the project that git knows, or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("This is not a checkout of git: skipped")
    files = (ROOT / name for name in done.stdout.split("\0") if name)
    return sorted(file for file in files if file.is_file())


def test_no_file_installs_the_foreign_program() -> None:
    files = tracked()
    assert len(files) > 500
    hits = foreign_installs(files)
    assert not hits, "\n".join([f"Write {distribution.NAME} instead:", *hits])


@pytest.mark.parametrize(
    "text",
    [
        "pip install {}",
        "run `python -m pip install -U {}` first",
        'pip3 install "{}[app]"',
        "pip install numpy '{}==1.0'",
        "pip install \\\n    {}",
        'run(["pip", "install", "{}"])',
        "pip download {}.",
        "uv pip install --quiet {}",
        "uv add {}",
        "uv tool install {}",
        "pipx install {}",
        "uvx {} serve scores.csv",
        'uvx --python 3.12 "{}[app]"',
        "uvx --from {} calib-serve",
        'uv run --with "{}[app]" python',
        "pipx run {}",
        "- {}>=1.0",
        "the extra `{}[images]`",
        'importlib.metadata.version("{}")',
    ],
)
def test_an_install_of_the_foreign_program_is_seen(text: str, tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text(f"# Title\n\n{text.format(FOREIGN)}\n")
    (hit,) = foreign_installs([file])
    assert hit.startswith(f"{file}:{4 if chr(10) in text else 3}: ")


def test_commands_of_this_project_are_not_taken_for_it(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text(
        f"{distribution.pip_install('app')}\npip install {distribution.NAME}\n"
        'pip install ".[app]" && calib serve\n`pip install .`, then `import calib`\n'
        'uvx --from ".[app]" calib serve scores.csv\npip install ./calib\n'
        "pip install calib_dashboard-1.0.0-py3-none-any.whl\ncalib serve --port 8600\n"
        "It needs kaleido: pip install kaleido. Then calib draws it.\n"
        "docker build --tag calib .\nallow calib.example.org\ncalib = ['py.typed']\n"
    )
    assert foreign_installs([file]) == []


def test_the_name_and_the_version_are_those_of_the_project() -> None:
    assert PROJECT["name"] == distribution.NAME
    assert distribution.__version__ == calib.__version__ == PROJECT["version"]


def test_extras_in_texts_are_those_of_the_project() -> None:
    pattern = re.compile(rf"{distribution.NAME}\[([^\]]+)\]|pip_install\([\"'](\w+)[\"']\)")
    texts = (file.read_text(encoding="utf-8", errors="replace") for file in tracked())
    matches = [place for text in texts for place in pattern.finditer(text)]
    names = {name.strip() for match in matches for name in (match[1] or match[2]).split(",")}
    assert {"app", "onnx", "scan", "sign", "spark"} <= names
    assert names <= PROJECT["optional-dependencies"].keys()


def test_citation_changelog_and_action_name_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    (released,) = re.findall(r"^date-released: (\d{4}-\d\d-\d\d)$", citation, re.MULTILINE)
    assert f"\nversion: {PROJECT['version']}\n" in citation
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    dated = re.findall(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", changes, re.MULTILINE)
    assert dated[0] == (PROJECT["version"], released)
    for page in ("action.yml", "docs/gate.md"):
        tags = re.findall(r"calib@v([\w.]+)", (ROOT / page).read_text(encoding="utf-8"))
        assert tags == [PROJECT["version"]]
