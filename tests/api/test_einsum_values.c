/* SPDX-License-Identifier: MIT */
/*
 * test_einsum_values.c - results of tg_einsum and tg_dot_general equal the sum
 * over all labels, term by term: floats within the error bound of such a sum,
 * integers exactly. The bits are the same whether extents are known while
 * tracing or not, and interpreted or compiled.
 */
#include <math.h>

#include "support/modes.h"

enum { MAX_OPERANDS = 3, MAX_ELEMENTS = 4096 };

typedef struct shaped {
    int rank;
    int64_t dims[TG_MAX_RANK];
} shaped;

typedef struct sum {
    const char *spec;
    const char *plain; /* without dots, with an explicit result; NULL: as the
                          spec */
    int n;
    shaped in[MAX_OPERANDS];
} sum;

#define S(...) \
    { \
        (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
        { \
            __VA_ARGS__ \
        } \
    }
#define SCALAR \
    { \
        0, \
        { \
            0 \
        } \
    }

static sum sums[] = {
    /* matrices, all transpositions */
    {"ij,jk->ik", NULL, 2, {S(5, 7), S(7, 3)}},
    {"ij,kj->ik", NULL, 2, {S(5, 7), S(3, 7)}},
    {"ji,jk->ik", NULL, 2, {S(7, 5), S(7, 3)}},
    {"ji,kj->ik", NULL, 2, {S(7, 5), S(3, 7)}},
    {"ij,jk->ki", NULL, 2, {S(5, 7), S(7, 3)}},
    {"ij,jk", "ij,jk->ik", 2, {S(33, 17), S(17, 40)}},
    {"ik,kj", "ik,kj->ij", 2, {S(1, 300), S(300, 1)}},
    {"zy,yx", "zy,yx->xz", 2, {S(4, 5), S(5, 6)}},
    /* vectors and scalars */
    {"i,i->", NULL, 2, {S(400), S(400)}},
    {"ij,j->i", NULL, 2, {S(5, 300), S(300)}},
    {"ij,i->j", NULL, 2, {S(300, 5), S(300)}},
    {"j,ij->i", NULL, 2, {S(300), S(5, 300)}},
    {"i,ij->j", NULL, 2, {S(300), S(300, 5)}},
    {"i,j->ij", NULL, 2, {S(5), S(4)}},
    {"i,j->ji", NULL, 2, {S(5), S(4)}},
    {",i->i", NULL, 2, {SCALAR, S(4)}},
    {"ij,->ji", NULL, 2, {S(3, 4), SCALAR}},
    {",->", NULL, 2, {SCALAR, SCALAR}},
    /* batches */
    {"bij,bjk->bik", NULL, 2, {S(3, 4, 5), S(3, 5, 6)}},
    {"bij,bkj->bik", NULL, 2, {S(3, 4, 5), S(3, 6, 5)}},
    {"ibj,kbj->bik", NULL, 2, {S(4, 3, 5), S(6, 3, 5)}},
    {"ijb,jkb->ikb", NULL, 2, {S(4, 5, 3), S(5, 6, 3)}},
    {"bi,bi->b", NULL, 2, {S(3, 50), S(3, 50)}},
    {"ib,ib->b", NULL, 2, {S(50, 3), S(50, 3)}},
    {"bij,bj->bi", NULL, 2, {S(3, 4, 5), S(3, 5)}},
    {"bj,bjk->bk", NULL, 2, {S(3, 5), S(3, 5, 4)}},
    {"bqhd,bkhd->bhqk", NULL, 2, {S(2, 5, 3, 4), S(2, 6, 3, 4)}},
    {"bhqk,bkhd->bqhd", NULL, 2, {S(2, 3, 5, 6), S(2, 6, 3, 4)}},
    {"cbij,bcjk->bcik", NULL, 2, {S(2, 3, 4, 5), S(3, 2, 5, 6)}},
    /* axes that are merged */
    {"abcd,cdef->abef", NULL, 2, {S(2, 3, 4, 5), S(4, 5, 3, 2)}},
    {"abcd,dcfe->efba", NULL, 2, {S(2, 3, 4, 5), S(5, 4, 3, 2)}},
    {"acbd,ecfd->abfe", NULL, 2, {S(2, 3, 4, 5), S(2, 3, 4, 5)}},
    {"abc,cd->abd", NULL, 2, {S(2, 3, 4), S(4, 5)}},
    {"abc,cd->bad", NULL, 2, {S(2, 3, 4), S(4, 5)}},
    {"acb,cd->abd", NULL, 2, {S(2, 4, 3), S(4, 5)}},
    {"ij,ij->", NULL, 2, {S(6, 7), S(6, 7)}},
    {"ij,ji->", NULL, 2, {S(6, 7), S(7, 6)}},
    {"jik,kjl->il", NULL, 2, {S(3, 2, 4), S(4, 3, 5)}},
    {"abcd,ebf->facde", NULL, 2, {S(2, 3, 2, 2), S(4, 3, 2)}},
    /* one operand */
    {"ij->ji", NULL, 1, {S(4, 5)}},
    {"ij->", NULL, 1, {S(40, 50)}},
    {"ijk->j", NULL, 1, {S(4, 5, 6)}},
    {"ii->i", NULL, 1, {S(5, 5)}},
    {"ii", "ii->", 1, {S(5, 5)}},
    {"iji->ji", NULL, 1, {S(4, 3, 4)}},
    {"iii->i", NULL, 1, {S(3, 3, 3)}},
    {"iijj->ij", NULL, 1, {S(3, 3, 2, 2)}},
    {"ii->i", NULL, 1, {S(1, 1)}},
    /* sums and diagonals before products */
    {"ijx,jky->ik", NULL, 2, {S(3, 4, 5), S(4, 2, 3)}},
    {"iij,jk->ik", NULL, 2, {S(3, 3, 4), S(4, 2)}},
    {"ii,jj->", NULL, 2, {S(3, 3), S(4, 4)}},
    /* several operands */
    {"i,ij,j->", NULL, 3, {S(5), S(5, 6), S(6)}},
    {"ij,jk,kl->il", NULL, 3, {S(3, 4), S(4, 5), S(5, 6)}},
    {"ij,jk,kl->li", NULL, 3, {S(3, 4), S(4, 5), S(5, 6)}},
    {"i,i,i->i", NULL, 3, {S(7), S(7), S(7)}},
    {"i,j,k->kij", NULL, 3, {S(2), S(3), S(4)}},
    {"ij,k,jk->i", NULL, 3, {S(2, 3), S(4), S(3, 4)}},
    {"bi,bij,bj->b", NULL, 3, {S(2, 3), S(2, 3, 4), S(2, 4)}},
    /* dots */
    {"...ij,...jk->...ik", "xyij,xyjk->xyik", 2,
     {S(2, 3, 4, 5), S(2, 3, 5, 6)}},
    {"...ij,...jk->...ik", "xyij,xyjk->xyik", 2,
     {S(2, 1, 4, 5), S(1, 3, 5, 6)}},
    {"...ij,...jk->...ik", "xyij,yjk->xyik", 2, {S(2, 3, 4, 5), S(3, 5, 6)}},
    {"b...ij,b...jk->b...ik", "byij,bxyjk->bxyik", 2,
     {S(2, 3, 4, 5), S(2, 2, 3, 5, 6)}},
    {"...ij,jk", "xij,jk->xik", 2, {S(3, 4, 5), S(5, 6)}},
    {"ij,...jk->i...k", "ij,xyjk->ixyk", 2, {S(4, 5), S(2, 3, 5, 6)}},
    {"i...,i...->...", "ix,iyx->yx", 2, {S(4, 3), S(4, 2, 3)}},
    {"...,...", "xy,y->xy", 2, {S(2, 3), S(3)}},
    {"...i->...", "xyi->xy", 1, {S(2, 3, 4)}},
    {"...ij->...ji", "ij->ji", 1, {S(3, 4)}},
    {"i...i->...i", "ixi->xi", 1, {S(3, 2, 3)}},
    {"...,...,...", "x,yx,zyx->zyx", 3, {S(2), S(3, 2), S(2, 1, 2)}},
    /* empty */
    {"ij,jk->ik", NULL, 2, {S(3, 0), S(0, 4)}},
    {"ij,jk->ik", NULL, 2, {S(0, 3), S(3, 4)}},
    {"abc,cd->abd", NULL, 2, {S(2, 3, 0), S(0, 5)}},
    {"abc,cd->abd", NULL, 2, {S(2, 0, 4), S(4, 5)}},
    {"i,i->", NULL, 2, {S(0), S(0)}},
    {"ij->j", NULL, 1, {S(0, 3)}},
    {"ii->i", NULL, 1, {S(0, 0)}},
    {"iij->j", NULL, 1, {S(0, 0, 3)}},
};
enum { N_SUMS = sizeof(sums) / sizeof(sums[0]) };

/* -- The sum, term by term ------------------------------------------------- */

/* Elements of an operand: small integers; floats also with a fraction. */
static double element(int operand, int64_t i)
{
    return (double)((i * 7 + operand * 5 + i / 3) % 11 - 5);
}

typedef struct reference {
    int64_t count;
    double value[MAX_ELEMENTS], magnitude[MAX_ELEMENTS];
    int64_t n_terms; /* per element */
} reference;

/* The position of the point `at` in a tensor; axes of extent 1 are repeated. */
static int64_t position(const char *labels, const shaped *shape,
                        const int64_t *at)
{
    int64_t offset = 0;
    for (int i = 0; i < shape->rank; i++)
        offset = offset * shape->dims[i] +
                 (shape->dims[i] == 1 ? 0 : at[(unsigned char)labels[i]]);
    return offset;
}

/* Splits "ij,jk->ik"; computes the extents of labels and the shape of the
   result. */
static void split(const sum *c, const char **out_terms, int64_t *out_extents,
                  shaped *out_result)
{
    const char *text = c->plain ? c->plain : c->spec;
    for (int i = 0; i < 128; i++)
        out_extents[i] = -1; /* no such label */
    for (int i = 0; i < c->n; i++) {
        out_terms[i] = text;
        for (int axis = 0; axis < c->in[i].rank; axis++, text++) {
            int64_t *extent = &out_extents[(unsigned char)*text];
            if (*extent < 0 || *extent == 1)
                *extent = c->in[i].dims[axis];
        }
        cr_assert(*text == (i + 1 < c->n ? ',' : '-'), "\"%s\"", c->spec);
        text += i + 1 < c->n ? 1 : 2;
    }
    out_terms[c->n] = text;
    out_result->rank = 0;
    for (; *text; text++)
        out_result->dims[out_result->rank++] =
            out_extents[(unsigned char)*text];
}

static void compute(const sum *c, shaped *out_result, reference *out)
{
    const char *terms[MAX_OPERANDS + 1];
    int64_t extents[128], at[128] = {0}, n_points = 1;
    split(c, terms, extents, out_result);
    memset(out, 0, sizeof(*out));
    out->count = 1;
    for (int i = 0; i < out_result->rank; i++)
        out->count *= out_result->dims[i];
    cr_assert_leq(out->count, MAX_ELEMENTS);
    for (int label = 0; label < 128; label++)
        n_points *= extents[label] < 0 ? 1 : extents[label];
    out->n_terms = out->count ? n_points / out->count : 0;

    for (int64_t point = 0; point < n_points; point++) {
        int64_t rest = point;
        for (int label = 0; label < 128; label++)
            if (extents[label] > 0) {
                at[label] = rest % extents[label];
                rest /= extents[label];
            }
        double term = 1;
        for (int i = 0; i < c->n; i++)
            term *= element(i, position(terms[i], &c->in[i], at));
        const int64_t to = position(terms[c->n], out_result, at);
        out->value[to] += term;
        out->magnitude[to] += fabs(term);
    }
}

/* -- Calls ----------------------------------------------------------------- */

static void einsum_of(tg_trace *t, const tg_value *in, void *user)
{
    const sum *c = user;
    tg_operand operands[MAX_OPERANDS];
    for (int i = 0; i < c->n; i++)
        operands[i] = tg_in_value(in[i]);
    tg_return(t, tg_einsum_at(c->spec, operands, (size_t)c->n, TG_HERE));
}

static tg_tensor *operand_of(tg_context *ctx, const sum *c, int i,
                             tg_dtype dtype)
{
    tg_tensor *x =
        tg_tensor_create(ctx, dtype, c->in[i].rank, c->in[i].dims, tg_zeros());
    cr_assert_not_null(x);
    for (int64_t k = 0; k < tg_tensor_count(x); k++)
        if (dtype == TG_F32)
            ((float *)tg_tensor_data(x))[k] = (float)element(i, k) * 0.1f;
        else
            ((int64_t *)tg_tensor_data(x))[k] = (int64_t)element(i, k);
    return x;
}

/* The einsum of operands whose extents are known while tracing, or not. */
static tg_tensor *call_sum(tg_context *ctx, sum *c, tg_dtype dtype,
                           bool is_known)
{
    tg_operand args[MAX_OPERANDS];
    tg_spec specs[MAX_OPERANDS];
    const int64_t unknown[TG_MAX_RANK] = {-1, -1, -1, -1, -1, -1, -1, -1};
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    tg_tensor *y = NULL;
    for (int i = 0; i < c->n; i++) {
        args[i] = tg_in_tensor(operand_of(ctx, c, i, dtype));
        specs[i] = tg_spec_tensor(dtype, c->in[i].rank,
                                  is_known ? c->in[i].dims : unknown);
    }
    options.signature = specs;
    options.n_signature = (size_t)c->n;
    tg_function *f = tg_function_create(ctx, einsum_of, c, &options);
    cr_assert_eq(tg_call(f, args, (size_t)c->n, TG_RESULTS(&y)), TG_OK,
                 "\"%s\": %s", c->spec, tg_error(ctx));
    tg_function_release(f);
    for (int i = 0; i < c->n; i++)
        tg_tensor_release(args[i].as.tensor);
    return y;
}

static void check_shape(const sum *c, const tg_tensor *y, const shaped *shape)
{
    cr_assert_eq(tg_tensor_rank(y), shape->rank, "\"%s\"", c->spec);
    for (int i = 0; i < shape->rank; i++)
        cr_assert_eq(tg_tensor_dims(y)[i], shape->dims[i],
                     "\"%s\": axis %d is %lld", c->spec, i,
                     (long long)tg_tensor_dims(y)[i]);
}

Test(einsum_values, are_the_sum_of_all_terms)
{
    static reference want;
    session s;
    session_begin_mode(&s, &all_modes[0]);
    for (int i = 0; i < N_SUMS; i++) {
        sum *c = &sums[i];
        shaped shape;
        tg_tensor *floats = call_sum(s.ctx, c, TG_F32, true);
        tg_tensor *integers = call_sum(s.ctx, c, TG_I64, true);
        compute(c, &shape, &want);
        check_shape(c, floats, &shape);
        check_shape(c, integers, &shape);
        /* Every operand was rounded once, every product and sum again. */
        const double scale = pow(0.1, c->n);
        const double bound =
            scale * ldexp((double)(want.n_terms + 2 * c->n + 4), -24);
        for (int64_t k = 0; k < want.count; k++) {
            const double is = (double)((float *)tg_tensor_data(floats))[k];
            cr_assert(fabs(is - want.value[k] * scale) <=
                          bound * want.magnitude[k],
                      "\"%s\": element %lld is %g, not %g", c->spec,
                      (long long)k, is, want.value[k] * scale);
            cr_assert_eq(((int64_t *)tg_tensor_data(integers))[k],
                         (int64_t)want.value[k], "\"%s\": element %lld",
                         c->spec, (long long)k);
        }
        tg_tensor_release(floats);
        tg_tensor_release(integers);
    }
    session_end(&s);
}

/* -- Bits ------------------------------------------------------------------ */

/* The same bits in two modes; the first knows the extents. */
static void check_bits(const mode *a, const mode *b, bool are_known)
{
    session s, other;
    session_begin_mode(&s, a);
    session_begin_mode(&other, b);
    for (int i = 0; i < N_SUMS; i++) {
        tg_tensor *want = call_sum(s.ctx, &sums[i], TG_F32, true);
        tg_tensor *is = call_sum(other.ctx, &sums[i], TG_F32, are_known);
        cr_assert_eq(tg_tensor_bytes(want), tg_tensor_bytes(is));
        cr_assert_eq(memcmp(tg_tensor_data(want), tg_tensor_data(is),
                            tg_tensor_bytes(is)),
                     0, "\"%s\"", sums[i].spec);
        tg_tensor_release(want);
        tg_tensor_release(is);
    }
    tg_context_release(other.ctx);
    session_end(&s);
}

Test(einsum_values, do_not_depend_on_known_extents)
{
    check_bits(&all_modes[0], &all_modes[0], false);
}

Test(einsum_values, are_the_same_compiled)
{
    need_compiler();
    check_bits(&all_modes[0], &all_modes[2], true);
}

Test(einsum_values, are_the_same_compiled_for_unknown_extents)
{
    need_compiler();
    check_bits(&all_modes[0], &all_modes[3], false);
}

/* -- Diagonals ------------------------------------------------------------- */

static void diagonal(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_einsum("ii->i", in[0]));
}

Test(einsum_values, of_a_diagonal_are_its_elements)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, diagonal, NULL, NULL);
    const float data[] = {-0.0f, 1, NAN, 2, INFINITY, 3, NAN, 4, 1e-45f};
    tg_tensor *x = tg_tensor_copy(s.ctx, data, TG_F32, TG_DIMS(3, 3));
    check_f32(call_one(f, TG_ARGS(x)), -0.0f, INFINITY, 1e-45f);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

/* -- Dot general ----------------------------------------------------------- */

/* Each next to the equivalent einsum: the same bits. */
static void dots(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value x = in[0], y = in[1]; /* [2,3,4,5] and [5,2,4,6] */
    (void)user;
    tg_return(
        t,
        tg_dot_general(x, y,
                       (tg_dot_axes){.contract_a = TG_AXES(3),
                                     .contract_b = TG_AXES(0),
                                     .batch_a = TG_AXES(0),
                                     .batch_b = TG_AXES(1)}),
        tg_einsum("abcd,daef->abcef", x, y),
        tg_dot_general(x, y,
                       (tg_dot_axes){.contract_a = TG_AXES(-2, -1),
                                     .contract_b = TG_AXES(2, 0)}),
        tg_einsum("abcd,decf->abef", x, y),
        tg_dot_general(x, y,
                       (tg_dot_axes){.contract_a = TG_AXES(2),
                                     .contract_b = TG_AXES(-2),
                                     .batch_a = TG_AXES(3, 0),
                                     .batch_b = TG_AXES(0, 1)}),
        tg_einsum("abcd,dacf->dabf", x, y),
        tg_dot_general(tg_sum(x, TG_AXES(0, 1)), tg_sum(y, TG_AXES(1, 3)),
                       (tg_dot_axes){.contract_a = TG_AXES(0, 1),
                                     .contract_b = TG_AXES(1, 0)}),
        tg_einsum("abcd,decf->", x, y),
        tg_dot_general(tg_sum(x, TG_AXES(0, 1, 2)), tg_sum(y, TG_AXES(0, 1, 2)),
                       (tg_dot_axes){.batch_a = {0}}),
        tg_einsum("abcd,efgh->dh", x, y));
}
enum { N_DOTS = 5 };

Test(einsum_values, of_dot_general_are_those_of_einsum)
{
    static const sum operands = {
        .n = 2, .in = {S(2, 3, 4, 5), S(5, 2, 4, 6)}};
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, dots, NULL, NULL);
    tg_tensor *x = operand_of(s.ctx, &operands, 0, TG_F32);
    tg_tensor *y = operand_of(s.ctx, &operands, 1, TG_F32);
    tg_tensor *r[2 * N_DOTS] = {NULL};
    check_works(tg_call(f, TG_ARGS(x, y),
                        TG_RESULTS(&r[0], &r[1], &r[2], &r[3], &r[4], &r[5],
                                   &r[6], &r[7], &r[8], &r[9])));
    for (int i = 0; i < 2 * N_DOTS; i += 2) {
        const int rank = tg_tensor_rank(r[i]);
        cr_assert_eq(rank, tg_tensor_rank(r[i + 1]), "%d", i);
        cr_assert_eq(memcmp(tg_tensor_dims(r[i]), tg_tensor_dims(r[i + 1]),
                            (size_t)rank * sizeof(int64_t)),
                     0, "%d", i);
        cr_assert_eq(memcmp(tg_tensor_data(r[i]), tg_tensor_data(r[i + 1]),
                            tg_tensor_bytes(r[i])),
                     0, "%d", i);
        tg_tensor_release(r[i]);
        tg_tensor_release(r[i + 1]);
    }
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    session_end(&s);
}

/* -- Memory ---------------------------------------------------------------- */

static void many(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value x = in[0];
    (void)user;
    tg_return(t, tg_einsum("abcc,...bd,adx->d...", x, x, tg_sum(x, TG_AXES(3))),
              tg_dot_general(x, x,
                             (tg_dot_axes){.contract_a = TG_AXES(0, 2),
                                           .contract_b = TG_AXES(1, 3)}));
}

static bool trace_many(void)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_function *f = ctx ? tg_function_create(ctx, many, NULL, NULL) : NULL;
    bool went_well = f != NULL;
    for (int i = 0; went_well && i < 2; i++) {
        const int64_t extent = i ? TG_UNKNOWN : 3;
        const tg_spec spec = tg_spec_tensor(
            TG_F32, TG_DIMS(extent, extent, extent, extent));
        tg_concrete *concrete = tg_function_concrete(f, &spec, 1);
        went_well = concrete != NULL;
        tg_concrete_release(concrete);
    }
    tg_function_release(f);
    tg_context_release(ctx);
    return went_well;
}

Test(einsum_values, every_allocation_may_fail)
{
    check_every_fault(trace_many);
}
