# SPDX-License-Identifier: MIT
"""worker.py - computes cases of tgjit-bench with one engine.

usage: worker.py ENGINE THREADS

engine.h describes the protocol. An engine is a module engine_*.py with

  start(name, threads)          imports and configures its library
  prepare(expression, inputs)   a list of runs: ways in which its users compute
                                this, of which the fastest is measured

An input has a NumPy array, a role (expressions.py) and is_variable. A run has
reset(), to the initial state; run(), which returns when results are computed;
and results(), those of the last run as NumPy arrays in the layout of the case.
"""
import ctypes
import gc
import importlib
import os
import signal
import sys
import time

MODULES = {
    "numpy": "engine_numpy",
    "numexpr": "engine_numexpr",
    "numba": "engine_numba",
    "torch": "engine_torch",
    "torch.compile": "engine_torch",
    "tensorflow": "engine_tensorflow",
    "tensorflow.xla": "engine_tensorflow",
    "jax": "engine_jax",
    "onnxruntime": "engine_onnxruntime",
}

# Freed results are used again, and in huge pages: otherwise engines that
# allocate their results spend much of their time in page faults.
TUNABLES = (
    "glibc.malloc.mmap_threshold=2147483647"
    ":glibc.malloc.trim_threshold=4294967296"
    ":glibc.malloc.hugetlb=1"
)


def die_with_parent():
    """The parent stops this process between requests."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def limit_threads(n):
    """Before libraries are imported. CPUs are limited, too, because engines
    have threads that no option limits."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-n:])
    for name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_MAX_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NUMBA_NUM_THREADS",
    ):
        os.environ[name] = str(n)


class Input:
    def __init__(self, array, role, is_variable):
        self.array, self.role, self.is_variable = array, role, is_variable


def read_inputs(directory, specs, expression):
    import numpy as np

    inputs = []
    for i, spec in enumerate(specs):
        *kind, dtype, extents = spec.split(":")
        shape = tuple(int(n) for n in extents.split("x") if n)
        array = np.fromfile(
            f"{directory}/in{i}", {"f32": "f4", "f64": "f8"}[dtype]
        ).reshape(shape)
        if kind == ["index"]:
            array = array.astype(np.int64)
        inputs.append(Input(array, expression.role(i), kind == ["variable"]))
    return inputs


def seconds(run, n):
    began = time.perf_counter()
    for _ in range(n):
        run()
    return time.perf_counter() - began


def fastest(runs):
    if len(runs) == 1:
        return runs[0]
    once = [min(seconds(run.run, 1) for _ in range(3)) for run in runs]
    times = []
    for _ in range(5):
        for i, run in enumerate(runs):
            n = max(1, int(0.01 / once[i]))
            times.append((seconds(run.run, n) / n, i))
    return runs[min(times)[1]]


class Worker:
    def __init__(self, name, threads):
        self.name, self.threads = name, threads
        self.engine = self.run = None

    def hello(self):
        limit_threads(self.threads)
        self.engine = importlib.import_module(MODULES[self.name])
        self.engine.start(self.name, self.threads)
        return "ready"

    def prepare(self, name, directory, *specs):
        from expressions import EXPRESSIONS

        self.release()
        expression = EXPRESSIONS[name]
        inputs = read_inputs(
            directory, specs[: specs.index("->")], expression
        )
        self.directory = directory
        self.run = fastest(self.engine.prepare(expression, inputs))
        return "ready"

    def check(self, n):
        import numpy as np

        self.run.reset()
        for _ in range(int(n)):
            self.run.run()
        for i, result in enumerate(self.run.results()):
            np.ascontiguousarray(result).tofile(f"{self.directory}/out{i}")
        return "done"

    def time(self, n):
        return repr(seconds(self.run.run, int(n)))

    def release(self):
        self.run = None
        gc.collect()
        return "done"


def main():
    if "GLIBC_TUNABLES" not in os.environ:
        os.environ["GLIBC_TUNABLES"] = TUNABLES
        os.execv(sys.executable, [sys.executable] + sys.argv)
    die_with_parent()
    # Whatever libraries print must not become an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = Worker(sys.argv[1], int(sys.argv[2]))
    for line in sys.stdin:
        request, *arguments = line.split()
        try:
            answer = getattr(worker, request)(*arguments)
        except Exception as error:
            text = f"{type(error).__name__}: {error}".replace("\n", " ")
            answer = "error " + text[:180]
        print(answer, file=answers, flush=True)


if __name__ == "__main__":
    main()
