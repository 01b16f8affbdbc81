/* SPDX-License-Identifier: MIT */
/*
 * choose_blocks.c - whether row blocks pay, and how many rows a block has.
 *
 * They pay if what members share by rows exceeds L2 (else it is still there when
 * it is read again). A block fits in half of L2, if possible with what it reads
 * as a whole, such as the weights of a layer or the keys of attention. If these
 * are larger, every block reads them again, which must be less than what it
 * saves. Blocks have as many rows as fit, but there are enough of them to
 * balance threads.
 */
#include "blocks/blocks.h"

#include "base/error.h"
#include "schedule/schedule.h"

enum {
    MAX_GRANULE = 1024,    /* rows that work items do not divide */
    MIN_ROWS = 16,         /* smaller blocks are all calls */
    UNKNOWN_ROWS = 64,     /* of a block, if there may be few for all threads */
    MIN_BLOCKS = 8,        /* for balance; also a multiple of … */
    BALANCED_BLOCKS = 4,   /* … this, unless there are … */
    ENOUGH_BLOCKS = 32     /* … so many */
};

unsigned tgi_blocks_draw(tgi_blocks *b, unsigned n)
{
    if (!b->random)
        return 0;
    b->random ^= b->random << 13;
    b->random ^= b->random >> 7;
    b->random ^= b->random << 17;
    return (unsigned)(b->random >> 33) % n;
}

/* -- Extents --------------------------------------------------------------- */

/* Evaluates all expressions for assumed symbols. */
static tg_status assume_values(tgi_blocks *b)
{
    const size_t n = tgi_dims_n_values(b->loops->dims);
    if (n == b->n_values)
        return TG_OK;
    tgi_free(b->values);
    b->n_values = n;
    b->values = tgi_alloc_zero((n + 1) * sizeof(*b->values));
    if (!b->values)
        return tgi_error_memory();
    tgi_error_copy error;
    tgi_error_save(&error);
    const tg_status status = tgi_dims_assume(b->loops->dims, b->values);
    b->has_values = !status;
    if (status && status != TG_ERROR_OUT_OF_MEMORY)
        tgi_error_restore(&error);
    return status == TG_ERROR_OUT_OF_MEMORY ? status : TG_OK;
}

static double value_of(const tgi_blocks *b, tgi_dim dim)
{
    return (double)tgi_dim_value(dim, b->values);
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int64_t round_up(int64_t n, int64_t step)
{
    return (n + step - 1) / step * step;
}

/* -- Work items ------------------------------------------------------------ */

/* True if the items of a matmul along its rows are chosen here. */
static bool has_matmul_rows(const tgi_kernel_loops *k,
                            const tgi_row_kernel *map)
{
    return k->schedule->matmul.mr &&
           k->schedule->matmul.row_axis == map->n_axes - 1;
}

/* The rows of a block are a multiple of this; 0: no block is possible. */
static int64_t granule_of(const tgi_kernel_loops *k, const tgi_row_kernel *map)
{
    const tgi_schedule *s = k->schedule;
    int64_t indices = s->item_extent[map->n_axes - 1] * map->rows_per_index;
    if (has_matmul_rows(k, map)) {
        if (s->matmul.reduces_columns || map->per_row != 1)
            return 0;
        indices = s->matmul.mr;
    }
    return tgi_dim_is_known(map->per_row)
               ? indices / gcd(indices, map->per_row)
               : indices;
}

static int64_t common_granule(const tgi_blocks *b, const tgi_block_group *g)
{
    int64_t granule = 1;
    for (size_t i = 0; i < g->n && granule && granule <= MAX_GRANULE; i++) {
        if (!tgi_block_is_member(g, i))
            continue;
        const int64_t own =
            granule_of(tgi_block_member(b, g, i), &g->maps[i]);
        granule = own ? granule / gcd(granule, own) * own : 0;
    }
    return granule <= MAX_GRANULE ? granule : 0;
}

void tgi_blocks_set_items(tgi_blocks *b, const tgi_block_group *g)
{
    const tgi_dim all = g->domain.rows;
    for (size_t i = 0; i < g->n; i++) {
        if (!tgi_block_is_member(g, i))
            continue;
        tgi_kernel_loops *k = tgi_block_member(b, g, i);
        tgi_schedule *s = k->schedule;
        if (!has_matmul_rows(k, &g->maps[i]) ||
            (tgi_dim_is_known(all) && g->block_rows >= all))
            continue;
        const int64_t tiles = g->block_rows / s->matmul.mr;
        int64_t n = s->matmul.item_rows / s->matmul.mr;
        n = n < tiles ? n : tiles;
        while (tiles % n)
            n--;
        s->matmul.item_rows = n * s->matmul.mr;
        s->item_extent[s->matmul.row_axis] = s->matmul.item_rows;
    }
}

/* -- Bytes ----------------------------------------------------------------- */

typedef struct traffic {
    double row_bytes;    /* of a row, in all buffers */
    double saved_bytes;  /* of a row: what is not moved from and to L3 */
    double fixed_bytes;  /* that every block reads */
    double shared_bytes; /* in all rows, of buffers of several members */
} traffic;

/* What a buffer adds; `n` members use it, the first one as `use`. */
static void add_buffer(const tgi_blocks *b, const tgi_block_group *g,
                       const tgi_row_use *use, int n, traffic *t)
{
    const tgi_loop_buffer *buffer = tgi_loops_buffer(b->loops, use->buffer);
    const double element = (double)tgi_dtype_bytes(buffer->dtype);
    if (!use->row_elements) {
        double bytes = element * value_of(b, buffer->count);
        if (use->moves_with_matrices)
            bytes /= value_of(b, g->domain.matrices);
        t->fixed_bytes += bytes;
        return;
    }
    const double bytes = element * value_of(b, use->row_elements);
    t->row_bytes += bytes;
    t->saved_bytes += bytes * (n - 1 + (n > 1 && use->writes));
    if (n > 1)
        t->shared_bytes += bytes * value_of(b, g->domain.rows) *
                           value_of(b, g->domain.matrices);
}

/* True if a member before i uses a buffer. */
static bool is_counted(const tgi_blocks *b, const tgi_block_group *g, size_t i,
                       tgi_buffer_id buffer)
{
    for (size_t j = 0; j < i; j++) {
        if (!tgi_block_is_member(g, j))
            continue;
        const tgi_kernel_loops *k = tgi_block_member(b, g, j);
        for (size_t a = 0; a < k->accesses.n; a++)
            if (tgi_buffer_id_equals(k->accesses.data[a].buffer, buffer))
                return true;
    }
    return false;
}

/* Members from i on that use a buffer by the same rows. */
static tg_status count_members(tgi_blocks *b, const tgi_block_group *g,
                               size_t i, const tgi_row_use *use, int *out)
{
    *out = 0;
    for (; i < g->n; i++) {
        if (!tgi_block_is_member(g, i))
            continue;
        if (!tgi_row_uses_find(b->loops, tgi_block_member(b, g, i),
                               &g->maps[i], &b->others))
            return tgi_error_memory();
        const tgi_row_use *other = tgi_row_use_of(&b->others, use->buffer);
        *out += other && use->row_elements &&
                other->row_elements == use->row_elements;
    }
    return TG_OK;
}

/* Finds the uses of all members, whose expressions are then in the table, and
   evaluates these. */
static tg_status assume_uses(tgi_blocks *b, const tgi_block_group *g)
{
    for (size_t i = 0; i < g->n; i++)
        if (tgi_block_is_member(g, i) &&
            !tgi_row_uses_find(b->loops, tgi_block_member(b, g, i),
                               &g->maps[i], &b->uses))
            return tgi_error_memory();
    return assume_values(b);
}

static tg_status find_traffic(tgi_blocks *b, const tgi_block_group *g,
                              traffic *t)
{
    *t = (traffic){0};
    TGI_TRY(assume_uses(b, g));
    for (size_t i = 0; i < g->n && b->has_values; i++) {
        if (!tgi_block_is_member(g, i))
            continue;
        if (!tgi_row_uses_find(b->loops, tgi_block_member(b, g, i),
                               &g->maps[i], &b->uses))
            return tgi_error_memory();
        for (size_t j = 0; j < b->uses.n; j++) {
            int n;
            if (is_counted(b, g, i, b->uses.data[j].buffer))
                continue;
            TGI_TRY(count_members(b, g, i, &b->uses.data[j], &n));
            add_buffer(b, g, &b->uses.data[j], n, t);
        }
    }
    return TG_OK;
}

tg_status tgi_blocks_is_large(tgi_blocks *b, const tgi_kernel_loops *k,
                              bool *out_is)
{
    *out_is = false;
    TGI_TRY(assume_values(b));
    for (size_t i = 0; i < k->accesses.n && b->has_values; i++) {
        const tgi_loop_buffer *buffer =
            tgi_loops_buffer(b->loops, k->accesses.data[i].buffer);
        *out_is |= b->random ||
                   value_of(b, buffer->count) *
                           (double)tgi_dtype_bytes(buffer->dtype) >
                       (double)b->pass->target->l2_bytes / 4;
    }
    return TG_OK;
}

/* -- Rows ------------------------------------------------------------------ */

/* True if so many blocks keep threads busy until the end. */
static bool is_balanced(double n_blocks)
{
    return n_blocks >= ENOUGH_BLOCKS ||
           (n_blocks >= MIN_BLOCKS &&
            (int64_t)n_blocks % BALANCED_BLOCKS == 0);
}

/* Rows of a block, at most `max`, of a known number of rows. */
static int64_t balance(const tgi_blocks *b, const tgi_block_group *g,
                       int64_t granule, int64_t max)
{
    const int64_t rows = g->domain.rows;
    const double matrices = value_of(b, g->domain.matrices);
    const int64_t first = (rows + max - 1) / max;
    int64_t best = 0;
    for (int64_t n = first; n <= 4 * first + MIN_BLOCKS; n++) {
        int64_t length = n == 1 ? rows : round_up((rows + n - 1) / n, granule);
        if (length > max)
            continue;
        if (best && length < MIN_ROWS)
            break;
        const int64_t n_blocks = (rows + length - 1) / length;
        if (!best)
            best = length;
        if (is_balanced(matrices * (double)n_blocks))
            return length;
    }
    return best;
}

static int64_t random_rows(tgi_blocks *b, const tgi_block_group *g,
                           int64_t granule)
{
    const int64_t rows = granule * (1 + tgi_blocks_draw(b, 6));
    return tgi_dim_is_known(g->domain.rows) && tgi_blocks_draw(b, 4) == 0
               ? g->domain.rows
               : rows;
}

/* Rows of a block, at most; 0: blocks do not pay. */
static int64_t most_rows(const tgi_blocks *b, const traffic *t,
                         int64_t granule)
{
    const double half = (double)b->pass->target->l2_bytes / 2;
    const double least = (double)(granule > MIN_ROWS ? granule : MIN_ROWS);
    double rows = (half - t->fixed_bytes) / t->row_bytes;
    if (rows < least) {
        rows = half / t->row_bytes;
        if (rows < least || rows * t->saved_bytes < t->fixed_bytes)
            return 0;
    }
    return rows < (double)(1 << 20) ? (int64_t)rows : 1 << 20;
}

tg_status tgi_blocks_fit(tgi_blocks *b, const tgi_block_group *g,
                         bool *out_fit)
{
    traffic t;
    const int64_t granule = common_granule(b, g);
    *out_fit = granule != 0;
    if (b->random || !granule)
        return TG_OK;
    TGI_TRY(find_traffic(b, g, &t));
    *out_fit = b->has_values && t.row_bytes * (double)granule <=
                                    (double)b->pass->target->l2_bytes / 2;
    return TG_OK;
}

tg_status tgi_blocks_choose(tgi_blocks *b, tgi_block_group *g, bool *out_pays)
{
    traffic t;
    const tgi_dim rows = g->domain.rows;
    const int64_t granule = common_granule(b, g);
    *out_pays = false;
    if (!granule)
        return TG_OK;
    if (b->random) {
        *out_pays = tgi_blocks_draw(b, 4) > 0;
        g->block_rows = random_rows(b, g, granule);
        return TG_OK;
    }
    TGI_TRY(find_traffic(b, g, &t));
    if (!b->has_values)
        return TG_OK;
    const int64_t max = most_rows(b, &t, granule);
    if (t.shared_bytes <= (double)b->pass->target->l2_bytes || !max)
        return TG_OK;
    if (!tgi_dim_is_known(rows)) {
        const int64_t some = max < UNKNOWN_ROWS ? max : UNKNOWN_ROWS;
        g->block_rows = granule > some ? granule : some / granule * granule;
        *out_pays = true;
        return TG_OK;
    }
    /* Several small matrices are better one block, in the domain whose rows
       they are. */
    g->is_small = g->domain.matrices != 1 && max >= 2 * rows;
    if (g->is_small && !b->takes_small)
        return TG_OK;
    g->block_rows = balance(b, g, granule, max);
    *out_pays = g->block_rows >= MIN_ROWS || g->block_rows == rows;
    return TG_OK;
}
