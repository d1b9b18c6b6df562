"""What pyproject.toml cannot say: the dashboard's files lie beside the library.

`streamlit run app.py` wants app.py, pages/ and .streamlit/ in one folder. In a checkout that is its
root; in a wheel they go to calib/ui/app/, where `calib serve` finds them.
"""

from shutil import rmtree

from setuptools import find_packages, setup

# An earlier build leaves its modules there; those that are gone since would get into the wheel.
rmtree("build/lib", ignore_errors=True)
setup(
    script_name="setup.py",  # so that it is not taken for a module of the dashboard
    packages=[*find_packages(include=["calib", "calib.*"]), "calib.ui.app", "calib.ui.app.pages"],
    package_dir={"calib.ui.app": ".", "calib.ui.app.pages": "pages"},
)
