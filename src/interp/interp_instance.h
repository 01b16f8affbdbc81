/* SPDX-License-Identifier: MIT */
/*
 * interp_instance.h - one graph made ready for one set of extents: what
 * interp_prepare.c makes and interp.c runs.
 *
 * Every value is a view of a buffer; many views may share one. Views of
 * temporaries and literals have their addresses for good, those of parameters
 * get theirs when a run begins.
 */
#ifndef TGI_INTERP_INSTANCE_H
#define TGI_INTERP_INSTANCE_H

#include "interp/kernel.h"
#include "runtime/memory_packing.h"
#include "runtime/unbounded_stack.h"
#include "runtime/view.h"

typedef struct tgi_instance tgi_instance;

/* What a node stands for; `buffer` is 0 for nodes without a value. */
typedef struct tgi_interp_value {
    tgi_view view;
    uint32_t buffer;
    uint32_t call; /* of a node that has results: which one */
} tgi_interp_value;

/* How far a node that owns graphs has come. */
typedef enum tgi_interp_stage {
    TGI_STAGE_BEGIN,
    TGI_STAGE_TESTED, /* the condition of a loop has run */
    TGI_STAGE_RUN     /* the callee, a branch, or the body has */
} tgi_interp_stage;

/* A CALL, SWITCH, LOOP or HOST node. */
typedef struct tgi_interp_call {
    size_t n_regions;
    tgi_instance **regions; /* by graph of the node; HOST: NULL */
    uint32_t *copies;   /* by parameter: a buffer to copy to, or 0 */
    uint32_t results;   /* buffer of the first result; others follow. What a
                           loop carries lies there all the time. */
    size_t n_results;
    void **params_data; /* filled at each call */
    void **results_data;
    tg_host_buffer *host; /* HOST: what the function is shown */
    /* By parameter: buffers of stacks that begin here, or 0; HOST: NULL. */
    uint32_t *stacks;
    /* The buffer that memory of the regions is part of: one of them runs at a
       time, and leaves nothing there. */
    uint32_t room;

    /* Of the run under way. */
    tgi_interp_stage stage;
    int64_t number; /* which branch; trips done, what the body sees */
    bool goes_on;   /* what the condition says */
} tgi_interp_call;

typedef enum tgi_interp_step_kind {
    TGI_INTERP_STEP_NONE,
    TGI_INTERP_STEP_KERNEL,
    TGI_INTERP_STEP_COPY,       /* the first input, into a buffer of its own */
    TGI_INTERP_STEP_STACK_PUSH, /* a slice onto a stack … */
    TGI_INTERP_STEP_STACK_READ, /* … and from one */
    TGI_INTERP_STEP_ASSIGN,
    TGI_INTERP_STEP_REGION,
    TGI_INTERP_STEP_PRINT,
    TGI_INTERP_STEP_HOST
} tgi_interp_step_kind;

typedef struct tgi_interp_step {
    tgi_interp_step_kind kind;
    tgi_ref ref;
    tgi_kernel *kernel; /* KERNEL */
} tgi_interp_step;

/* A value that lies in a parameter's buffer. */
typedef struct tgi_interp_param_view {
    tgi_ref ref;
    uint32_t param;
    int64_t offset; /* in bytes */
} tgi_interp_param_view;

typedef struct tgi_interp_result {
    tgi_ref ref;
    uint32_t copy; /* a buffer to copy to before any result is written, or 0 */
    bool is_there; /* it lies where it is to go */
} tgi_interp_result;

struct tgi_instance {
    tgi_graph *graph; /* retained */
    tgi_arena arena;  /* of the arrays below that are not vectors */
    const int64_t *symbols;
    const int64_t *extents; /* values of expressions */
    /* Of the body of a loop: result k goes to where parameter k + 1 lies, for
       so many of them. */
    int64_t n_carried;
    tgi_memory_budget *room; /* of the interpreter */
    uint32_t n_calls; /* nodes whose region it is: of one, its memory is part
                         of the caller's */
    int64_t bytes;    /* of all its temporaries … */
    int64_t offset;   /* … which begin here, from the start of all memory */

    tgi_interp_value *values; /* by ref */
    TGI_VEC(tgi_buffer) buffers; /* buffer 0 is none */
    TGI_VEC(tgi_interp_call) calls;
    TGI_VEC(tgi_interp_step) steps;
    TGI_VEC(tgi_interp_param_view) lent;
    TGI_VEC(tgi_interp_result) results;
    TGI_VEC(tgi_stack_group *) stacks; /* that begin in this graph */
    tgi_view *in; /* room for the inputs of one node */

    /* Of the run under way. */
    tgi_instance *caller;
    size_t next_step;
    void *const *results_data;
};

/* All instances of an interpreter: the graph itself first, then those that
   nodes own. */
typedef struct tgi_instances {
    TGI_VEC(tgi_instance *) all;
    tgi_index index; /* by graph, symbols and what is carried */
    tgi_memory_budget room;
} tgi_instances;

/*
 * The instance of `graph` for `symbols`, as the body of a loop that carries so
 * many values (0: as anything else): an old one, or a new one at the end whose
 * extents are known and checked but that is not prepared. NULL on failure
 * (recorded). Calls may share an instance, since no graph calls itself and so
 * none is ever active twice.
 */
tgi_instance *tgi_instances_get(tgi_instances *instances,
                                const tgi_graph *graph, const int64_t *symbols,
                                int64_t n_carried);
void tgi_instances_deinit(tgi_instances *instances);

/* Makes values, buffers and calls; callees are added to `instances`. */
tg_status tgi_instance_prepare(tgi_instance *instance,
                               tgi_instances *instances);

/*
 * Places the temporaries of all instances, when all are prepared; writes how
 * much memory that takes.
 */
tg_status tgi_instances_place(tgi_instances *instances, int64_t *out_bytes);

/* Part of it (interp_updates.c): lets updates of what a loop carries happen
   where that lies; and says whether a result is there without being written:
   what its parameter has become, or still is. */
void tgi_instance_update_in_place(const tgi_instance *instance);
bool tgi_instance_result_is_in_place(const tgi_instance *instance,
                                     size_t result);

/* Gives temporaries their addresses and makes the steps; `memory` is the
   start of all memory. */
tg_status tgi_instance_finalise(tgi_instance *instance, char *memory);

/* Makes a prepared instance the one that runs; `caller` goes on after it. */
void tgi_instance_begin(tgi_instance *instance, tgi_instance *caller,
                        void *const *params, void *const *results);

/* Input i as a parameter: where it lies, or a dense copy (interp_region.c). */
void tgi_instance_bind_input(const tgi_instance *instance, const tgi_node *node,
                             const tgi_interp_call *call, size_t i);

/*
 * Goes on with a node that owns graphs (interp_region.c): *out_next is what
 * runs next, then this is called again; NULL: the node is done.
 */
tg_status tgi_instance_advance(tgi_instance *instance, tgi_ref ref,
                               tgi_instance **out_next);

/* The extents of a node's shape. Returns the rank. */
int tgi_instance_dims(const tgi_instance *instance, tgi_ref ref,
                      int64_t *out_dims);

#endif /* TGI_INTERP_INSTANCE_H */
