/* SPDX-License-Identifier: MIT */
/*
 * random_graph_program.c - the head of a program: its arguments in several
 * sizes, its variables, and the contents of both.
 */
#include <stdlib.h>
#include <string.h>

#include "random/random_graph.h"

/* Sizes of values and extents. */
typedef struct scale {
    int64_t limit;     /* elements of a value */
    int64_t unknown[16]; /* candidates for unknown extents … */
    int64_t known[16];   /* … and for known ones */
} scale;

/*
 * Medium extents are near multiples of vector lanes; large ones exceed the
 * blocks of reductions (4096 or 2048 elements, 256 rows) and of all other
 * loops.
 */
static const scale small = {96,
                            {3, 2, 4, 1, 5, 2, 6, 3, 1, 2, 4, 3, 2, 7, 1, 0},
                            {1, 2, 3, 4, 5, 1, 7, 2, 3, 1, 2, 4, 6, 1, 3, 0}};
static const scale medium = {
    4096,
    {33, 2, 65, 1, 17, 8, 100, 64, 1, 31, 7, 3, 16, 129, 5, 0},
    {1, 2, 3, 40, 5, 1, 70, 2, 33, 1, 2, 9, 64, 1, 15, 0}};
static const scale large = {
    32768,
    {300, 2, 70, 9000, 1, 64, 4097, 17, 513, 3, 130, 2049, 10, 20000, 8193,
     600},
    {1, 2, 3, 300, 5, 1, 70, 2, 33, 1, 2, 520, 64, 1, 8200, 1}};

/* Values of unknown extents, one per size. */
typedef struct extents {
    const scale *scale;
    bool has_equal_types;       /* all variables have the type of the first */
    int64_t named[2][RG_SIZES]; /* RG_SAME_1, RG_SAME_2 */
} extents;

static void *program_alloc(rg_program *p, size_t bytes)
{
    void *memory = tgi_arena_alloc(&p->arena, bytes + 1);
    if (!memory)
        abort();
    return memory;
}

static uint64_t take_seed(rg_program *p)
{
    return rg_take(&p->body) * 0x100000001b3u ^ p->seed;
}

/* An extent: often a named one, which occurs again elsewhere. */
static int64_t take_dim(rg_program *p, const extents *sizes, uint8_t *out_known,
                        int64_t *others)
{
    const int64_t *known = sizes->scale->known;
    unsigned choice = rg_take(&p->body);
    *out_known = (uint8_t)(choice % 8 < 3   ? RG_SAME_1
                           : choice % 8 < 5 ? RG_SAME_2
                           : choice % 8 < 6 ? RG_ALONE
                                            : RG_KNOWN);
    for (int i = 0; i < RG_SIZES; i++) {
        others[i] = known[choice / 8 % 16];
        if (*out_known == RG_SAME_1 || *out_known == RG_SAME_2)
            others[i] = sizes->named[*out_known - RG_SAME_1][i];
        else if (*out_known == RG_ALONE && i > 0)
            others[i] = known[(choice / 8 + 7 * (unsigned)i) % 16];
    }
    return others[0];
}

/* A type for every size; extents that would make it too large become 1. */
static void take_types(rg_program *p, const extents *sizes, tg_dtype dtype,
                       rg_type *types, uint8_t *known)
{
    int rank = rg_below(&p->body, 8);
    rank = rank > 5 ? rank - 5 : rank;
    for (int i = 0; i < RG_SIZES; i++)
        types[i] = (rg_type){.dtype = (uint8_t)dtype, .rank = (int8_t)rank};
    for (int axis = 0; axis < rank; axis++) {
        int64_t dims[RG_SIZES];
        take_dim(p, sizes, &known[axis], dims);
        bool is_small = true;
        for (int i = 0; i < RG_SIZES; i++) {
            types[i].dims[axis] = 1;
            rg_type prefix = types[i];
            prefix.rank = (int8_t)axis;
            is_small &= rg_count(&prefix) * dims[i] <= p->limit;
        }
        for (int i = 0; i < RG_SIZES && is_small; i++)
            types[i].dims[axis] = dims[i];
        if (!is_small)
            known[axis] = RG_KNOWN;
    }
}

static void *take_contents(rg_program *p, const rg_type *type)
{
    void *data = program_alloc(p, rg_size(type));
    rg_fill((tg_dtype)type->dtype, take_seed(p), data, rg_count(type));
    return data;
}

static void take_arg(rg_program *p, const extents *sizes, rg_arg *arg)
{
    static const rg_arg_kind kinds[] = {RG_TENSOR,   RG_TENSOR,  RG_TENSOR,
                                        RG_TENSOR,   RG_NUMBER,  RG_TENSOR,
                                        RG_VARIABLE, RG_VALUE_OF};
    arg->kind = kinds[rg_below(&p->body, 8)];
    if (arg->kind >= RG_VARIABLE && p->n_variables == 0)
        arg->kind = RG_TENSOR;
    if (arg->kind >= RG_VARIABLE) {
        arg->variable = rg_below(&p->body, p->n_variables);
        for (int i = 0; i < RG_SIZES; i++)
            arg->type[i] = p->variables[arg->variable].type;
        return;
    }
    tg_dtype dtype = rg_take_dtype(&p->body, TGI_CLASS_ANY);
    if (arg->kind == RG_NUMBER)
        dtype = rg_number_dtype(dtype);
    if (arg->kind == RG_TENSOR)
        take_types(p, sizes, dtype, arg->type, arg->known);
    else
        for (int i = 0; i < RG_SIZES; i++)
            arg->type[i] = (rg_type){.dtype = (uint8_t)dtype, .is_weak = true};
    for (int i = 0; i < RG_SIZES; i++)
        arg->data[i] = take_contents(p, &arg->type[i]);
}

/* A variable has one size; some are random generators. */
static void take_variable(rg_program *p, const extents *sizes, int number)
{
    rg_type types[RG_SIZES];
    uint8_t known[TG_MAX_RANK];
    if (rg_below(&p->body, 8) == 0) {
        types[0] = (rg_type){.dtype = TG_U64, .rank = 1, .dims = {2}};
    } else {
        tg_dtype dtype = rg_take_dtype(&p->body, TGI_CLASS_ANY);
        take_types(p, sizes, dtype, types, known);
    }
    if (sizes->has_equal_types && number > 0)
        types[0] = p->variables[0].type;
    p->variables[number].type = types[0];
    p->variables[number].data = take_contents(p, &types[0]);
}

static const scale *take_scale(unsigned flags, rg_mode mode)
{
    if (mode == RG_PASSES || flags / 64 < 2)
        return &small;
    return flags / 64 == 2 ? &medium : &large;
}

static uint64_t seed_of(const uint8_t *bytes, size_t n)
{
    return tgi_hash(bytes, n < 4 ? n : 4, 0);
}

bool rg_has_control(const rg_settings *settings, const uint8_t *bytes,
                    size_t n)
{
    if (settings->control != RG_CONTROL_SOME)
        return settings->control == RG_CONTROL_ALL;
    /* Excludes strings of the corpus that predate this choice. */
    return (seed_of(bytes, n) >> 52) % 4 == 0;
}

void rg_program_init(rg_program *p, const uint8_t *bytes, size_t n,
                     const rg_settings *settings)
{
    const rg_mode mode = settings->mode;
    *p = (rg_program){.body = {bytes, n, 0},
                      .seed = seed_of(bytes, n),
                      .has_control = rg_has_control(settings, bytes, n)};
    unsigned flags = rg_take(&p->body);
    p->no_contraction = flags % 16 == 1;
    p->is_fast = (p->seed >> 48) % 4 == 0;
    p->returns_all = flags / 16 % 4 > 0;
    extents sizes = {.scale = take_scale(flags, mode),
                     .has_equal_types = mode == RG_JIT && flags & 4};
    p->is_heavy = sizes.scale != &small;
    bool is_long = mode == RG_PASSES && flags == 255;
    p->limit = is_long ? 2048 : sizes.scale->limit;

    for (int k = 0; k < 2; k++)
        for (int i = 0; i < RG_SIZES; i++)
            sizes.named[k][i] = sizes.scale->unknown[rg_below(&p->body, 16)];
    if (is_long)
        sizes.named[0][0] = 40 + (int64_t)rg_take(&p->body) * 4;
    p->n_variables = rg_below(&p->body, RG_MAX_VARIABLES + 1);
    p->n_args = rg_below(&p->body, RG_MAX_ARGS + 1);
    for (int i = 0; i < p->n_variables; i++)
        take_variable(p, &sizes, i);
    for (int i = 0; i < p->n_args; i++)
        take_arg(p, &sizes, &p->args[i]);
}

void rg_program_deinit(rg_program *p)
{
    tgi_arena_deinit(&p->arena);
}

bool rg_program_has_unknowns(const rg_program *p)
{
    for (int i = 0; i < p->n_args; i++)
        if (p->args[i].kind == RG_TENSOR && p->args[i].type[0].rank > 0)
            return true;
    return false;
}
