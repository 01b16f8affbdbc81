/* SPDX-License-Identifier: MIT */
/*
 * cases.h - what case_*.c define and the table in cases.c puts together.
 */
#ifndef BENCH_CASES_H
#define BENCH_CASES_H

#include "graph_case.h"
#include "process_case.h"
#include "tensor_case.h"

extern const tensor_case axpy_case, black_scholes_case, call_case, chain_case,
    copy_case, jacobi_case, layer_norm_case, run_case, run_group_case,
    scale_case, softmax_case, sum_case, transpose_case;

extern const case_size add_sizes[], black_scholes_sizes[], chain_sizes[],
    graph_sizes[], jacobi_sizes[], row_sizes[], stream_sizes[], sum_sizes[],
    transpose_sizes[];

extern const graph_case trace_case, passes_case, compile_case, disk_case;

/* The callback of the chain: in is x, a, b, c. */
tg_callback trace_chain;

#endif /* BENCH_CASES_H */
