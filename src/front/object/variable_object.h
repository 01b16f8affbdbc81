/* SPDX-License-Identifier: MIT */
/*
 * variable_object.h - the inside of variables and their groups.
 */
#ifndef TGI_VARIABLE_OBJECT_H
#define TGI_VARIABLE_OBJECT_H

#include "base/lock.h"
#include "base/refcount.h"
#include "front/object/tensor_object.h"
#include "tgjit/variable.h"

struct tg_group {
    tgi_refcount refs;
    tg_context *ctx; /* retained */
    tgi_lock lock;
    uint64_t id;     /* calls lock groups in ascending order */
    unsigned n_maps; /* by the thread that holds the lock */
};

struct tg_variable {
    tgi_refcount refs;
    tg_context *ctx; /* retained */
    tg_group *group; /* retained; NULL for a stand-in */
    char *name;
    tgi_spec spec;
    void *data;
    _Atomic uint64_t version; /* written under the group's lock */
    uint64_t id;              /* no other has or had it; never 0 */
    bool is_trainable;
    bool is_shared; /* by tg_get_variable: the context holds a reference;
                       under the context's lock */
    /*
     * False while its initial value is still to be computed by the first call
     * of the function that made it. Written under the group's lock.
     */
    atomic_bool is_set;
    unsigned n_maps; /* by the thread that holds the group's lock … */
    bool is_mapped_for_write; /* … and one of them is for writing */

    /*
     * A stand-in for whichever variable a bundle argument will hold: good in
     * one trace, where it is a node. No buffer, no group, not listed.
     */
    uint32_t trace, node;
};

/* A stand-in; NULL when out of memory (recorded). */
tg_variable *tgi_variable_create_placeholder(tg_context *ctx, const char *name,
                                             const tgi_spec *spec,
                                             uint32_t trace, uint32_t node);

/*
 * As tg_variable_create_with, with the error prefix `who` and a full name. If
 * `is_shared`, the reference returned belongs to the context, the name is not
 * made unique, and *out_is_taken (else unused) says whether creation failed
 * because another variable has it; nothing is recorded then.
 */
tg_variable *tgi_variable_create(tg_context *ctx, const char *who,
                                 const char *name, tg_dtype dtype, int rank,
                                 const int64_t *dims, tg_initial initial,
                                 const tg_variable_options *options,
                                 bool is_shared, bool *out_is_taken);

/* The shared variable of that full name, lent; NULL if there is none. */
tg_variable *tgi_variable_find_shared(tg_context *ctx, const char *name);

/* Removes a shared variable that nothing refers to but the context and the
   caller; the caller keeps its reference. */
void tgi_variable_unshare(tg_variable *variable);

/* TG_OK, or why this is not a variable that can be used in `ctx`. */
tg_status tgi_variable_check(const tg_variable *variable,
                             const tg_context *ctx, const char *who,
                             tg_site site);

/* Says that the contents have changed. Only who holds the group's lock does
   so, and needs no atomic addition for it. */
static inline void tgi_variable_bump_version(tg_variable *variable)
{
    const uint64_t version =
        atomic_load_explicit(&variable->version, memory_order_relaxed);
    atomic_store_explicit(&variable->version, version + 1,
                          memory_order_relaxed);
}

#endif /* TGI_VARIABLE_OBJECT_H */
