# SPDX-License-Identifier: MIT
"""data_loaders.py - the input pipelines of data_case.c in tf.data and PyTorch.

usage: python -c PROGRAM KIND PEER ROWS COLUMNS SOURCE_ROWS

Answers each line of standard input with one line: "check" with "right" or what
is wrong, a number n with the seconds that n batches take.
"""
import os
import sys
import time
import zlib

import numpy as np

kind, peer = sys.argv[1:3]
rows, columns, source_rows = map(int, sys.argv[3:6])
numbers = np.arange(source_rows, dtype=np.float32)
source = np.repeat(numbers[:, None], columns, 1)
WORK_SECONDS, PREFETCH_DEPTH = 1e-3, 2
chunk = bytes(8192)


def work():
    """Takes WORK_SECONDS of a CPU; crc32 releases the interpreter's lock."""
    end = time.perf_counter() + WORK_SECONDS
    while time.perf_counter() < end:
        zlib.crc32(chunk)


def import_tensorflow():
    """Without its messages to standard error."""
    kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.zeros(1)
    os.dup2(kept, 2)
    return tf


def tf_data():
    tf = import_tensorflow()
    if kind == "feed":
        d = tf.data.Dataset.from_tensor_slices(source)
        d = d.shuffle(source_rows).batch(rows, drop_remainder=True).repeat()
        return iter(d)

    def produce(i):
        work()
        return source[:rows]

    d = tf.data.Dataset.range(1 << 60)
    d = d.map(lambda i: tf.numpy_function(produce, [i], tf.float32))
    return iter(d.prefetch(PREFETCH_DEPTH) if kind == "prefetch" else d)


def torch_loader():
    import torch
    from torch.utils import data

    torch.set_num_threads(1)
    if kind == "feed":
        d = data.TensorDataset(torch.from_numpy(source))
        loader = data.DataLoader(d, rows, shuffle=True, drop_last=True)
        while True:
            for (batch,) in loader:
                yield batch

    class Produced(data.Dataset):
        def __len__(self):
            return 1 << 40

        def __getitem__(self, i):
            work()
            return torch.from_numpy(source[:rows])

    options = dict(num_workers=1, prefetch_factor=PREFETCH_DEPTH)
    yield from data.DataLoader(
        Produced(), batch_size=None, **(options if kind == "prefetch" else {})
    )


def check(batch):
    batch = batch.numpy()
    is_right = batch.shape == (rows, columns) and np.array_equal(
        batch, source[batch[:, 0].astype(int)]
    )
    return "right" if is_right else "a batch has wrong rows"


batches = {"tf.data": tf_data, "DataLoader": torch_loader}[peer]()
next(batches)
for line in sys.stdin:
    if line.startswith("check"):
        print(check(next(batches)), flush=True)
        continue
    for _ in range(source_rows // rows if kind == "feed" else 0):
        next(batches)
    began = time.perf_counter()
    for _ in range(int(line)):
        next(batches)
        if kind != "feed":
            work()
    print(time.perf_counter() - began, flush=True)
