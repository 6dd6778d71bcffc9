"""A graph of ONNX operators in the making: nodes, constants, names."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper


class OnnxGraph:
    """Grows by one operator a call. A value is known by its name; float32 unless said otherwise."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, TensorProto] = {}

    def constant(self, name: str, values: NDArray[Any]) -> str:
        """A constant of this name, made once."""
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.asarray(values, order="C"), name)
        return name

    def number(self, value: float) -> str:
        """float32[]"""
        return self.constant(f"number_{value!r}", np.array(value, np.float32))

    def integers(self, *values: int) -> str:
        """int64[K]: a shape, axes, where a slice begins."""
        name = "integers_" + "_".join(map(str, values))
        return self.constant(name, np.array(values, np.int64))

    def add(self, operator: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """What ``operator`` makes of ``inputs``; called ``name``, or by its number."""
        output = name or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def floats(self, values: str) -> str:
        """``values`` of another type, as float32."""
        return self.add("Cast", values, to=TensorProto.FLOAT)
