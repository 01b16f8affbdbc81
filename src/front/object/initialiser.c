/* SPDX-License-Identifier: MIT */
/*
 * initialiser.c - initial contents of variables. Everything except zeros and
 * user data is a small graph run by the interpreter, so that random contents
 * equal the results of the random operations.
 */
#include <string.h>

#include "base/error.h"
#include "base/fpenv.h"
#include "build/build.h"
#include "front/object/context_object.h"
#include "front/object/variable_object.h"
#include "interp/interp.h"

static tgi_ref build_float(tgi_builder *b, tg_dtype dtype, double value)
{
    return tgi_build_number(b, dtype, dtype,
                            (tgi_number){TGI_NUMBER_FLOAT, {.f = value}});
}

/* The node that computes the initial value, or 0 on failure (recorded). */
static tgi_ref build_initial(tgi_builder *b, const tgi_spec *spec,
                             const tg_initial *initial)
{
    if (initial->kind == TG_INITIAL_NUMBER)
        return tgi_build_broadcast(b,
                                   build_float(b, spec->dtype, initial->a),
                                   spec->rank, spec->dims);

    bool is_normal = initial->kind == TG_INITIAL_NORMAL;
    tgi_number seed = {TGI_NUMBER_UINT, {.u = initial->seed}};
    tgi_number zero = {TGI_NUMBER_UINT, {.u = 0}};
    tgi_ref random = tgi_build_random(
        b, is_normal, spec->dtype, tgi_build_number(b, TG_U64, TG_U64, seed),
        tgi_build_number(b, TG_U64, TG_U64, zero), spec->rank, spec->dims);
    double scale = is_normal ? initial->b : initial->b - initial->a;
    return tgi_build_2(b, TGI_OP_ADD,
                       tgi_build_2(b, TGI_OP_MUL, random,
                                   build_float(b, spec->dtype, scale)),
                       build_float(b, spec->dtype, initial->a));
}

tg_status tgi_initial_fill(tg_context *ctx, const tgi_spec *spec,
                           const tg_initial *initial, void *out_data)
{
    switch (initial->kind) {
    case TG_INITIAL_ZEROS:
        memset(out_data, 0, (size_t)spec->bytes);
        return TG_OK;
    case TG_INITIAL_DATA:
        if (!initial->data && spec->bytes)
            TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                     "initial value: data is NULL");
        if (spec->bytes)
            memcpy(out_data, initial->data, (size_t)spec->bytes);
        return TG_OK;
    case TG_INITIAL_NUMBER:
    case TG_INITIAL_UNIFORM:
    case TG_INITIAL_NORMAL:
        break;
    default:
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "initial value: kind %d is invalid", (int)initial->kind);
    }

    tgi_graph *graph = tgi_graph_create("initial", NULL);
    if (!graph)
        return TG_ERROR_OUT_OF_MEMORY;
    tgi_builder b = {.graph = graph, .op_name = "initial value"};
    tgi_interp *interp = NULL;
    uint32_t mode = tgi_fpenv_begin();
    tgi_ref ref = build_initial(&b, spec, initial);
    tg_status status = ref && tgi_graph_add_result(graph, ref)
                           ? TG_OK
                           : tg_error_last()->status;
    if (!status)
        status = tgi_interp_create(graph, NULL, &ctx->host, ctx->memory_limit,
                                   &interp);
    if (!status)
        status = tgi_interp_run(interp, NULL, &out_data);
    tgi_fpenv_end(mode);
    tgi_interp_destroy(interp);
    tgi_graph_release(graph);
    return status;
}
