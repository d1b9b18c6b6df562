"""Use calib as it was installed. `library`: nothing but it; `dashboard`: the app, too."""

import random
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from importlib.metadata import version
from pathlib import Path

HERE = Path.cwd()
COMMAND = Path(sys.executable).with_name("calib")


def main(what: str) -> None:
    import calib

    # A shell starts background jobs with interrupts ignored, and what they start inherits it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    assert Path(calib.__file__).is_relative_to(sys.prefix), calib.__file__
    assert calib.__version__ == version("calib-dashboard"), calib.__version__
    generator = random.Random(0)
    scores = [generator.random() for _ in range(1000)]
    lines = [f"{int(generator.random() < score)},{score:.4f}" for score in scores]
    (HERE / "scores.csv").write_text("y,p\n" + "\n".join(lines) + "\n")
    {"library": library, "dashboard": dashboard}[what]()


def library() -> None:
    check = [COMMAND, "check", "scores.csv", "--outcome", "y", "--score", "p", "--max-ks"]
    assert subprocess.run([*check, "0.2"], check=False).returncode == 0
    strict = [*check, "0.0001", "--strict-point"]
    assert subprocess.run(strict, check=False).returncode == 1
    # Without its packages the dashboard says so, and is no fault.
    assert subprocess.run([COMMAND, "serve"], check=False).returncode == 2


def dashboard() -> None:
    subprocess.run([COMMAND, "report", "scores.csv", "-o", "report.html"], check=True)
    answers()
    renders()


def answers() -> None:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    with (HERE / "log").open("wb") as log:
        arguments = [COMMAND, "serve", "scores.csv", "--port", port]
        server = subprocess.Popen(arguments, stdout=log, stderr=subprocess.STDOUT)
    try:
        while not healthy(port):
            assert server.poll() is None, (HERE / "log").read_text()
            time.sleep(0.2)
        server.send_signal(signal.SIGINT)
        status = server.wait(30)
        assert status == 130, f"exit status {status}: {(HERE / 'log').read_text()}"
    finally:
        server.kill()


def healthy(port: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=5) as answer:
            return answer.read() == b"ok"
    except OSError:
        return False


def renders() -> None:
    """Every page on the named file, as a browser would ask for it."""
    from streamlit.testing.v1 import AppTest

    from calib.ui.session import serving

    script = serving.app_file()
    assert script.is_relative_to(sys.prefix), script
    serving.hold(["scores.csv"], None, {"outcome": "y", "score": "p"})
    app = AppTest.from_file(str(script), default_timeout=60).run()
    assert not app.exception
    assert [file.name for file in script.parent.glob("*.py")] == ["app.py"]
    pages = sorted((script.parent / "pages").glob("*.py"))
    assert len(pages) > 8, pages
    for page in pages:
        app.switch_page(f"pages/{page.name}").run()
        assert not app.exception, page
    print(f"{len(pages) + 1} pages drawn by {script}")


if __name__ == "__main__":
    main(sys.argv[1])
