/* SPDX-License-Identifier: MIT */
/*
 * test_llvm_emit.c - compiled recipes have the bits of the interpreter's
 * kernels (any NaN equals any other) with any number of lanes, for every
 * elementwise op, cast and dtype; so do primitives that no recipe uses. That no
 * primitive became a call is checked by the loader, which rejects undefined
 * symbols.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "interp/kernel.h"
#include "support/compiling.h"
#include "support/emit_eval.h"
#include "support/emit_inputs.h"
#include "support/support.h"

typedef void compiled_function(const void *a, const void *b, const void *c,
                               void *out);

enum { MAX_OPERANDS = 3 };

static compiling under_way;

/* -- Functions that load, compute and store -------------------------------- */

static void start_function(const char *name, int n_operands,
                           const int *operand_types, LLVMValueRef *operands)
{
    const tgi_llvm_emitter *e = &under_way.emitter;
    LLVMValueRef function =
        compiling_function(&under_way, name, MAX_OPERANDS + 1);
    for (int i = 0; i < n_operands; i++) {
        operands[i] = LLVMBuildLoad2(
            e->builder, tgi_llvm_type(e, (tg_dtype)operand_types[i]),
            LLVMGetParam(function, (unsigned)i), "");
        LLVMSetAlignment(operands[i],
                         (unsigned)tgi_dtype_bytes(operand_types[i]));
    }
}

static void end_function(int type, LLVMValueRef result)
{
    const tgi_llvm_emitter *e = &under_way.emitter;
    LLVMValueRef function =
        LLVMGetBasicBlockParent(LLVMGetInsertBlock(e->builder));
    if (LLVMTypeOf(result) == tgi_llvm_mask_type(e))
        result = tgi_llvm_bool_of_mask(e, result);
    LLVMSetAlignment(LLVMBuildStore(e->builder, result,
                                    LLVMGetParam(function, MAX_OPERANDS)),
                     (unsigned)tgi_dtype_bytes(type));
    LLVMBuildRetVoid(e->builder);
}

static compiled_function *function_of(const tgi_image *image, const char *name)
{
    union {
        void *address;
        compiled_function *call;
    } found = {tgi_image_symbol(image, name)};
    cr_assert(found.address, "%s is missing", name);
    return found.call;
}

/* -- Against kernels ------------------------------------------------------- */

/* An op for one dtype, or a cast or bitcast. */
typedef struct subject {
    bool is_cast;
    int op;
    int n_operands;
    int types[1 + MAX_OPERANDS]; /* of the result and the operands */
    char name[48];
} subject;

/* False if the op does not exist for the dtype. */
static bool subject_of_op(int op, int dtype, subject *out)
{
    if (!tgi_emit_recipe_of(op, (tg_dtype)dtype))
        return false;
    const tgi_op_info *info = &tgi_op_table[op];
    const int first = op == TGI_OP_SELECT ? TG_BOOL : dtype;
    const int result = info->result == TGI_RESULT_BOOL ? TG_BOOL : dtype;
    *out = (subject){.op = op,
                     .n_operands = info->arity,
                     .types = {result, first, dtype, dtype}};
    snprintf(out->name, sizeof(out->name), "%s_%s", info->name,
             tg_dtype_name((tg_dtype)dtype));
    return true;
}

static subject subject_of_cast(int op, int from, int to)
{
    subject s = {
        .is_cast = true, .op = op, .n_operands = 1, .types = {to, from}};
    snprintf(s.name, sizeof(s.name), "%s_%s_%s", tgi_op_table[op].name,
             tg_dtype_name((tg_dtype)from), tg_dtype_name((tg_dtype)to));
    return s;
}

static void emit(const subject *s)
{
    tgi_llvm_emitter *e = &under_way.emitter;
    LLVMValueRef operands[MAX_OPERANDS];
    tgi_emitted given[MAX_OPERANDS];
    start_function(s->name, s->n_operands, &s->types[1], operands);
    for (int i = 0; i < s->n_operands; i++)
        given[i] = operands[i];
    if (!s->is_cast && s->op == TGI_OP_SELECT)
        given[0] = tgi_llvm_mask_of_bool(e, operands[0]);
    end_function(s->types[0],
                 s->is_cast ? tgi_emit_cast(&e->base, s->op,
                                            (tg_dtype)s->types[1],
                                            (tg_dtype)s->types[0], given[0])
                            : tgi_emit_recipe_of(s->op, (tg_dtype)s->types[2])(
                                  &e->base, given));
}

static void check_subject(const tgi_image *image, const subject *s)
{
    static uint64_t bits[INPUTS];
    static _Alignas(64) char elements[2 + MAX_OPERANDS][INPUTS * 8];
    const int64_t n = INPUTS;
    char *const expected = elements[0], *const given = elements[1];
    tgi_view in[MAX_OPERANDS];
    tgi_kernel_args args = {.in = in};
    for (int i = 0; i < s->n_operands; i++) {
        fill(s->types[1 + i], i, bits);
        pack(s->types[1 + i], bits, elements[2 + i]);
        tgi_view_init(&in[i], elements[2 + i], (tg_dtype)s->types[1 + i], 1,
                      &n);
    }
    tgi_view_init(&args.out, expected, (tg_dtype)s->types[0], 1, &n);
    tgi_kernel *kernel =
        s->is_cast ? tgi_kernel_cast(s->op, s->types[1], s->types[0])
                   : tgi_kernel_elementwise(s->op, s->types[1], s->types[0]);
    cr_assert_eq(kernel(&args), TG_OK);

    size_t bytes[1 + MAX_OPERANDS];
    for (int i = 0; i <= MAX_OPERANDS; i++)
        bytes[i] = (size_t)tgi_dtype_bytes(s->types[i]);
    compiled_function *function = function_of(image, s->name);
    const unsigned lanes = under_way.emitter.lanes;
    for (size_t i = 0; i < INPUTS; i += lanes)
        function(elements[2] + i * bytes[1], elements[3] + i * bytes[2],
                 elements[4] + i * bytes[3], given + i * bytes[0]);

    for (size_t i = 0; i < INPUTS; i++) {
        uint64_t a = 0, b = 0;
        memcpy(&a, given + i * bytes[0], bytes[0]);
        memcpy(&b, expected + i * bytes[0], bytes[0]);
        cr_assert(a == b || (is_nan(s->types[0], a) && is_nan(s->types[0], b)),
                  "%s, %u lanes, input %zu: %#" PRIx64
                  ", but the kernel returns %#" PRIx64,
                  s->name, lanes, i, a, b);
    }
}

/* Calls `act` for all subjects with operands of that dtype. */
static int each_subject(int dtype, const tgi_image *image,
                        void (*act)(const tgi_image *, const subject *))
{
    int n = 0;
    subject s;
    for (int op = 1; op < TGI_OPS; op++)
        if (subject_of_op(op, dtype, &s)) {
            act(image, &s);
            n++;
        }
    for (int to = 1; to < TGI_DTYPES; to++)
        if (tgi_dtype_is_valid(to)) {
            if (tgi_dtype_casts_to(dtype, to)) {
                s = subject_of_cast(TGI_OP_CAST, dtype, to);
                act(image, &s);
                n++;
            }
            if (dtype == TG_BOOL || to == TG_BOOL ||
                tgi_dtype_bytes(dtype) != tgi_dtype_bytes(to))
                continue;
            s = subject_of_cast(TGI_OP_BITCAST, dtype, to);
            act(image, &s);
            n++;
        }
    return n;
}

static void emit_subject(const tgi_image *image, const subject *s)
{
    (void)image;
    emit(s);
}

/* One module per dtype, because loading takes time. */
static void check_all(unsigned lanes)
{
    int n = 0;
    for (int dtype = 1; dtype < TGI_DTYPES; dtype++) {
        if (!tgi_dtype_is_valid(dtype))
            continue;
        compiling_begin(&under_way);
        under_way.emitter.lanes = lanes;
        n += each_subject(dtype, NULL, emit_subject);
        tgi_image *image = compiling_load(&under_way);
        each_subject(dtype, image, check_subject);
        tgi_image_release(image);
        compiling_end(&under_way);
    }
    cr_expect_gt(n, 300);
    check_nothing_is_alive();
}

Test(llvm_emit, single_elements_get_the_bits_of_kernels)
{
    check_all(1);
}

Test(llvm_emit, vectors_of_4_get_the_bits_of_kernels)
{
    check_all(4);
}

Test(llvm_emit, vectors_of_8_get_the_bits_of_kernels)
{
    check_all(8);
}

Test(llvm_emit, vectors_of_16_get_the_bits_of_kernels)
{
    check_all(16);
}

/* -- Single primitives ----------------------------------------------------- */

/* An expression of two operands, emitted to two emitters: the code
   generator, and that of emit_eval.h for the expected result. */
typedef tgi_emitted emit_fn(tgi_emitter *e, tg_dtype dtype, int which,
                            const tgi_emitted *in);

typedef struct expression {
    emit_fn *emit;
    int which;
    int dtype;   /* dtype of the primitives */
    int operand; /* type of both operands */
    int result;  /* BOOL also stands for a mask */
    char name[24];
} expression;

static void emit_expression(const expression *s)
{
    tgi_llvm_emitter *e = &under_way.emitter;
    LLVMValueRef operands[2];
    start_function(s->name, 2, (const int[]){s->operand, s->operand}, operands);
    const tgi_emitted in[] = {operands[0], operands[1]};
    end_function(s->result,
                 s->emit(&e->base, (tg_dtype)s->dtype, s->which, in));
}

static void record_expression(const expression *s, recording *r)
{
    recording_begin(r);
    const tgi_emitted in[] = {recording_operand(r, s->operand),
                              recording_operand(r, s->operand)};
    tgi_emitted result = s->emit(&r->emitter, (tg_dtype)s->dtype, s->which, in);
    cr_assert(recording_end(r, result,
                            s->result == TG_BOOL ? RECORDED_MASK : s->result),
              "%s: %s", s->name, r->fault);
}

/* Outside the domain of a primitive the result may be anything. */
static void check_expression(const tgi_image *image, const expression *s)
{
    static recording r;
    static uint64_t bits[2][INPUTS];
    static _Alignas(64) char elements[3][INPUTS * 8];
    const size_t bytes = (size_t)tgi_dtype_bytes(s->operand);
    const size_t out_bytes = (size_t)tgi_dtype_bytes(s->result);
    const unsigned lanes = under_way.emitter.lanes;
    compiled_function *function = function_of(image, s->name);
    record_expression(s, &r);
    for (int k = 0; k < 2; k++) {
        fill(s->operand, k, bits[k]);
        pack(s->operand, bits[k], elements[k]);
    }
    for (size_t i = 0; i < INPUTS; i += lanes)
        function(elements[0] + i * bytes, elements[1] + i * bytes, NULL,
                 elements[2] + i * out_bytes);
    for (size_t i = 0; i < INPUTS; i++) {
        const uint64_t in[] = {bits[0][i], bits[1][i]};
        uint64_t expected, given = 0;
        memcpy(&given, elements[2] + i * out_bytes, out_bytes);
        r.fault = NULL;
        if (recording_evaluate(&r, in, &expected))
            cr_assert(given == expected || (is_nan(s->result, given) &&
                                            is_nan(s->result, expected)),
                      "%s of %#" PRIx64 " %#" PRIx64 ", %u lanes: %#" PRIx64
                      ", not %#" PRIx64,
                      s->name, in[0], in[1], lanes, given, expected);
    }
}

/* With equal lanes, in one module, which has begun. */
static void check_begun(const expression *expressions, int n, unsigned lanes)
{
    under_way.emitter.lanes = lanes;
    for (int i = 0; i < n; i++)
        emit_expression(&expressions[i]);
    tgi_image *image = compiling_load(&under_way);
    for (int i = 0; i < n; i++)
        check_expression(image, &expressions[i]);
    tgi_image_release(image);
    compiling_end(&under_way);
}

static void check_expressions(const expression *expressions, int n,
                              unsigned lanes)
{
    compiling_begin(&under_way);
    check_begun(expressions, n, lanes);
}

static tgi_emitted emit_primitive(tgi_emitter *e, tg_dtype dtype, int primitive,
                                  const tgi_emitted *in)
{
    return e->primitive(e, (tgi_primitive)primitive, dtype, TG_DTYPE_NONE, in);
}

static expression expression_of_primitive(int primitive, int dtype, int integer)
{
    const int result = tgi_primitive_table[primitive].result;
    const bool takes_integers = primitive >= TGI_PRIMITIVE_FLOAT_OF &&
                                primitive != TGI_PRIMITIVE_TO_INT;
    expression s = {.emit = emit_primitive,
                    .which = primitive,
                    .dtype = dtype,
                    .operand = takes_integers ? integer : dtype,
                    .result = result == TGI_PRIMITIVE_GIVES_MASK      ? TG_BOOL
                              : result == TGI_PRIMITIVE_GIVES_INTEGER ? integer
                                                                      : dtype};
    snprintf(s.name, sizeof(s.name), "%s", tgi_primitive_table[primitive].name);
    return s;
}

Test(llvm_emit, primitives_on_float_bits_agree_with_c)
{
    enum { PRIMITIVES = TGI_PRIMITIVE_CONVERT - TGI_PRIMITIVE_SIGN_BIT };
    expression singles[PRIMITIVES], doubles[PRIMITIVES];
    for (int i = 0; i < PRIMITIVES; i++) {
        const int primitive = TGI_PRIMITIVE_SIGN_BIT + i;
        singles[i] = expression_of_primitive(primitive, TG_F32, TG_U32);
        doubles[i] = expression_of_primitive(primitive, TG_F64, TG_U64);
    }
    for (unsigned lanes = 1; lanes <= 16; lanes *= 4) {
        check_expressions(singles, PRIMITIVES, lanes);
        check_expressions(doubles, PRIMITIVES, lanes);
    }
    check_nothing_is_alive();
}

/* -- SCALE ----------------------------------------------------------------- */

static tgi_emitted emit_2(tgi_emitter *e, tg_dtype dtype, int primitive,
                          tgi_emitted a, tgi_emitted b)
{
    return emit_primitive(e, dtype, primitive, (tgi_emitted[]){a, b});
}

/* x 2^n, where n depends on all bits of y and is near or within the limits, and
   x is the first operand or, if `is_moderate`, between 1 and 2 in magnitude. */
static tgi_emitted emit_scale(tgi_emitter *e, tg_dtype dtype, int is_moderate,
                              const tgi_emitted *in)
{
    const bool is_f32 = dtype == TG_F32;
    const tg_dtype integer = is_f32 ? TG_U32 : TG_U64;
    const union {
        float value;
        uint32_t bits;
    } single = {0x1.8p23f + 254};
    const union {
        double value;
        uint64_t bits;
    } element = {0x1.8p52 + 2046};
    const uint64_t fraction = is_f32 ? 0x807fffff : 0x800fffffffffffff;
    const uint64_t one = is_f32 ? 0x3f800000 : 0x3ff0000000000000;
    tgi_emitted x = in[0];
    if (is_moderate) {
        x = emit_primitive(e, dtype, TGI_PRIMITIVE_BITS_OF, &x);
        x = emit_2(e, dtype, TGI_PRIMITIVE_IAND, x,
                   e->constant(e, integer, fraction));
        x = emit_2(e, dtype, TGI_PRIMITIVE_IOR, x,
                   e->constant(e, integer, one));
        x = emit_primitive(e, dtype, TGI_PRIMITIVE_FLOAT_OF, &x);
    }
    tgi_emitted n = emit_primitive(e, dtype, TGI_PRIMITIVE_BITS_OF, &in[1]);
    n = emit_2(e, dtype, TGI_PRIMITIVE_IMUL, n,
               e->constant(e, integer, 0x9e3779b97f4a7c15));
    n = emit_2(e, dtype, TGI_PRIMITIVE_ISHR, n,
               e->constant(e, integer, is_f32 ? 32 - 9 : 64 - 12));
    n = emit_2(e, dtype, TGI_PRIMITIVE_ISUB, n,
               e->constant(e, integer, is_f32 ? 256 : 2048));
    n = emit_primitive(e, dtype, TGI_PRIMITIVE_TO_FLOAT, &n);
    const tgi_emitted sum =
        emit_2(e, dtype, TGI_PRIMITIVE_ADD, n,
               e->constant(e, dtype, is_f32 ? single.bits : element.bits));
    return emit_primitive(e, dtype, TGI_PRIMITIVE_SCALE,
                          (tgi_emitted[]){x, n, sum});
}

/* By instructions or by factors, whichever the CPU has, of any width. */
Test(llvm_emit, powers_of_2_scale_with_the_same_bits_on_every_cpu)
{
    static const char *const cpus[] = {NULL, "x86-64-v3", "x86-64-v4"};
    int n = 0;
    for (int i = 0; i < 3; i++)
        for (unsigned bits = 128; bits <= 512; bits *= 2)
            for (int k = 0; k < 8; k++) {
                static const unsigned lanes[] = {1, 2, 3, 4, 8, 16, 32, 64};
                expression scales[4];
                for (int s = 0; s < 4; s++) {
                    const int dtype = s / 2 ? TG_F64 : TG_F32;
                    scales[s] = (expression){emit_scale, s % 2, dtype,
                                             dtype,      dtype, ""};
                    snprintf(scales[s].name, sizeof(scales[s].name), "scale_%d",
                             s);
                }
                if (!compiling_begin_for(&under_way, cpus[i], bits))
                    continue;
                check_begun(scales, 4, lanes[k]);
                n++;
            }
    cr_expect_geq(n, 16);
    check_nothing_is_alive();
}

/* -- Masks ----------------------------------------------------------------- */

enum { MASKS = 8, COMBINED = MASKS * MASKS * 3 };

/* Masks of all origins: compares of floats and of bits, and signs. */
static tgi_emitted emit_mask(tgi_emitter *e, tg_dtype dtype, int which,
                             const tgi_emitted *in)
{
    const tgi_emitted bits =
        emit_primitive(e, dtype, TGI_PRIMITIVE_BITS_OF, &in[0]);
    const tgi_emitted other =
        emit_primitive(e, dtype, TGI_PRIMITIVE_BITS_OF, &in[1]);
    const tgi_emitted zero =
        e->constant(e, dtype == TG_F32 ? TG_U32 : TG_U64, 0);
    const struct {
        tgi_primitive primitive;
        tgi_emitted in[2];
    } masks[MASKS] = {{TGI_PRIMITIVE_LT, {in[0], in[1]}},
                      {TGI_PRIMITIVE_EQ, {in[0], in[1]}},
                      {TGI_PRIMITIVE_EQ, {in[0], in[0]}},
                      {TGI_PRIMITIVE_NE, {in[0], in[0]}},
                      {TGI_PRIMITIVE_SIGN_BIT, {in[0], in[0]}},
                      {TGI_PRIMITIVE_ILT, {bits, zero}},
                      {TGI_PRIMITIVE_IEQ, {bits, zero}},
                      {TGI_PRIMITIVE_IULT, {bits, other}}};
    return emit_primitive(e, dtype, (int)masks[which].primitive,
                          masks[which].in);
}

/* The first of two operands if a combination of masks is true. */
static tgi_emitted emit_select(tgi_emitter *e, tg_dtype dtype, int which,
                               const tgi_emitted *in)
{
    const tgi_emitted swapped[] = {in[1], in[0]};
    const tgi_emitted masks[] = {
        emit_mask(e, dtype, which % MASKS, in),
        emit_mask(e, dtype, which / MASKS % MASKS, swapped)};
    const int primitive = TGI_PRIMITIVE_MASK_AND + which / (MASKS * MASKS);
    const tgi_emitted again[] = {emit_primitive(e, dtype, primitive, masks),
                                 emit_mask(e, dtype, which % MASKS, swapped)};
    const tgi_emitted arms[] = {
        emit_primitive(e, dtype, TGI_PRIMITIVE_MASK_AND + which % 3, again),
        in[0], in[1]};
    return emit_primitive(e, dtype, TGI_PRIMITIVE_SELECT, arms);
}

Test(llvm_emit, masks_of_all_origins_combine)
{
    static expression expressions[COMBINED];
    for (int dtype = TG_F32; dtype <= TG_F64; dtype++) {
        for (int i = 0; i < COMBINED; i++) {
            expressions[i] =
                (expression){emit_select, i, dtype, dtype, dtype, ""};
            snprintf(expressions[i].name, sizeof(expressions[i].name),
                     "select_%d", i);
        }
        check_expressions(expressions, COMBINED, 8);
        check_expressions(expressions, COMBINED, 16);
    }
    check_nothing_is_alive();
}

/* -- Tables ---------------------------------------------------------------- */

/* Every element of the first `n` of a table, in irregular order. */
static void check_table(tg_dtype dtype, int n, unsigned lanes)
{
    enum { LONGEST = 40 };
    static float singles[LONGEST];
    static double doubles[LONGEST];
    for (int i = 0; i < LONGEST; i++)
        doubles[i] = (double)(singles[i] = (float)(3 * i) - 0.5f);
    const void *table =
        dtype == TG_F32 ? (const void *)singles : (const void *)doubles;

    compiling_begin(&under_way);
    tgi_llvm_emitter *e = &under_way.emitter;
    e->lanes = lanes;
    const int index_type = dtype == TG_F32 ? TG_U32 : TG_U64;
    LLVMValueRef index;
    start_function("look_up", 1, &index_type, &index);
    end_function((int)dtype,
                 e->base.lookup(&e->base, dtype, table, (size_t)n, index));
    tgi_image *image = compiling_load(&under_way);
    compiled_function *function = function_of(image, "look_up");
    for (int first = 0; first < n; first++) {
        uint32_t at_singles[64] = {0};
        uint64_t at_doubles[64] = {0};
        float found_singles[64];
        double found_doubles[64];
        for (unsigned k = 0; k < lanes; k++)
            at_doubles[k] = at_singles[k] =
                (uint32_t)(first + 7 * (int)k) % (uint32_t)n;
        if (dtype == TG_F32)
            function(at_singles, NULL, NULL, found_singles);
        else
            function(at_doubles, NULL, NULL, found_doubles);
        for (unsigned k = 0; k < lanes; k++)
            cr_assert(dtype == TG_F32
                          ? found_singles[k] == singles[at_singles[k]]
                          : found_doubles[k] == doubles[at_doubles[k]],
                      "%u lanes, %d elements, at %u", lanes, n, at_singles[k]);
    }
    tgi_image_release(image);
    compiling_end(&under_way);
}

Test(llvm_emit, tables_of_any_length_are_looked_up)
{
    static const int lengths[] = {1, 5, 8, 9, 16, 17, 40};
    for (unsigned lanes = 1; lanes <= TGI_MAX_LANES; lanes *= 2)
        for (int i = 0; i < 7; i++) {
            check_table(TG_F32, lengths[i], lanes);
            if (i % 3 == 0)
                check_table(TG_F64, lengths[i], lanes);
        }
    check_nothing_is_alive();
}

Test(llvm_emit, a_table_is_in_a_module_once)
{
    static const double table[] = {1, 2, 3};
    compiling_begin(&under_way);
    tgi_llvm_emitter *e = &under_way.emitter;
    const int index_type = TG_U64;
    LLVMValueRef index;
    start_function("f", 1, &index_type, &index);
    tgi_emitted first = e->base.lookup(&e->base, TG_F64, table, 3, index);
    tgi_emitted again = e->base.lookup(&e->base, TG_F64, table, 3, index);
    const tgi_emitted both[] = {first, again};
    end_function(TG_F64, e->base.primitive(&e->base, TGI_PRIMITIVE_ADD, TG_F64,
                                           TG_DTYPE_NONE, both));
    LLVMValueRef global = LLVMGetFirstGlobal(under_way.module);
    cr_assert_not_null(global);
    cr_expect_null(LLVMGetNextGlobal(global));
    compiling_end(&under_way);
}
