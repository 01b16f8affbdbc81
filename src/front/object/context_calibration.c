/* SPDX-License-Identifier: MIT */
/*
 * context_calibration.c - the calibration of this machine: an entry of the disk cache
 * of a context, read when the context first compiles. The entry has the
 * checks of all others; one that is damaged, of another machine or of another
 * version is not used.
 */
#include "tgjit/calibration.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/versioned.h"
#include "front/object/context_object.h"
#include "jit.h"

/* -- The entry ------------------------------------------------------------- */

static tgi_calibration read_entry(tg_context *ctx)
{
    tgi_calibration calibration = {0};
    tgi_disk_cache *cache = tgi_context_disk_cache(ctx);
    tgi_strbuf key = {0};
    size_t n = 0;
    if (!cache)
        return calibration;
    tgi_calibration_key(tgi_calibration_cpus(), &key);
    void *text =
        key.failed ? NULL
                   : tgi_disk_cache_probe(
                         cache, (tgi_byte_span){key.text, key.n}, &n);
    if (text && !tgi_calibration_parse(text, n, &calibration))
        tgi_log_write(&ctx->log, TG_LOG_INFO, TGI_LOG_CACHE,
                      "the calibration of this machine is not plausible");
    tgi_free(text);
    tgi_strbuf_deinit(&key);
    return calibration;
}

static bool write_entry(tg_context *ctx, const tgi_calibration *calibration,
                        int n_cpus)
{
    tgi_strbuf key = {0}, text = {0};
    tgi_calibration_key(n_cpus, &key);
    tgi_calibration_print(calibration, &text);
    const bool is_saved =
        !key.failed && !text.failed &&
        tgi_disk_cache_save(tgi_context_disk_cache(ctx),
                            (tgi_byte_span){key.text, key.n},
                            (tgi_byte_span){text.text, text.n}, &ctx->log);
    tgi_strbuf_deinit(&key);
    tgi_strbuf_deinit(&text);
    return is_saved;
}

/* -- The calibration of a context ------------------------------------------ */

/* Sets it, unless it is set already and `replaces` is false. */
static tgi_calibration set_calibration(tg_context *ctx,
                                       const tgi_calibration *calibration,
                                       bool replaces)
{
    tgi_fork_lock_acquire(&ctx->lock);
    if (replaces || !ctx->has_read_calibration) {
        ctx->calibration = *calibration;
        ctx->has_read_calibration = true;
    }
    const tgi_calibration now = ctx->calibration;
    tgi_fork_lock_release(&ctx->lock);
    return now;
}

/* The entry is read without holding the lock, because the log may call back. */
tgi_calibration tgi_context_calibration(tg_context *ctx)
{
    tgi_fork_lock_acquire(&ctx->lock);
    const bool has_read = ctx->has_read_calibration;
    const tgi_calibration known = ctx->calibration;
    tgi_fork_lock_release(&ctx->lock);
    if (has_read || !ctx->is_calibrated)
        return known;
    tgi_error_copy before;
    tgi_error_save(&before);
    const tgi_calibration read = read_entry(ctx);
    tgi_error_restore(&before);
    return set_calibration(ctx, &read, false);
}

int64_t tgi_context_grain(tg_context *ctx)
{
    const tgi_calibration calibration =
        ctx->has_default_grain ? tgi_context_calibration(ctx)
                               : (tgi_calibration){0};
    const int64_t measured = tgi_calibration_grain(&calibration);
    return measured ? measured : ctx->grain;
}

/* -- Measuring ------------------------------------------------------------- */

static tg_status calibrate(tg_context *ctx, tg_calibration *out)
{
    tgi_calibration c;
    int n_cpus;
    if (!ctx)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "tg_calibrate: the context is NULL");
    tgi_calibrate(&c, &n_cpus);
    const bool is_saved = write_entry(ctx, &c, n_cpus);
    if (ctx->is_calibrated)
        set_calibration(ctx, &c, true);
    if (!out)
        return TG_OK;
    const tg_calibration result = {
        .struct_bytes = sizeof(result),
        .vector_bits = c.vector_bits,
        .wide_percent = c.wide_percent,
        .l2_bytes = c.l2_bytes,
        .non_temporal_bytes = c.non_temporal_bytes,
        .team_ns = c.team_ns,
        .barrier_ns = c.barrier_ns,
        .l2_bandwidth = c.l2_bandwidth,
        .l2_bandwidth_team = c.l2_bandwidth_team,
        .memory_bandwidth = c.memory_bandwidth,
        .memory_bandwidth_team = c.memory_bandwidth_team,
        .is_saved = is_saved,
        .threads = n_cpus};
    return tgi_versioned_write(out, "out_calibration", &result, sizeof(result),
                               "tg_calibration");
}

tg_status tg_calibrate(tg_context *ctx, tg_calibration *out_calibration)
{
    tgi_api_frame frame = tgi_api_enter(ctx, __func__);
    const tg_status status = calibrate(ctx, out_calibration);
    tgi_api_leave(frame);
    return status;
}
