/* SPDX-License-Identifier: MIT */
/*
 * cases.h - the cases that case_*.c define and cases.c lists.
 */
#ifndef BENCH_CASES_H
#define BENCH_CASES_H

#include "data_case.h"
#include "file_case.h"
#include "graph_case.h"
#include "mpi_case.h"
#include "process_case.h"
#include "tensor_case.h"

extern const tensor_case adam_case, attention_case, avg_pool_2x2_case,
    avg_pool_3x3_case, axpy_case, black_scholes_case, call_case, chain_case,
    cnn_train_case, conv_case, conv_filters_case, conv_images_case, copy_case,
    depthwise_case, embedding_case, embedding_gradient_case, gather_case,
    heat_2d_concat_case, heat_2d_pad_case, heat_2d_roll_case,
    heat_2d_update_case, heat_3d_case, jacobi_case, layer_norm_case, logistic_train_case,
    lorenz_assert_case, lorenz_case, matmul_bias_relu_case, matmul_case,
    matmul_f64_case, max_pool_2x2_case, max_pool_3x3_case, mlp_forward_case,
    mlp_train_case, momentum_case, profile_chain_case, profile_run_case,
    run_case, run_group_case, scale_case, scan_case, scan_gradient_case,
    scatter_add_case, small_matmul_case, softmax_case, sum_axis_0_case,
    sum_axis_1_case, sum_axis_2_case, sum_case, transpose_case, wave_case,
    while_case;

extern const tensor_case run_variables_0_case, run_variables_1_case,
    run_variables_2_case, run_variables_4_case, run_variables_8_case,
    call_variables_0_case, call_variables_1_case, call_variables_2_case,
    call_variables_4_case, call_variables_8_case;

extern const case_size adam_sizes[], add_sizes[], attention_sizes[],
    axpy_curve[], black_scholes_sizes[], busy_chain_sizes[],
    busy_matmul_sizes[], chain_curve[], chain_sizes[], cnn_sizes[],
    compile_curve[], conv_sizes[], embedding_sizes[], gather_sizes[],
    graph_curve[], graph_few_sizes[], graph_sizes[], heat_3d_sizes[],
    image_sizes[], jacobi_sizes[], logistic_train_sizes[],
    lorenz_assert_sizes[], lorenz_sizes[], matmul_bias_relu_sizes[],
    matmul_f64_sizes[], matmul_sizes[], mlp_sizes[], mlp_train_sizes[],
    profile_chain_sizes[], profile_run_sizes[], row_sizes[], scan_sizes[],
    small_matmul_sizes[], stream_sizes[], sum_axis_sizes[], sum_sizes[],
    transpose_sizes[], variables_0_sizes[], variables_1_sizes[],
    variables_2_sizes[], variables_4_sizes[], variables_8_sizes[],
    vector_matmul_sizes[], wave_sizes[], while_sizes[];

extern const case_size ops_sizes[], ops_long_sizes[];
#define OTHER(name, ...) extern const tensor_case ops_##name##_case;
#define UNARY OTHER
#define BINARY OTHER
#define LONG OTHER
#include "ops.def"
#undef OTHER
#undef UNARY
#undef BINARY
#undef LONG

/* Elements of images, and multiply-adds of convolutions and the network. */
double image_count(const case_size *size);
double conv_count(const case_size *size);
double cnn_count(const case_size *size);

extern const graph_case trace_case, passes_case, compile_case, disk_case;

/* The chain, and its callback, which receives x, a, b, c. */
tg_value chain_of(tg_value x, tg_value a, tg_value b, tg_value c);
tg_callback trace_chain;

/* The network; `layers` has weights and bias of its three layers. */
tg_value mlp_of(tg_value x, const tg_value *layers);

/* The stacked results of the scan; `in` is x, the initial c, a. */
tg_value scan_of(const tg_value *in, tg_value *out_last);

#endif /* BENCH_CASES_H */
