/* SPDX-License-Identifier: MIT */
/*
 * fuse_sites.c - the user's lines that traced a kernel, for profiles. A node
 * keeps the line of the call that created it; a fused kernel has many. They are
 * ordered by the work that each of them causes.
 */
#include "fuse/fuse_kernel.h"
#include "fuse/fuse_steps.h"
#include "fuse/fuse_task.h"
#include "loop/inst_cost.h"

#include <string.h>

#include "base/error.h"

enum { MAX_SITES = 16 };

typedef struct weighed_sites {
    size_t n;
    struct {
        const tgi_site_chain *site; /* of the first node of its line */
        uint64_t weight;
    } all[MAX_SITES];
} weighed_sites;

/* Adds the work of a node. Sites beyond MAX_SITES are left out. */
static void add_site(weighed_sites *sites, const tgi_graph *graph, tgi_ref ref,
                     uint64_t weight)
{
    const tgi_site_chain *site = ref ? tgi_graph_node(graph, ref)->site : NULL;
    if (!site)
        return;
    size_t i = 0;
    while (i < sites->n && (sites->all[i].site->line != site->line ||
                            strcmp(sites->all[i].site->file, site->file) != 0))
        i++;
    if (i == MAX_SITES)
        return;
    if (i == sites->n) {
        sites->all[sites->n++].weight = 0;
        sites->all[i].site = site;
    }
    sites->all[i].weight += weight;
}

/* Stable, so that equal weights keep the order of the nodes. */
static void sort_sites(weighed_sites *sites)
{
    for (size_t i = 1; i < sites->n; i++)
        for (size_t k = i;
             k > 0 && sites->all[k - 1].weight < sites->all[k].weight; k--) {
            const __typeof__(sites->all[0]) other = sites->all[k];
            sites->all[k] = sites->all[k - 1];
            sites->all[k - 1] = other;
        }
}

/* A step of a reduction runs for every element; a matmul rereads its operands
   besides, so that it outweighs its epilogue. */
static uint64_t reduction_weight(const tgi_task *task)
{
    enum { STEP = 4, MATMUL = 1 << 20 };
    return task->reduce.op == TGI_OP_MATMUL ? MATMUL : STEP;
}

tg_status tgi_fuse_set_sites(tgi_fuse_state *s, const tgi_fuse_kernel *k,
                             tgi_kernel_loops *loops)
{
    enum { ELEMENTS_PER_POINT = 16 }; /* a guess; extents may be unknown */
    weighed_sites sites = {.n = 0};
    for (uint32_t i = 1; i < loops->insts.n; i++) {
        const tgi_inst *inst = &loops->insts.data[i];
        const uint64_t weight =
            tgi_inst_cost(loops, inst, TGI_COST_ASSUMED).half_cycles;
        if (inst->kind == TGI_INST_OP || inst->kind == TGI_INST_CAST ||
            inst->kind == TGI_INST_RANDOM)
            add_site(&sites, s->graph, inst->node,
                     inst->level == TGI_LEVEL_INNER
                         ? ELEMENTS_PER_POINT * weight
                         : weight);
    }
    for (size_t i = 0; i < k->tasks.n; i++) {
        const tgi_task *task = tgi_fuse_kernel_task(s, k, i);
        add_site(&sites, s->graph, tgi_task_origin(task),
                 tgi_task_is_reduction(task)
                     ? ELEMENTS_PER_POINT * reduction_weight(task)
                     : 0);
    }
    sort_sites(&sites);
    tg_site *all = tgi_arena_alloc(&s->loops->arena,
                                   (sites.n + 1) * sizeof(*all));
    if (!all)
        return tgi_error_memory();
    for (size_t i = 0; i < sites.n; i++)
        all[i] = (tg_site){sites.all[i].site->file, sites.all[i].site->line};
    loops->sites = all;
    loops->n_sites = (uint32_t)sites.n;
    loops->main_site = sites.n ? sites.all[0].site : NULL;
    return TG_OK;
}
