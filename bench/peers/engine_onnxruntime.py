# SPDX-License-Identifier: MIT
"""engine_onnxruntime.py - ONNX Runtime. Operations add nodes to a model, in
which weights are constants, as in a saved one. Images are NCHW."""
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

n_threads = 1
OPSET, IR_VERSION = 17, 8


def start(name, threads):
    global n_threads
    n_threads = threads
    ort.set_default_logger_severity(3)


class Value:
    """A tensor of a model."""

    def __init__(self, ops, name):
        self.ops, self.name = ops, name

    def __add__(self, other):
        return self.ops.node("Add", self, other)

    def __sub__(self, other):
        return self.ops.node("Sub", self, other)

    def __mul__(self, other):
        return self.ops.node("Mul", self, other)

    def __truediv__(self, other):
        return self.ops.node("Div", self, other)

    def __neg__(self):
        return self.ops.node("Neg", self)


class Ops:
    def __init__(self, dtype):
        self.dtype = dtype
        self.nodes, self.constants = [], []

    def node(self, kind, *inputs, **attributes):
        name = f"t{len(self.nodes)}"
        names = [x.name for x in inputs]
        self.nodes.append(helper.make_node(kind, names, [name], **attributes))
        return Value(self, name)

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return Value(self, name)

    def number(self, value, like):
        return self.constant(np.array(value, self.dtype))

    def tanh(self, x):
        return self.node("Tanh", x)

    def sigmoid(self, x):
        return self.node("Sigmoid", x)

    def sqrt(self, x):
        return self.node("Sqrt", x)

    def exp(self, x):
        return self.node("Exp", x)

    def log(self, x):
        return self.node("Log", x)

    def erf(self, x):
        return self.node("Erf", x)

    def relu(self, x):
        return self.node("Relu", x)

    def copy(self, x):
        return self.node("Identity", x)

    def softmax(self, x):
        return self.node("Softmax", x, axis=-1)

    def layer_norm(self, x, gain, bias, epsilon):
        return self.node(
            "LayerNormalization", x, gain, bias, axis=-1, epsilon=epsilon
        )

    def sum(self, x):
        return self.node("ReduceSum", x, keepdims=0)

    def transpose(self, x):
        return self.node("Transpose", x, perm=[1, 0])

    def inner(self, x, down, right):
        start = np.array([1 + down, 1 + right])
        end = np.array([-1 + down or 2**40, -1 + right or 2**40])
        return self.node(
            "Slice", x, self.constant(start), self.constant(end)
        )

    def add_border(self, x):
        return self.node("Pad", x, self.constant(np.ones(4, np.int64)))

    def matmul(self, a, b):
        return self.node("MatMul", a, b)

    def dense(self, x, weights, bias):
        return self.node("Gemm", x, weights, bias)

    def attention(self, q, k, v, scale):
        turned = self.node("Transpose", k, perm=[0, 2, 1])
        scores = self.matmul(q, turned) * self.number(scale, q)
        return self.matmul(self.softmax(scores), v)

    def rows(self, table, words):
        return self.node("Gather", table, words)

    elements = rows

    def conv(self, x, w):
        return self.node("Conv", x, w, pads=[1, 1, 1, 1])

    def conv_images(self, x, w, gradient):
        return self.node("ConvTranspose", gradient, w, pads=[1, 1, 1, 1])

    def depthwise(self, x, w):
        return self.node("Conv", x, w, pads=[1] * 4, group=self.channels)

    def pool(self, kind, x, size, stride):
        return self.node(
            kind, x, kernel_shape=[size, size], strides=[stride, stride],
            pads=[size % 2] * 4,
        )  # fmt: skip

    def max_pool(self, x, size, stride):
        return self.pool("MaxPool", x, size, stride)

    def avg_pool(self, x, size, stride):
        return self.pool("AveragePool", x, size, stride)


def array_of(given):
    axes = {
        "image": (0, 3, 1, 2),
        "filter": (3, 2, 0, 1),
        "depthwise": (3, 2, 0, 1),
    }.get(given.role)
    return np.ascontiguousarray(
        given.array.transpose(axes) if axes else given.array
    )


def model_of(expression, inputs, arrays):
    """The model, and the inputs that are not constants."""
    ops = Ops(arrays[0].dtype)
    ops.channels = arrays[0].shape[1] if arrays[0].ndim > 1 else 0
    infos, fed, arguments = [], {}, []
    for i, (given, array) in enumerate(zip(inputs, arrays)):
        if given.role in ("filter", "depthwise", "weights") or not array.ndim:
            arguments.append(ops.constant(array))
            continue
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        infos.append(helper.make_tensor_value_info(f"x{i}", kind, array.shape))
        arguments.append(Value(ops, f"x{i}"))
        fed[f"x{i}"] = array
    results = expression.function(ops, *arguments)
    results = results if isinstance(results, tuple) else (results,)
    used = {name for node in ops.nodes for name in node.input}
    kind = helper.np_dtype_to_tensor_dtype(arrays[0].dtype)
    graph = helper.make_graph(
        ops.nodes,
        expression.function.__name__,
        [info for info in infos if info.name in used],
        [helper.make_tensor_value_info(x.name, kind, None) for x in results],
        ops.constants,
    )
    opset = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, opset_imports=opset)
    model.ir_version = IR_VERSION
    return model, {name: x for name, x in fed.items() if name in used}


class Run:
    def __init__(self, expression, inputs):
        self.expression = expression
        arrays = [array_of(given) for given in inputs]
        model, fed = model_of(expression, inputs, arrays)
        options = ort.SessionOptions()
        options.intra_op_num_threads = n_threads
        options.inter_op_num_threads = 1
        self.session = ort.InferenceSession(
            model.SerializeToString(), options, ["CPUExecutionProvider"]
        )
        self.bind(fed)

    def bind(self, fed):
        """Results of later runs overwrite those of the first."""
        names = [result.name for result in self.session.get_outputs()]
        self.fed = {
            name: ort.OrtValue.ortvalue_from_numpy(x)
            for name, x in fed.items()
        }
        self.last = [
            ort.OrtValue.ortvalue_from_numpy(x)
            for x in self.session.run(names, fed)
        ]
        self.binding = self.session.io_binding()
        for name, x in self.fed.items():
            self.binding.bind_ortvalue_input(name, x)
        for name, x in zip(names, self.last):
            self.binding.bind_ortvalue_output(name, x)

    def reset(self):
        pass

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def results(self):
        for i, x in enumerate(self.last):
            x = x.numpy()
            is_image = self.expression.result_role(i) == "image"
            yield x.transpose(0, 2, 3, 1) if is_image else x


def prepare(expression, inputs):
    return [Run(expression, inputs)]
