"""A calibrator as an ONNX model of basic operators in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.exports.codec import ExportError
from calib.exports.recording import Node, Program
from calib.numerics.arrays import FloatArray
from calib.numerics.elementary import LOG2_E
from calib.numerics.splines import Pieces

OPSET = 17
IR_VERSION = 8
INT64 = 7  # TensorProto.INT64
OPERATORS = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "lt": "Less", "gt": "Greater"}
OPERATORS |= {"where": "Where", "floor": "Floor"}
# The operators that calib writes. A model with any other operator is not run.
KNOWN = {*OPERATORS.values(), "Pow", "Log", "Gather", "Cast", "GreaterOrEqual", "Greater"}
KNOWN |= {"LessOrEqual", "And", "Unsqueeze", "Concat"}
HOW_TO_INSTALL = 'pip install "calib[onnx]"'


def onnx_bytes(program: Program, *, matrix: bool, metadata: dict[str, str]) -> bytes:
    """The model: input "scores" of shape (n,) or (n, m), output "calibrated" of the same shape."""
    from onnx import TensorProto, checker, helper

    graph = _Graph(helper)
    names: dict[int, str] = {}
    for node in program.order:
        names[id(node)] = graph.of(node, [names[id(a)] for a in node.args], matrix)
    outputs = [names[id(node)] for node in program.outputs]
    if matrix:
        columns = [graph.add("Unsqueeze", name, [1]) for name in outputs]
        result = graph.add("Concat", *columns, axis=1)
    else:
        result = outputs[0]
    graph.add("Where", graph.allowed(), result, np.nan, name="calibrated")
    shape: list[Any] = ["n", program.n_inputs] if matrix else ["n"]
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "calibrator",
            [helper.make_tensor_value_info("scores", TensorProto.DOUBLE, shape)],
            [helper.make_tensor_value_info("calibrated", TensorProto.DOUBLE, shape)],
            graph.initializers,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="calib",
    )
    helper.set_model_props(model, metadata)
    checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString())


class _Graph:
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

    def add(self, operator: str, *inputs: Any, name: str = "", **attributes: Any) -> str:
        """One operator on results and constants; the name of its result."""
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        name = name or f"t{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(operator, names, [name], **attributes))
        return name

    def of(self, node: Node, inputs: list[str], matrix: bool) -> str:
        if node.op == "constant":
            return self.constant(node.value)
        if node.op == "input":
            return self.add("Gather", "scores", int(node.value), axis=1) if matrix else "scores"
        if node.op in OPERATORS:
            return self.add(OPERATORS[node.op], *inputs)
        if node.op == "power":
            return self.add("Pow", 2.0, *inputs)
        if node.op == "exponent":
            scaled = self.add("Mul", self.add("Log", *inputs), LOG2_E)
            return self.add("Floor", self.add("Add", scaled, 0.5))
        assert node.pieces is not None
        return self._pieces(node.pieces, inputs[0])

    def _pieces(self, pieces: Pieces, x: str) -> str:
        """A binary search for the piece, then Horner's rule."""
        piece = self._search(pieces, x)
        z = self.add("Sub", x, self.add("Gather", pieces.centers, piece))
        value, *powers = (self.add("Gather", each, piece) for each in pieces.coefficients.T[::-1])
        for coefficient in powers:
            value = self.add("Add", self.add("Mul", value, z), coefficient)
        return value

    def _search(self, pieces: Pieces, x: str) -> str:
        bits = len(pieces.edges).bit_length()
        edges = np.full(2**bits - 1, np.inf)
        edges[: len(pieces.edges)] = pieces.edges
        # x minus itself gives an index for every row, even if there is only one piece.
        place = self.add("Cast", self.add("Sub", x, x), to=INT64)
        beyond = "GreaterOrEqual" if pieces.closed == "left" else "Greater"
        for bit in range(bits - 1, -1, -1):
            further = self.add("Add", place, 2**bit)
            edge = self.add("Gather", edges, self.add("Sub", further, 1))
            place = self.add("Where", self.add(beyond, x, edge), further, place)
        return place

    def allowed(self) -> str:
        low = self.add("GreaterOrEqual", "scores", 0.0)
        return self.add("And", low, self.add("LessOrEqual", "scores", 1.0))


def run_onnx(model: bytes, scores: FloatArray) -> FloatArray:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"scores": scores})[0])


def metadata_of(content: bytes) -> dict[str, str]:
    """What a model carries beside its graph, if it has no other operators and reads no files."""
    import onnx

    model = onnx.load_from_string(content)
    outside = [t.name for t in model.graph.initializer if t.data_location or t.external_data]
    if outside:
        raise ExportError(f"The model's constant {outside[0]!r:.60} lies in another file.")
    other = {node.op_type for node in model.graph.node if node.domain} | {
        node.op_type for node in model.graph.node if node.op_type not in KNOWN
    }
    if other or model.functions or model.graph.sparse_initializer:
        named = f"the operator {min(other):.60}" if other else "functions or sparse constants"
        raise ExportError(f"The model has {named}, which calib does not write.")
    return {entry.key: entry.value for entry in model.metadata_props}
