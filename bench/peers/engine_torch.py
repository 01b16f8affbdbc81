# SPDX-License-Identifier: MIT
"""engine_torch.py - PyTorch, eager and compiled. Images are NCHW or, in another
run, channels_last."""
import torch
import torch._dynamo
import torch.nn.functional as F

from expressions import BETA_1, BETA_2, CNN_FILTERS, EPSILON, RATE, ArrayOps

is_compiled = False


def start(name, threads):
    global is_compiled
    is_compiled = name == "torch.compile"
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    torch._dynamo.config.fail_on_recompile_limit_hit = True


class Ops(ArrayOps):
    tanh, sigmoid, sqrt = torch.tanh, torch.sigmoid, torch.sqrt
    exp, log, erf = torch.exp, torch.log, torch.erf
    relu, softplus = torch.relu, F.softplus
    copy, sum, mean = torch.clone, torch.sum, torch.mean
    matmul = torch.matmul

    def __init__(self, is_channels_last):
        self.is_channels_last = is_channels_last

    def softmax(self, x):
        return torch.softmax(x, -1)

    def layer_norm(self, x, gain, bias, epsilon):
        return F.layer_norm(x, x.shape[-1:], gain, bias, epsilon)

    def transpose(self, x):
        return x.t().contiguous()

    def add_border(self, x):
        return F.pad(x, (1, 1, 1, 1))

    def dense(self, x, weights, bias):
        return torch.addmm(bias, x, weights)

    def attention(self, q, k, v, scale):
        return F.scaled_dot_product_attention(q, k, v, scale=scale)

    def rows(self, table, words):
        return F.embedding(words, table)

    def add_rows(self, table, words, gradient):
        return torch.ops.aten.embedding_dense_backward(
            gradient, words, table.shape[0], -1, False
        )

    def elements(self, table, words):
        return torch.index_select(table, 0, words)

    def add_elements(self, table, words, gradient):
        return torch.zeros_like(table).index_add(0, words, gradient)

    def conv(self, x, w, bias=None):
        return F.conv2d(x, w, bias, padding=w.shape[-1] // 2)

    def depthwise(self, x, w):
        return F.conv2d(x, w, padding=1, groups=x.shape[1])

    def backward(self, x, w, gradient, mask):
        return torch.ops.aten.convolution_backward(
            gradient, x, w, None, (1, 1), (1, 1), (1, 1), False, (0, 0), 1, mask
        )

    def conv_images(self, x, w, gradient):
        return self.backward(x, w, gradient, (True, False, False))[0]

    def conv_filters(self, x, w, gradient):
        return self.backward(x, w, gradient, (False, True, False))[1]

    def max_pool(self, x, size, stride):
        return F.max_pool2d(x, size, stride, padding=size % 2)

    def avg_pool(self, x, size, stride):
        return F.avg_pool2d(
            x, size, stride, padding=size % 2, count_include_pad=False
        )

    def flatten(self, x):
        if self.is_channels_last:
            x = x.permute(0, 2, 3, 1)
        return x.flatten(1)

    def cross_entropy(self, logits, labels):
        return F.cross_entropy(logits, labels)

    def value_and_gradients(self, loss_of, parameters):
        if is_compiled:
            every = tuple(range(len(parameters)))
            gradients, loss = torch.func.grad_and_value(loss_of, every)(
                *parameters
            )
            return loss, gradients
        with torch.enable_grad():
            loss = loss_of(*parameters)
        return loss.detach(), torch.autograd.grad(loss, parameters)

    def subtract(self, parameter, gradient, rate):
        return parameter.detach().sub_(gradient, alpha=rate)

    def adam(self, p, m, v, n, gradient):
        n += 1
        if is_compiled:
            rate, scale = RATE / (1 - BETA_1**n), 1 / (1 - BETA_2**n)
            compiled_adam(p, m, v, gradient, rate, scale)
            return p, m, v, n
        torch._fused_adam_(
            [p], [gradient], [m], [v], [], [n], lr=RATE, beta1=BETA_1,
            beta2=BETA_2, weight_decay=0.0, eps=EPSILON, amsgrad=False,
            maximize=False,
        )  # fmt: skip
        return p, m, v, n


@torch.compile(dynamic=False)
def compiled_adam(p, m, v, gradient, rate, scale):
    """A compiled step would compute the scalars again for every element."""
    m.add_((gradient - m) * (1 - BETA_1))
    v.add_((gradient * gradient - v) * (1 - BETA_2))
    p.sub_(rate * m / (torch.sqrt(scale * v) + EPSILON))


COMPILES_PARTS = ("adam",)


class Run:
    def __init__(self, expression, inputs, is_channels_last):
        self.expression, self.is_channels_last = expression, is_channels_last
        self.given = inputs
        ops = Ops(is_channels_last)

        def step(*inputs):
            results = expression.function(ops, *inputs)
            return results[0] if expression.updates else results

        if is_compiled and expression.function.__name__ not in COMPILES_PARTS:
            step = torch.compile(step, dynamic=False)
        self.step = step
        self.reset()

    def to_torch(self, given):
        x = torch.from_numpy(given.array)
        if given.role == "flattened" and not self.is_channels_last:
            side = int((x.shape[0] // CNN_FILTERS) ** 0.5)
            x = x.reshape(side, side, CNN_FILTERS, -1).permute(2, 0, 1, 3)
            x = x.reshape(given.array.shape)
        elif given.role == "image":
            x = x.permute(0, 3, 1, 2)
        elif given.role in ("filter", "depthwise"):
            x = x.permute(3, 2, 0, 1)
        is_image = self.is_channels_last and x.ndim == 4
        layout = torch.channels_last if is_image else torch.contiguous_format
        x = x.clone(memory_format=layout)
        if given.is_variable and not is_compiled:
            x.requires_grad_()
        return x

    def reset(self):
        self.inputs = [self.to_torch(given) for given in self.given]

    def run(self):
        with torch.no_grad():
            self.last = self.step(*self.inputs)

    def results(self):
        last = self.last if isinstance(self.last, tuple) else (self.last,)
        for i, x in enumerate(last):
            role = self.expression.result_role(i)
            if role == "image":
                x = x.permute(0, 2, 3, 1)
            elif role == "filter":
                x = x.permute(2, 3, 1, 0)
            yield x.detach().numpy()


def prepare(expression, inputs):
    torch._dynamo.reset()
    has_images = any(given.role == "image" for given in inputs)
    layouts = (False, True) if has_images else (False,)
    return [Run(expression, inputs, layout) for layout in layouts]
