import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_shows_code_that_runs(tmp_path):
    page = (ROOT / "docs/reports.md").read_text()
    block = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    environment = {"CALIB_HOME": str(tmp_path), "CALIB_DATABASE_URL": ""}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    listed, log = done.stdout.splitlines()
    assert " overconfident " in listed
    assert "deleted_by='Ada'" in log
    assert (tmp_path / "reports.db").exists()
