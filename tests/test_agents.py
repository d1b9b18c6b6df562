"""AGENTS.md and docs/llms.txt: what they show runs, and what they name is there."""

import re
import shlex
import subprocess
from pathlib import Path

from tests import documents

ROOT = Path(__file__).parents[1]
AGENTS = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
USERS = (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8")
MAX_LINES = 80


def test_the_map_is_short() -> None:
    assert len(AGENTS.splitlines()) <= MAX_LINES


def test_the_map_names_files_that_exist() -> None:
    named = [*re.findall(r"`([\w./-]+)`", AGENTS), *re.findall(r"\]\(([\w./-]+)\)", AGENTS)]
    paths = [name for name in named if "/" in name or name.endswith((".md", ".py", ".yml"))]
    assert len(paths) > 30
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_commands_of_the_map_are_those_of_the_makefile() -> None:
    """They are not run here, because they run all tests."""
    [(language, text)] = documents.BLOCK.findall(AGENTS)
    assert language == "sh"
    for line in text.splitlines():
        command = shlex.split(line, comments=True)
        dry = ["make", "--dry-run", *command[1:]]
        done = subprocess.run(dry, cwd=ROOT, capture_output=True, text=True, check=False)
        assert (command[0], done.returncode) == ("make", 0), done.stderr
        options = next((word for word in command if word.startswith("ARGS=")), "")
        for path in re.findall(r"tests/\w+", options):
            assert (ROOT / path).exists()


def test_the_page_for_users_runs_from_top_to_bottom(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    documents.run(USERS, lambda: "")
    named = {int(status) for status in documents.STATUS.findall(USERS)}
    assert named == {0, 1, 2}
    made = {path.name for path in tmp_path.iterdir()}
    assert made >= {"report.html", "report.json", "map.json", "map.sql", "map.py", "map.js"}


def test_the_page_for_users_links_to_pages_that_exist() -> None:
    links = re.findall(r"\]\(([\w./-]+)\)", USERS)
    assert len(links) >= 5
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []
