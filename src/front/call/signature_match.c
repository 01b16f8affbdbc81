/* SPDX-License-Identifier: MIT */
/*
 * signature_match.c - compares argument lists: keys, matching a call against a
 * spec, generalisation, declared signatures.
 */
#include <assert.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "front/call/signature.h"
#include "front/object/tensor_object.h"

/* -- Keys ------------------------------------------------------------------ */

/* The key has room. */
static void key_add(tgi_key *key, const void *data, size_t bytes)
{
    if (bytes)
        memcpy(key->data + key->n, data, bytes);
    key->n += bytes;
}

/* A static value as kind, C type and bits, so that 1, 1.0 and true differ. */
static void key_add_static(tgi_key *key, const tg_operand *fixed)
{
    if (fixed->kind == TG_OPERAND_STRING) {
        key_add(key, "s", 1);
        key_add(key, fixed->as.string, strlen(fixed->as.string) + 1);
    } else {
        key_add(key, "n", 1);
        key_add(key, &fixed->kind, sizeof(fixed->kind));
        key_add(key, &fixed->as.u, sizeof(fixed->as.u));
    }
}

enum { HEAD_WORDS = 3 };

static void key_add_arg(tgi_key *key, const tgi_arg *arg)
{
    const uint32_t head[HEAD_WORDS] = {
        arg->kind | (uint32_t)arg->dtype << 8 |
            (uint32_t)(uint8_t)arg->rank << 16 |
            (uint32_t)arg->is_untrainable << 24,
        arg->operand, arg->alias};
    key_add(key, head, sizeof(head));
    key_add(key, &arg->bundle_type, sizeof(arg->bundle_type));
    key_add(key, &arg->offset, sizeof(arg->offset));
    key_add(key, arg->dims, (size_t)arg->rank * sizeof(arg->dims[0]));
    if (arg->kind == TGI_ARG_STATIC)
        key_add_static(key, &arg->fixed);
}

/* At most so many bytes are added for an argument. */
static size_t max_bytes(const tgi_arg *arg)
{
    const tg_operand *fixed = &arg->fixed;
    const bool is_string =
        arg->kind == TGI_ARG_STATIC && fixed->kind == TG_OPERAND_STRING;
    return HEAD_WORDS * sizeof(uint32_t) + sizeof(arg->bundle_type) +
           sizeof(arg->offset) + (size_t)arg->rank * sizeof(arg->dims[0]) + 1 +
           sizeof(fixed->kind) + sizeof(fixed->as.u) +
           (is_string ? strlen(fixed->as.string) + 1 : 0);
}

bool tgi_args_key(const tgi_args *args, tgi_key *out_key)
{
    const uint64_t n = args->n_operands;
    size_t bytes = out_key->n + sizeof(n);
    for (size_t i = 0; i < args->list.n; i++)
        bytes += max_bytes(&args->list.data[i]);
    if (!tgi_vec_reserve(out_key, bytes))
        return false;
    key_add(out_key, &n, sizeof(n));
    for (size_t i = 0; i < args->list.n; i++)
        key_add_arg(out_key, &args->list.data[i]);
    assert(out_key->n <= bytes);
    return true;
}

/* -- Matching -------------------------------------------------------------- */

static bool equal_static(const tg_operand *a, const tg_operand *b)
{
    if (a->kind != b->kind || a->dtype != b->dtype)
        return false;
    if (a->kind == TG_OPERAND_STRING)
        return strcmp(a->as.string, b->as.string) == 0;
    return a->as.u == b->as.u;
}

/* Compares everything except extents. */
static bool equal_except_dims(const tgi_arg *a, const tgi_arg *b)
{
    return a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank &&
           a->operand == b->operand && a->alias == b->alias &&
           a->bundle_type == b->bundle_type && a->offset == b->offset &&
           a->is_untrainable == b->is_untrainable &&
           (a->kind != TGI_ARG_STATIC || equal_static(&a->fixed, &b->fixed));
}

/* The values of a spec's symbols in a call. */
typedef struct binding {
    int64_t value[64];
    size_t arg[64]; /* the first argument with the symbol, and … */
    int axis[64];   /* … its axis */
    uint64_t is_bound; /* bit set */
} binding;

/* True if an extent of a call matches that of a spec. Symbols from 64 on never
   match, which costs a trace but no correctness. */
static bool bind_dim(binding *b, int64_t spec_dim, int64_t dim, size_t arg,
                     int axis)
{
    if (spec_dim >= 0)
        return spec_dim == dim;
    uint64_t k = (uint64_t)~spec_dim;
    if (k >= 64)
        return false;
    if (b->is_bound & (UINT64_C(1) << k))
        return b->value[k] == dim;
    b->is_bound |= UINT64_C(1) << k;
    b->value[k] = dim;
    b->arg[k] = arg;
    b->axis[k] = axis;
    return true;
}

bool tgi_args_fit(const tgi_args *args, const tgi_args *spec)
{
    binding b;
    b.is_bound = 0;
    if (args->list.n != spec->list.n || args->n_operands != spec->n_operands)
        return false;
    for (size_t i = 0; i < args->list.n; i++) {
        const tgi_arg *arg = &args->list.data[i];
        const tgi_arg *want = &spec->list.data[i];
        if (!equal_except_dims(arg, want))
            return false;
        for (int axis = 0; axis < arg->rank; axis++)
            if (!bind_dim(&b, want->dims[axis], arg->dims[axis], i, axis))
                return false;
    }
    return true;
}

size_t tgi_args_n_symbolic(const tgi_args *spec)
{
    size_t n = 0;
    for (size_t i = 0; i < spec->list.n; i++)
        for (int axis = 0; axis < spec->list.data[i].rank; axis++)
            n += spec->list.data[i].dims[axis] < 0;
    return n;
}

/* -- Generalisation -------------------------------------------------------- */

bool tgi_args_differ_in_dims(const tgi_args *args, const tgi_args *spec,
                             size_t *out_n_dims)
{
    *out_n_dims = 0;
    if (args->list.n != spec->list.n || args->n_operands != spec->n_operands)
        return false;
    for (size_t i = 0; i < args->list.n; i++) {
        const tgi_arg *a = &args->list.data[i], *b = &spec->list.data[i];
        if (!equal_except_dims(a, b))
            return false;
        for (int axis = 0; axis < a->rank; axis++) {
            if (a->dims[axis] == b->dims[axis] && a->dims[axis] >= 0)
                continue;
            if (a->kind != TGI_ARG_TENSOR)
                return false;
            ++*out_n_dims;
        }
    }
    return true;
}

void tgi_args_generalise(tgi_args *args, const tgi_args *spec)
{
    struct {
        int64_t before, now;
    } pairs[64];
    size_t n_pairs = 0, n_symbols = 0;
    for (size_t i = 0; i < args->list.n; i++) {
        tgi_arg *a = &args->list.data[i];
        const tgi_arg *b = &spec->list.data[i];
        for (int axis = 0; axis < a->rank; axis++) {
            int64_t now = a->dims[axis], before = b->dims[axis];
            if (now == before && now >= 0)
                continue;
            size_t k = 0;
            while (k < n_pairs &&
                   (pairs[k].before != before || pairs[k].now != now))
                k++;
            if (k == n_pairs && n_pairs < 64) {
                pairs[n_pairs].before = before;
                pairs[n_pairs++].now = now;
            } else if (k == n_pairs) {
                k = 64 + n_symbols++; /* table full: a symbol of its own */
            }
            a->dims[axis] = ~(int64_t)k;
        }
    }
}

void tgi_args_generalise_all(tgi_args *args)
{
    int64_t n_symbols = 0;
    for (size_t i = 0; i < args->list.n; i++) {
        tgi_arg *arg = &args->list.data[i];
        if (arg->kind == TGI_ARG_TENSOR)
            for (int axis = 0; axis < arg->rank; axis++)
                arg->dims[axis] = ~n_symbols++;
    }
}

/* -- Declared signatures --------------------------------------------------- */

/* Converts a plain number to the dtype of a scalar of the signature, in which
   it must be representable. */
static tg_status adapt_number(tgi_arg *arg, const tgi_arg *want,
                              const char *function, tg_site site)
{
    if (arg->kind != TGI_ARG_NUMBER || want->kind != TGI_ARG_TENSOR ||
        want->rank != 0)
        return TG_OK;
    if (arg->ref)
        return TG_OK; /* in a trace, tgi_apply converts it */
    tgi_number number = tgi_dtype_load(arg->dtype, arg->number);
    char element[8] = {0}, text[40];
    if (!tgi_dtype_store(want->dtype, number, element))
        TGI_FAIL(TG_ERROR_SIGNATURE, site,
                 "%s: argument %u: the signature has %s[], in which the "
                 "number %s is not representable",
                 function, want->operand, tg_dtype_name(want->dtype),
                 tgi_number_format(number, text, sizeof(text)));
    memcpy(arg->number, element, sizeof(element));
    arg->dtype = want->dtype;
    arg->kind = TGI_ARG_TENSOR;
    return TG_OK;
}

static void add_name(const tgi_arg *arg, tgi_strbuf *out)
{
    tgi_strbuf_addf(out, "argument %u", arg->operand);
    if (arg->member)
        tgi_strbuf_addf(out, " ('%s')", arg->member);
}

/* Argument i does not match: in axis `axis`, or in more than extents if -1. */
static tg_status fail_mismatch(const tgi_args *args, const tgi_args *signature,
                               size_t i, int axis, const binding *b,
                               const char *function, tg_site site)
{
    const tgi_arg *arg = &args->list.data[i];
    const tgi_arg *want = &signature->list.data[i];
    tgi_strbuf text = {0};
    tgi_strbuf_addf(&text, "%s: ", function);
    add_name(want, &text);
    tgi_strbuf_add(&text, ": the signature has ");
    tgi_arg_print(want, &text);
    tgi_strbuf_add(&text, ", but the call has ");
    tgi_arg_print(arg, &text);
    if (axis < 0 && arg->kind == TGI_ARG_VARIABLE &&
        want->kind == TGI_ARG_TENSOR)
        tgi_strbuf_add(&text, "; pass tg_value_of(v)");
    if (arg->bundle_type != want->bundle_type && arg->bundle_type &&
        want->bundle_type)
        tgi_strbuf_addf(&text,
                        "; the signature has a bundle '%s', but the call has "
                        "'%s'",
                        want->bundle_type->name, arg->bundle_type->name);
    const uint64_t k = axis < 0 ? UINT64_MAX : (uint64_t)~want->dims[axis];
    if (k < 64) {
        tgi_strbuf_addf(&text, "; axis %d must be %lld, as axis %d of ", axis,
                        (long long)b->value[k], b->axis[k]);
        add_name(&signature->list.data[b->arg[k]], &text);
        tgi_strbuf_add(&text, " is");
    }
    tg_status status =
        text.failed ? tgi_error_memory()
                    : tgi_error_set(TG_ERROR_SIGNATURE, site, "%s", text.text);
    tgi_strbuf_deinit(&text);
    return status;
}

static tg_status fail_count(size_t n, size_t n_wanted, const char *function,
                            tg_site site)
{
    if (n < n_wanted)
        TGI_FAIL(TG_ERROR_SIGNATURE, site,
                 "%s: argument %zu is missing: the signature has %zu "
                 "argument%s, but the call has %zu",
                 function, n, n_wanted, TGI_PLURAL(n_wanted), n);
    TGI_FAIL(TG_ERROR_SIGNATURE, site,
             "%s: the signature has %zu argument%s, but the call has %zu",
             function, n_wanted, TGI_PLURAL(n_wanted), n);
}

tg_status tgi_args_conform(tgi_args *args, const tgi_args *signature,
                           const char *function, tg_site site)
{
    binding b;
    b.is_bound = 0;
    if (args->n_operands != signature->n_operands)
        return fail_count(args->n_operands, signature->n_operands, function,
                          site);
    if (args->list.n != signature->list.n)
        TGI_FAIL(
            TG_ERROR_SIGNATURE, site,
            "%s: the signature has %zu variables and tensors, but the call "
            "has %zu",
            function, signature->list.n, args->list.n);
    for (size_t i = 0; i < args->list.n; i++) {
        tgi_arg *arg = &args->list.data[i];
        const tgi_arg *want = &signature->list.data[i];
        TGI_TRY(adapt_number(arg, want, function, site));
        tgi_arg aliased = *want;
        aliased.alias = arg->alias; /* a call may pass a variable twice */
        aliased.is_untrainable = arg->is_untrainable;
        bool fits = equal_except_dims(arg, &aliased);
        int n_fit = 0; /* axes */
        while (fits && n_fit < arg->rank &&
               bind_dim(&b, want->dims[n_fit], arg->dims[n_fit], i, n_fit))
            n_fit++;
        if (!fits || n_fit < arg->rank)
            return fail_mismatch(args, signature, i, fits ? n_fit : -1, &b,
                                 function, site);
    }
    return TG_OK;
}

/* -- Text ------------------------------------------------------------------ */

void tgi_arg_print(const tgi_arg *arg, tgi_strbuf *out)
{
    char text[256], element[8] = {0};
    switch (arg->kind) {
    case TGI_ARG_STATIC:
        if (arg->bundle_type) {
            tgi_strbuf_add(out, "empty bundle");
            return;
        }
        tgi_strbuf_add(out, "static ");
        if (arg->fixed.kind == TG_OPERAND_STRING) {
            tgi_strbuf_addf(out, "\"%s\"", arg->fixed.as.string);
            return;
        }
        if (arg->fixed.kind == TG_OPERAND_FLOAT)
            tgi_dtype_store(
                TG_F64, (tgi_number){TGI_NUMBER_FLOAT, {.f = arg->fixed.as.f}},
                element);
        else
            memcpy(element, &arg->fixed.as.u, sizeof(element));
        tgi_dtype_format(arg->fixed.kind == TG_OPERAND_FLOAT ? TG_F64
                         : arg->fixed.dtype == TG_BOOL       ? TG_BOOL
                         : arg->fixed.kind == TG_OPERAND_INT ? TG_I64
                                                             : TG_U64,
                         element, text, sizeof(text));
        tgi_strbuf_addf(out, "%s %s", tg_dtype_name(arg->dtype), text);
        return;
    case TGI_ARG_NUMBER:
        tgi_strbuf_addf(out, "number %s", tg_dtype_name(arg->dtype));
        return;
    case TGI_ARG_VARIABLE:
        tgi_strbuf_add(out, "variable ");
        break;
    default:
        break;
    }
    tgi_strbuf_add(out, tgi_spec_text(arg->dtype, arg->rank, arg->dims, text,
                                      sizeof(text)));
}

void tgi_args_print(const tgi_args *args, tgi_strbuf *out)
{
    tgi_strbuf_add(out, "(");
    for (size_t i = 0; i < args->list.n; i++) {
        const tgi_arg *arg = &args->list.data[i];
        tgi_strbuf_add(out, i ? ", " : "");
        tgi_arg_print(arg, out);
        if (arg->kind == TGI_ARG_VARIABLE && arg->alias != i)
            tgi_strbuf_addf(out, " = argument %u", arg->alias);
    }
    tgi_strbuf_add(out, ")");
}
