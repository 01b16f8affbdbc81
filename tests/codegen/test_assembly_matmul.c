/* SPDX-License-Identifier: MIT */
/*
 * test_assembly_matmul.c - the innermost loop of a matrix product: accumulators
 * in registers, and per step of k only the FMAs of the micro-kernel and the
 * loads they share.
 */
#include "codegen/assembling.h"

static void times(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul(in[0], in[1]));
}

static void layer(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_relu(tg_add(tg_matmul(in[0], in[1]), in[2])));
}

static void long_layer(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_gelu(tg_matmul(in[0], in[1])));
}

static void network(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = in[0];
    for (int i = 1; i <= 3; i++)
        x = tg_relu(tg_matmul(x, in[i]));
    tg_return(t, x);
}

static void times_transposed(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul_with(in[0], in[1], TG_TRANSPOSE_B));
}

/* Vector loads and broadcasts, and no other operation on the loaded values. */
static bool is_load(const assembly_line *line)
{
    static const char *const names[] = {"vmovup", "vmovap", "vbroadcasts"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strncmp(line->name, names[i], strlen(names[i])))
            return strchr(line->operands, '(') != NULL;
    return false;
}

static bool is_of_vectors(const assembly_line *line)
{
    return !line->is_label && line->name[0] == 'v';
}

/* A micro-kernel: 6 rows of 2 registers each. */
enum { TILE_ROWS = 6, TILE_VECTORS = 2, TILE = TILE_ROWS * TILE_VECTORS };

/* The kinds of loops with FMAs that are allowed. */
typedef enum tiles {
    WHOLE,      /* full micro-kernels only */
    ANY_HEIGHT, /* also lower ones */
    AND_OTHERS  /* also loops that are not micro-kernels */
} tiles;

/*
 * Checks a loop with FMAs; returns their number, or 0 if it is not a
 * micro-kernel. Loads serve the whole micro-kernel: some registers of one
 * operand, and one element per row of the other. The only other instructions
 * are those of the counter.
 */
static int check_loop(const assembly *a, const assembly_loop *loop, tiles may)
{
    static char shown[1 << 16];
    const int fmas = assembly_count(a, loop, assembly_is_fma);
    const int loads = assembly_count(a, loop, is_load);
    const int all = assembly_count(a, loop, is_of_vectors);
    if (fmas == 0 || (may == AND_OTHERS && all != fmas + loads))
        return 0;
    assembly_show(a, loop, shown, sizeof(shown));
    cr_expect_eq(all, fmas + loads, "more than FMAs and loads %s", shown);
    cr_expect_eq(assembly_count(a, loop, assembly_is_packed), all,
                 "not packed %s", shown);
    cr_expect(may != WHOLE || fmas % TILE == 0, "%d FMAs %s", fmas, shown);
    cr_expect(fmas % TILE || loads <= fmas / TILE * (TILE_ROWS + TILE_VECTORS),
              "%d loads %s", loads, shown);
    cr_expect_eq(assembly_count(a, loop, assembly_is_spill), 0,
                 "the stack is used %s", shown);
    cr_expect_eq(assembly_count(a, loop, assembly_is_call), 0, "a call %s",
                 shown);
    return fmas;
}

static void check_tiles(int line, const char *text, tiles may)
{
    static assembly a;
    int n_full = 0;
    cr_assert(assembly_read(&a, text), "line %d: %s", line, a.fault);
    for (int i = 0; i < a.n_loops; i++) {
        if (!a.loops[i].is_innermost)
            continue;
        const int fmas = check_loop(&a, &a.loops[i], may);
        n_full += fmas > 0 && fmas % TILE == 0;
    }
    cr_expect(n_full > 0, "line %d: there is no whole tile in\n%s", line, text);
}

#define CHECK_TILES(may, callback, symbols, ...)                               \
    do {                                                                       \
        assembled as;                                                          \
        assemble(&as, callback, symbols, __VA_ARGS__);                         \
        check_tiles(__LINE__, as.text, may);                                   \
        assemble_end(&as);                                                     \
    } while (0)

/* Rows and columns are multiples of the micro-kernel. */
Test(assembly_matmul, tiles_of_known_extents)
{
    CHECK_TILES(WHOLE, times, NO_SYMBOLS, F32(96, 200), F32(200, 64));
    CHECK_TILES(WHOLE, times, NO_SYMBOLS, F64(96, 200), F64(200, 64));
    CHECK_TILES(WHOLE, times, NO_SYMBOLS, F32(600, 512), F32(512, 512));
    CHECK_TILES(WHOLE, times, NO_SYMBOLS, F64(600, 512), F64(512, 512));
}

Test(assembly_matmul, epilogues_run_after_the_inner_loop)
{
    CHECK_TILES(WHOLE, layer, NO_SYMBOLS, F32(96, 784), F32(784, 128),
                F32(128));
    CHECK_TILES(AND_OTHERS, long_layer, NO_SYMBOLS, F32(96, 784),
                F32(784, 128));
}

Test(assembly_matmul, strided_operands)
{
    CHECK_TILES(WHOLE, times_transposed, NO_SYMBOLS, F32(96, 784),
                F32(128, 784));
    CHECK_TILES(WHOLE, times_transposed, NO_SYMBOLS, F32(600, 512),
                F32(512, 512));
}

Test(assembly_matmul, extents_that_are_not_known)
{
    CHECK_TILES(ANY_HEIGHT, times, SYMBOLS(96, 200, 64),
                F32(TG_SAME(1), TG_SAME(2)), F32(TG_SAME(2), TG_SAME(3)));
    CHECK_TILES(ANY_HEIGHT, times, SYMBOLS(96, 200, 64),
                F64(TG_SAME(1), TG_SAME(2)), F64(TG_SAME(2), TG_SAME(3)));
}

static int count_loops_with_fmas(const char *text)
{
    static assembly a;
    int n = 0;
    cr_assert(assembly_read(&a, text), "%s", a.fault);
    for (int i = 0; i < a.n_loops; i++)
        n += a.loops[i].is_innermost &&
             assembly_count(&a, &a.loops[i], assembly_is_fma) > 0;
    return n;
}

/*
 * 64 rows need micro-kernels of 6 and of 5 rows. Each exists once in the
 * program, whether columns are packed, copied or read directly, and are few or
 * many.
 */
Test(assembly_matmul, products_of_a_program_share_tiles)
{
    assembled as;
    assemble(&as, network, NO_SYMBOLS, F32(64, 784), F32(784, 256),
             F32(256, 128), F32(128, 32));
    check_tiles(__LINE__, as.text, ANY_HEIGHT);
    cr_expect_eq(count_loops_with_fmas(as.text), 2, "%s", as.text);
    assemble_end(&as);
}
