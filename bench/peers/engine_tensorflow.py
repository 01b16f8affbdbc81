# SPDX-License-Identifier: MIT
"""engine_tensorflow.py - TensorFlow: functions, with XLA or without."""
import os

from expressions import BETA_1, BETA_2, EPSILON, RATE, ArrayOps, adam_formula

tf = None
has_xla = False


def start(name, threads):
    global tf, has_xla
    has_xla = name == "tensorflow.xla"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    if threads == 1:
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.get_logger().setLevel("ERROR")
    tf.zeros(1)
    os.dup2(kept, 2)


class Ops(ArrayOps):
    def __getattr__(self, name):
        """tanh, exp, …"""
        return getattr(tf.math, name)

    def number(self, value, like):
        return tf.constant(value, like.dtype)

    def relu(self, x):
        return tf.nn.relu(x)

    def softmax(self, x):
        return tf.nn.softmax(x)

    def layer_norm(self, x, gain, bias, epsilon):
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return tf.nn.batch_normalization(
            x, mean, variance, bias, gain, epsilon
        )

    def sum(self, x):
        return tf.reduce_sum(x)

    def sum_axis(self, x, axis):
        return tf.reduce_sum(x, axis)

    def mean(self, x):
        return tf.reduce_mean(x)

    def transpose(self, x):
        return tf.transpose(x)

    def add_border(self, x):
        return tf.pad(x, [[1, 1], [1, 1]])

    def matmul(self, a, b):
        return tf.linalg.matvec(a, b) if len(b.shape) == 1 else a @ b

    def dense(self, x, weights, bias):
        return tf.nn.bias_add(x @ weights, bias)

    def attention(self, q, k, v, scale):
        scores = tf.matmul(q, k, transpose_b=True)
        return tf.nn.softmax(scale * scores) @ v

    def rows(self, table, words):
        return tf.gather(table, words)

    def add_rows(self, table, words, gradient):
        return tf.math.unsorted_segment_sum(gradient, words, table.shape[0])

    def conv(self, x, w, bias=None):
        y = tf.nn.conv2d(x, w, 1, "SAME")
        return y if bias is None else tf.nn.bias_add(y, bias)

    def depthwise(self, x, w):
        return tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME")

    def conv_images(self, x, w, gradient):
        return tf.raw_ops.Conv2DBackpropInput(
            input_sizes=x.shape, filter=w, out_backprop=gradient,
            strides=[1, 1, 1, 1], padding="SAME",
        )  # fmt: skip

    def conv_filters(self, x, w, gradient):
        return tf.raw_ops.Conv2DBackpropFilter(
            input=x, filter_sizes=w.shape, out_backprop=gradient,
            strides=[1, 1, 1, 1], padding="SAME",
        )  # fmt: skip

    def max_pool(self, x, size, stride):
        padding = "SAME" if size % 2 else "VALID"
        return tf.nn.max_pool2d(x, size, stride, padding)

    def avg_pool(self, x, size, stride):
        padding = "SAME" if size % 2 else "VALID"
        return tf.nn.avg_pool2d(x, size, stride, padding)

    def flatten(self, x):
        return tf.reshape(x, (x.shape[0], -1))

    def cross_entropy(self, logits, labels):
        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        )

    def value_and_gradients(self, loss_of, parameters):
        with tf.GradientTape() as tape:
            loss = loss_of(*parameters)
        return loss, tape.gradient(loss, parameters)

    def subtract(self, parameter, gradient, rate):
        return parameter.assign_sub(rate * gradient)

    def adam(self, p, m, v, n, gradient):
        if has_xla:
            after = adam_formula(self, p, m, v, n, gradient)
            return [a.assign(b) for a, b in zip((p, m, v, n), after)]
        n = n.assign_add(1.0)
        tf.raw_ops.ResourceApplyAdam(
            var=p.handle, m=m.handle, v=v.handle, beta1_power=BETA_1**n,
            beta2_power=BETA_2**n, lr=RATE, beta1=BETA_1, beta2=BETA_2,
            epsilon=EPSILON, grad=gradient,
        )  # fmt: skip
        return p, m, v, n


class Run:
    def __init__(self, expression, inputs):
        self.expression = expression
        self.inputs = [self.to_tensorflow(given) for given in inputs]
        self.given = inputs
        ops = Ops()

        def step(*tensors):
            tensors = iter(tensors)
            arguments = [
                x if isinstance(x, tf.Variable) else next(tensors)
                for x in self.inputs
            ]
            results = expression.function(ops, *arguments)
            return results[0] if expression.updates else results

        self.step = tf.function(step, jit_compile=has_xla, autograph=False)
        self.tensors = [
            x for x in self.inputs if not isinstance(x, tf.Variable)
        ]

    def array_of(self, given):
        return (
            given.array.transpose(0, 1, 3, 2)
            if given.role == "depthwise"
            else given.array
        )

    def to_tensorflow(self, given):
        make = tf.Variable if given.is_variable else tf.constant
        return make(self.array_of(given))

    def reset(self):
        for given, x in zip(self.given, self.inputs):
            if given.is_variable:
                x.assign(given.array)

    def run(self):
        self.last = self.step(*self.tensors)

    def results(self):
        return [x.numpy() for x in tf.nest.flatten(self.last)]


def prepare(expression, inputs):
    return [Run(expression, inputs)]
