"""health.py [PORT]: exits with 0 where the app answers."""

import sys
import urllib.request

PORT = sys.argv[1] if len(sys.argv) > 1 else "8501"
urllib.request.urlopen(f"http://localhost:{PORT}/_stcore/health", timeout=4).close()
