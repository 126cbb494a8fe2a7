"""A scorecard as an ONNX graph, in double precision, for ONNX Runtime and others."""

from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.export.scorecard import CategoryTerm, ExportError, NumberTerm, Scorecard

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8  # what ONNX Runtime reads since 2022


def to_onnx(card: Scorecard) -> bytes:
    """Return the graph. Each column is an input (n, 1): numbers as double, NaN where missing, or strings."""
    try:
        import onnx
    except ImportError as error:
        raise ExportError("ONNX graphs need one more package: pip install 'mercer[onnx]'") from error
    written: bytes = _Graph(onnx).of(card)
    return written


class _Graph:
    """Nodes and constants, as they are added."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def of(self, card: Scorecard) -> bytes:
        """Return a whole graph."""
        types, make = self.onnx.TensorProto, self.onnx.helper
        inputs = [
            make.make_tensor_value_info(
                term.name, types.STRING if isinstance(term, CategoryTerm) else types.DOUBLE, [None, 1]
            )
            for term in card.terms
        ]
        total = self.constant(card.intercept[None])
        for term in card.terms:
            added = self.category(term) if isinstance(term, CategoryTerm) else self.number(term)
            total = self.add("Add", total, added)
        if card.classes is None:
            number = self.add("Exp", total) if card.log else total
            self.nodes.append(make.make_node("Identity", [number], ["prediction"]))
            outputs = [make.make_tensor_value_info("prediction", types.DOUBLE, [None, 1])]
        else:
            outputs = self.classes(card, total)
        graph = make.make_graph(self.nodes, "mercer", inputs, outputs, self.constants)
        model = make.make_model(
            graph,
            opset_imports=[make.make_opsetid("", OPSET), make.make_opsetid("ai.onnx.ml", ML_OPSET)],
            ir_version=IR_VERSION,
            producer_name="mercer",
        )
        self.onnx.checker.check_model(model, full_check=True)
        written: bytes = model.SerializeToString()
        return written

    def number(self, term: NumberTerm) -> str:
        """Return the points of a number: those of the first knot, and the passed share of each step."""
        knots = term.knots if len(term.knots) > 1 else np.append(term.knots, term.knots + 1.0)
        points = term.points if len(term.knots) > 1 else np.repeat(term.points, 2, axis=0)
        passed = self.add("Sub", term.name, self.constant(knots[None, :-1]))
        share = self.add("Div", passed, self.constant(np.diff(knots)[None]))
        share = self.add("Clip", share, self.constant(np.zeros(())), self.constant(np.ones(())))
        steps = self.add("MatMul", share, self.constant(np.diff(points, axis=0)))
        found = self.add("Add", steps, self.constant(points[:1]))
        if term.missing is None:
            return found
        return self.add("Where", self.add("IsNaN", term.name), self.constant(term.missing[None]), found)

    def category(self, term: CategoryTerm) -> str:
        """Return the points of a category. A missing one is an empty text."""
        known = [value for value in term.values if value]
        keep = [j for j, value in enumerate(term.values) if value]
        place = self.add(
            "LabelEncoder",
            term.name,
            domain="ai.onnx.ml",
            keys_strings=["", *known],
            values_int64s=list(range(len(known) + 1)),
            default_int64=len(known) + 1,
        )
        points = np.vstack([term.missing, term.points[keep], term.other])
        flat = self.add("Reshape", place, self.constant(np.array([-1])))
        return self.add("Gather", self.constant(points), flat, axis=0)

    def classes(self, card: Scorecard, sums: str) -> list[Any]:
        """Return the outputs: the prediction, and the probabilities."""
        assert card.head is not None
        assert card.classes is not None
        assert card.decision is not None
        offset, linear, positive, negative = card.head
        value = self.add("Add", self.add("MatMul", sums, self.constant(linear)), self.constant(offset[None]))
        for sign, matrix in ((1.0, positive), (-1.0, negative)):
            if matrix.any():
                signed = self.add("Mul", sums, self.constant(np.array(sign)))
                value = self.add(
                    "Add", value, self.add("MatMul", self.log_sigmoid(signed), self.constant(matrix))
                )
        types, make = self.onnx.TensorProto, self.onnx.helper
        self.nodes.append(make.make_node("Softmax", [value], ["probabilities"], axis=1))
        weighted = self.add("Mul", "probabilities", self.constant(card.decision.weights[None]))
        chosen = self.add("ArgMax", weighted, axis=1, keepdims=0)
        labels = card.classes.tolist()
        is_text = isinstance(labels[0], str)
        kept = np.array(labels, dtype=object if is_text else np.int64 if _are_whole(labels) else np.float64)
        self.nodes.append(make.make_node("Gather", [self.constant(kept), chosen], ["prediction"], axis=0))
        kind = types.STRING if is_text else types.INT64 if kept.dtype == np.int64 else types.DOUBLE
        return [
            make.make_tensor_value_info("prediction", kind, [None]),
            make.make_tensor_value_info("probabilities", types.DOUBLE, [None, len(labels)]),
        ]

    def log_sigmoid(self, v: str) -> str:
        """Return min(v, 0) − log(1 + exp(−|v|))."""
        lower = self.add("Min", v, self.constant(np.zeros(())))
        small = self.add("Exp", self.add("Neg", self.add("Abs", v)))
        return self.add("Sub", lower, self.add("Log", self.add("Add", small, self.constant(np.ones(())))))

    def add(self, operation: str, *inputs: str, **options: Any) -> str:
        """Add a node, and return the name of what it gives."""
        name = f"mercer_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operation, list(inputs), [name], **options))
        return name

    def constant(self, values: Array) -> str:
        """Add an array, and return its name."""
        name = f"mercer_constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values), name))
        return name


def _are_whole(labels: list[Any]) -> bool:
    return all(isinstance(label, int) for label in labels)
