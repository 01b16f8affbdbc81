/* SPDX-License-Identifier: MIT */
/*
 * interp_instance.h - a graph prepared for one set of extents: built by
 * interp_prepare.c, run by interp.c.
 *
 * Every value is a view of a buffer, and several views may share one. Views of
 * temporaries and literals have final addresses; views of parameters get theirs
 * when a run begins.
 */
#ifndef TGI_INTERP_INSTANCE_H
#define TGI_INTERP_INSTANCE_H

#include "interp/kernel.h"
#include "runtime/memory_packing.h"
#include "runtime/unbounded_stack.h"
#include "runtime/view.h"

typedef struct tgi_instance tgi_instance;

/* The value of a node; `buffer` is 0 for nodes without one. */
typedef struct tgi_interp_value {
    tgi_view view;
    uint32_t buffer;
    uint32_t call; /* nodes with results: index into `calls` */
} tgi_interp_value;

/* Progress of a node that owns graphs. */
typedef enum tgi_interp_stage {
    TGI_STAGE_BEGIN,
    TGI_STAGE_TESTED, /* the test of a loop has run */
    TGI_STAGE_RUN     /* the callee, a branch or the body has run */
} tgi_interp_stage;

/* A CALL, SWITCH, LOOP or HOST node. */
typedef struct tgi_interp_call {
    size_t n_regions;
    tgi_instance **regions; /* by graph of the node; HOST: NULL */
    uint32_t *copies;       /* by input: the buffer of its dense copy, or 0 */
    uint32_t results; /* buffer of the first result; the others follow. A loop
                         keeps its carried values there. */
    size_t n_results;
    void **params_data; /* by input; set when the node starts */
    void **results_data;
    tg_host_buffer *host; /* HOST: arguments of the function */
    /* By input: buffer of the unbounded stack that starts here, or 0. HOST:
       NULL. */
    uint32_t *stacks;
    /* The buffer that holds the temporaries of the regions. One region runs at
       a time, and nothing in its temporaries outlives it. */
    uint32_t region_memory;

    /* State of the current run. */
    tgi_interp_stage stage;
    int64_t counter; /* the branch taken, or the iteration */
    bool condition;  /* result of the loop test */
} tgi_interp_call;

typedef enum tgi_interp_step_kind {
    TGI_INTERP_STEP_NONE,
    TGI_INTERP_STEP_KERNEL,
    TGI_INTERP_STEP_COPY,       /* input 0, to its own buffer */
    TGI_INTERP_STEP_STACK_PUSH, /* append a slice to a stack */
    TGI_INTERP_STEP_STACK_READ, /* read a slice of a stack */
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

/* A view of a parameter's buffer, relocated at the start of a run. */
typedef struct tgi_interp_param_view {
    tgi_ref ref;
    uint32_t param;
    int64_t offset; /* in bytes */
} tgi_interp_param_view;

typedef struct tgi_interp_result {
    tgi_ref ref;
    uint32_t copy_buffer; /* buffer of the copy made before any result is
                             written, or 0 */
    bool is_in_place;     /* already stored in its destination */
} tgi_interp_result;

struct tgi_instance {
    tgi_graph *graph; /* retained */
    tgi_arena arena;  /* owns the arrays below that are not vectors */
    const int64_t *symbols;
    const int64_t *extents; /* values of symbolic extents */
    /* Loop bodies: the number of carried values. Result k is written to the
       buffer of parameter k + 1. */
    int64_t n_carried;
    tgi_memory_budget *budget; /* owned by tgi_instances */
    uint32_t n_calls;          /* number of nodes that run this graph. If 1, its
                                  temporaries are part of the caller's. */
    int64_t bytes;             /* size of all its temporaries */
    int64_t offset;            /* their offset in the interpreter's memory */

    tgi_interp_value *values; /* by ref */
    TGI_VEC(tgi_buffer) buffers; /* buffer 0 is invalid */
    TGI_VEC(tgi_interp_call) calls;
    TGI_VEC(tgi_interp_step) steps;
    TGI_VEC(tgi_interp_param_view) param_views;
    TGI_VEC(tgi_interp_result) results;
    TGI_VEC(tgi_stack_group *) stacks; /* created by this graph */
    tgi_view *scratch_inputs; /* scratch array for the inputs of one node */

    /* State of the current run. */
    tgi_instance *caller;
    size_t next_step;
    void *const *results_data;
};

/* All instances of an interpreter: the root graph first, then the graphs that
   nodes own. */
typedef struct tgi_instances {
    TGI_VEC(tgi_instance *) all;
    tgi_index index; /* by graph, symbols and n_carried */
    tgi_memory_budget budget;
} tgi_instances;

/*
 * Finds or adds the instance of `graph` for `symbols`. `n_carried` is the
 * number of carried values if the graph is a loop body, else 0. A new instance
 * is appended with its extents evaluated and checked, but it is not prepared.
 * NULL on failure (recorded). Nodes may share an instance, because no graph
 * calls itself and so none is active twice.
 */
tgi_instance *tgi_instances_get(tgi_instances *instances,
                                const tgi_graph *graph, const int64_t *symbols,
                                int64_t n_carried);
void tgi_instances_deinit(tgi_instances *instances);

/* Creates values, buffers and calls; adds callees to `instances`. */
tg_status tgi_instance_prepare(tgi_instance *instance,
                               tgi_instances *instances);

/*
 * Assigns memory to the temporaries of all instances, which must be prepared.
 * Writes the total size.
 */
tg_status tgi_instances_place(tgi_instances *instances, int64_t *out_bytes);

/* In-place updates (interp_updates.c), part of tgi_instance_prepare. The first
   makes updates of carried values write to the buffer of the carried parameter.
   The second tells whether a result is stored there without a copy. */
void tgi_instance_update_in_place(const tgi_instance *instance);
bool tgi_instance_result_is_in_place(const tgi_instance *instance,
                                     size_t result);

/* Resolves the addresses of temporaries and creates the steps. `memory` is the
   start of the interpreter's memory. */
tg_status tgi_instance_finalise(tgi_instance *instance, char *memory);

/* Makes an instance the running one; `caller` resumes after it. */
void tgi_instance_begin(tgi_instance *instance, tgi_instance *caller,
                        void *const *params, void *const *results);

/* Sets params_data[i] to the data of input i, or to a dense copy of it
   (interp_region.c). */
void tgi_instance_bind_input(const tgi_instance *instance, const tgi_node *node,
                             const tgi_interp_call *call, size_t i);

/*
 * Advances a node that owns graphs (interp_region.c). Sets *out_next to the
 * instance that runs next, after which this is called again; leaves it
 * unchanged once the node is done.
 */
tg_status tgi_instance_advance(tgi_instance *instance, tgi_ref ref,
                               tgi_instance **out_next);

/* Writes the extents of a node's value and returns its rank. */
int tgi_instance_dims(const tgi_instance *instance, tgi_ref ref,
                      int64_t *out_dims);

#endif /* TGI_INTERP_INSTANCE_H */
