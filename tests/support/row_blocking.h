/* SPDX-License-Identifier: MIT */
/*
 * row_blocking.h - for tests of row blocks: callbacks that have them, and their
 * loops for a target.
 */
#ifndef TGI_TEST_ROW_BLOCKING_H
#define TGI_TEST_ROW_BLOCKING_H

#include "blocks/verify_blocks.h"
#include "schedule/schedule.h"
#include "support/fusing.h"
#include "target/target.h"

/* -- Callbacks ------------------------------------------------------------- */

/* in: queries, keys, values [matrices, rows, features] */
static inline void attention(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value scores =
        tg_mul(tg_matmul_with(in[0], in[1], TG_TRANSPOSE_B), 0.125);
    tg_return(t, tg_matmul(tg_softmax(scores, -1), in[2]));
}

/* in: x [rows, features], labels [rows], weights and bias, which it changes */
static inline void logistic_step(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value z = tg_add(tg_matmul(in[0], in[2]), in[3]);
    const tg_value loss =
        tg_mean(tg_sub(tg_softplus(z), tg_mul(in[1], z)), TG_ALL_AXES);
    tg_return(t, loss,
              tg_sub(in[2], tg_mul(tg_gradient(loss, in[2]), 0.01)),
              tg_sub(in[3], tg_mul(tg_gradient(loss, in[3]), 0.01)));
}

/* in: x [rows, features], weights of two layers */
static inline void layers(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul(tg_relu(tg_matmul(in[0], in[1])), in[2]));
}

/* A reduction down all rows stands between two layers, and a kernel that has
   nothing to do with them. in: as layers, and a row */
static inline void layers_and_sums(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value hidden = tg_tanh(tg_matmul(in[0], in[1]));
    tg_return(t, tg_sum(hidden, TG_AXES(0)), tg_softmax(in[3], -1),
              tg_matmul(hidden, in[2]));
}

/* -- Loops ----------------------------------------------------------------- */

/* Schedules fused loops for a target, and adds row blocks. */
static inline void block_for(fused *fu, const char *target_name)
{
    tgi_target target;
    cr_assert(tgi_target_by_name(target_name, &target));
    tgi_loop_pass_state state = {.graph = fu->concrete->graph,
                                 .target = &target,
                                 .verifies = true,
                                 .loops = fu->loops};
    cr_assert_eq(tgi_loop_pass_schedule(&state), TG_OK, "%s", tg_error(NULL));
    cr_assert_eq(tgi_loop_pass_row_blocks(&state), TG_OK, "%s", tg_error(NULL));
    cr_assert_eq(tgi_loops_verify(fu->loops), TG_OK, "%s", tg_error(NULL));
}

#endif /* TGI_TEST_ROW_BLOCKING_H */
