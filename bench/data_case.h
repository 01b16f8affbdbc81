/* SPDX-License-Identifier: MIT */
/*
 * data_case.h - cases that time datasets, per batch: feeding a bound call,
 * compared with copying the same bytes in C, and a pipeline of 1 ms in front of
 * a step of 1 ms, without and with prefetch. The peers are tf.data and
 * PyTorch's DataLoader (peers/data_loaders.py).
 */
#ifndef BENCH_DATA_CASE_H
#define BENCH_DATA_CASE_H

#include "case.h"

typedef enum data_kind {
    DATA_FEED,     /* shuffled rows of a tensor; `rows` is the batch size */
    DATA_PIPELINE, /* a generator and a step that take 1 ms each */
    DATA_PREFETCH  /* the same with prefetch */
} data_kind;

typedef struct data_case {
    data_kind kind;
} data_case;

extern const case_family data_family;
extern const data_case feed_case, pipeline_case, prefetch_case;
extern const case_size feed_sizes[], pipeline_sizes[];

#endif /* BENCH_DATA_CASE_H */
