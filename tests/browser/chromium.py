"""Find the Chromium that the browser tests drive.

As a program (`make browsers`) it installs Debian's when there is none and it may.
"""

import os
import platform
import shutil
import subprocess
import sys

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
MISSING = "No Chromium or Google Chrome found: install one, or set BROWSER_PATH to its program."


def find() -> str | None:
    """Path of the browser: BROWSER_PATH alone when set, else the first name found."""
    wanted = os.environ.get("BROWSER_PATH")
    candidates = (wanted,) if wanted else NAMES
    return next(filter(None, map(shutil.which, candidates)), None)


def can_install() -> bool:
    """Whether this is root on Debian (Ubuntu's package is a stub that needs snap)."""
    if sys.platform != "linux" or os.geteuid() != 0 or os.environ.get("BROWSER_PATH"):
        return False
    try:
        return platform.freedesktop_os_release()["ID"] == "debian"
    except OSError:
        return False


def install() -> None:
    apt = ("apt-get", "--quiet", "--yes")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run([*apt, "update"], env=environment, check=True)
    subprocess.run([*apt, "install", "chromium"], env=environment, check=True)


if __name__ == "__main__":
    if find() is None and can_install():
        install()
    print(find() or sys.exit(MISSING))
