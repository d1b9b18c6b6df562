"""The files of the container say what they should, and lock every package."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from calib.loading.reading.apart import Limits
from calib.ui.session.environment import budget_of_process
from calib.ui.session.serving import MAX_STOPPING_SECONDS
from calib.ui.session.turns import MAX_READING

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "container"
PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^ ;\\]+)", re.MULTILINE)


def pins(path: Path) -> dict[str, str]:
    matches = PIN.findall(path.read_text())
    return {re.sub(r"[._]", "-", name).lower(): version for name, version in matches}


def instructions() -> list[tuple[str, str]]:
    """Instructions of the Dockerfile, continued lines joined."""
    text = (FOLDER / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines]


def test_the_image_runs_as_nobody_in_particular_and_tells_its_health():
    last = dict(instructions())
    assert last["USER"] == "10001:10001"
    assert "health.py" in last["HEALTHCHECK"]
    assert json.loads(last["ENTRYPOINT"])[:2] == ["/opt/calib/bin/calib", "serve"]
    allowed = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK"}
    assert set(last) <= allowed | {"ENTRYPOINT"}
    assert all(":" in value for name, value in instructions() if name == "FROM")


def test_the_limit_of_the_example_is_above_the_budgets(monkeypatch):
    yaml = pytest.importorskip("yaml")
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
    for app in (services["calib-1"], services["calib-2"]):
        monkeypatch.delenv("CALIB_MEMORY_GB", raising=False)
        limit = int(app["mem_limit"].removesuffix("g")) * 2**30
        assert limit > budget_of_process() + MAX_READING * Limits().memory


def test_the_example_reads_only_and_asks_for_a_password():
    yaml = pytest.importorskip("yaml")
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
    replicas = [services[name] for name in ("calib-1", "calib-2")]
    for service in (*replicas, services["nginx"], services["secrets"]):
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
    for app in replicas:
        assert "POSTGRES_PASSWORD:?" in app["environment"]["CALIB_DATABASE_URL"]
        assert int(app["stop_grace_period"].removesuffix("s")) > MAX_STOPPING_SECONDS + 2
        # Browsers reach the replicas only through nginx, with the cookie that names one of them.
        assert "ports" not in app
        assert app["environment"]["STREAMLIT_SECRETS_FILES"] == services["secrets"]["command"][1]
        assert app["volumes"] == ["secrets:/data:ro"]
        assert app["depends_on"]["secrets"] == {"condition": "service_completed_successfully"}
    for service in services.values():
        # By default, other machines cannot reach any service.
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
        assert "build" in service or re.search(r":v?\d", service["image"])
    dex = yaml.safe_load((FOLDER / "dex.yaml").read_text())
    secrets = (FOLDER / "secrets.example.toml").read_text()
    (client,) = dex["staticClients"]
    assert all(f'"{text}"' in secrets for text in (client["id"], *client["redirectURIs"]))
    assert f"{dex['issuer']}/.well-known/openid-configuration" in secrets


def test_the_example_makes_a_secret_once(tmp_path):
    target = tmp_path / "secrets.toml"
    command = [sys.executable, FOLDER / "fill_secret.py", FOLDER / "secrets.example.toml", target]
    made = []
    for _ in range(2):
        subprocess.run(command, check=True)
        made.append(tomllib.loads(target.read_text())["auth"])
    assert made[0] == made[1]
    assert re.fullmatch("[0-9a-f]{64}", made[0]["cookie_secret"])
    example = tomllib.loads((FOLDER / "secrets.example.toml").read_text())["auth"]
    assert made[0] | {"cookie_secret": ""} == example
    assert target.stat().st_mode & 0o077 == 0
    # A team's own secret stays.
    own = tmp_path / "own.toml"
    own.write_text('[auth]\ncookie_secret = "own"\n')
    subprocess.run([*command[:2], own, target], check=True)
    assert target.read_text() == own.read_text()


def test_nginx_asks_the_replicas_of_the_example():
    yaml = pytest.importorskip("yaml")
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
    text = (FOLDER / "nginx.conf").read_text()
    listens = {"calib-1": "8501", "calib-2": "8502"}
    for name, port in listens.items():
        command = services[name]["command"]
        # The entry point of the image names the port 8501.
        assert port == ("8501" if "--port" not in command else command[1])
        assert f"server {name}:{port} max_fails" in text
        assert f"server {name}:{port} backup" in text
        assert f"~:{port}$" in text
    assert services["nginx"]["ports"] == ["127.0.0.1:8501:8080"]
    assert "listen 8080;" in text


def test_the_action_installs_what_is_locked():
    yaml = pytest.importorskip("yaml")
    python, install, check = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    assert re.fullmatch("actions/setup-python@[0-9a-f]{40}", python["uses"])
    assert (
        install["run"]
        .splitlines()[0]
        .startswith('sh "$GITHUB_ACTION_PATH/container/install.sh" "$RUNNER_TEMP/calib"')
    )
    commands = [command for step in (install, check) for command in step["run"].splitlines()]
    assert not any("pip install" in command for command in commands)
    # The script installs nothing whose hash is not in the lock file.
    steps = re.findall(r"pip install (.*)", (FOLDER / "install.sh").read_text())
    assert all("--require-hashes" in step or "--no-deps --no-index" in step for step in steps)


def test_every_package_is_locked_with_its_hash_and_listed():
    lock = FOLDER / "requirements.lock"
    locked = pins(lock)
    assert pins(ROOT / "requirements.txt").items() <= locked.items()
    blocks = re.split(r"\n(?=[a-z0-9])", lock.read_text())
    assert all("--hash=sha256:" in block for block in blocks if PIN.match(block))
    bill = json.loads((FOLDER / "bom.json").read_text())
    assert bill["bomFormat"] == "CycloneDX"
    listed = {
        re.sub(r"[._]", "-", component["name"]).lower(): component["version"]
        for component in bill["components"]
    }
    assert listed == locked
