#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""zoo.py - compares tgjit-run with ONNX Runtime on the models of make_zoo.py.

    zoo.py [--threads=1,2] [--repeat=N] [--rounds=N] TGJIT-RUN DIR [NAME]...

Prints a table in Markdown. For each model and number of threads, the two take
turns; the times are the shortest run of each and their ratio. The first result
is what a new process takes until it has one: tgjit-run as a whole, with its
code in the disk cache, against a Python process that imports ONNX Runtime,
creates a session and runs it, less one that only imports NumPy: the shortest of
each, because the difference of two runs may be anything. TGJIT-RUN is
an installed program: in the build folder it is a shell script, which takes
7 ms to start. The error is the largest difference of any element. Exits with 1
if one is above 1e-4.
"""
import argparse
import os
import re
import subprocess
import sys
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper

FIRST = """
import sys
import numpy as np
if len(sys.argv) > 2:
    import onnxruntime as ort
    o = ort.SessionOptions()
    o.intra_op_num_threads = int(sys.argv[3])
    s = ort.InferenceSession(sys.argv[1], o, ["CPUExecutionProvider"])
    s.run(None, dict(np.load(sys.argv[2])))
"""


def load(path):
    with open(path, "rb") as file:
        return numpy_helper.to_array(onnx.TensorProto.FromString(file.read()))


class Model:
    def __init__(self, folder):
        self.folder = folder
        self.path = os.path.join(folder, "model.onnx")
        self.data = os.path.join(folder, "test_data_set_0")
        graph = onnx.load(self.path).graph
        self.inputs = [x.name for x in graph.input]
        self.outputs = [x.name for x in graph.output]
        self.feed = {name: load(f"{self.data}/input_{i}.pb")
                     for i, name in enumerate(self.inputs)}
        self.npz = os.path.join(folder, "feed.npz")
        np.savez(self.npz, **self.feed)


class Ours:
    """tgjit-run, a process per round."""

    def __init__(self, program, model, threads):
        self.command = [program, model.path, f"--threads={threads}"]
        self.command += [f"--input={name}={model.data}/input_{i}.pb"
                         for i, name in enumerate(model.inputs)]
        self.compare = [f"--compare={name}={model.data}/output_{i}.pb"
                        for i, name in enumerate(model.outputs)]

    def run(self, *options):
        done = subprocess.run(self.command + list(options), text=True,
                              capture_output=True)
        if done.returncode not in (0, 1) or done.stderr:
            sys.exit(f"{' '.join(self.command)}\n{done.stderr}")
        return done.stdout

    def error(self):
        found = re.findall(r"largest difference (\S+),",
                           self.run(*self.compare))
        return max(float(x) for x in found)

    def time(self, n):
        return float(re.search(r"minimum (\S+) ms",
                               self.run(f"--repeat={n}")).group(1)) / 1e3

    def first(self):
        begin = time.perf_counter()
        self.run()
        return time.perf_counter() - begin

    def start(self):
        return 0


class OnnxRuntime:
    """Inputs and results stay in the buffers of a binding."""

    def __init__(self, model, threads):
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        self.threads, self.model = threads, model
        self.session = ort.InferenceSession(model.path, options,
                                            ["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        for name, array in model.feed.items():
            self.binding.bind_cpu_input(name, array)
        results = self.session.run(None, model.feed)
        for name, array in zip(model.outputs, results):
            self.binding.bind_ortvalue_output(
                name, ort.OrtValue.ortvalue_from_numpy(array))

    def time(self, n):
        best = np.inf
        for _ in range(n):
            begin = time.perf_counter()
            self.session.run_with_iobinding(self.binding)
            best = min(best, time.perf_counter() - begin)
        return best

    def first(self):
        return self.python(self.model.path, self.model.npz,
                           str(self.threads))

    def start(self):
        """A Python process that only imports NumPy."""
        return self.python()

    @staticmethod
    def python(*arguments):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", FIRST, *arguments], check=True)
        return time.perf_counter() - begin


def compare(program, model, threads, options):
    ours, theirs = Ours(program, model, threads), OnnxRuntime(model, threads)
    error = ours.error()
    best, first, start = ([np.inf, np.inf] for _ in range(3))
    for _ in range(options.rounds):
        for k, peer in enumerate((ours, theirs)):
            best[k] = min(best[k], peer.time(options.repeat))
            first[k] = min(first[k], peer.first())
            start[k] = min(start[k], peer.start())
    first = [whole - part for whole, part in zip(first, start)]
    print(f"| {os.path.basename(model.folder)} | {threads} | {error:.1e} | "
          f"{1e3 * best[0]:.3g} | {1e3 * best[1]:.3g} | "
          f"{best[0] / best[1]:.2f} | {1e3 * first[0]:.3g} | "
          f"{1e3 * first[1]:.3g} | {first[0] / first[1]:.2f} |", flush=True)
    return error


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    print("| model | threads | error | ms | ONNX Runtime, ms | ratio | "
          "first, ms | ONNX Runtime, ms | ratio |\n"
          "|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    largest = 0
    for name in options.names or sorted(os.listdir(options.folder)):
        model = Model(os.path.join(options.folder, name))
        for threads in options.threads.split(","):
            largest = max(largest, compare(options.program, model,
                                           int(threads), options))
    sys.exit(largest > 1e-4)


if __name__ == "__main__":
    main()
