"""The steps of the container's image, where there is no engine of containers."""

import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import pytest

from tests.browser import harness
from tests.rare import rare

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "container"

# The disk is read-only, as in compose.yaml, except for /tmp and the folder of reports.
READ_ONLY = """
mount --bind {home} {home} && mount -o remount,bind,ro / && mount -t tmpfs tmpfs /tmp &&
cd /tmp && exec env -i PATH=/usr/bin:/bin HOME=/tmp CALIB_HOME={home} PYTHONDONTWRITEBYTECODE=1 \
    {target}/bin/calib serve --address 0.0.0.0 --port {port}
"""


@rare
def test_the_steps_of_the_image_make_a_server_on_a_read_only_disk():
    if sys.platform != "linux" or subprocess.run(["unshare", "-m", "true"], check=False).returncode:
        pytest.skip("A read-only disk needs Linux's unshare, and root: skipped")
    # The container has its own /tmp, so the folder is elsewhere.
    folder = Path(tempfile.mkdtemp(prefix="calib-image-", dir="/var/tmp"))
    try:
        source, target, home = folder / "source", folder / "calib", folder / "data"
        shutil.copytree(
            ROOT, source, ignore=shutil.ignore_patterns(".venv", ".git", "build", "*.egg-info")
        )
        home.mkdir()
        subprocess.run(["sh", source / "container" / "install.sh", target], check=True, timeout=600)
        port = harness.free_port()
        script = READ_ONLY.format(home=home, target=target, port=port)
        url = f"http://localhost:{port}"
        command = ["unshare", "-m", "sh", "-c", script]
        with harness.running(command, url, folder / "log", dict(os.environ)):
            health = [target / "bin" / "python", FOLDER / "health.py", str(port)]
            subprocess.run(health, check=True, timeout=10)
            assert b"<title>" in urllib.request.urlopen(url, timeout=10).read()
            assert (home / "reports.db").exists() or not list(home.iterdir())
        assert "Traceback" not in (folder / "log").read_text()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
