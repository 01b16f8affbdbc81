/* SPDX-License-Identifier: MIT */
/*
 * loops_building.h - for tests of the code generator: hand-made loop IR,
 * compiled, loaded and run on buffers between guard pages.
 */
#ifndef TGI_TEST_LOOPS_BUILDING_H
#define TGI_TEST_LOOPS_BUILDING_H

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "codegen/entry_abi.h"
#include "llvm/llvm_codegen.h"
#include "loop/loops.h"
#include "object/image.h"
#include "run/work_share.h"
#include "schedule/choose.h"

/* -- Loops ----------------------------------------------------------------- */

#define ADD(vec, ...) \
    __extension__({ \
        cr_assert(tgi_vec_push(vec, ((__VA_ARGS__)))); \
        (uint32_t)(vec)->n - 1; \
    })

static inline tgi_loops *new_loops(const char *name)
{
    tgi_dims *dims = tgi_dims_create();
    tgi_loops *loops = tgi_loops_create(name, dims, NULL);
    tgi_dims_release(dims);
    cr_assert(loops);
    return loops;
}

static inline uint32_t add_buffer(tgi_loops *loops, int dtype, tgi_dim count)
{
    return ADD(&loops->buffers,
               (tgi_loop_buffer){.place = TGI_PLACE_PARAM,
                                 .dtype = (uint8_t)dtype,
                                 .index = (uint32_t)loops->buffers.n,
                                 .count = count});
}

/* Appends a kernel and a step that runs it. */
static inline tgi_kernel_loops *add_kernel(tgi_loops *loops, const char *name,
                                           tgi_vectors vectors, int n_outer,
                                           const tgi_dim *extent)
{
    tgi_kernel_loops *k = tgi_loops_add_kernel(loops);
    cr_assert(k);
    k->name = name;
    k->vectors = (uint8_t)vectors;
    k->n_outer = (uint8_t)n_outer;
    k->has_inner = true;
    memcpy(k->extent, extent, ((size_t)n_outer + 1) * sizeof(*extent));
    ADD(&loops->steps, (tgi_loop_step){
                           .kind = TGI_STEP_RUN,
                           .kernel = tgi_kernel_id_from(loops->kernels.n - 1)});
    return k;
}

/* `host`: of a HOST step. */
static inline void add_step(tgi_loops *loops, int kind, uint32_t host)
{
    tgi_loop_step step = {.kind = (uint8_t)kind};
    if (kind == TGI_STEP_HOST)
        step.host = tgi_host_id_from(host);
    ADD(&loops->steps, step);
}

/* Strides along all axes; may be negative. */
static inline uint32_t add_access(tgi_kernel_loops *k, uint32_t buffer,
                                  tgi_dim offset, const int64_t *strides)
{
    tgi_access access = {.buffer = tgi_buffer_id_from(buffer),
                         .offset = offset};
    for (int axis = 0; axis <= k->n_outer; axis++)
        access.stride[axis] =
            (tgi_stride){strides[axis] < 0 ? -strides[axis] : strides[axis],
                         strides[axis] < 0};
    return ADD(&k->accesses, access);
}

static inline int level_of(const tgi_kernel_loops *k, uint32_t access)
{
    const tgi_access *a = &k->accesses.data[access];
    int level = a->index ? k->insts.data[a->index].level : TGI_LEVEL_KERNEL;
    for (int axis = 0; axis <= k->n_outer; axis++)
        if (a->stride[axis].distance != 0) {
            const int own =
                axis < k->n_outer ? TGI_LEVEL_POINT : TGI_LEVEL_INNER;
            level = own > level ? own : level;
        }
    return level;
}

static inline uint32_t add_inst(tgi_kernel_loops *k, tgi_inst inst)
{
    for (int i = 0; i < inst.n_operands; i++)
        if (k->insts.data[inst.operands[i]].level > inst.level)
            inst.level = k->insts.data[inst.operands[i]].level;
    return ADD(&k->insts, inst);
}

static inline uint32_t add_load(const tgi_loops *loops, tgi_kernel_loops *k,
                                int phase, uint32_t access)
{
    return add_inst(
        k,
        (tgi_inst){
            .kind = TGI_INST_LOAD,
            .dtype =
                tgi_loops_buffer(loops, k->accesses.data[access].buffer)->dtype,
            .level = (uint8_t)level_of(k, access),
            .phase = (uint16_t)phase,
            .number = access});
}

static inline uint32_t add_position(tgi_kernel_loops *k, int phase,
                                    uint32_t access)
{
    return add_inst(k, (tgi_inst){.kind = TGI_INST_POSITION,
                                  .dtype = TG_I64,
                                  .level = (uint8_t)level_of(k, access),
                                  .phase = (uint16_t)phase,
                                  .number = access});
}

static inline uint32_t add_constant(tgi_kernel_loops *k, int dtype,
                                    uint64_t bits)
{
    return add_inst(k, (tgi_inst){.kind = TGI_INST_CONSTANT,
                                  .dtype = (uint8_t)dtype,
                                  .bits = bits});
}

static inline uint32_t add_number(tgi_kernel_loops *k, int dtype, double x)
{
    uint64_t bits = 0;
    cr_assert(tgi_dtype_store(
        dtype, (tgi_number){.kind = TGI_NUMBER_FLOAT, .as = {.f = x}}, &bits));
    return add_constant(k, dtype, bits);
}

/* Operands that are 0 are absent. */
static inline uint32_t add_op(tgi_kernel_loops *k, int phase, tgi_op op,
                              uint32_t a, uint32_t b, uint32_t c)
{
    const uint32_t last = c ? c : b ? b : a;
    const uint8_t type = k->insts.data[last].dtype;
    return add_inst(
        k, (tgi_inst){.kind = TGI_INST_OP,
                      .op = (uint8_t)op,
                      .type = type,
                      .dtype = tgi_op_table[op].result == TGI_RESULT_BOOL
                                   ? TG_BOOL
                                   : type,
                      .phase = (uint16_t)phase,
                      .n_operands = (uint8_t)(1 + (b != 0) + (c != 0)),
                      .operands = {a, b, c}});
}

static inline uint32_t add_cast(tgi_kernel_loops *k, int phase, uint32_t a,
                                int dtype)
{
    return add_inst(k, (tgi_inst){.kind = TGI_INST_CAST,
                                  .op = TGI_OP_CAST,
                                  .type = k->insts.data[a].dtype,
                                  .dtype = (uint8_t)dtype,
                                  .phase = (uint16_t)phase,
                                  .n_operands = 1,
                                  .operands = {a}});
}

/* INDEX or IN_RANGE. */
static inline uint32_t add_index(tgi_kernel_loops *k, int kind, uint32_t a,
                                 tgi_dim dim)
{
    return add_inst(
        k, (tgi_inst){.kind = (uint8_t)kind,
                      .type = k->insts.data[a].dtype,
                      .dtype = kind == TGI_INST_INDEX ? TG_I64 : TG_BOOL,
                      .n_operands = 1,
                      .operands = {a},
                      .dim = dim});
}

/* Adds a reduction of `phase`; returns its REDUCED inst. */
static inline uint32_t add_reduction(tgi_kernel_loops *k, int phase,
                                     tgi_op op, uint32_t value,
                                     uint32_t other)
{
    const uint8_t dtype = k->insts.data[value].dtype;
    const uint32_t number = ADD(
        &k->reductions, (tgi_reduction){.op = (uint8_t)op,
                                        .dtype = dtype,
                                        .phase = (uint16_t)phase,
                                        .value = value,
                                        .other = other});
    return add_inst(
        k, (tgi_inst){.kind = TGI_INST_REDUCED,
                      .dtype = tgi_op_table[op].result == TGI_RESULT_I64
                                   ? TG_I64
                                   : dtype,
                      .level = TGI_LEVEL_POINT,
                      .phase = (uint16_t)phase,
                      .number = number});
}

static inline void add_store(tgi_kernel_loops *k, int phase, uint32_t value,
                             uint32_t access, int level)
{
    ADD(&k->stores, (tgi_loop_store){.value = value,
                                .access = access,
                                .phase = (uint16_t)phase,
                                .level = (uint8_t)level});
}

/* -- Buffers --------------------------------------------------------------- */

/* Bytes between two guard pages. They end at the upper page, or start at the
   lower one if `is_low`. */
typedef struct guarded {
    char *data;
    size_t bytes;
    char *pages;
    size_t n_pages_bytes;
} guarded;

static inline guarded new_guarded(size_t bytes, bool is_low)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t inside = (bytes + page - 1) / page * page;
    guarded g = {.bytes = bytes, .n_pages_bytes = inside + 2 * page};
    g.pages = mmap(NULL, g.n_pages_bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(g.pages != MAP_FAILED);
    if (inside)
        cr_assert_eq(mprotect(g.pages + page, inside, PROT_READ | PROT_WRITE),
                     0);
    g.data = is_low ? g.pages + page : g.pages + page + inside - bytes;
    return g;
}

static inline void free_guarded(guarded *g)
{
    munmap(g->pages, g->n_pages_bytes);
}

/* -- Code ------------------------------------------------------------------ */

typedef struct code {
    tgi_codegen codegen;
    tgi_image *image;
    tgi_entry *entry;
} code;

/* Verifies the loops and chooses schedules for vectors of `vector_bits` and a
   last-level cache of `cache_bytes`; 0: no non-temporal stores. */
static inline void schedule_loops(tgi_loops *loops, unsigned vector_bits,
                                  int64_t cache_bytes)
{
    tgi_target target;
    tgi_target_init(NULL, vector_bits, &target);
    target.non_temporal_bytes = cache_bytes;
    cr_assert_eq(tgi_loops_verify(loops), TG_OK, "%s", tg_error(NULL));
    cr_assert_eq(tgi_schedule_choose(loops, &target), TG_OK, "%s",
                 tg_error(NULL));
}

/* Compiles and loads loops with schedules, then destroys them. `options` holds
   non-default settings. */
static inline code compile_scheduled_loops(tgi_loops *loops,
                                           tgi_codegen_options options)
{
    code c = {0};
    options.verify = options.wants_assembly = options.wants_ir = true;
    options.alloc = tgi_alloc;
    options.free = tgi_free;
    const bool is_fine = tgi_llvm_codegen(loops, &options, &c.codegen);
    cr_assert(is_fine, "%s\n%s", c.codegen.error,
              c.codegen.ir_before ? c.codegen.ir_before : "");
    cr_assert_eq(tgi_image_load(c.codegen.object, c.codegen.object_bytes,
                                &c.image),
                 TG_OK, "%s", tg_error(NULL));
    const union {
        void *symbol;
        tgi_entry *call;
    } entry = {tgi_image_symbol(c.image, c.codegen.entry)};
    cr_assert(entry.symbol);
    c.entry = entry.call;
    tgi_loops_destroy(loops);
    return c;
}

static inline code compile_loops_for(tgi_loops *loops, unsigned vector_bits,
                                     int64_t cache_bytes)
{
    schedule_loops(loops, vector_bits, cache_bytes);
    return compile_scheduled_loops(
        loops, (tgi_codegen_options){.vector_bits = vector_bits});
}

static inline code compile_loops_with(tgi_loops *loops,
                                      tgi_codegen_options options)
{
    schedule_loops(loops, options.vector_bits, 0);
    return compile_scheduled_loops(loops, options);
}

static inline code compile_loops(tgi_loops *loops, unsigned vector_bits)
{
    return compile_loops_for(loops, vector_bits, 0);
}

static inline void free_code(code *c)
{
    tgi_image_release(c->image);
    tgi_llvm_codegen_dispose(&c->codegen);
}

/* -- Runs ------------------------------------------------------------------ */

typedef struct team_member {
    tgi_entry *entry;
    tgi_frame *frame;
    int64_t thread, n_threads;
} team_member;

static inline void *run_member(void *user)
{
    const team_member *m = user;
    m->entry(m->frame, m->thread, m->n_threads);
    return NULL;
}

static inline void wait_at_barrier(tgi_frame *frame)
{
    pthread_barrier_wait(frame->user);
}

/* Runs code on a team of threads. `frame` has buffers and extents. */
static inline void run_code(const code *c, tgi_frame *frame, int n_threads)
{
    pthread_barrier_t barrier;
    pthread_t threads[16];
    team_member members[16];
    cr_assert(n_threads <= 16);
    if (n_threads == 1) {
        c->entry(frame, 0, 1);
        return;
    }
    pthread_barrier_init(&barrier, NULL, (unsigned)n_threads);
    frame->share = tgi_work_share;
    frame->barrier = wait_at_barrier;
    frame->user = &barrier;
    for (int i = 0; i < n_threads; i++) {
        members[i] = (team_member){c->entry, frame, i, n_threads};
        cr_assert_eq(
            pthread_create(&threads[i], NULL, run_member, &members[i]), 0);
    }
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
}

#endif /* TGI_TEST_LOOPS_BUILDING_H */
