"""A calibrator as an ONNX model of basic operators in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from calib.calibrators.forms import Form, Operations, RowsForm
from calib.data.checks import ROW_SUM_TOLERANCE
from calib.exports.document import NotExportedError
from calib.exports.score_conversion import Conversion
from calib.numerics.arrays import FloatArray
from calib.numerics.splines import Pieces

OPSET = 17
IR_VERSION = 8
# The numbers are those of onnx.TensorProto, without its import.
ONNX_INT64, ONNX_DOUBLE = 7, 11
METADATA_KEY = "calib"


def onnx_bytes(
    form: Form | RowsForm, conversion: Conversion, n_classes: int | None, note: str
) -> bytes:
    """The model: input "scores" of shape (n,) or (n, m), output "calibrated" of the same shape."""
    from onnx import TensorProto, checker, helper

    do = Graph(helper)
    scores = Tensor("scores", do)
    if isinstance(form, Form):
        result: Tensor = conversion.calibrated(form, do, scores)
        allowed = do.allowed(scores, conversion)
    else:
        row = [do.add("Gather", scores, k, axis=1) for k in range(n_classes or 0)]
        results = form(do, conversion.of_row(do, row))
        result = do.add("Concat", *(do.add("Unsqueeze", column, [1]) for column in results), axis=1)
        allowed = do.allowed_rows(scores, conversion)
    do.add("Where", allowed, result, np.nan, name="calibrated")
    shape: list[Any] = ["n"] if n_classes is None else ["n", n_classes]
    model = helper.make_model(
        helper.make_graph(
            do.nodes,
            "calibrator",
            [helper.make_tensor_value_info("scores", TensorProto.DOUBLE, shape)],
            [helper.make_tensor_value_info("calibrated", TensorProto.DOUBLE, shape)],
            do.initializers,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="calib",
    )
    helper.set_model_props(model, {METADATA_KEY: note})
    checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString())


def _operation(operator: str, *, swapped: bool = False) -> Callable[..., Tensor]:
    def add(this: Tensor, other: Tensor | float) -> Tensor:
        operand = _float(other)
        return this.graph.add(operator, *((operand, this) if swapped else (this, operand)))

    return add


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A result of the graph by its name."""

    name: str
    graph: Graph

    __add__, __radd__ = _operation("Add"), _operation("Add", swapped=True)
    __sub__, __rsub__ = _operation("Sub"), _operation("Sub", swapped=True)
    __mul__, __rmul__ = _operation("Mul"), _operation("Mul", swapped=True)
    __truediv__, __rtruediv__ = _operation("Div"), _operation("Div", swapped=True)
    __lt__, __gt__ = _operation("Less"), _operation("Greater")


def _float(value: Tensor | float) -> Tensor | float:
    """A whole number of a formula, such as the 1 in 1 - s, as a float like the scores."""
    return value if isinstance(value, Tensor) else float(value)


class Graph(Operations):
    """Nodes and constants in the order in which they are added. Each tensor has its own name."""

    def __init__(self, helper: Any) -> None:
        self._helper = helper
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self._constants: dict[object, str] = {}

    def constant(self, value: Any) -> str:
        """The name of a constant, which is kept once."""
        from onnx import numpy_helper

        array = np.ascontiguousarray(value).reshape(np.shape(value))
        key = (array.tobytes(), array.shape, array.dtype.str)
        if key not in self._constants:
            name = f"c{len(self._constants)}"
            self._constants[key] = name
            self.initializers.append(numpy_helper.from_array(array, name))
        return self._constants[key]

    def add(self, operator: str, *inputs: Any, name: str = "", **attributes: Any) -> Tensor:
        """One operator on results and constants."""
        names = [x.name if isinstance(x, Tensor) else self.constant(x) for x in inputs]
        name = name or f"t{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(operator, names, [name], **attributes))
        return Tensor(name, self)

    def clip(self, x: Tensor, low: float, high: float) -> Tensor:
        return self.add("Min", self.add("Max", x, low), high)

    def choose(self, condition: Tensor, yes: Tensor | float, no: Tensor | float) -> Tensor:
        return self.add("Where", condition, _float(yes), _float(no))

    def largest(self, columns: Sequence[Tensor]) -> Tensor:
        return self.add("Max", *columns)

    def log(self, x: Tensor) -> Tensor:
        return self.add("Log", x)

    def logit(self, x: Tensor) -> Tensor:
        return self.log(x / (1 - x))

    def exp(self, x: Tensor) -> Tensor:
        return self.add("Exp", x)

    def sigmoid(self, x: Tensor, bound: float) -> Tensor:  # noqa: ARG002
        return 1 / (1 + self.exp(0 - x))

    def pieces(self, pieces: Pieces, x: Tensor) -> Tensor:
        """A binary search for the piece, then Horner's rule."""
        # The difference is NaN for NaN and infinity, which have no piece. Without a number in their
        # place, the whole batch would fail. `allowed` replaces their results.
        x = self.add("Where", self.add("IsNaN", self.add("Sub", x, x)), 0.0, x)
        piece = self._search(pieces, x)
        z = x - self.add("Gather", pieces.centers, piece)
        powers = [self.add("Gather", power, piece) for power in pieces.coefficients.T[::-1]]
        return reduce(lambda value, power: value * z + power, powers)

    def _search(self, pieces: Pieces, x: Tensor) -> Tensor:
        bits = len(pieces.edges).bit_length()
        edges = np.full(2**bits - 1, np.inf)
        edges[: len(pieces.edges)] = pieces.edges
        # Subtracting x from itself makes an index for every row, also if there is only one piece.
        place = self.add("Cast", self.add("Sub", x, x), to=ONNX_INT64)
        beyond = "GreaterOrEqual" if pieces.closed == "left" else "Greater"
        for bit in range(bits - 1, -1, -1):
            further = self.add("Add", place, 2**bit)
            edge = self.add("Gather", edges, self.add("Sub", further, 1))
            place = self.add("Where", self.add(beyond, x, edge), further, place)
        return place

    def allowed(self, scores: Tensor, conversion: Conversion) -> Tensor:
        """Whether each score is within the limits of the conversion."""
        low, high = conversion.limits
        least = self.add("GreaterOrEqual", scores, low)
        return self.add("And", least, self.add("LessOrEqual", scores, high))

    def allowed_rows(self, scores: Tensor, conversion: Conversion) -> Tensor:
        """Whether all scores of a row are within the limits and add up, as `predict` needs them."""
        entries = self.add("Cast", self.allowed(scores, conversion), to=ONNX_DOUBLE)
        allowed = self.add("Greater", self.add("ReduceMin", entries, axes=[1]), 0.5)
        if conversion.limits != (0.0, 1.0):
            return allowed
        distance = self.add("Abs", self.add("ReduceSum", scores, [1]) - 1.0)
        return self.add("And", allowed, self.add("LessOrEqual", distance, ROW_SUM_TOLERANCE))


def run_onnx(model: bytes, scores: FloatArray) -> FloatArray:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"scores": scores})[0])


def note_of(content: bytes) -> str:
    """The note of a model, which says how it was written. The model is not run."""
    import onnx

    try:
        entries = onnx.load_from_string(content).metadata_props
    except Exception as error:  # The parser of protobuf raises errors of several classes.
        raise NotExportedError("The file is damaged, or no ONNX model.") from error
    return next((entry.value for entry in entries if entry.key == METADATA_KEY), "")
