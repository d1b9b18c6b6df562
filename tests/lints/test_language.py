"""What people read is in plain, standard words: no phrase of `BANNED` is in it.

Read are the string constants, docstrings and comments of the code, and the Markdown documents.
Comments are sentences, the lines of documents are wrapped, and subjects of commits are short.
"""

import ast
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
THINGS = (
    "row|column|class|prediction|model|line|cell|bin|method|slice|period|fold|cluster|threshold"
)
# The values say what is written instead of these patterns.
BANNED = {
    r"\b(?:come|comes|came|coming) true\b": "was positive; the observed rate",
    r"\b(?:cannot|can't|can not) (?:be told|tell)\b": "not significantly different; inconclusive",
    r"\btimid\b|\bsquashed scores\b": "underconfident",
    r"\btoo sure\b": "overconfident",
    r"\bflatter(?:s|ed|ing)?\b(?! in the middle)": "is optimistic",
    r"\bscores hold up\b": "no evidence of miscalibration",
    r"\b(?:verdict|band|intervals?|costs?) (?:says?|answers?|asks?)\b": "a fact",
    r"\b(?:log loss|Brier score|AUC) says\b": "evidence",
    r"\b(?:bears? out|borne out)\b": "support",
    r"\bsurprise at the\b": "negative log-likelihood",
    r"\bdealt into\b|\bdeals and\b": "split at random",
    r"\bin keeping with\b": "consistent with",
    r"\bkeep in mind\b": "note",
    r"\bnobody (?:knows|has|said|named)\b": "it is not known",
    r"\bhonest(?:ly)?\b": "calibrated; corrected",
    r"\bif ideal\b": "consistency band",
    r"\bany sign of\b": "evidence of",
    rf"\b(?:one|rows?|columns?|scores?|values?|lines?|counts|cells?) a (?:{THINGS})\b": "per",
    r"\b(?:fitted|drawn|rising|global|calibration|own|a|each|every|both|the|its) maps?\b(?! of)": (
        "calibrator; calibration function"
    ),
    r"\bscores? as (?:they are|it is|written)\b": "uncalibrated",
    r"(?<!there )\bis no (?:report|database|matrix|number|date)\b": "is not a",
    r"\b(?:was|were|has been) said\b": "was given",
    r"\bwhere (?:there|it|they) (?:is|are|has|have|were|was) none\b": "if there is none",
    r"\bwhere none (?:is|are|was|were)\b": "if none is",
    r"\b(?:at most|up to|about|of|beyond) so many\b": "at most this many; the number",
    r"\b(?:told|tells?) apart\b": "distinguish",
    r"\bby lot\b": "at random",
    r"\bcut in (?:folds|periods|slices|ranges|parts)\b": "split into folds; cut into ranges",
    r"\b(?:take|taken|takes|took) along\b": "include",
    r"\b(?:twice )?as sure as\b|\bhow sure\b": "overconfident; its interval",
    r"\bunasked\b|\bout of reach in advance\b": "only if asked; chosen in hindsight",
}
MAX_LINE_LENGTH = 100  # Code has the same limit (pyproject.toml).
# Tables, headings, pictures and the addresses of links cannot be wrapped.
UNWRAPPED = re.compile(r"^ *\|.*|^#+ .*|^!\[.*|(?<=\])\([^)]*\)")
# A comment gives a reason. These beginnings and phrases are habits of fragments and riddles.
HABITS = {
    r"^(?:Of|Where|What|None|All but|So|As|Nor|Neither|Also|No \w+ is no)\b": "subject and verb",
    r"\bnone is none\b|\ball but\b": "a plain condition; except",
    r"\bone \w+ an? \w+\b": "per",
}
# Linters, formatters and type checkers read these comments.
DIRECTIVE = re.compile(r"(?:noqa|type:|pragma|pyright|fmt:|ruff:|isort:|mypy:|doctest:|!|-\*-)")
# A sentence begins with a capital, a number, a quotation or a name of the code.
BEGINNING = re.compile(r"[A-Z0-9`'\"(\[{<$]|[a-z_.]+[_.(=][\w.(]*")
END = re.compile(r"[.?!:)]$|https?://\S+$")
MIN_WORDS = 3
# These names do not say what a value is, such as a calibrator, a table or an option.
VAGUE_NAMES = {"found", "own", "each", "told", "known", "maps", "named"}


def files() -> list[Path]:
    code = [ROOT / "app.py", *(p for d in ("pages", "calib") for p in (ROOT / d).rglob("*.py"))]
    return sorted(code) + documents()


def texts(file: Path) -> Iterator[tuple[int, str]]:
    """Every text in a file with its line, on one line each; a value in an f-string is {}."""
    if file.suffix == ".md":
        for number, paragraph in paragraphs(file.read_text(encoding="utf-8")):
            yield number, " ".join(paragraph.split())
        return
    tree = ast.parse(file.read_text(encoding="utf-8"))
    inner = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inner |= {id(value) for value in node.values}
            parts = (v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)
            yield node.lineno, " ".join("".join(parts).split())
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner
        ):
            yield node.lineno, " ".join(node.value.split())


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    line = 1
    for paragraph in text.split("\n\n"):
        yield line, paragraph
        line += paragraph.count("\n") + 2


def found_in(said: str) -> list[str]:
    return [
        f"{hit[0]!r} (write: {instead})"
        for pattern, instead in BANNED.items()
        for hit in re.finditer(pattern, said, re.IGNORECASE)
    ]


def of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def long_lines(text: str) -> list[int]:
    """Numbers of the lines that are too long, outside code."""
    is_code, long = False, []
    for number, line in enumerate(text.splitlines(), 1):
        is_code ^= line.lstrip().startswith("```")
        if not is_code and len(UNWRAPPED.sub("", line)) > MAX_LINE_LENGTH:
            long.append(number)
    return long


def documents() -> list[Path]:
    folders = (ROOT, ROOT / "docs", ROOT / "benchmarks")
    return sorted(page for folder in folders for page in folder.glob("*.md"))


def test_markdown_is_wrapped() -> None:
    long = [f"{of(file)}:{n}" for file in documents() for n in long_lines(file.read_text("utf-8"))]
    assert not long, "\n".join(long)


def test_only_prose_has_to_be_wrapped() -> None:
    words, address = "word " * 20, f"(https://{'a' * 90})"
    lines = [words, f"{words}w", "```", f"{words}w", "```", f"| {words} |", f"# {words}w"]
    assert long_lines("\n".join(lines)) == [2]
    assert long_lines(f"[a link]{address} and\n\n[a link]{address} {words}") == [3]


def test_no_banned_words() -> None:
    hits = [
        f"{of(file)}:{line}: {hit}"
        for file in files()
        for line, said in texts(file)
        for hit in found_in(said)
    ]
    assert not hits, "\n".join(hits)


def comments(file: Path) -> Iterator[tuple[int, str]]:
    """Every comment with its line. Consecutive lines that are only comment are one comment."""
    block: list[str] = []
    first = last = -1
    with file.open("rb") as code:
        for token in tokenize.tokenize(code.readline):
            if token.type != tokenize.COMMENT:
                continue
            line, text = token.start[0], token.string.lstrip("# ")
            is_alone = token.line.lstrip().startswith("#")
            if is_alone and line == last + 1:
                block.append(text)
            else:
                if block:
                    yield first, " ".join(block)
                block, first = [text], line
            last = line if is_alone else -1
    if block:
        yield first, " ".join(block)


def faults_of(comment: str) -> list[str]:
    if DIRECTIVE.match(comment):
        return []
    faults = [
        f"{pattern} (write: {instead})"
        for pattern, instead in HABITS.items()
        if re.search(pattern, comment)
    ]
    faults += found_in(comment)
    if not BEGINNING.match(comment):
        faults.append("a sentence begins with a capital")
    if not END.search(comment):
        faults.append("a sentence ends with a full stop")
    if len(comment.split()) < MIN_WORDS:
        faults.append("a sentence has a subject and a verb")
    return faults


def commented() -> list[Path]:
    folders = ("pages", "calib", "tests", "benchmarks")
    code = [ROOT / "app.py", *(p for d in folders for p in (ROOT / d).rglob("*.py"))]
    # Exported calibrators that a version wrote are never edited.
    return sorted(file for file in code if file.parents[1] != ROOT / "tests" / "kept")


def test_comments_are_sentences() -> None:
    hits = [
        f"{of(file)}:{line}: {fault}: {comment}"
        for file in commented()
        for line, comment in comments(file)
        for fault in faults_of(comment)
    ]
    assert not hits, "\n".join(hits)


def vague_names(code: str) -> list[tuple[int, str]]:
    """Lines and names of variables, arguments and functions that have a vague name."""
    return [
        (node.lineno, name)
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Name | ast.arg | ast.FunctionDef)
        for name in [getattr(node, "id", None) or getattr(node, "arg", None) or node.name]
        if name.strip("_").lower() in VAGUE_NAMES
    ]


def test_names_say_what_they_are() -> None:
    vague = [
        f"{of(file)}:{line}: {name}"
        for file in sorted((ROOT / "calib").rglob("*.py"))
        for line, name in vague_names(file.read_text(encoding="utf-8"))
    ]
    assert not vague, "\n".join(vague)


def test_the_walk_sees_variables_arguments_and_functions() -> None:
    code = "def _told(own):\n    for each in own:\n        known_rows = each\n"
    assert {name for _, name in vague_names(code)} == {"_told", "own", "each"}


def test_the_walk_sees_blocks_and_trailing_comments(tmp_path: Path) -> None:
    code = tmp_path / "a.py"
    code.write_text(
        "# Of two\n# lines.\nx = 1  # rows\ny = '# a'  # noqa: E501\n# 1e-8 is enough.\n"
    )
    assert list(comments(code)) == [
        (1, "Of two lines."),
        (3, "rows"),
        (4, "noqa: E501"),
        (5, "1e-8 is enough."),
    ]
    assert [len(faults_of(comment)) for _, comment in comments(code)] == [1, 3, 0, 0]


def test_the_walk_sees_docstrings_f_strings_and_markdown(tmp_path: Path) -> None:
    code, document = tmp_path / "a.py", tmp_path / "a.md"
    code.write_text('"""One row a\n    method."""\nx = f"{1} of them came\\n true"\ny = "fine"\n')
    document.write_text("# Title\n\nScores as they\nare.\n")
    assert [line for line, said in texts(code) if found_in(said)] == [1, 3]
    assert [line for line, said in texts(document) if found_in(said)] == [3]


MAX_SUBJECT_LENGTH = 72
N_COMMITS = 20  # Those of a change; older ones cannot be mended any more.
# Subjects are imperative: "Read ids as text", not "Reads", "Reading" or "Added".
NOT_IMPERATIVE = re.compile(r"^(?:\w+ed|\w+ing|Adds|Fixes|Makes|Reads|Shows|Uses)\b|^[a-z]|\.$")


def subject_faults(subject: str) -> list[str]:
    long = [f"{len(subject)} characters"] if len(subject) > MAX_SUBJECT_LENGTH else []
    return long + (["not imperative"] if NOT_IMPERATIVE.search(subject) else [])


def test_subjects_of_commits_are_short_and_imperative() -> None:
    command = ["git", "log", f"-{N_COMMITS}", "--no-merges", "--format=%s"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("This is not a checkout of git: skipped")
    hits = [f"{s}: {fault}" for s in done.stdout.splitlines() for fault in subject_faults(s)]
    assert not hits, "\n".join(hits)


def test_faults_of_subjects_are_seen() -> None:
    assert subject_faults("Read ids as text") == []
    for subject in ("Added a test", "Reading ids", "read ids", "Read ids.", f"Read {'x' * 70}"):
        assert len(subject_faults(subject)) == 1
