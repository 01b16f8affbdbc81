/* SPDX-License-Identifier: MIT */
/*
 * live.h - counters of live objects by kind; tests check that they end at 0.
 */
#ifndef TGI_LIVE_H
#define TGI_LIVE_H

#include <stddef.h>

typedef enum tgi_live_kind {
    TGI_LIVE_CONTEXT,
    TGI_LIVE_TENSOR,
    TGI_LIVE_VARIABLE,
    TGI_LIVE_GROUP,
    TGI_LIVE_FUNCTION,
    TGI_LIVE_CONCRETE,
    TGI_LIVE_BOUND,
    TGI_LIVE_TRACE,
    TGI_LIVE_DATASET,
    TGI_LIVE_ITERATOR,
    TGI_LIVE_GRAPH,
    TGI_LIVE_DIMS,
    TGI_LIVE_LITERAL,
    TGI_LIVE_INTERP,
    TGI_LIVE_IMAGE,
    TGI_LIVE_CODE,
    TGI_LIVE_PROGRAM,
    TGI_LIVE_NATIVE,
    TGI_LIVE_DISK_CACHE,
    TGI_LIVE_FILE,
    TGI_LIVE_ARCHIVE,
    TGI_LIVE_PROFILE,
    TGI_LIVE_KINDS
} tgi_live_kind;

void tgi_live_add(tgi_live_kind kind, int change);
size_t tgi_live_count(tgi_live_kind kind);

#endif /* TGI_LIVE_H */
