/* SPDX-License-Identifier: MIT */
/*
 * host_log.c - see host_log.h. The last entry of a log that does not replay is
 * that of the host call in progress.
 */
#include "runtime/host_log.h"

#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/error.h"

static size_t buffer_bytes(const tg_host_buffer *buffer)
{
    int64_t bytes = tgi_dtype_bytes(buffer->dtype);
    for (int axis = 0; axis < buffer->rank; axis++)
        bytes *= buffer->dims[axis];
    return (size_t)bytes;
}

void tgi_host_log_clear(tgi_host_log *log)
{
    for (size_t i = 0; i < log->entries.n; i++)
        tgi_free(log->entries.data[i].outputs);
    tgi_vec_deinit(&log->entries);
    *log = (tgi_host_log){.replays = false};
}

const tgi_host_log_entry *tgi_host_log_next(tgi_host_log *log)
{
    return log && log->replays && log->n_replayed < log->entries.n
               ? &log->entries.data[log->n_replayed++]
               : NULL;
}

bool tgi_host_log_begin(tgi_host_log *log, const tg_host_buffer *outputs,
                        size_t n_outputs)
{
    if (!log || log->replays)
        return true;
    tgi_host_log_entry entry = {0};
    for (size_t i = 0; i < n_outputs; i++)
        entry.bytes += buffer_bytes(&outputs[i]);
    entry.outputs = entry.bytes ? tgi_alloc(entry.bytes) : NULL;
    if ((entry.bytes && !entry.outputs) ||
        !tgi_vec_push(&log->entries, entry)) {
        tgi_free(entry.outputs);
        log->has_failed = true;
        tgi_error_memory();
        return false;
    }
    return true;
}

/* Copies between an entry and the buffers of a host call. */
static void copy_outputs(const tgi_host_log_entry *entry,
                         const tg_host_buffer *outputs, size_t n_outputs,
                         bool to_entry)
{
    char *at = entry->outputs;
    for (size_t i = 0; i < n_outputs; i++) {
        const size_t bytes = buffer_bytes(&outputs[i]);
        if (bytes)
            memcpy(to_entry ? at : outputs[i].data,
                   to_entry ? outputs[i].data : at, bytes);
        at += bytes;
    }
}

void tgi_host_log_end(tgi_host_log *log, bool has_failed,
                      const tg_host_buffer *outputs, size_t n_outputs)
{
    if (!log || log->replays)
        return;
    log->has_failed |= has_failed;
    if (!has_failed)
        copy_outputs(&log->entries.data[log->entries.n - 1], outputs, n_outputs,
                     true);
}

void tgi_host_log_replay(const tgi_host_log_entry *entry,
                         const tg_host_buffer *outputs, size_t n_outputs)
{
    copy_outputs(entry, outputs, n_outputs, false);
}
