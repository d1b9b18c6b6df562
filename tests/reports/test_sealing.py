"""Seals and signatures, by keys of OpenSSL's and OpenSSH's forms."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from calib.reports import Report, ReportError
from calib.reports.contents.codec import encode
from calib.reports.contents.sealing import canonical, seal_of
from calib.reports.verify import NotVerified, verify_report
from tests.reports.kept import KEPT

PEM, SSH = serialization.Encoding.PEM, serialization.Encoding.OpenSSH
PKCS8, OPENSSH = serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.OpenSSH
PLAIN = serialization.NoEncryption()
# RFC 8032, section 7.1, test 1 publishes both halves of this key.
SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
PUBLIC = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"


@pytest.fixture(scope="module")
def key() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(SEED)


def public_of(key: Ed25519PrivateKey, kind: str) -> bytes:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    if kind == "pem":
        return key.public_key().public_bytes(PEM, form)
    return key.public_key().public_bytes(SSH, serialization.PublicFormat.OpenSSH)


@pytest.mark.parametrize("kind", ["pem", "ssh"])
def test_a_signed_report_says_who_signed(report: Report, key, kind: str, tmp_path: Path):
    form = PKCS8 if kind == "pem" else OPENSSH
    (tmp_path / "key").write_bytes(key.private_bytes(PEM, form, PLAIN))
    (tmp_path / "key.pub").write_bytes(public_of(key, kind))
    signed = report.signed(tmp_path / "key")
    verified = verify_report(signed.json(), signed_by=tmp_path / "key.pub")
    assert str(verified.signer) in verified.sentence
    assert Report.open(signed.json()).json() == signed.json()
    assert signed.edited(title="Other", author="", note="").seal.signature == ""


def test_the_fingerprint_is_that_of_ssh_keygen(report: Report, key, tmp_path: Path):
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    (tmp_path / "key.pub").write_bytes(public_of(key, "ssh"))
    command = ["ssh-keygen", "-l", "-f", str(tmp_path / "key.pub")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    pem = key.private_bytes(PEM, PKCS8, PLAIN)
    assert verify_report(report.signed(pem).json()).signer == printed.split()[1]


def test_the_signature_is_a_plain_one_of_the_canonical_json(report: Report, key):
    """Others check it without calib: Ed25519 over sorted JSON without blanks."""
    import base64

    data = json.loads(report.signed(key.private_bytes(PEM, PKCS8, PLAIN)).json())
    seal = data.pop("seal")
    assert base64.b64decode(seal["public_key"]).hex() == PUBLIC
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert text == canonical(data)
    key.public_key().verify(base64.b64decode(seal["signature"]), text)


def test_another_key_or_none_is_refused(report: Report, key, texts):
    pem = key.private_bytes(PEM, PKCS8, PLAIN)
    other = public_of(Ed25519PrivateKey.from_private_bytes(bytes(32)), "pem")
    for made in (report.signed(pem), report):
        with texts.raises(NotVerified):
            verify_report(made.json(), signed_by=other)
    data = json.loads(report.signed(pem).json())
    data["seal"]["signature"] = data["seal"]["signature"][::-1]
    with texts.raises(NotVerified):
        verify_report(json.dumps(data))


def test_what_is_no_such_key_is_refused(report: Report, key, tmp_path: Path, texts):
    rsa = generate_private_key(65537, 2048).private_bytes(PEM, PKCS8, PLAIN)
    with texts.raises(ReportError):
        report.signed(rsa)
    with texts.raises(ReportError):
        report.signed("no-such-file.pem")
    locked = key.private_bytes(PEM, PKCS8, serialization.BestAvailableEncryption(b"secret"))
    with texts.raises(ReportError):
        report.signed(locked)
    with pytest.raises(ReportError, match="Ed25519"):
        report.signed(b"nothing")


def test_what_is_no_public_key_is_told_how_to_make_one(report: Report, key):
    private = key.private_bytes(PEM, PKCS8, PLAIN)
    made = r"openssl pkey -in key\.pem -pubout -out key\.pub"
    for wrong in (private, b"0\x82 no PEM", private.replace(b"PRIVATE KEY", b"CERTIFICATE")):
        with pytest.raises(ReportError, match=made) as caught:
            verify_report(report.json(), signed_by=wrong)
        assert "genpkey" not in str(caught.value)


def test_half_of_a_character_in_a_text_is_replaced(report: Report, tmp_path: Path):
    edited = report.edited(title="a\ud800", author="\udfff", note="")
    assert (edited.title, edited.author) == ("a?", "?")
    edited.save(tmp_path / "report.json")
    verify_report(tmp_path / "report.json")


def test_without_its_package_a_sentence_says_how_to_install_it(report, monkeypatch, texts):
    monkeypatch.setitem(__import__("sys").modules, "cryptography", None)
    with texts.raises(ReportError):
        report.signed(b"-----BEGIN PRIVATE KEY-----")
    verify_report(report.json())


def test_a_report_that_was_made_before_the_record_opens_and_verifies(tmp_path):
    data = json.loads(KEPT.read_text())
    for name in ("reviewer", "sign_off", "model_version", "limits"):
        del data[name]
    data["seal"] = encode(seal_of(data))
    path = tmp_path / "report.json"
    path.write_text(json.dumps(data))
    verify_report(path)
    opened = Report.open(path)
    assert (opened.reviewer, opened.sign_off, opened.limits) == ("", "", {})


def test_the_record_is_sealed(tmp_path, texts):
    data = json.loads(KEPT.read_text()) | {"sign_off": "Mallory"}
    path = tmp_path / "report.json"
    path.write_text(json.dumps(data))
    with texts.raises(NotVerified):
        verify_report(path)
