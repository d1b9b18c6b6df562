"""fill_secret.py SOURCE TARGET: copies a secrets.toml and fills in an empty cookie_secret.

The secret is made once and kept beside the copy, so that people stay signed in after a restart.
"""

import secrets
import sys
from pathlib import Path

source, target = map(Path, sys.argv[1:])
kept = target.with_name("cookie_secret")
for file in (kept, target):
    file.touch(mode=0o600)
if not kept.read_text():
    kept.write_text(secrets.token_hex(32))
text = source.read_text(encoding="utf-8")
target.write_text(
    text.replace('cookie_secret = ""', f'cookie_secret = "{kept.read_text()}"'), encoding="utf-8"
)
