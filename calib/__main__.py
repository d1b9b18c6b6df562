"""``python -m calib``: reports and checks for pipelines."""

import sys

from calib.cli import main

if __name__ == "__main__":
    sys.exit(main())
