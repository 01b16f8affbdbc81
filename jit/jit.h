/* SPDX-License-Identifier: MIT */
/*
 * jit.h - the interface of the compiler to the front end.
 *
 * It also includes the headers of stages that the front end uses: generator.h,
 * code_cache.h, disk_cache.h, loop_pass.h, target_names.h and variant.h. None
 * of them needs LLVM, which is in a plugin that the first compile loads.
 */
#ifndef TGI_JIT_H
#define TGI_JIT_H

#include "base/log.h"
#include "cache/code_cache.h"
#include "cache/disk_cache.h"
#include "codegen/generator.h"
#include "fuse/variant.h"
#include "ir/graph.h"
#include "loop/loop_pass.h"
#include "profile/profile.h"
#include "runtime/host.h"
#include "target/host_calibration.h"
#include "target/target_names.h"
#include "tune.h"

/* Appends the loops of a graph for calls whose extents have these values; if
   `explains_fusion`, the decisions of fusion and the memory plan instead. Bit i
   of skip_passes: loop pass i is left out, if it is optional. */
tg_status tgi_jit_print_loops(const tgi_graph *graph, const int64_t *values,
                              uint32_t skip_passes, bool explains_fusion,
                              tgi_strbuf *out);

/* Tools that can see compiled code. */
enum {
    TGI_SHOW_GDB = 1,    /* gdb's JIT interface */
    TGI_SHOW_PERF = 2,   /* /tmp/perf-PID.map */
    TGI_SHOW_JITDUMP = 4 /* jit-PID.dump, for perf annotate */
};

/* Registers code that is loaded from now on with tools; a jitdump file is
   written to `directory`. Cannot be undone. */
void tgi_jit_show_code(unsigned tools, const char *directory);

/* -- Programs: compiled graphs --------------------------------------------- */

typedef struct tgi_program tgi_program;

typedef struct tgi_jit_options {
    const tgi_log *log;
    const char *cpu;        /* NULL: the host */
    unsigned vector_bits;   /* 0: chosen by CPU */
    bool instruments;       /* for AddressSanitizer */
    size_t max_work;        /* a longer compile is not done; 0.1 ms */
    uint32_t skip_passes;   /* bit i: leave loop pass i out (loop_pass.h) */
    bool verifies;          /* verify loops after each pass, schedules, LLVM IR */
    uint64_t schedule_seed; /* of random schedules, for tests; 0: none */
    tgi_disk_cache *disk_cache; /* NULL: none */
    tgi_tuning tuning; /* measured planning */
    tgi_calibration calibration; /* of this machine; all 0: none */
    /* Receives the text of the stages for which wants_stage returns true:
       "fusion", "loops", "ir", "ir-after", "asm". If it does for "passes", the
       loops after each loop pass, as a stage of its name. NULL: none. */
    bool (*wants_stage)(const char *stage, void *user);
    void (*observe_stage)(const char *stage, const char *text, void *user);
    void *user;
    /* Of the compile; set by tgi_program_create, which stores it in the
       program. */
    tgi_compile_stats *stats;
} tgi_jit_options;

/*
 * Compiles `graph` (retained) for the variant of calls whose extents have these
 * values (variant.h). UNSUPPORTED if there is no code generator, or if it
 * cannot compile this graph; the error record has the reason. If the code is in
 * no cache and the estimated compile exceeds options->max_work, *out_program is
 * NULL and *out_work the estimate; else *out_work is 0.
 *
 * The unit of work is about 0.1 ms of compile time.
 */
tg_status tgi_program_create(const tgi_graph *graph, const int64_t *values,
                             const tgi_jit_options *options, size_t *out_work,
                             tgi_program **out_program);
tgi_program *tgi_program_retain(tgi_program *program);
void tgi_program_release(tgi_program *program);
/* Bytes of memory it uses, including code shared with other programs. */
size_t tgi_program_bytes(const tgi_program *program);
/* How its code was made. */
const tgi_compile_stats *tgi_program_stats(const tgi_program *program);

/* -- Native: a program ready to run for one set of extents ----------------- */

typedef struct tgi_native tgi_native;

/* Measures this machine, in about a second. What cannot be measured is 0. The
   second function returns the number of CPUs that it is measured with. */
void tgi_calibrate(tgi_calibration *out_calibration, int *out_n_cpus);
int tgi_calibration_cpus(void);

/* Times kernels alone, on scratch memory (run/kernel_timer.c). */
extern const tgi_kernel_timer tgi_scratch_timer;

typedef struct tgi_native_options {
    tgi_host host;
    uint64_t memory_limit; /* bytes of temporaries; 0: none */
    int threads;           /* 0: the number of CPUs */
    int64_t grain;         /* minimal work of a thread, in ps; 0: none */
} tgi_native_options;

/* Evaluates the extents and allocates temporaries. Retains the program.
   `symbols` are the values of the graph's symbolic extents. */
tg_status tgi_native_create(tgi_program *program, const int64_t *symbols,
                            const tgi_native_options *options,
                            tgi_native **out_native);
void tgi_native_destroy(tgi_native *native);

/*
 * Sets the buffers of later runs, with the rules of tgi_interp_run. Allocates
 * staging buffers for results that cannot be written in place; on failure the
 * previous buffers stay.
 */
tg_status tgi_native_bind(tgi_native *native, void *const *params,
                          void *const *results);

/* Runs it on one thread or a team. The caller holds the locks of variables and
   has set the floating-point mode. */
tg_status tgi_native_run(tgi_native *native);

/*
 * The same, timed: adds events to the timeline, and the times of kernels to
 * `call`, whose samples are valid until the next run. `trace`, which may be
 * NULL, has the units.
 */
tg_status tgi_native_run_profiled(tgi_native *native, tgi_profile_trace *trace,
                                  tgi_profile_call *call);

/* Later runs record their prints and host calls; NULL: not. */
void tgi_native_set_host_log(tgi_native *native, tgi_host_log *log);

/* Identifies the contents of a variable: different contents have different
   ids. */
typedef struct tgi_contents_id {
    uint64_t variable; /* id of the variable, never 0 */
    uint64_t version;  /* of its contents */
} tgi_contents_id;

/*
 * Parameters from which the program computes memoised operands (packed
 * matrices), which stay valid until the parameter's contents change. The caller
 * sets the contents of each, by its position in the list, before each run;
 * else the run recomputes the operand.
 */
size_t tgi_native_memoised_params(const tgi_native *native,
                                  const uint32_t **out_params);
void tgi_native_set_contents(tgi_native *native, size_t number,
                             tgi_contents_id contents);

/* Bytes of the arena of temporaries, and the peak of the bytes that are live at
   once, a lower bound of any plan. */
uint64_t tgi_native_bytes(const tgi_native *native);
uint64_t tgi_native_peak_bytes(const tgi_native *native);
/* Threads of a run, as chosen when it was created. */
int tgi_native_threads(const tgi_native *native);

/* -- Ahead of time --------------------------------------------------------- */

typedef struct tgi_export_options {
    const char *symbol;
    const char *cpu; /* as in tgi_jit_options */
    unsigned vector_bits;
    uint32_t skip_passes;
    bool verifies;
    int threads;       /* maximum of a call, at least 1 */
    int64_t grain;     /* as in tgi_native_options */
    bool takes_memory; /* temporaries are the last parameter; else static */
} tgi_export_options;

/* An object with one function. Its parameters are those of the graph, then one
   per result. */
typedef struct tgi_exported {
    void *object;
    size_t object_bytes;
    int64_t memory_bytes; /* of temporaries */
    int threads;          /* of a call; 1: no library is needed */
} tgi_exported;

/*
 * Compiles a graph ahead of time. All extents must be known. UNSUPPORTED as
 * tgi_program_create, and if the graph prints, asserts, calls the host, or
 * saves values in a loop of unknown length. On success tgi_exported_deinit is
 * due.
 */
tg_status tgi_jit_export(const tgi_graph *graph,
                         const tgi_export_options *options,
                         tgi_exported *out_exported);
void tgi_exported_deinit(tgi_exported *exported);

/* True if an exported function takes this parameter by value, because it is an
   input of rank 0; else by pointer. */
bool tgi_export_is_by_value(const tgi_graph *graph, size_t param);

#endif /* TGI_JIT_H */
