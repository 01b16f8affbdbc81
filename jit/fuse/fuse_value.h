/* SPDX-License-Identifier: MIT */
/*
 * fuse_value.h - materialise or inline: the decision for every node, made by
 * fuse_values.c.
 */
#ifndef TGI_FUSE_VALUE_H
#define TGI_FUSE_VALUE_H

#include "fuse/fuse_state.h"
#include "recipe/cost.h"

typedef enum tgi_value_class {
    TGI_VALUE_DEAD,
    TGI_VALUE_INLINED,      /* computed where it is used */
    TGI_VALUE_INPUT,        /* a parameter or literal: a dense buffer */
    TGI_VALUE_MATERIALISED, /* its task stores it in a dense buffer */
    TGI_VALUE_PART,         /* a concat or pad that the tasks of its owner,
                               another one, store in a part of its buffer */
    TGI_VALUE_ALIAS         /* a reshape of its storage root's buffer */
} tgi_value_class;

/* Owner of a value that several expressions use. */
#define TGI_SEVERAL_OWNERS UINT32_MAX

typedef struct tgi_fuse_value {
    const char *force_reason; /* why an earlier attempt forced it into memory;
                                 NULL: it did not */
    uint8_t class;            /* tgi_value_class */
    uint8_t part_depth;       /* PART: owners up to one that is not */
    bool is_live;
    bool is_overwritten;  /* an ASSIGN: by a later one, before any effect */
    bool must_store;      /* a user needs it dense */
    bool prefers_memory;  /* its elements are reread: materialise it unless it
                             is a view */
    bool is_repeated;     /* a broadcast repeats its elements many times */
    bool is_memoised;     /* MATERIALISED: as a copy of a variable that is not
                             written, if its buffer is temporary */
    bool swaps_last;      /* MATERIALISED: the last two axes are swapped in
                             its buffer, which no user needs dense */
    bool is_read;         /* MATERIALISED: loaded by another kernel … */
    bool is_read_local;   /* … or by a later phase of its own */
    tgi_cost node_cost;   /* of its op alone */
    uint32_t inline_cost; /* half-cycles, inlined inputs included */
    tgi_ref forwards_to;  /* the node whose value this is; mostly itself */
    tgi_ref owner;        /* the value whose expression it is part of … */
    tgi_ref view;         /* … and the view through which that uses it */
    tgi_task_id task;     /* MATERIALISED: the last task that stores it; none:
                             it has no elements */
    tgi_buffer_id buffer; /* INPUT, MATERIALISED; none: not yet created */
    bool is_checked;      /* indices, which a check computes again, or a part of
                             their expression … */
    tgi_task_id check;    /* … as does the first one: that they are in … */
    tgi_dim checked_extent; /* … 0 … checked_extent - 1 */
} tgi_fuse_value;

/* Decides the class of every value of the graph. */
tg_status tgi_fuse_values(tgi_fuse_state *s);

/* Forces a value into memory, and fusion to restart: once per value, which is
   why restarts end (fuse.c). */
tg_status tgi_fuse_force(tgi_fuse_state *s, tgi_ref ref, const char *why);

/* The node whose value `ref` forwards. */
tgi_ref tgi_fuse_resolve(const tgi_fuse_state *s, tgi_ref ref);

/* The value that `ref` is a reshape of: both have the same dense form. */
tgi_ref tgi_fuse_storage_root(const tgi_fuse_state *s, tgi_ref ref);

/* True for a gather or scatter that fails on indices out of range. */
bool tgi_fuse_is_checked(const tgi_node *node);

/* True unless a branch or loop is dead. */
bool tgi_fuse_is_needed(const tgi_fuse_state *s, tgi_ref ref);

/* The branch or loop whose write a READ sees; 0: none. */
tgi_ref tgi_fuse_defining_region(const tgi_fuse_state *s, tgi_ref ref);

/* A print, failed assert or host call. */
static inline bool tgi_fuse_is_host(const tgi_node *node)
{
    return tgi_op_table[node->op].cls == TGI_OPCLASS_EFFECT;
}

#endif /* TGI_FUSE_VALUE_H */
