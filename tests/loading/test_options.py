"""One list of options: the signature, the docstring, the command line and the mapping follow it."""

import inspect
from dataclasses import fields

import pytest

from calib.cli.main import program
from calib.data.file_options import ColumnOptions, LoadOptions, ModelOptions
from calib.data.origin import ENTRIES
from calib.loading import Columns, load, load_models
from tests.golden import Texts


@pytest.mark.parametrize(
    ("function", "options"), [(load, LoadOptions), (load_models, ModelOptions)]
)
def test_signature_and_docstring_hold_every_option(function, options) -> None:
    parameters = list(inspect.signature(function).parameters.values())
    assert [each.name for each in parameters] == ["data", *(f.name for f in fields(options))]
    assert all(each.kind is inspect.Parameter.KEYWORD_ONLY for each in parameters[1:])
    for option in fields(options):
        assert f"\n{option.name} : {option.type}\n    " in function.__doc__
        assert option.metadata["meaning"].endswith(".")


@pytest.mark.parametrize("function", [load, load_models])
@pytest.mark.parametrize("wrong", ["outcom", "slice", "weights"])
def test_an_unknown_option_names_the_nearest(function, wrong, texts: Texts) -> None:
    with texts.raises(TypeError):
        function("y,p\n0,0.2\n1,0.7\n", **{wrong: "y"})


def test_the_command_line_has_every_option() -> None:
    parameters = program().commands["report"].params
    assert {option.name for option in fields(LoadOptions)} <= {one.name for one in parameters}


def test_a_mapping_has_every_column_and_an_origin_what_load_takes() -> None:
    columns = {f.name for f in fields(ColumnOptions)}
    assert columns <= {f.name for f in fields(Columns)}
    called = {f.name for f in fields(LoadOptions)} - {"strict", "exact", "name"}
    assert called <= ENTRIES.keys()
