/* SPDX-License-Identifier: MIT */
/*
 * compile_policy.c - see compile_policy.h.
 */
#include "front/call/compile_policy.h"

#include "front/call/function_object.h"

/* A larger graph is rejected without an estimate. */
enum { MAX_NODES = TGI_MAX_COMPILE_WORK };

/*
 * A call with at most SMALL_BYTES of values is interpreted within a few
 * milliseconds and does not wait. A larger call waits if its interpretation
 * may take longer than the compile; a slow interpretation processes
 * BYTES_PER_UNIT in one unit of compile work.
 */
enum { SMALL_BYTES = 2 << 20, BYTES_PER_UNIT = 8 << 10 };

bool tgi_compile_is_wanted(tg_concrete *c)
{
    if (c->ctx->jit != TGI_JIT_AUTO)
        return c->ctx->jit == TGI_JIT_REQUIRED;
    if (c->graph->n_nodes <= MAX_NODES)
        return true;
    if (!atomic_exchange(&c->has_warned_size, true))
        tgi_log_write(&c->ctx->log, TG_LOG_WARN, TGI_LOG_JIT,
                      "%s: interpreted: %u nodes exceed the limit of %d; set "
                      "TGJIT_JIT=required",
                      c->name, c->graph->n_nodes, MAX_NODES);
    return false;
}

size_t tgi_compile_budget(const tg_concrete *c, bool is_eager,
                          int64_t value_bytes)
{
    const int64_t interpreted = value_bytes / BYTES_PER_UNIT;
    if (c->ctx->jit == TGI_JIT_REQUIRED)
        return SIZE_MAX;
    /* The time to interpret a loop is unknown. */
    if (is_eager || c->is_measured || c->graph->has_loops ||
        interpreted > TGI_MAX_COMPILE_WORK)
        return TGI_MAX_COMPILE_WORK;
    return value_bytes > SMALL_BYTES ? (size_t)interpreted : 0;
}
