"""Run every benchmark: ``python -m benchmarks [name ...]``. Each prints its table of ratios.

The exit status is 1 when a target is missed.
"""

import importlib
import pkgutil
import sys
from pathlib import Path


def main(chosen: list[str]) -> int:
    """Run the chosen benchmarks, or all of them; return how many missed a target."""
    # Packages are not listed: benchmarks.reproduce has its own command.
    modules = pkgutil.iter_modules([str(Path(__file__).parent)])
    benchmarks = [module.name for module in modules if not module.ispkg]
    names = chosen or [name for name in benchmarks if not name.startswith("_")]
    missed = 0
    for name in names:
        print(f"\n== {name}")
        missed += importlib.import_module(f"benchmarks.{name}").main()
    return missed


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
