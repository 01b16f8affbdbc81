/* SPDX-License-Identifier: MIT */
/*
 * ops_random.c - random numbers from a key or from a generator: a variable
 * {key, offset} whose offset every draw advances.
 */
#include "tgjit/ops_random.h"

#include "front/ops/ops_random.h"

tg_variable *tg_generator_create(tg_context *ctx, const char *name,
                                 uint64_t seed)
{
    const tg_variable_options options = {sizeof(options), NULL, true};
    return tg_variable_create_with(
        ctx, name && *name ? name : "generator", TG_U64, 1, (int64_t[]){2},
        tg_from_data((uint64_t[]){seed, 0}), &options);
}

tg_value tg_random_bits_at(tg_dtype dtype, tg_operand key, tg_operand offset,
                           int rank, const int64_t *dims, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "random_bits", site)) {
        tgi_ref stream = tgi_operation_operand(&o, key);
        result = tgi_build_random_bits(
            &o.b, dtype, stream, tgi_operation_operand(&o, offset), rank, dims);
    }
    return tgi_operation_end(&o, result);
}

/* True if the operand is a variable, passed or captured. */
static bool is_variable_operand(const tg_trace *t, const tg_operand *operand)
{
    tg_value value = operand->as.value;
    if (operand->kind != TG_OPERAND_VALUE)
        return operand->kind == TG_OPERAND_VARIABLE;
    return value.trace == t->id && value.node &&
           value.node <= t->graph->n_nodes &&
           tgi_graph_node(t->graph, value.node)->op == TGI_OP_VARIABLE;
}

/* Element i of the generator's state, as a scalar. */
static tgi_ref state_element(tgi_builder *b, tgi_ref state, int64_t i)
{
    return tgi_build_reshape(b, tgi_build_slice(b, state, 0, i, i + 1, 1), 0,
                             NULL);
}

/*
 * The key and offset of a draw of `words_per_element` words per element of the
 * shape; advances the generator past them.
 */
static bool draw_from_generator(tgi_operation *o, tgi_ref generator,
                                int64_t words_per_element, int rank,
                                const int64_t *dims, tgi_ref *out_key,
                                tgi_ref *out_offset)
{
    tgi_builder *b = &o->b;
    const tgi_shape *shape = tgi_graph_shape(o->t->graph, generator);
    if (tgi_graph_node(o->t->graph, generator)->dtype != TG_U64 ||
        shape->rank != 1 || shape->dims[0] != 2) {
        tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, &generator, 1,
                       "a generator is a u64[2] variable");
        return false;
    }
    tgi_shape_ref drawn = tgi_build_shape(b, rank, dims);
    if (!drawn)
        return false;
    tgi_dims *table = o->t->graph->dims;
    tgi_dim n = tgi_build_dim(
        b,
        tgi_dim_mul(table, tgi_dim_product(table, tgi_shape_of(table, drawn)),
                    words_per_element));
    tgi_ref state = tgi_trace_read(o->t, generator, b->site);
    if (!state || n == TGI_DIM_NONE)
        return false;
    *out_key = state_element(b, state, 0);
    *out_offset = state_element(b, state, 1);
    tgi_ref next = tgi_build_2(
        b, TGI_OP_ADD, *out_offset,
        tgi_build_cast(b, tgi_build_extent(b, n), TG_U64));
    tgi_ref parts[2];
    parts[0] = tgi_build_reshape(b, *out_key, 1, (int64_t[]){1});
    parts[1] = tgi_build_reshape(b, next, 1, (int64_t[]){1});
    tgi_ref next_state = tgi_build_concat(b, 0, parts, 2);
    return next_state && tgi_trace_write(o->t, generator, next_state, b->site);
}

bool tgi_random_draw(tgi_operation *o, tg_operand source,
                     int64_t words_per_element, int rank, const int64_t *dims,
                     tgi_random_stream *out)
{
    *out = (tgi_random_stream){0};
    if (is_variable_operand(o->t, &source)) {
        tgi_ref generator = tgi_trace_variable_operand(o->t, source,
                                                       o->b.op_name,
                                                       o->b.site);
        return generator && draw_from_generator(o, generator,
                                                words_per_element, rank, dims,
                                                &out->key, &out->offset);
    }
    out->key = tgi_operation_operand(o, source);
    out->offset = tgi_build_number(&o->b, TG_U64, TG_U64,
                                   (tgi_number){TGI_NUMBER_UINT, {.u = 0}});
    return out->key && out->offset;
}

bool tgi_random_check_dtype(tgi_operation *o, tg_dtype dtype)
{
    return (tgi_dtype_is_valid((int)dtype) &&
            tgi_dtype_is((int)dtype, TGI_CLASS_REAL)) ||
           tgi_build_fail(&o->b, TG_ERROR_DTYPE, NULL, 0,
                          "the dtype must be f16, bf16, f32 or f64, not %s",
                          tg_dtype_name(dtype));
}

tgi_ref tgi_random_numbers(tgi_operation *o, bool is_normal, tg_operand source,
                           tg_dtype dtype, int rank, const int64_t *dims)
{
    tgi_random_stream s;
    if (!tgi_random_check_dtype(o, dtype) ||
        !tgi_random_draw(o, source, tgi_random_words(dtype, is_normal), rank,
                         dims, &s))
        return 0;
    return tgi_build_random(&o->b, is_normal, dtype, s.key, s.offset, rank,
                            dims);
}

static tg_value build_random_numbers(const char *name, bool is_normal,
                                     tg_operand source, tg_dtype dtype,
                                     int rank, const int64_t *dims,
                                     tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, name, site))
        result = tgi_random_numbers(&o, is_normal, source, dtype, rank, dims);
    return tgi_operation_end(&o, result);
}

tg_value tg_random_uniform_at(tg_operand source, tg_dtype dtype, int rank,
                              const int64_t *dims, tg_site site)
{
    return build_random_numbers("random_uniform", false, source, dtype, rank,
                                dims, site);
}

tg_value tg_random_normal_at(tg_operand source, tg_dtype dtype, int rank,
                             const int64_t *dims, tg_site site)
{
    return build_random_numbers("random_normal", true, source, dtype, rank,
                                dims, site);
}
