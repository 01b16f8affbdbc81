/* SPDX-License-Identifier: MIT */
/*
 * llvm_rows.c - a point of a kernel whose vectors lie along the inner axis:
 * its phases one after the other, each of them a loop of full vectors and
 * something for the elements left over.
 */
#include "llvm_lower.h"

void tgi_llvm_rest_of_rows(tgi_llvm_kernel *k, unsigned phase,
                           LLVMValueRef from, LLVMValueRef to,
                           tgi_llvm_visit *visit, void *user)
{
    const unsigned lanes = k->e->lanes;
    tgi_llvm_loop loop;
    k->e->lanes = k->phases[phase].rest_lanes;
    tgi_llvm_loop_begin(k, &loop, from, to, k->e->lanes, NULL, 0);
    k->index[k->inner] = loop.index;
    if (k->e->lanes > 1)
        k->mask =
            tgi_llvm_first_lanes(k, LLVMBuildSub(k->b, to, loop.index, ""));
    visit(k, phase, user);
    k->mask = NULL;
    tgi_llvm_loop_end(k, &loop, NULL);
    k->e->lanes = lanes;
}

void tgi_llvm_along_rows(tgi_llvm_kernel *k, unsigned phase,
                         LLVMValueRef from, LLVMValueRef to,
                         tgi_llvm_visit *visit, void *user)
{
    const unsigned lanes = k->phases[phase].lanes;
    k->e->lanes = lanes;
    from = tgi_llvm_stream(k, phase, from, to, visit, user);
    LLVMValueRef end = tgi_llvm_full_end(k, from, to, lanes);
    if (!tgi_llvm_are_same(from, end)) {
        tgi_llvm_loop loop;
        tgi_llvm_loop_begin(k, &loop, from, end, lanes, NULL, 0);
        k->index[k->inner] = loop.index;
        visit(k, phase, user);
        tgi_llvm_loop_end(k, &loop, NULL);
    }
    if (!tgi_llvm_are_same(end, to) && lanes > 1)
        tgi_llvm_rest_of_rows(k, phase, end, to, visit, user);
    k->index[k->inner] = NULL;
}

static void map(tgi_llvm_kernel *k, unsigned phase, void *user)
{
    (void)user;
    tgi_llvm_body(k, phase);
}

void tgi_llvm_rows(tgi_llvm_kernel *k, LLVMValueRef from, LLVMValueRef to)
{
    for (unsigned phase = 0; phase < k->loops->n_phases; phase++) {
        k->e->lanes = 1;
        tgi_llvm_point_insts(k, phase, false);
        if (k->phases[phase].has_loop) {
            k->e->lanes = k->phases[phase].lanes;
            tgi_llvm_splats_begin(k, phase);
            if (k->phases[phase].n_reductions)
                tgi_llvm_rows_reduce(k, phase, from, to);
            else
                tgi_llvm_along_rows(k, phase, from, to, map, NULL);
            tgi_llvm_splats_end(k);
        }
        k->e->lanes = 1;
        tgi_llvm_point_insts(k, phase, true);
        tgi_llvm_point_stores(k, phase);
    }
}
