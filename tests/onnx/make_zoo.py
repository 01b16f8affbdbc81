#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make_zoo.py - writes small networks as ONNX models with random weights.

    make_zoo.py [--tiny] DIR [NAME]...

Every model gets a folder in the form of ONNX's conformance tests, with inputs
and the results of ONNX Runtime. The weights are random numbers from fixed
seeds. --tiny writes the models of a few KiB that are in tests/onnx/zoo;
otherwise they have their usual sizes, for bench/peers/zoo.py. Needs the Python
packages onnx, onnxruntime and numpy; neither the build nor the tests do.
"""
import os
import sys
import zlib

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 17, 8
F32, I64 = TensorProto.FLOAT, TensorProto.INT64


class Net:
    """A graph that grows node by node; values are their names."""

    def __init__(self, name):
        self.name = name
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []
        self.data = []
        self.random = np.random.default_rng(zlib.crc32(name.encode()))

    def __getattr__(self, kind):
        """net.Relu(x) adds a node and returns its result."""
        return lambda *inputs, **attributes: self.add(kind, inputs, attributes)

    def add(self, kind, inputs, attributes, n_outputs=1):
        names = [f"{kind.lower()}_{len(self.nodes)}_{i}"
                 for i in range(n_outputs)]
        self.nodes.append(helper.make_node(
            kind, list(inputs), names, f"{kind.lower()}_{len(self.nodes)}",
            **attributes))
        return names[0] if n_outputs == 1 else names

    def constant(self, array, name=None):
        name = name or f"constant_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, *shape, scale=None, mean=0.0):
        """Normal numbers; by default their products keep the variance."""
        if scale is None:
            scale = np.sqrt(2 / np.prod(shape[1:] or shape))
        array = mean + scale * self.random.standard_normal(shape)
        return self.constant(array.astype(np.float32),
                             f"weight_{len(self.weights)}")

    def input(self, name, array, shape=None):
        """An input with an example; names in `shape` are open extents."""
        dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
        self.inputs.append(helper.make_tensor_value_info(
            name, dtype, shape or array.shape))
        self.data.append(array)
        return name

    def noise(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def output(self, value, name, rank, dtype=F32):
        """Gives a result its name; its extents are left open."""
        node = next(n for n in self.nodes if value in n.output)
        for n in self.nodes:
            n.input[:] = [name if x == value else x for x in n.input]
        node.output[list(node.output).index(value)] = name
        self.outputs.append(helper.make_tensor_value_info(
            name, dtype, [f"{name}_{i}" for i in range(rank)]))

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs,
                                  self.outputs, self.weights)
        model = helper.make_model(
            graph, producer_name="make_zoo", ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid("", OPSET)])
        onnx.checker.check_model(model, full_check=True)
        return model

    # -- Layers ---------------------------------------------------------------

    def linear(self, x, n_in, n_out):
        """x @ w + b for any rank."""
        w = self.weight(n_in, n_out, scale=np.sqrt(1 / n_in))
        return self.Add(self.MatMul(x, w), self.weight(n_out, scale=0.1))

    def gemm(self, x, n_in, n_out):
        return self.Gemm(x, self.weight(n_out, n_in), self.weight(n_out),
                         transB=1)

    def conv(self, x, n_in, n_out, kernel, stride=1, groups=1, bias=False):
        inputs = [x, self.weight(n_out, n_in // groups, kernel, kernel)]
        if bias:
            inputs.append(self.weight(n_out, scale=0.1))
        return self.Conv(*inputs, kernel_shape=[kernel] * 2,
                         strides=[stride] * 2, pads=[kernel // 2] * 4,
                         group=groups)

    def batch_norm(self, x, n, gain=1):
        variance = self.random.uniform(0.5, 1.5, n).astype(np.float32)
        return self.BatchNormalization(
            x, self.weight(n, scale=0.1, mean=gain), self.weight(n, scale=0.1),
            self.weight(n, scale=0.1), self.constant(variance))

    def layer_norm(self, x, n):
        return self.LayerNormalization(
            x, self.weight(n, scale=0.1, mean=1), self.weight(n, scale=0.1),
            axis=-1)

    def gelu(self, x):
        """As PyTorch exports it."""
        e = self.Erf(self.Div(x, self.constant(np.float32(np.sqrt(2)))))
        y = self.Mul(x, self.Add(e, self.constant(np.float32(1))))
        return self.Mul(y, self.constant(np.float32(0.5)))

    def heads(self, x, n_heads, perm):
        """[batch, length, width] to heads, transposed."""
        shape = self.constant(np.array([0, 0, n_heads, -1], np.int64))
        return self.Transpose(self.Reshape(x, shape), perm=perm)

    def attend(self, q, k, v, width, n_heads, mask=None):
        """q and v are [batch, head, length, size], k is transposed."""
        size = np.float32(np.sqrt(width // n_heads))
        scores = self.Div(self.MatMul(q, k), self.constant(size))
        if mask:
            scores = self.Add(scores, mask)
        y = self.MatMul(self.Softmax(scores, axis=-1), v)
        shape = self.constant(np.array([0, 0, -1], np.int64))
        y = self.Reshape(self.Transpose(y, perm=[0, 2, 1, 3]), shape)
        return self.linear(y, width, width)

    def feed_forward(self, x, width):
        y = self.gelu(self.linear(x, width, 4 * width))
        return self.linear(y, 4 * width, width)


# -- Models -------------------------------------------------------------------

def mlp(tiny):
    batch, widths = (5, [12, 9, 7, 4]) if tiny else (64, [784, 512, 512, 10])
    net = Net("mlp")
    x = net.input("x", net.noise(batch, widths[0]), ["batch", widths[0]])
    for i in range(3):
        x = net.gemm(x, widths[i], widths[i + 1])
        if i < 2:
            x = net.Relu(x)
    net.output(net.Softmax(x, axis=-1), "y", 2)
    return net


def lenet(tiny):
    batch, side, c, n = (2, 12, (2, 3), (10, 8)) if tiny else (
        16, 28, (6, 16), (120, 84))
    net = Net("lenet")
    x = net.input("x", net.noise(batch, 1, side, side),
                  ["batch", 1, side, side])
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    x = net.MaxPool(net.Relu(net.conv(x, 1, c[0], 5, bias=True)), **pool)
    x = net.MaxPool(net.Relu(net.conv(x, c[0], c[1], 5, bias=True)), **pool)
    x = net.Flatten(x, axis=1)
    size = c[1] * (side // 4) ** 2
    for n_out in n:
        x = net.Relu(net.gemm(x, size, n_out))
        size = n_out
    net.output(net.gemm(x, size, 10), "y", 2)
    return net


def resnet18(tiny):
    side, widths = (32, (4, 4, 6, 8)) if tiny else (224, (64, 128, 256, 512))
    net = Net("resnet18")
    x = net.input("x", net.noise(1, 3, side, side))
    x = net.conv(x, 3, widths[0], 7, 2)
    x = net.Relu(net.batch_norm(x, widths[0]))
    x = net.MaxPool(x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    n_in = widths[0]
    for k, n in enumerate(widths):
        for block in range(2):
            stride = 2 if k and not block else 1
            y = net.batch_norm(net.conv(x, n_in, n, 3, stride), n)
            y = net.batch_norm(net.conv(net.Relu(y), n, n, 3), n, 0.3)
            if stride != 1 or n_in != n:
                x = net.batch_norm(net.conv(x, n_in, n, 1, stride), n)
            x = net.Relu(net.Add(y, x))
            n_in = n
    x = net.Flatten(net.GlobalAveragePool(x), axis=1)
    net.output(net.gemm(x, n_in, 10 if tiny else 1000), "y", 2)
    return net


def mobilenet_v2(tiny):
    # Factor of the inner width, channels, blocks, stride of the first block.
    stages = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
              (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    side, n_in, n_last = 224, 32, 1280
    if tiny:
        side, n_in, n_last = 16, 4, 12
        stages = [(1, 3, 1, 1), (3, 4, 2, 2), (3, 5, 2, 2)]
    net = Net("mobilenet_v2")
    low, high = net.constant(np.float32(0)), net.constant(np.float32(6))

    def unit(x, *conv, **options):
        x = net.batch_norm(net.conv(x, *conv, **options), conv[1])
        return net.Clip(x, low, high)

    x = unit(net.input("x", net.noise(1, 3, side, side)), 3, n_in, 3, 2)
    for factor, n, n_blocks, first in stages:
        for block in range(n_blocks):
            stride, inner, y = first if block == 0 else 1, n_in * factor, x
            if factor != 1:
                y = unit(y, n_in, inner, 1)
            y = unit(y, inner, inner, 3, stride, groups=inner)
            y = net.batch_norm(net.conv(y, inner, n, 1), n, 0.7)
            x = net.Add(x, y) if stride == 1 and n_in == n else y
            n_in = n
    x = unit(x, n_in, n_last, 1)
    x = net.Flatten(net.GlobalAveragePool(x), axis=1)
    net.output(net.gemm(x, n_last, 10 if tiny else 1000), "y", 2)
    return net


def gru_tagger(tiny):
    vocabulary, width, hidden, tags, length, batch = (
        (11, 5, 4, 3, 6, 2) if tiny else (5000, 128, 128, 20, 64, 8))
    net = Net("gru_tagger")
    words = net.random.integers(0, vocabulary, (length, batch))
    x = net.input("words", words.astype(np.int64), ["length", "batch"])
    x = net.Gather(net.weight(vocabulary, width, scale=1), x, axis=0)
    scale = 1 / np.sqrt(hidden)
    y, _ = net.add("GRU", [
        x, net.weight(2, 3 * hidden, width, scale=scale),
        net.weight(2, 3 * hidden, hidden, scale=scale),
        net.weight(2, 6 * hidden, scale=scale)],
        {"hidden_size": hidden, "direction": "bidirectional",
         "linear_before_reset": 1}, n_outputs=2)
    shape = net.constant(np.array([0, 0, -1], np.int64))
    y = net.Reshape(net.Transpose(y, perm=[0, 2, 1, 3]), shape)
    net.output(net.LogSoftmax(net.linear(y, 2 * hidden, tags), axis=-1), "y",
               3)
    return net


def transformer(tiny):
    layers, width, heads, length, batch = (
        (2, 8, 2, 5, 2) if tiny else (4, 256, 4, 128, 4))
    net = Net("transformer")
    x = net.input("x", net.noise(batch, length, width),
                  ["batch", "length", width])
    for _ in range(layers):
        y = net.layer_norm(x, width)
        q = net.heads(net.linear(y, width, width), heads, [0, 2, 1, 3])
        k = net.heads(net.linear(y, width, width), heads, [0, 2, 3, 1])
        v = net.heads(net.linear(y, width, width), heads, [0, 2, 1, 3])
        x = net.Add(x, net.attend(q, k, v, width, heads))
        x = net.Add(x, net.feed_forward(net.layer_norm(x, width), width))
    net.output(net.layer_norm(x, width), "y", 3)
    return net


def gpt(tiny):
    """One step: a token, and the keys and values of those before it."""
    layers, width, heads, vocabulary, past = (
        (2, 8, 2, 13, 4) if tiny else (2, 512, 8, 8000, 255))
    net = Net("gpt")
    size = width // heads
    token = np.array([[3]], np.int64)
    token = net.input("token", token, [1, 1])
    x = net.Gather(net.weight(vocabulary, width, scale=1), token, axis=0)
    caches = [net.input(f"past_{kind}_{i}", net.noise(1, heads, past, size),
                        [1, heads, "past", size])
              for i in range(layers) for kind in ("k", "v")]
    # The position is the number of tokens before this one.
    zero = net.constant(np.array([0], np.int64))
    n_past = net.Gather(net.Shape(caches[0]),
                        net.constant(np.array([2], np.int64)), axis=0)
    where = net.weight(past + 8, width, scale=0.1)
    one = net.constant(np.array([1], np.int64))
    x = net.Add(x, net.Slice(where, n_past, net.Add(n_past, one), zero))
    presents = []
    for i in range(layers):
        y = net.layer_norm(x, width)
        # The three in one product, as in GPT-2.
        qkv = net.linear(y, width, 3 * width)
        q, k, v = net.add("Split", [qkv, net.constant(
            np.array([width] * 3, np.int64))], {"axis": 2}, n_outputs=3)
        q, k, v = (net.heads(z, heads, [0, 2, 1, 3]) for z in (q, k, v))
        k = net.Concat(caches[2 * i], k, axis=2)
        v = net.Concat(caches[2 * i + 1], v, axis=2)
        presents += [k, v]
        y = net.attend(q, net.Transpose(k, perm=[0, 1, 3, 2]), v, width, heads)
        x = net.Add(x, y)
        x = net.Add(x, net.feed_forward(net.layer_norm(x, width), width))
    x = net.linear(net.layer_norm(x, width), width, vocabulary)
    net.output(x, "logits", 3)
    for i, value in enumerate(presents):
        net.output(value, f"present_{'kv'[i % 2]}_{i // 2}", 4)
    return net


MODELS = [mlp, lenet, resnet18, mobilenet_v2, gru_tagger, transformer, gpt]


def write_tensor(path, array):
    with open(path, "wb") as file:
        file.write(numpy_helper.from_array(array).SerializeToString())


def write(net, folder):
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    path = os.path.join(folder, "model.onnx")
    onnx.save(net.model(), path)
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    feed = {x.name: array for x, array in zip(net.inputs, net.data)}
    for i, array in enumerate(net.data):
        write_tensor(os.path.join(data, f"input_{i}.pb"), array)
    for i, array in enumerate(session.run(None, feed)):
        write_tensor(os.path.join(data, f"output_{i}.pb"), array)


def main(arguments):
    tiny = "--tiny" in arguments
    arguments = [a for a in arguments if a != "--tiny"]
    if not arguments or arguments[0].startswith("-"):
        sys.exit(__doc__)
    for build in MODELS:
        if len(arguments) == 1 or build.__name__ in arguments[1:]:
            write(build(tiny), os.path.join(arguments[0], build.__name__))


if __name__ == "__main__":
    main(sys.argv[1:])
