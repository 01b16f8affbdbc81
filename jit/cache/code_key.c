/* SPDX-License-Identifier: MIT */
/*
 * code_key.c - the key of a compile: all inputs of the code generator as bytes.
 *
 * A description line for tgjit-cache is followed by LEB128 numbers. Each list
 * is preceded by its length, so that different loops have different keys.
 * Names and lines of the user's program are part of the key only if the code
 * has debug information.
 *
 * A member that is added to loops.h and read by jit/llvm must be added here, or
 * in kernel_key.c, which has those of kernels and schedules.
 */
#include "cache/code.h"

#include <string.h>

#include "base/error.h"
#include "build_id.h"
#include "cache/kernel_key.h"
#include "loop/leb128.h"
#include "target/host_cpu.h"

static void put(tgi_strbuf *key, uint64_t number)
{
    tgi_leb128_put(key, number);
}

static void put_dim(tgi_strbuf *key, tgi_dim dim)
{
    put(key, (uint64_t)dim);
}

/* -- Programs -------------------------------------------------------------- */

static void put_control(tgi_strbuf *key, const tgi_control_flow *control)
{
    put(key, control->n_cases);
    put(key, control->operand.raw);
    put(key, control->counter.raw);
    put(key, control->has_test);
    put(key, control->test.raw);
    put(key, control->is_limited);
    put(key, control->limit_check);
    put(key, control->is_cancellable);
    put(key, control->cancel_check);
    put(key, control->stack_set.raw);
    put(key, control->has_base);
    put(key, control->base.raw);
    put(key, control->memory_check);
    put(key, control->is_straightline);
    put(key, control->n_carried);
    for (uint32_t i = 0; i < control->n_carried; i++) {
        put(key, control->carried[i].raw);
        put(key, control->next[i].raw);
        put(key, control->in_registers ? control->in_registers[i] : 0);
    }
    put(key, control->n_moved);
    for (uint32_t i = 0; i < control->n_moved; i++) {
        put(key, control->from[i].raw);
        put(key, control->to[i].raw);
    }
}

static void put_row_blocks(tgi_strbuf *key, const tgi_row_blocks *rows)
{
    put_dim(key, rows->matrices);
    put_dim(key, rows->rows);
    put(key, (uint64_t)rows->block_rows);
    put(key, rows->n_kernels);
    for (uint32_t i = 0; i < rows->n_kernels; i++) {
        put(key, rows->kernels[i].n_axes);
        put_dim(key, rows->kernels[i].per_row);
        put(key, (uint64_t)rows->kernels[i].rows_per_index);
    }
    put(key, rows->n_buffers);
    for (uint32_t i = 0; i < rows->n_buffers; i++) {
        put(key, rows->buffers[i].buffer.raw);
        put_dim(key, rows->buffers[i].row_elements);
    }
}

static void put_host_step(tgi_strbuf *key, const tgi_host_step *host)
{
    put(key, host->n_inputs);
    put(key, host->n_buffers);
    for (uint32_t i = 0; i < host->n_buffers; i++)
        put(key, host->buffers[i].raw);
}

static void put_kernel(tgi_strbuf *key, const tgi_kernel_loops *kernel)
{
    put(key, kernel->is_straightline);
    put(key, kernel->memo.raw);
    put(key, kernel->twin.raw);
    put(key, kernel->checks.n);
    for (size_t i = 0; i < kernel->checks.n; i++) {
        put(key, kernel->checks.data[i].value);
        put(key, kernel->checks.data[i].position);
        put(key, kernel->checks.data[i].index);
        put(key, kernel->checks.data[i].number);
        put(key, kernel->checks.data[i].phase);
    }
    tgi_kernel_key(kernel, NULL, key);
}

static void put_loops(tgi_strbuf *key, const tgi_loops *loops)
{
    put(key, loops->buffers.n);
    for (size_t i = 0; i < loops->buffers.n; i++) {
        const tgi_loop_buffer *buffer = &loops->buffers.data[i];
        put(key, buffer->place);
        put(key, buffer->dtype);
        put(key, buffer->index);
        put_dim(key, buffer->count);
        put(key, buffer->is_used);
        put(key, buffer->first_epoch);
        put(key, buffer->last_epoch);
    }
    put(key, loops->kernels.n);
    for (size_t i = 0; i < loops->kernels.n; i++)
        put_kernel(key, loops->kernels.data[i]);
    put(key, loops->steps.n);
    for (size_t i = 0; i < loops->steps.n; i++) {
        put(key, loops->steps.data[i].kind);
        put(key, loops->steps.data[i].kernel.raw); /* or another id */
    }
    put(key, loops->hosts.n);
    for (size_t i = 0; i < loops->hosts.n; i++)
        put_host_step(key, &loops->hosts.data[i]);
    put(key, loops->runtime_checks.n);
    for (size_t i = 0; i < loops->runtime_checks.n; i++)
        put(key, loops->runtime_checks.data[i].buffer.raw);
    put(key, loops->controls.n);
    for (size_t i = 0; i < loops->controls.n; i++)
        put_control(key, &loops->controls.data[i]);
    put(key, loops->row_blocks.n);
    for (size_t i = 0; i < loops->row_blocks.n; i++)
        put_row_blocks(key, &loops->row_blocks.data[i]);
    put(key, loops->n_epochs);
}

/* -- Debug information ----------------------------------------------------- */

static void put_text(tgi_strbuf *key, const char *text)
{
    const size_t n = text ? strlen(text) : 0;
    put(key, n);
    tgi_strbuf_add_bytes(key, text, n);
}

/* A site: 0, or 1 if it is `*last`, or 2 and its members. */
static void put_site(tgi_strbuf *key, const tgi_site_chain *site,
                     const tgi_site_chain **last)
{
    put(key, !site ? 0 : site == *last ? 1 : 2);
    if (!site || site == *last)
        return;
    *last = site;
    for (; site; site = site->caller) {
        put_text(key, site->file);
        put_text(key, site->function);
        put(key, (uint64_t)site->line);
        put(key, site->caller != NULL);
    }
}

static void put_node_site(tgi_strbuf *key, const tgi_graph *graph, tgi_ref node,
                          const tgi_site_chain **last)
{
    put_site(key, tgi_loops_site(graph, node), last);
}

static void put_kernel_sites(tgi_strbuf *key, const tgi_kernel_loops *kernel,
                             const tgi_site_chain **last)
{
    put_text(key, kernel->name);
    put_site(key, kernel->main_site, last);
    for (size_t i = 1; i < kernel->insts.n; i++)
        put_node_site(key, kernel->graph, kernel->insts.data[i].node, last);
    for (size_t i = 0; i < kernel->stores.n; i++)
        put_node_site(key, kernel->graph, kernel->stores.data[i].node, last);
    for (size_t i = 0; i < kernel->reductions.n; i++)
        put_node_site(key, kernel->graph, kernel->reductions.data[i].node,
                      last);
}

static void put_debug_info(tgi_strbuf *key, const tgi_loops *loops,
                           const char *directory)
{
    const tgi_site_chain *last = NULL;
    put_text(key, directory);
    put_text(key, loops->name);
    for (size_t i = 0; i < loops->kernels.n; i++)
        put_kernel_sites(key, loops->kernels.data[i], &last);
    for (size_t i = 0; i < loops->hosts.n; i++)
        put_node_site(key, loops->hosts.data[i].graph,
                      loops->hosts.data[i].node, &last);
    for (size_t i = 0; i < loops->controls.n; i++)
        put_node_site(key, loops->controls.data[i].graph,
                      loops->controls.data[i].node, &last);
}

/* -- Keys ------------------------------------------------------------------ */

/* Describes the first kernels by their ops. */
static void put_ops(tgi_strbuf *key, const tgi_loops *loops)
{
    enum { MAX_KERNELS = 3 };
    for (size_t i = 0; i < loops->kernels.n && i < MAX_KERNELS; i++) {
        const tgi_kernel_loops *kernel = loops->kernels.data[i];
        tgi_op last = TGI_OP_NONE;
        tgi_strbuf_add(key, i ? ", " : " ");
        for (size_t k = 1; k < kernel->insts.n; k++) {
            const tgi_inst *inst = &kernel->insts.data[k];
            if (inst->kind != TGI_INST_OP || inst->op == last)
                continue;
            tgi_strbuf_addf(key, "%s%s", last ? "_" : "",
                            tgi_op_table[inst->op].name);
            last = (tgi_op)inst->op;
        }
    }
    if (loops->kernels.n > MAX_KERNELS)
        tgi_strbuf_add(key, " …");
}

void tgi_code_key(const tgi_loops *loops, const tgi_codegen_options *options,
                  tgi_strbuf *out_key)
{
    /* Also the host: a compile for a CPU it does not support fails. */
    tgi_strbuf_addf(
        out_key, "%s, LLVM %s, %s on %s, %u bits, %zu kernel%s:", TGI_BUILD_ID,
        TGI_LLVM_VERSION, options->cpu && *options->cpu ? options->cpu : "host",
        options->host ? options->host : tgi_host_cpu(), options->vector_bits,
        loops->kernels.n,
        TGI_PLURAL(loops->kernels.n));
    put_ops(out_key, loops);
    tgi_strbuf_add(out_key, "\n");
    put(out_key, options->instruments);
    put(out_key, options->has_step_hooks);
    put(out_key, options->has_polls);
    put(out_key, options->can_be_cancelled);
    put_loops(out_key, loops);
    put(out_key, options->debug_directory != NULL);
    if (options->debug_directory)
        put_debug_info(out_key, loops, options->debug_directory);
}
