import re
import warnings
from pathlib import Path

from tests.rare import rare

ROOT = Path(__file__).parents[2]


@rare
def test_the_page_shows_code_that_runs(tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs/reports.md").read_text()
    block = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("CALIB_HOME", str(tmp_path))
    with warnings.catch_warnings(action="error"):
        exec(block, {})
    listed, log = capsys.readouterr().out.splitlines()
    assert " overconfident " in listed
    assert "deleted_by='Ada'" in log
    assert (tmp_path / "reports.db").exists()
