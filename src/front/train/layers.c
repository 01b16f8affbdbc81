/* SPDX-License-Identifier: MIT */
/*
 * layers.c - dense and convolutional layers, embedding, batch normalisation and
 * dropout.
 */
#include "tgjit/layers.h"

#include "front/ops/ops_random.h"
#include "front/ops/ops_spatial.h"
#include "front/train/layer_parts.h"

/* -- Parts ----------------------------------------------------------------- */

bool tgi_layer_check(tgi_operation *o, const void *layer)
{
    if (!layer)
        tgi_build_fail(&o->b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                       "the layer is NULL");
    return layer;
}

/* True if an operation on halves meets a variable in f32. */
static bool is_master(const tgi_operation *o, const tg_variable *variable)
{
    return o->is_wide && variable && o->t->status == TG_OK &&
           tgi_dtype_is((int)o->real, TGI_CLASS_HALF) &&
           variable->spec.dtype == TG_F32;
}

/* The variable as it is, also if the operands are halves. */
static tgi_ref read_master(tgi_operation *o, tg_variable *variable)
{
    return is_master(o, variable)
               ? tgi_trace_operand(o->t, tg_in_variable(variable),
                                   o->b.op_name, o->b.site)
               : tgi_operation_operand(o, tg_in_variable(variable));
}

tgi_ref tgi_layer_read(tgi_operation *o, tg_variable *variable)
{
    const tgi_ref x = read_master(o, variable);
    return x && is_master(o, variable)
               ? tgi_build_widen(&o->b, tgi_build_narrow(&o->b, x, o->real))
               : x;
}

/* x as a matrix: all axes but the last become one. */
static tgi_ref as_rows(tgi_builder *b, tgi_ref x, const tgi_shape *shape)
{
    tgi_dim rows = 1;
    for (int i = 0; i + 1 < shape->rank; i++)
        rows = tgi_build_dim(
            b, tgi_dim_mul(b->graph->dims, rows, shape->dims[i]));
    return rows == TGI_DIM_NONE
               ? 0
               : tgi_build_reshape(
                     b, x, 2,
                     (tgi_dim[]){rows, shape->dims[shape->rank - 1]});
}

tgi_ref tgi_layer_project(tgi_operation *o, tgi_ref x, tg_variable *weights,
                          tg_variable *bias)
{
    tgi_builder *b = &o->b;
    tgi_ref w = x ? tgi_layer_read(o, weights) : 0;
    if (!w)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    if (shape->rank == 0 || tgi_graph_shape(b->graph, w)->rank != 2)
        return tgi_build_fail(b, TG_ERROR_SHAPE, (tgi_ref[]){x, w}, 2,
                              "needs an axis of features, and a matrix of "
                              "weights");
    /* One product of matrices, whose epilogue adds the bias. */
    const bool is_flattened = shape->rank > 2;
    tgi_ref y = tgi_build_matmul(b, is_flattened ? as_rows(b, x, shape) : x, w,
                                 TG_MATMUL_PLAIN);
    if (bias)
        y = tgi_build_2(b, TGI_OP_ADD, y, y ? tgi_layer_read(o, bias) : 0);
    if (!y || !is_flattened)
        return y;
    const tgi_shape *result = tgi_graph_shape(b->graph, y);
    tgi_dim dims[TG_MAX_RANK];
    for (int i = 0; i + 1 < shape->rank; i++)
        dims[i] = shape->dims[i];
    dims[shape->rank - 1] = result->dims[result->rank - 1];
    return tgi_build_reshape(b, y, shape->rank, dims);
}

/* -- Dense layer ----------------------------------------------------------- */

tg_value tg_dense_at(tg_operand x, const tg_dense_layer *layer, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "dense", site) && tgi_layer_check(&o, layer))
        result = tgi_layer_project(&o, tgi_operation_operand(&o, x),
                                   layer->weights, layer->bias);
    return tgi_operation_end(&o, result);
}

/* -- Convolution ----------------------------------------------------------- */

/* Filters are [spatial …, channel, filter] in any layout of x, so that the bias
   is along the last axis. */
static tgi_ref convolve(tgi_operation *o, tgi_ref x,
                        const tg_conv_layer *layer, tg_conv_options options)
{
    tgi_builder *b = &o->b;
    const bool is_first = options.layout == TG_CHANNELS_FIRST;
    options.layout = TG_CHANNELS_LAST;
    if (is_first)
        x = tgi_build_channels_last(b, x);
    const tgi_ref filters = x ? tgi_layer_read(o, layer->filters) : 0;
    tgi_ref y = tgi_build_spatial_conv(b, x, filters, -1, &options);
    if (layer->bias)
        y = tgi_build_2(b, TGI_OP_ADD, y,
                        y ? tgi_layer_read(o, layer->bias) : 0);
    return is_first ? tgi_build_channels_first(b, y) : y;
}

tg_value tg_convolve_at(tg_operand x, const tg_conv_layer *layer,
                        const tg_conv_options *user_options, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    tg_conv_options options;
    if (tgi_operation_begin_wide(&o, "convolve", site) &&
        tgi_layer_check(&o, layer) &&
        tgi_conv_options_read(&o, user_options, &options))
        result = convolve(&o, tgi_operation_operand(&o, x), layer, options);
    return tgi_operation_end(&o, result);
}

/* -- Embedding ------------------------------------------------------------- */

tg_value tg_embedding_at(tg_operand indices, const tg_embedding_layer *layer,
                         tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "embedding", site) &&
        tgi_layer_check(&o, layer)) {
        tgi_ref table = tgi_layer_read(&o, layer->table);
        result = tgi_build_gather(&o.b, table,
                                  tgi_operation_operand(&o, indices), 0,
                                  TG_GATHER_CHECK);
    }
    return tgi_operation_end(&o, result);
}

/* -- Batch normalisation --------------------------------------------------- */

/* variable += momentum * (batch - variable) */
static bool move_statistic(tgi_operation *o, tg_variable *variable,
                           tgi_ref batch, double momentum)
{
    tgi_builder *b = &o->b;
    tgi_ref before = batch ? read_master(o, variable) : 0;
    tgi_ref step = tgi_build_2(b, TGI_OP_SUB, batch, before);
    step = tgi_build_2(b, TGI_OP_MUL, step,
                       tgi_build_number_like(b, batch, momentum));
    tgi_ref after = tgi_build_2(b, TGI_OP_ADD, step, before);
    if (!tgi_build_same_shape(b, before, after, "statistics and features"))
        return false;
    tgi_ref node = tgi_trace_variable(o->t, variable, b->op_name, b->site);
    after = node ? tgi_build_narrow(b, after, variable->spec.dtype) : 0;
    return after && tgi_trace_write(o->t, node, after, b->site);
}

/* The axes of all elements of a feature: all but the last. */
static tg_axes batch_axes(int rank)
{
    int axes[TG_MAX_RANK];
    for (int i = 0; i + 1 < rank; i++)
        axes[i] = i;
    return tg_axes_of((size_t)(rank - 1), axes);
}

/* Mean and variance, [features], of a batch; the layer's move towards them. */
static bool measure_batch(tgi_operation *o, tgi_ref x,
                          const tg_batch_norm_layer *layer, double momentum,
                          tgi_ref *out_mean, tgi_ref *out_variance)
{
    tgi_builder *b = &o->b;
    const tg_axes axes = batch_axes(tgi_graph_shape(b->graph, x)->rank);
    *out_mean = tgi_build_mean(b, x, axes);
    tgi_ref d = tgi_build_2(b, TGI_OP_SUB, x, *out_mean);
    tgi_ref sum = tgi_build_reduce(b, TGI_OP_SUM,
                                   tgi_build_2(b, TGI_OP_MUL, d, d), axes);
    if (!sum)
        return false;
    tgi_ref n = tgi_build_cast(
        b, tgi_build_extent(b, tgi_build_reduced_count(b, x, axes)),
        tgi_graph_node(b->graph, x)->dtype);
    *out_variance = tgi_build_2(b, TGI_OP_DIV, sum, n);
    /* A batch of one element has the unbiased variance 0, not NaN. */
    tgi_ref one = tgi_build_number_like(b, sum, 1);
    tgi_ref freedom =
        tgi_build_2(b, TGI_OP_MAX, tgi_build_2(b, TGI_OP_SUB, n, one), one);
    return move_statistic(o, layer->mean, *out_mean, momentum) &&
           move_statistic(o, layer->variance,
                          tgi_build_2(b, TGI_OP_DIV, sum, freedom), momentum);
}

static tgi_ref build_batch_norm(tgi_operation *o, tgi_ref x,
                                const tg_batch_norm_layer *layer,
                                bool is_training, double momentum,
                                double epsilon)
{
    tgi_builder *b = &o->b;
    tgi_ref mean, variance;
    x = tgi_build_require_float(b, x);
    if (!x)
        return 0;
    if (tgi_graph_shape(b->graph, x)->rank == 0)
        return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                              "needs an axis of features");
    if (is_training) {
        if (!measure_batch(o, x, layer, momentum, &mean, &variance))
            return 0;
    } else {
        mean = read_master(o, layer->mean);
        variance = mean ? read_master(o, layer->variance) : 0;
    }
    tgi_ref scale = variance ? read_master(o, layer->scale) : 0;
    tgi_ref shift = scale ? read_master(o, layer->shift) : 0;
    tgi_ref inverse = tgi_build_1(
        b, TGI_OP_RSQRT,
        tgi_build_2(b, TGI_OP_ADD, variance,
                    tgi_build_number_like(b, variance, epsilon)));
    /* The factor of a feature is computed once. */
    tgi_ref factor = tgi_build_2(b, TGI_OP_MUL, inverse, scale);
    tgi_ref centred = tgi_build_2(b, TGI_OP_SUB, x, mean);
    tgi_ref y = tgi_build_2(b, TGI_OP_ADD,
                            tgi_build_2(b, TGI_OP_MUL, centred, factor),
                            shift);
    return tgi_build_same_shape(b, x, y, "the batch and the result") ? y : 0;
}

tg_value tg_batch_norm_at(tg_operand x, const tg_batch_norm_layer *layer,
                          bool is_training, double momentum, double epsilon,
                          tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "batch_norm", site) &&
        tgi_layer_check(&o, layer))
        result = build_batch_norm(&o, tgi_operation_operand(&o, x), layer,
                                  is_training, momentum, epsilon);
    return tgi_operation_end(&o, result);
}

/* -- Dropout --------------------------------------------------------------- */

static tgi_ref build_dropout(tgi_operation *o, tgi_ref x, double rate,
                             tg_operand source)
{
    tgi_builder *b = &o->b;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    /* f32 for any x: the elements dropped do not depend on its dtype. */
    tgi_ref draw = tgi_random_numbers(o, false, source, TG_F32, shape->rank,
                                      shape->dims);
    tgi_ref is_kept = tgi_build_2(b, TGI_OP_LE,
                                  tgi_build_number_like(b, draw, rate), draw);
    tgi_ref scaled = tgi_build_2(
        b, TGI_OP_MUL, x, tgi_build_number_like(b, x, 1 / (1 - rate)));
    return tgi_build_3(b, TGI_OP_SELECT, is_kept, scaled,
                       tgi_build_number_like(b, x, 0));
}

tg_value tg_dropout_at(tg_operand operand, double rate, tg_operand source,
                       bool is_training, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, "dropout", site)) {
        tgi_ref x = tgi_build_require_float(
            &o.b, tgi_operation_operand(&o, operand));
        if (x && !(rate >= 0 && rate < 1))
            x = tgi_build_fail(&o.b, TG_ERROR_INVALID_ARGUMENT, &x, 1,
                               "the rate must be in [0, 1), not %g", rate);
        result = !x || !is_training || rate == 0
                     ? x
                     : build_dropout(&o, x, rate, source);
    }
    return tgi_operation_end(&o, result);
}
