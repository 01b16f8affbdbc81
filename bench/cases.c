/* SPDX-License-Identifier: MIT */
/*
 * cases.c - the table of cases. `bytes` is the minimum memory traffic and
 * `flops` the operations of the library's recipes (an fma counts as two), both
 * per element or per multiply-add of a matrix product or convolution.
 */
#include "cases.h"

/* Multiply-adds of the whole network, relative to MLP_IN x MLP_OUT, which
   size_count counts. */
#define MLP_SHARE \
    ((double)(MLP_IN * MLP_FIRST + MLP_FIRST * MLP_SECOND + \
              MLP_SECOND * MLP_OUT) / \
     (MLP_IN * MLP_OUT))

/* The same with the backward pass, which omits the gradient of the input. */
#define MLP_TRAIN_SHARE \
    (3 * MLP_SHARE - (double)(MLP_IN * MLP_FIRST) / (MLP_IN * MLP_OUT))

#define TENSOR(case_name, the_case, the_sizes, n_bytes, n_flops) \
    { \
        .name = case_name, .sizes = the_sizes, .family = &tensor_family, \
        .what = &the_case, .bytes = n_bytes, .flops = n_flops, \
    }
/* With a count of its own. */
#define COUNTED(case_name, the_case, the_sizes, the_count, n_bytes, n_flops) \
    { \
        .name = case_name, .sizes = the_sizes, .family = &tensor_family, \
        .what = &the_case, .count = the_count, .bytes = n_bytes, \
        .flops = n_flops, \
    }
/* A loop that runs on one thread. */
#define LOOP(the_case, the_sizes) LOOP_OF("loop", the_case, the_sizes)
#define LOOP_OF(case_name, the_case, the_sizes) \
    { \
        .name = case_name, .sizes = the_sizes, .family = &tensor_family, \
        .what = &the_case, .is_serial = true, \
    }
/* A few elements: the call itself dominates. */
#define CALL(case_name, the_case) CALL_OF(case_name, the_case, add_sizes)
#define CALL_OF(case_name, the_case, the_sizes) \
    { \
        .name = case_name, .sizes = the_sizes, .family = &tensor_family, \
        .what = &the_case, .is_serial = true, \
    }
#define VARIABLES(n) \
    CALL_OF("run_variables", run_variables_##n##_case, variables_##n##_sizes), \
        CALL_OF("call_variables", call_variables_##n##_case, \
                variables_##n##_sizes)
#define GRAPH(case_name, the_case, the_sizes) \
    { \
        .name = case_name, .sizes = the_sizes, .family = &graph_family, \
        .what = &the_case, .is_serial = true, \
    }
/* An operation, on one thread. */
#define OF_ONE_OP(case_name, the_case, the_sizes) \
    { \
        .name = case_name, .sizes = the_sizes, .family = &tensor_family, \
        .what = &the_case, .is_serial = true, .bytes = 8, \
    }
/* Beside processes that compute. */
#define BUSY(case_name, the_case, the_sizes, n_bytes, n_flops) \
    { \
        .name = case_name, .sizes = the_sizes, .family = &tensor_family, \
        .what = &the_case, .is_busy = true, .bytes = n_bytes, \
        .flops = n_flops, \
    }
#define CHECKPOINT(case_name, the_case) \
    { \
        .name = case_name, .sizes = checkpoint_sizes, .family = &file_family, \
        .what = &the_case, .is_serial = true, .bytes = 32, \
    }
/* A heading. */
#define SECTION(heading) {.name = heading}
/* The same, for cases that are no computation to compare. */
#define OVERHEAD(heading) {.name = heading, .is_overhead = true}

#define DATA(case_name, the_case, the_sizes) \
    { \
        .name = case_name, .sizes = the_sizes, .family = &data_family, \
        .what = &the_case, .is_serial = true, \
    }

#define PROCESS(case_name, its_kind) \
    { \
        .name = case_name, .sizes = process_sizes, .family = &process_family, \
        .what = &(const process_case){its_kind}, .is_serial = true, \
    }

static const case_size process_sizes[] = {
    SIZE_TIMED("chain", 0, 16),
    SIZES_END,
};

static const case_size collective_sizes[] = {
    SIZE_TIMED("4B", 0, 1),
    SIZES_END,
};

const bench_case all_cases[] = {
    SECTION("Elementwise and memory"),
    TENSOR("chain", chain_case, chain_sizes, 8, 92),
    TENSOR("black_scholes", black_scholes_case, black_scholes_sizes, 40, 214),
    TENSOR("scale", scale_case, stream_sizes, 8, 1),
    TENSOR("axpy", axpy_case, stream_sizes, 12, 2),
    TENSOR("copy", copy_case, stream_sizes, 8, 0),
    TENSOR("transpose", transpose_case, transpose_sizes, 8, 0),

    SECTION("Reductions and rows"),
    TENSOR("sum", sum_case, sum_sizes, 4, 1),
    TENSOR("sum_axis_0", sum_axis_0_case, sum_axis_sizes, 4, 1),
    TENSOR("sum_axis_1", sum_axis_1_case, sum_axis_sizes, 4, 1),
    TENSOR("sum_axis_2", sum_axis_2_case, sum_axis_sizes, 4, 1),
    TENSOR("softmax", softmax_case, row_sizes, 8, 25),
    TENSOR("layer_norm", layer_norm_case, row_sizes, 8, 8),

    SECTION("Stencils, gather and scatter"),
    TENSOR("jacobi", jacobi_case, jacobi_sizes, 8, 4),
    TENSOR("heat_2d_pad", heat_2d_pad_case, jacobi_sizes, 8, 7),
    TENSOR("heat_2d_update", heat_2d_update_case, jacobi_sizes, 8, 7),
    TENSOR("heat_2d_concat", heat_2d_concat_case, jacobi_sizes, 8, 7),
    TENSOR("heat_2d_roll", heat_2d_roll_case, jacobi_sizes, 8, 7),
    TENSOR("heat_3d", heat_3d_case, heat_3d_sizes, 8, 9),
    TENSOR("gather", gather_case, gather_sizes, 12, 0),
    TENSOR("scatter_add", scatter_add_case, gather_sizes, 16, 1),
    TENSOR("embedding", embedding_case, embedding_sizes, 8, 0),
    TENSOR("embedding_gradient", embedding_gradient_case, embedding_sizes, 0,
           1),

    SECTION("Matrix products"),
    TENSOR("matmul", small_matmul_case, small_matmul_sizes, 0, 2),
    TENSOR("matmul", matmul_case, matmul_sizes, 0, 2),
    TENSOR("matmul", matmul_case, vector_matmul_sizes, 4, 2),
    TENSOR("matmul_f64", matmul_f64_case, matmul_f64_sizes, 0, 2),
    TENSOR("matmul_bias_relu", matmul_bias_relu_case, matmul_bias_relu_sizes,
           0, 2),
    TENSOR("mlp_forward", mlp_forward_case, mlp_sizes, 0, 2 * MLP_SHARE),
    TENSOR("attention", attention_case, attention_sizes, 0, 4),

    SECTION("Convolution and pooling"),
    COUNTED("conv", conv_case, conv_sizes, conv_count, 0, 2),
    COUNTED("conv_images", conv_images_case, conv_sizes, conv_count, 0, 2),
    COUNTED("conv_filters", conv_filters_case, conv_sizes, conv_count, 0, 2),
    COUNTED("depthwise", depthwise_case, image_sizes, image_count, 8,
            2 * CONV_WINDOW * CONV_WINDOW),
    COUNTED("max_pool_3x3", max_pool_3x3_case, image_sizes, image_count, 8, 8),
    COUNTED("max_pool_2x2", max_pool_2x2_case, image_sizes, image_count, 5,
            0.75),
    COUNTED("avg_pool_3x3", avg_pool_3x3_case, image_sizes, image_count, 8, 9),
    COUNTED("avg_pool_2x2", avg_pool_2x2_case, image_sizes, image_count, 5, 1),

    SECTION("Loops"),
    LOOP(scan_case, scan_sizes),
    LOOP(lorenz_case, lorenz_sizes),
    LOOP(lorenz_assert_case, lorenz_assert_sizes),
    LOOP(wave_case, wave_sizes),
    TENSOR("loop", while_case, while_sizes, 0, 92 * WHILE_ITERATIONS),

    SECTION("Gradients and training"),
    LOOP_OF("gradient", scan_gradient_case, scan_sizes),
    TENSOR("train", mlp_train_case, mlp_train_sizes, 0, 2 * MLP_TRAIN_SHARE),
    TENSOR("train", logistic_train_case, logistic_train_sizes, 4, 4),
    COUNTED("cnn_train", cnn_train_case, cnn_sizes, cnn_count, 0, 2),
    TENSOR("adam", adam_case, adam_sizes, 28, 15),
    TENSOR("momentum", momentum_case, adam_sizes, 20, 4),

    OVERHEAD("Operations"),
#define OTHER(name, ...) OF_ONE_OP("ops_" #name, ops_##name##_case, ops_sizes),
#define LONG(name, ...) \
    OF_ONE_OP("ops_" #name, ops_##name##_case, ops_long_sizes),
#define UNARY OTHER
#define BINARY OTHER
#include "ops.def"

    OVERHEAD("Busy machine"),
    BUSY("busy_chain", chain_case, busy_chain_sizes, 8, 92),
    BUSY("busy_matmul", matmul_case, busy_matmul_sizes, 0, 2),

    OVERHEAD("Calls"),
    CALL("run", run_case),
    CALL("run_group", run_group_case),
    CALL("call", call_case),
    VARIABLES(0),
    VARIABLES(1),
    VARIABLES(2),
    VARIABLES(4),
    VARIABLES(8),
    CALL_OF("profile", profile_run_case, profile_run_sizes),
    CALL_OF("profile", profile_chain_case, profile_chain_sizes),

    OVERHEAD("Datasets and files"),
    DATA("feed", feed_case, feed_sizes),
    DATA("pipeline", pipeline_case, pipeline_sizes),
    DATA("pipeline_prefetch", prefetch_case, pipeline_sizes),
    CHECKPOINT("checkpoint_save", save_case),
    CHECKPOINT("checkpoint_load", load_case),

    OVERHEAD("Tracing and compiling"),
    GRAPH("trace", trace_case, graph_few_sizes),
    GRAPH("passes", passes_case, graph_few_sizes),
    GRAPH("compile", compile_case, graph_sizes),
    GRAPH("disk", disk_case, graph_few_sizes),

    OVERHEAD("Processes"),
    PROCESS("process_empty", PROCESS_EMPTY),
    PROCESS("process_interp", PROCESS_INTERP),
    PROCESS("process_cold", PROCESS_COLD),
    PROCESS("process_warm", PROCESS_WARM),
    PROCESS("process_tiers", PROCESS_TIERS),

    OVERHEAD("Ranks"),
    {
        .name = "mpi_all_reduce", .sizes = collective_sizes,
        .family = &mpi_family, .is_serial = true,
    },

    OVERHEAD("Growth"),
    TENSOR("growth_axpy", axpy_case, axpy_curve, 12, 2),
    TENSOR("growth_chain", chain_case, chain_curve, 8, 92),
    GRAPH("growth_trace", trace_case, graph_curve),
    GRAPH("growth_passes", passes_case, graph_curve),
    GRAPH("growth_compile", compile_case, compile_curve),
    {0},
};
