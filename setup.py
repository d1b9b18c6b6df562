"""What pyproject.toml cannot say: the dashboard's files lie beside the library.

`streamlit run app.py` wants app.py, pages/ and .streamlit/ in one folder. In a checkout that is its
root; in a wheel they go to calib/ui/app/, where `calib serve` finds them.
"""

from shutil import rmtree

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

DASHBOARD = "calib.ui.app"


class BuildModules(build_py):
    """Takes app.py alone from the root, which also has the settings of the tests."""

    def find_package_modules(self, package, package_dir):
        found = super().find_package_modules(package, package_dir)
        return [entry for entry in found if package != DASHBOARD or entry[1] == "app"]


# An earlier build leaves its modules there; those that are gone since would get into the wheel.
rmtree("build/lib", ignore_errors=True)
setup(
    packages=[*find_packages(include=["calib", "calib.*"]), DASHBOARD, f"{DASHBOARD}.pages"],
    package_dir={DASHBOARD: ".", f"{DASHBOARD}.pages": "pages"},
    cmdclass={"build_py": BuildModules},
)
