"""The seal of a report: SHA-256 of its canonical JSON, and an Ed25519 signature if it is signed."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from calib.distribution import pip_install
from calib.reports.contents.codec import ReportError
from calib.reports.contents.structure import Seal

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

NO_CRYPTOGRAPHY = f"Signatures need the package cryptography: {pip_install('sign')}."
SEAL = "seal"


def canonical(data: Mapping[str, Any]) -> bytes:
    """A report without its seal as canonical JSON: sorted names, no blanks, UTF-8.

    >>> canonical({"b": [1, 0.5], "a": None, "seal": "any"})
    b'{"a":null,"b":[1,0.5]}'
    """
    rest = {name: value for name, value in data.items() if name != SEAL}
    text = json.dumps(
        rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode("utf-8", "surrogatepass")


def seal_of(data: Mapping[str, Any], key: Ed25519PrivateKey | None = None) -> Seal:
    """The seal of a report, signed if a key is given."""
    content = canonical(data)
    digest = hashlib.sha256(content).hexdigest()
    if key is None:
        return Seal(digest)
    return Seal(digest, _base64(key.public_key().public_bytes_raw()), _base64(key.sign(content)))


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def seal_problem(data: Mapping[str, Any], seal: Seal) -> str:
    """A sentence that says what is wrong with a seal, or ""."""
    content = canonical(data)
    if hashlib.sha256(content).hexdigest() != seal.sha256:
        return "The seal is broken: the report was changed after it was made."
    if not (seal.public_key or seal.signature):
        return ""
    _require_cryptography()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        signature = base64.b64decode(seal.signature, validate=True)
        public = base64.b64decode(seal.public_key, validate=True)
        Ed25519PublicKey.from_public_bytes(public).verify(signature, content)
    except (InvalidSignature, ValueError):
        return "The signature is not valid for this report and its public key."
    return ""


def signer(seal: Seal) -> str:
    """The fingerprint of the public key that signed, as in OpenSSH, or "" without a signature.

    >>> import base64
    >>> signer(Seal("", base64.b64encode(bytes(32)).decode(), "signed"))
    'SHA256:kmYcvdi2GkPeWxB6XLjrZB8JHsy2Hm8luHMFp9GMvqk'
    """
    if not seal.public_key:
        return ""
    kind = b"ssh-ed25519"
    try:
        raw = base64.b64decode(seal.public_key, validate=True)
    except ValueError:
        return "a damaged key"
    wire = b"".join(len(part).to_bytes(4, "big") + part for part in (kind, raw))
    return "SHA256:" + _base64(hashlib.sha256(wire).digest()).rstrip("=")


def public_key(source: str | bytes | Path) -> str:
    """A public Ed25519 key as a seal holds it; see `read_key`."""
    return _base64(read_key(source, "public").public_bytes_raw())


def _key_content(source: str | bytes | Path) -> bytes:
    if isinstance(source, bytes):
        return source
    if isinstance(source, str) and ("BEGIN" in source or source.startswith("ssh-")):
        return source.encode()
    try:
        return Path(source).read_bytes()
    except OSError as error:
        raise ReportError(
            f"No key can be read from {str(source)[:200]!r}. Check the path."
        ) from error


def read_key(source: str | bytes | Path, called: Literal["private", "public"]) -> Any:
    """An Ed25519 key, from its PEM or OpenSSH text or a file of it."""
    _require_cryptography()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519

    content, secret = _key_content(source), {"password": None} if called == "private" else {}
    of_ssh = (
        content.lstrip().startswith(b"ssh-") if not secret else b"OPENSSH PRIVATE KEY" in content
    )
    form = "ssh" if of_ssh else "pem"
    made = {
        "private": "openssl genpkey -algorithm ed25519 -out key.pem, or ssh-keygen -t ed25519",
        "public": "openssl pkey -in key.pem -pubout -out key.pub makes it from the private key",
    }[called]
    unlocked = " without a passphrase" if secret else ""
    try:
        key = getattr(serialization, f"load_{form}_{called}_key")(content, **secret)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ReportError(
            f"The {called} key must be an Ed25519 key{unlocked}, in PEM or OpenSSH's form "
            f"({made}): {error}"
        ) from None
    if not isinstance(key, getattr(ed25519, f"Ed25519{called.title()}Key")):
        raise ReportError(
            f"The {called} key must be an Ed25519 key ({made}), got {type(key).__name__}."
        )
    return key


def _require_cryptography() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError as error:
        raise ReportError(NO_CRYPTOGRAPHY) from error
