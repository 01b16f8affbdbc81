/* SPDX-License-Identifier: MIT */
/*
 * jit.h - the one door from the front to compiled code.
 *
 * It also passes on the few headers of the stages that the front end uses:
 * generator.h, code_cache.h, disk_cache.h, target_names.h and variant.h. All of
 * them work without LLVM, which is in a plugin, opened on the first compile.
 */
#ifndef TGI_JIT_H
#define TGI_JIT_H

#include "base/log.h"
#include "cache/code_cache.h"
#include "cache/disk_cache.h"
#include "codegen/generator.h"
#include "fuse/variant.h"
#include "ir/graph.h"
#include "runtime/host.h"
#include "target/target_names.h"

/* The loops a graph becomes for calls whose extents have these values, or why
   values of it are stored, as text. */
tg_status tgi_jit_print_loops(const tgi_graph *graph, const int64_t *values,
                              bool wants_reasons, tgi_strbuf *out);

/* From now on, code is shown to gdb (its JIT interface), or named in a map for
   perf; what is loaded already is not. */
void tgi_jit_enable_debuggers(bool to_gdb, bool to_perf);

/* -- Programs: compiled graphs --------------------------------------------- */

typedef struct tgi_program tgi_program;

typedef struct tgi_jit_options {
    const tgi_log *log;
    const char *cpu;      /* NULL: the host */
    unsigned vector_bits; /* 0: what suits the CPU */
    bool instruments;     /* for AddressSanitizer */
    size_t most_work;     /* code that is not kept, and is more, is not made */
    bool verifies;        /* LLVM's verifier looks at the IR */
    tgi_disk_cache *store; /* where code is kept; NULL: nowhere */
    /* Called with every stage as text if not NULL: "fusion", "loops", "ir",
       "ir-after", "asm". `wants` says for which. */
    bool (*wants)(const char *stage, void *user);
    void (*observe)(const char *stage, const char *text, void *user);
    void *user;
} tgi_jit_options;

/*
 * Compiles `graph` (retained) for calls like the one whose extents have these
 * values (variant.h). UNSUPPORTED if there is no code generator, or it cannot
 * do this; the record says why. NULL if the code is not kept, and to make it
 * would be more work than is wanted: so much. Else that is 0.
 *
 * A unit of work takes about a tenth of a millisecond.
 */
tg_status tgi_program_create(const tgi_graph *graph, const int64_t *values,
                             const tgi_jit_options *options, size_t *out_work,
                             tgi_program **out_program);
tgi_program *tgi_program_retain(tgi_program *program);
void tgi_program_release(tgi_program *program);
/* Memory it holds on to, code included. */
size_t tgi_program_bytes(const tgi_program *program);

/* -- Native: a program ready to run for one set of extents ----------------- */

typedef struct tgi_native tgi_native;

typedef struct tgi_native_options {
    tgi_host host;
    uint64_t memory_limit; /* bytes of temporaries; 0: none */
    int threads;           /* 0: as many as there are CPUs */
    int64_t grain;         /* work a thread must have, in ps; 0: any */
} tgi_native_options;

tg_status tgi_native_create(tgi_program *program, const int64_t *symbols,
                            const tgi_native_options *options,
                            tgi_native **out_native);
void tgi_native_destroy(tgi_native *native);

/*
 * Sets the buffers of later runs, with the rules of tgi_interp_run. Allocates
 * what results need that are NULL or lie in a parameter's buffer; if it fails,
 * those set before stay.
 */
tg_status tgi_native_bind(tgi_native *native, void *const *params,
                          void *const *results);

/* Runs it. The caller holds the locks of variables and has set the
   floating-point mode. */
tg_status tgi_native_run(tgi_native *native);

/* The contents of a variable: no two that differ have the same. */
typedef struct tgi_contents_id {
    uint64_t variable; /* its id, never 0 … */
    uint64_t version;  /* … and the version of what is in it */
} tgi_contents_id;

/*
 * Parameters from which a native makes something that lasts from run to run.
 * Before each run it is told what they contain (by number of the list); without
 * that it makes everything anew.
 */
size_t tgi_native_memoised_params(const tgi_native *native,
                                  const uint32_t **out_params);
void tgi_native_set_contents(tgi_native *native, size_t number,
                             tgi_contents_id contents);

/* Bytes of temporaries: what they take, and what no plan could do without. */
uint64_t tgi_native_bytes(const tgi_native *native);
uint64_t tgi_native_peak_bytes(const tgi_native *native);
/* Threads a run would use from here. */
int tgi_native_threads(const tgi_native *native);

/* -- Ahead of time --------------------------------------------------------- */

typedef struct tgi_export_options {
    const char *symbol;
    const char *cpu; /* as in tgi_jit_options */
    unsigned vector_bits;
    bool verifies;
    int threads;       /* of a call, at most: at least 1 */
    int64_t grain;     /* as in tgi_native_options */
    bool takes_memory; /* for temporaries, as a last parameter; else static */
} tgi_export_options;

/* An object with one function, of which the parameters are those of the graph,
   then its results. */
typedef struct tgi_exported {
    void *object;
    size_t object_bytes;
    int64_t memory_bytes; /* of temporaries */
    int threads;          /* of a call; 1: it needs no library */
} tgi_exported;

/*
 * Compiles a graph for other programs. All extents must be known; it must
 * neither print nor have calls. UNSUPPORTED as tgi_program_create. Deinit if
 * it succeeds.
 */
tg_status tgi_jit_export(const tgi_graph *graph,
                         const tgi_export_options *options,
                         tgi_exported *out_exported);
void tgi_exported_deinit(tgi_exported *exported);

/* Whether an exported function takes this parameter of its graph as a number:
   an input without axes. Else it is a pointer. */
bool tgi_export_is_by_value(const tgi_graph *graph, size_t param);

#endif /* TGI_JIT_H */
