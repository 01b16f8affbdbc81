/* SPDX-License-Identifier: MIT */
/*
 * test_assembly.c - the innermost loops of compiled code, for each class of
 * kernels: full vectors, no scalar code, no calls, no stack accesses, and
 * exactly the FMAs of the recipes.
 *
 * Rows are multiples of all vector widths, so that there are no tail loops.
 */
#include "codegen/assembling.h"
#include "support/emit_eval.h"

#define I8(...) tg_spec_tensor(TG_I8, TG_DIMS(__VA_ARGS__))

/* -- Primitives of recipes ------------------------------------------------- */

/* Bytes of the FMAs in a recording, for one element. */
static int fma_bytes_of(const recording *r)
{
    bool is_used[RECORDED_VALUES];
    int bytes = 0;
    recording_find_used(r, is_used);
    for (int i = 0; i <= r->result; i++)
        if (is_used[i] && r->values[i].kind == RECORDED_PRIMITIVE &&
            r->values[i].primitive == TGI_PRIMITIVE_FMA)
            bytes += tgi_dtype_bytes(r->values[i].dtype);
    return bytes;
}

static void record_step(recording *r, const tgi_reduction *reduction)
{
    recording_begin(r);
    tgi_emitted operands[3];
    for (int i = 0; i < 3; i++)
        operands[i] = recording_operand(r, reduction->dtype);
    tgi_emit_recipe *step =
        tgi_emit_step_of(reduction->op, (tg_dtype)reduction->dtype);
    cr_assert(step);
    cr_assert(recording_end(r, step(&r->emitter, operands), reduction->dtype),
              "%s", r->fault);
}

/* The same for everything that kernels compute per element. */
static int expected_fma_bytes(const tgi_loops *loops)
{
    static recording r;
    int bytes = 0;
    for (size_t k = 0; k < loops->kernels.n; k++) {
        const tgi_kernel_loops *kernel = loops->kernels.data[k];
        for (size_t i = 1; i < kernel->insts.n; i++) {
            const tgi_inst *inst = &kernel->insts.data[i];
            if (inst->level != TGI_LEVEL_INNER ||
                (inst->kind != TGI_INST_OP && inst->kind != TGI_INST_CAST))
                continue;
            cr_assert(inst->kind == TGI_INST_OP
                          ? recording_of_op(&r, inst->op, inst->type)
                          : recording_of_cast(&r, inst->op, inst->type,
                                              inst->dtype),
                      "%s", r.fault);
            bytes += fma_bytes_of(&r);
        }
        for (size_t i = 0; i < kernel->reductions.n; i++) {
            record_step(&r, &kernel->reductions.data[i]);
            bytes += fma_bytes_of(&r);
        }
    }
    return bytes;
}

/* -- Checks ---------------------------------------------------------------- */

typedef struct demands {
    const char *left_out; /* a function whose loops are ignored */
    /* At most one of this many instructions may be a spill or reload; 0:
       none. */
    int spills;
} demands;

static int check_loop(const assembly *a, const assembly_loop *loop,
                      demands wanted)
{
    static char shown[1 << 16];
    assembly_show(a, loop, shown, sizeof(shown));
    const int n = assembly_count(a, loop, NULL);
    const int most_spills = wanted.spills ? n / wanted.spills : 0;
    const int fmas = assembly_count(a, loop, assembly_is_fma);
    const int step = assembly_step(a, loop);
    cr_expect(assembly_count(a, loop, assembly_is_packed) > 0,
              "nothing is packed %s", shown);
    cr_expect_eq(assembly_count(a, loop, assembly_is_scalar_float), 0,
                 "single floats %s", shown);
    cr_expect_eq(assembly_count(a, loop, assembly_is_lane), 0,
                 "single elements %s", shown);
    cr_expect_eq(assembly_count(a, loop, assembly_is_call), 0, "a call %s",
                 shown);
    cr_expect(assembly_count(a, loop, assembly_is_spill) <= most_spills,
              "%d of %d instructions use the stack %s",
              assembly_count(a, loop, assembly_is_spill), n, shown);
    cr_assert(step > 0, "no counter %s", shown);
    cr_expect_eq(fmas * REGISTER_BYTES % step, 0, "%d FMAs for %d elements %s",
                 fmas, step, shown);
    return fmas * REGISTER_BYTES / step;
}

/* FMAs are compared by their bytes for one element, summed over all loops,
   because loops may process several vectors per iteration and divide the work.
   */
static void check_code(const char *text, int expected_bytes, demands wanted)
{
    static assembly a;
    int n_checked = 0, bytes = 0;
    cr_assert(assembly_read(&a, text), "%s", a.fault);
    for (int i = 0; i < a.n_loops; i++) {
        const assembly_loop *loop = &a.loops[i];
        if (!loop->is_innermost ||
            (wanted.left_out &&
             !strcmp(a.lines[loop->function].name, wanted.left_out)))
            continue;
        bytes += check_loop(&a, loop, wanted);
        n_checked++;
    }
    cr_expect(n_checked > 0, "there is no loop in\n%s", text);
    cr_expect_eq(bytes, expected_bytes,
                 "%d bytes of FMAs for an element, not %d in\n%s", bytes,
                 expected_bytes, text);
}

static void check_at(int line, const char *name, tg_callback *callback,
                     demands wanted, const tg_spec *specs, size_t n_specs)
{
    assembled as;
    assemble_at(line, &as, name, callback, NO_SYMBOLS, specs, n_specs);
    check_code(as.text, expected_fma_bytes(as.fu.loops), wanted);
    assemble_end(&as);
}

#define CHECK(callback, wanted, ...)                                           \
    check_at(__LINE__, #callback, callback, wanted,                            \
             (const tg_spec[]){__VA_ARGS__},                                   \
             sizeof((const tg_spec[]){__VA_ARGS__}) / sizeof(tg_spec))
#define STRICT ((demands){0})

/* -- The reader ------------------------------------------------------------ */

/* Covers every case. The header of the outer loop follows its end; the last
   loop is not innermost, because it calls a function with loops. */
static const char sample[] =
    "bad:\n"
    "\tjmp\t.LBB0_2\n"
    ".LBB0_1:                                # comment\n"
    "\tincq\t%rax\n"
    "\tcmpq\t%rbx, %rax\n"
    "\tjge\t.LBB0_4\n"
    ".LBB0_2:\n"
    "\ttestq\t%rcx, %rcx\n"
    "\tje\t.LBB0_1\n"
    "\t.p2align\t4, 0x90\n"
    ".LBB0_3:\n"
    "\tvfmadd213ps\t32(%rsp), %ymm1, %ymm2\n"
    "\tvfnmsub231pd\t32(%rsp,%rcx,4), %ymm1, %ymm2\n"
    "\tvaddss\t%xmm1, %xmm2, %xmm2\n"
    "\tvcvttss2si\t%xmm1, %edx\n"
    "\tvpabsd\t%xmm1, %xmm1\n"
    "\tvmovss\t(%rdi), %xmm1\n"
    "\tvpextrd\t$1, %xmm1, %edx\n"
    "\tcallq\tlibrary\n"
    "\taddq\t$16, %rcx\n"
    "\tcmpq\t%rdx, %rcx\n"
    "\tjl\t.LBB0_3\n"
    "\tjmp\t.LBB0_1\n"
    ".LBB0_4:\n"
    "\tretq\n"
    "caller:\n"
    ".LBB1_1:\n"
    "\tcallq\tbad\n"
    "\tdecq\t%rbx\n"
    "\tjne\t.LBB1_1\n"
    "\tretq\n";

Test(assembly, the_reader_detects_bad_code)
{
    static assembly a;
    cr_assert(assembly_read(&a, sample), "%s", a.fault);
    cr_assert_eq(a.n_loops, 3);
    const assembly_loop *inner = NULL;
    for (int i = 0; i < a.n_loops; i++)
        if (a.loops[i].is_innermost) {
            cr_assert_null(inner, "there are two innermost loops");
            inner = &a.loops[i];
        }
    cr_assert_not_null(inner);
    cr_assert_str_eq(a.lines[inner->head].name, ".LBB0_3");
    cr_assert_str_eq(a.lines[inner->function].name, "bad");
    cr_assert_eq(assembly_count(&a, inner, NULL), 11);
    cr_assert_eq(assembly_count(&a, inner, assembly_is_packed), 2);
    cr_assert_eq(assembly_count(&a, inner, assembly_is_fma), 2);
    cr_assert_eq(assembly_count(&a, inner, assembly_is_scalar_float), 2);
    cr_assert_eq(assembly_count(&a, inner, assembly_is_lane), 1);
    cr_assert_eq(assembly_count(&a, inner, assembly_is_call), 1);
    cr_assert_eq(assembly_count(&a, inner, assembly_is_spill), 1);
    cr_assert_eq(assembly_step(&a, inner), 16);
}

/* -- Maps ------------------------------------------------------------------ */

static void axpy(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(tg_mul(in[2], in[0]), in[1]));
}

static void chain(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value x = in[0];
    tg_value left = tg_tanh(tg_add(tg_mul(in[1], x), in[2]));
    tg_value right = tg_sigmoid(tg_mul(in[3], x));
    tg_return(t, tg_sub(tg_mul(left, right), tg_mul(x, 0.5)));
}

static void one_function(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_exp(tg_mul(in[0], in[1])));
}

Test(assembly, short_maps)
{
    CHECK(axpy, STRICT, F32(1 << 20), F32(1 << 20), SCALAR_F32);
    CHECK(axpy, STRICT, F64(1 << 20), F64(1 << 20), F64(1));
    CHECK(one_function, STRICT, F32(1 << 20), F32(1 << 20));
}

/*
 * Two interleaved functions of two vectors each have more live values than the
 * 16 registers hold. One vector at a time would spill half as often but is 1.4
 * times as slow (choose_lanes.c). Three values are spilled, and loop-invariant
 * ones, which would be loaded from memory anyway.
 */
Test(assembly, chains)
{
    CHECK(chain, ((demands){.spills = 12}), F32(1 << 20), SCALAR_F32,
          SCALAR_F32, SCALAR_F32);
}

static tg_value normal(tg_value x)
{
    return tg_mul(tg_erfc(tg_mul(x, -0.70710678118654752)), 0.5);
}

static void black_scholes(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const double rate = 0.02, volatility = 0.3;
    tg_value price = in[0], strike = in[1], time = in[2];
    tg_value spread = tg_mul(tg_sqrt(time), volatility);
    tg_value drift = tg_mul(time, rate + volatility * volatility / 2);
    tg_value d1 = tg_div(tg_add(tg_log(tg_div(price, strike)), drift), spread);
    tg_value d2 = tg_sub(d1, spread);
    tg_value discounted = tg_mul(strike, tg_exp(tg_mul(time, -rate)));
    tg_value call =
        tg_sub(tg_mul(price, normal(d1)), tg_mul(discounted, normal(d2)));
    tg_return(t, call, tg_add(tg_sub(call, price), discounted));
}

/* As for chains: each loop of the split body is about as long as one. */
Test(assembly, long_bodies_are_strip_mined)
{
    CHECK(black_scholes, ((demands){.spills = 8}), F32(1 << 16), F32(1 << 16),
          F32(1 << 16));
    CHECK(black_scholes, ((demands){.spills = 8}), F64(1 << 16), F64(1 << 16),
          F64(1 << 16));
}

static void mixed(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value whole = tg_add(tg_cast(in[0], TG_I32), in[1]);
    tg_value single = tg_add(tg_mul(tg_cast(whole, TG_F32), in[2]), 1.0);
    tg_value wide = tg_cast(single, TG_F64);
    tg_return(t, tg_add(tg_mul(wide, in[3]), wide), tg_cast(single, TG_I32));
}

Test(assembly, mixed_types)
{
    CHECK(mixed, STRICT, I8(1 << 16), I32(1 << 16), F32(1 << 16), F64(1 << 16));
}

/* -- Reductions ------------------------------------------------------------ */

static void total(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(in[0], TG_ALL_AXES));
}

static void squares(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sum(tg_mul(in[0], in[0]), TG_AXES(1)));
}

/* Not checked: the second kernel, which combines the sums of blocks, one per
   thousands of elements, in scalar code. */
Test(assembly, sums)
{
    const demands wanted = {.left_out = "tg_total_1_sum"};
    CHECK(total, wanted, F32(1 << 20));
    CHECK(total, wanted, F64(1 << 20));
    CHECK(squares, STRICT, F32(64, 1024));
}

static void layer_norm(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_layer_norm(in[0], in[1], in[2], 1e-5));
}

Test(assembly, rows)
{
    CHECK(softmax, STRICT, F32(64, 1024));
    CHECK(layer_norm, STRICT, F32(64, 1024), F32(1024), F32(1024));
}

/* -- Views ----------------------------------------------------------------- */

static void transposed(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_transpose(in[0], 2, (const int[]){1, 0}));
}

Test(assembly, transposes)
{
    CHECK(transposed, STRICT, F32(1024, 1024));
    CHECK(transposed, STRICT, F64(1024, 1024));
}

static void every_second(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = tg_slice(in[0], 0, 0, TG_END, 2);
    tg_return(t, tg_add(tg_mul(x, x), 1.0));
}

static void every_third(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = tg_slice(in[0], 0, 0, TG_END, 3);
    tg_return(t, tg_add(tg_mul(x, x), 1.0));
}

/* Elements at stride 2 are taken out of full vectors; those further apart
   are loaded one by one, then processed as vectors. */
Test(assembly, steps)
{
    CHECK(every_second, STRICT, F32(1 << 20));
    CHECK(every_third, STRICT, F32(3 << 18));
    CHECK(every_second, STRICT, F64(1 << 20));
}

/* -- Small graphs ---------------------------------------------------------- */

/* Reductions along rows and columns, matrix products, and scalars. */
static void several_kernels(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value weights = tg_softmax(in[0], -1);
    tg_value rows = tg_sum(tg_mul(weights, in[1]), TG_AXES(-1));
    tg_value scale = tg_exp(tg_sum(rows, TG_ALL_AXES));
    tg_return(t, rows, tg_sum(weights, TG_AXES(0)),
              tg_mul(tg_matmul(weights, in[0]), scale));
}

/* One function without calls or loops, which accesses only memory of the
   caller. */
static void check_is_straight(const tgi_loops *loops, const char *text)
{
    static assembly a;
    int n_functions = 0, n_calls = 0;
    cr_assert(assembly_read(&a, text), "%s", a.fault);
    for (int i = 0; i < a.n_lines; i++) {
        n_functions += a.lines[i].is_function;
        n_calls += assembly_is_call(&a.lines[i]);
    }
    cr_expect_eq(n_functions, 1, "%d functions in\n%s", n_functions, text);
    cr_expect_eq(n_calls, 0, "%d calls in\n%s", n_calls, text);
    cr_expect_eq(a.n_loops, 0, "%d loops in\n%s", a.n_loops, text);
    for (size_t i = 0; i < loops->buffers.n; i++)
        cr_expect(loops->buffers.data[i].place != TGI_PLACE_TEMP &&
                      loops->buffers.data[i].place != TGI_PLACE_SCRATCH,
                  "buffer %zu needs memory", i);
}

Test(assembly, small_graphs_are_straight_line_code)
{
    assembled as;
    assemble(&as, several_kernels, NO_SYMBOLS, F32(3, 3), F32(3));
    cr_assert_gt(n_kernels(&as.fu), 3);
    check_is_straight(as.fu.loops, as.text);
    assemble_end(&as);
}
