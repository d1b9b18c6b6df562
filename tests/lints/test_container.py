"""The files of the container say what they should, and lock every package."""

import json
import re
from pathlib import Path

import pytest

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


def test_the_example_reads_only_and_asks_for_a_password():
    yaml = pytest.importorskip("yaml")
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
    replicas = [services[name] for name in ("calib-1", "calib-2")]
    for service in (*replicas, services["nginx"]):
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
    for app in replicas:
        assert "POSTGRES_PASSWORD:?" in app["environment"]["CALIB_DATABASE_URL"]
        # Browsers reach the replicas only through nginx, with the cookie that names one of them.
        assert "ports" not in app
        assert app["secrets"] == ["streamlit"]
    for service in services.values():
        # By default, other machines cannot reach any service.
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
        assert "build" in service or re.search(r":v?\d", service["image"])
    dex = yaml.safe_load((FOLDER / "dex.yaml").read_text())
    secrets = (FOLDER / "secrets.example.toml").read_text()
    (client,) = dex["staticClients"]
    assert all(f'"{text}"' in secrets for text in (client["id"], *client["redirectURIs"]))
    assert f"{dex['issuer']}/.well-known/openid-configuration" in secrets


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
