/* SPDX-License-Identifier: MIT */
/*
 * variable_object.h - the definitions of tg_variable and tg_group.
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
    uint64_t id;     /* groups are locked in ascending order of id */
    unsigned n_maps; /* of the thread that holds the lock */
    atomic_uint n_forks; /* of the process that the lock is valid in */
    bool is_lost;        /* see tgi_group_acquire */
};

/*
 * Locks a group. False, without blocking, if the calling thread already holds
 * the lock, or if the group is lost: in the parent process another thread held it
 * when this process was forked, so its variables may be in the middle of a call.
 */
bool tgi_group_acquire(tg_group *group);
void tgi_group_release(tg_group *group);
bool tgi_group_is_owned(tg_group *group);

struct tg_variable {
    tgi_refcount refs;
    tg_context *ctx; /* retained */
    tg_group *group; /* retained; NULL for a placeholder */
    char *name;
    tgi_spec spec;
    void *data;
    _Atomic uint64_t version; /* written under the group's lock */
    uint64_t id;              /* unique in the process, never reused, never 0 */
    bool is_trainable;
    bool is_shared; /* by tg_get_variable: the context holds a reference;
                       under the context's lock */
    /*
     * False until the first call of the function that created it has computed
     * its initial value. Written under the group's lock.
     */
    atomic_bool is_set;
    unsigned n_maps;          /* of the thread that holds the group's lock */
    bool is_mapped_for_write; /* one of them is for writing */

    /*
     * Of a placeholder, which represents the variable of a bundle argument
     * during one trace: that trace and its node there. A placeholder has no
     * buffer and no group, and is not listed in the context.
     */
    uint32_t trace, node;
};

/* Creates a placeholder; NULL when out of memory (recorded). */
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

/* Fails, with a message prefixed by `who`, unless `variable` is a variable of
   `ctx` (NULL: any context) outside of traces. */
tg_status tgi_variable_check(const tg_variable *variable,
                             const tg_context *ctx, const char *who,
                             tg_site site);

/* Records that the contents have changed. Only the holder of the group's lock
   calls this, so no atomic addition is needed. */
static inline void tgi_variable_bump_version(tg_variable *variable)
{
    const uint64_t version =
        atomic_load_explicit(&variable->version, memory_order_relaxed);
    atomic_store_explicit(&variable->version, version + 1,
                          memory_order_relaxed);
}

#endif /* TGI_VARIABLE_OBJECT_H */
