/* SPDX-License-Identifier: MIT */
/*
 * fuse_steps.c - kernels in order, with barriers between those that depend on
 * each other. Between two barriers lies an epoch; a buffer is in use from the
 * first epoch that touches it to the last, and memory is shared by buffers
 * whose epochs are apart.
 *
 * Tiny kernels are all the first thread's, which does one after the other:
 * among themselves they need no barrier.
 */
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "fuse_build.h"

/* What has happened to a buffer in the current epoch; above these bits, what
   tiny kernels have done to it. */
enum { READ = 1, WRITTEN = 2, PARTLY = 4, BITS = 3 };

/* Words of a tiny region, and of all of them, at most: they are one function,
   and LLVM takes more than twice the time for twice of it. */
enum { MOST_WORDS = 1500, MOST_WORDS_OF_ALL = 3000 };

typedef struct stepper {
    tgi_fuse_state *state;
    uint32_t epoch;
    uint32_t words;     /* of the tiny region of the last step … */
    uint32_t all_words; /* … and of all of them */
    bool is_tiny;       /* the kernel that is being added */
    TGI_VEC(uint8_t) touched; /* by buffer */
} stepper;

static tg_status add_step(stepper *st, int kind, uint32_t number)
{
    tgi_loop_step step = {(uint8_t)kind, number};
    if (kind != TGI_STEP_RUN)
        st->words = 0;
    return tgi_vec_push(&st->state->loops->steps, step) ? TG_OK
                                                        : tgi_error_memory();
}

static tg_status add_barrier(stepper *st)
{
    st->epoch++;
    if (st->touched.n)
        memset(st->touched.data, 0, st->touched.n);
    return add_step(st, TGI_STEP_BARRIER, 0);
}

/* Makes room for buffers that are new. */
static tg_status know_buffers(stepper *st)
{
    while (st->touched.n < st->state->loops->buffers.n)
        if (!tgi_vec_push(&st->touched, (uint8_t)0))
            return tgi_error_memory();
    return TG_OK;
}

/* What a kernel does to a buffer, as bits; true if that must wait. */
static bool conflicts(const stepper *st, uint32_t buffer, unsigned does)
{
    unsigned was = st->touched.data[buffer];
    was = st->is_tiny ? was & ((1u << BITS) - 1) : was | was >> BITS;
    if (does & READ)
        return was & (WRITTEN | PARTLY);
    if (does & WRITTEN)
        return was != 0;
    return was & (READ | WRITTEN); /* parts do not touch each other */
}

static void touch(stepper *st, uint32_t buffer, unsigned does)
{
    tgi_loop_buffer *b = &st->state->loops->buffers.data[buffer];
    st->touched.data[buffer] |= (uint8_t)(does << (st->is_tiny ? BITS : 0));
    if (!b->is_used)
        b->first = st->epoch;
    b->is_used = true;
    b->last = st->epoch;
}

/* Calls `look` for every buffer a kernel touches, until it says yes. */
static bool walk_buffers(stepper *st, const tgi_kernel_loops *k,
                         unsigned store_does,
                         bool look(stepper *st, uint32_t buffer,
                                   unsigned does))
{
    const tgi_loop_buffer *buffers = st->state->loops->buffers.data;
    for (size_t i = 1; i < k->insts.n; i++) {
        const tgi_inst *inst = &k->insts.data[i];
        if (inst->kind != TGI_INST_LOAD)
            continue;
        uint32_t buffer = k->accesses.data[inst->number].buffer;
        if (buffers[buffer].place != TGI_PLACE_SCRATCH &&
            look(st, buffer, READ))
            return true;
    }
    for (size_t i = 0; i < k->stores.n; i++) {
        uint32_t buffer = k->accesses.data[k->stores.data[i].access].buffer;
        if (buffers[buffer].place != TGI_PLACE_SCRATCH &&
            look(st, buffer, store_does))
            return true;
    }
    return false;
}

static bool look_conflict(stepper *st, uint32_t buffer, unsigned does)
{
    return conflicts(st, buffer, does);
}

static bool look_touch(stepper *st, uint32_t buffer, unsigned does)
{
    touch(st, buffer, does);
    return false;
}

/* -- Kinds of steps -------------------------------------------------------- */

/* Parts that lie side by side need not wait for each other. */
static unsigned store_does(const tgi_fuse_state *s, const tgi_fuse_kernel *k)
{
    for (size_t i = 0; i < k->tasks.n; i++) {
        const tgi_task *task = &s->tasks.data[k->tasks.data[i]];
        if (!task->is_part || task->is_over)
            return WRITTEN;
    }
    return PARTLY;
}

static tg_status add_run(stepper *st, uint32_t number, unsigned does)
{
    tgi_fuse_state *s = st->state;
    tgi_kernel_loops *k = s->loops->kernels.data[number];
    const uint32_t words = tgi_fuse_tiny_words(s, k);
    st->is_tiny = k->is_tiny =
        words && st->words + words <= MOST_WORDS &&
        st->all_words + words <= MOST_WORDS_OF_ALL;
    if (walk_buffers(st, k, does, look_conflict))
        TGI_TRY(add_barrier(st));
    walk_buffers(st, k, does, look_touch);
    st->words = st->is_tiny ? st->words + words : 0;
    st->all_words += st->is_tiny ? words : 0;
    st->is_tiny = false;
    if (k->is_tiny && s->explain)
        tgi_strbuf_addf(s->explain,
                        "kernel %s: tiny, straight-line in the entry\n",
                        k->name);
    return add_step(st, TGI_STEP_RUN, number);
}

static tg_status add_print(stepper *st, tgi_ref ref)
{
    tgi_fuse_state *s = st->state;
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    uint32_t *buffers = tgi_arena_alloc(
        &s->loops->arena, (node->n_inputs + 1) * sizeof(*buffers));
    if (!buffers)
        return tgi_error_memory();
    TGI_TRY(add_barrier(st));
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        uint32_t buffer =
            tgi_fuse_buffer_of(s, tgi_fuse_dense(s, node->inputs[i]));
        if (!buffer)
            return tg_error_last()->status;
        TGI_TRY(know_buffers(st));
        touch(st, buffer - 1, READ);
        buffers[i] = buffer - 1;
    }
    TGI_TRY(add_step(st, TGI_STEP_HOST, (uint32_t)s->loops->hosts.n));
    tgi_host_step step = {ref, buffers};
    if (!tgi_vec_push(&s->loops->hosts, step))
        return tgi_error_memory();
    TGI_TRY(add_barrier(st));
    return add_step(st, TGI_STEP_CHECKED, 0);
}

/* -- Names ----------------------------------------------------------------- */

/* "tg_step_3_tanh_sigmoid": the function, a number, what is most telling. */
static tg_status set_name(tgi_fuse_state *s, uint32_t number)
{
    tgi_kernel_loops *k = s->loops->kernels.data[number];
    char name[128];
    size_t n = (size_t)snprintf(name, sizeof(name), "tg_%.40s_%u",
                                s->loops->name, number);
    int n_ops = 0;
    uint8_t last = 0;
    for (size_t i = k->reductions.n; i-- > 0 && n_ops < 2;) {
        last = k->reductions.data[i].op;
        n_ops++;
        n += (size_t)snprintf(name + n, sizeof(name) - n, "_%s",
                              tgi_op_table[last].name);
    }
    for (size_t i = k->insts.n; i-- > 1 && n_ops < 4;) {
        const tgi_inst *inst = &k->insts.data[i];
        if (inst->kind != TGI_INST_OP || inst->op == last)
            continue;
        last = inst->op;
        n_ops++;
        n += (size_t)snprintf(name + n, sizeof(name) - n, "_%s",
                              tgi_op_table[last].name);
    }
    if (!n_ops)
        snprintf(name + n, sizeof(name) - n, "_copy");
    for (char *c = name; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
              (*c >= '0' && *c <= '9')))
            *c = '_';
    k->name = tgi_arena_copy(&s->loops->arena, name, strlen(name) + 1);
    return k->name ? TG_OK : tgi_error_memory();
}

/* -- All ------------------------------------------------------------------- */

static tg_status build_kernel(stepper *st, tgi_fuse_kernel *k)
{
    tgi_fuse_state *s = st->state;
    const tgi_task *task = &s->tasks.data[k->tasks.data[0]];
    if (task->kind == TGI_TASK_PRINT)
        return add_print(st, task->node);
    uint32_t number = (uint32_t)s->loops->kernels.n;
    TGI_TRY(tgi_fuse_build_kernel(s, k));
    TGI_TRY(know_buffers(st));
    for (; number < s->loops->kernels.n; number++) {
        TGI_TRY(set_name(s, number));
        TGI_TRY(add_run(st, number, store_does(s, k)));
    }
    if (task->kind != TGI_TASK_CHECK)
        return TG_OK;
    TGI_TRY(add_barrier(st));
    return add_step(st, TGI_STEP_CHECKED, 0);
}

/* What is kept from call to call is in use all the time. */
static void keep_buffers(tgi_loops *loops)
{
    for (size_t i = 0; i < loops->kernels.n; i++) {
        const tgi_kernel_loops *k = loops->kernels.data[i];
        for (size_t j = 0; k->kept && j < k->stores.n; j++) {
            const tgi_access *access =
                &k->accesses.data[k->stores.data[j].access];
            tgi_loop_buffer *b = &loops->buffers.data[access->buffer];
            b->first = 0;
            b->last = loops->n_epochs - 1;
        }
    }
}

tg_status tgi_fuse_build(tgi_fuse_state *s)
{
    stepper st = {.state = s};
    tg_status status = TG_OK;
    for (size_t i = 0; i < s->kernels.n && !status; i++)
        status = build_kernel(&st, &s->kernels.data[i]);
    s->loops->n_epochs = st.epoch + 1;
    keep_buffers(s->loops);
    tgi_vec_deinit(&st.touched);
    if (!status)
        status = tgi_fuse_tiny_values(s);
    return status ? status : tgi_fuse_in_place(s);
}
