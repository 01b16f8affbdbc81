/* SPDX-License-Identifier: MIT */
/*
 * choose_micro_kernel.c - the size of a micro-kernel, mr x nr, from the
 * registers of the target and the shape of the matmul; and prefetching in
 * batches of small matmuls.
 */
#include "schedule/choose.h"

enum {
    /* nr: one to four cache lines, the width of packed panels. */
    MIN_NR_BYTES = TGI_PANEL_ROW_BYTES,
    MAX_NR_BYTES = 4 * TGI_PANEL_ROW_BYTES,
    MAX_MR = 12,
    /* Quarters of the registers that are accumulators: fewer for integers,
       whose multiply-add takes two instructions, or a dozen in 64 bits. */
    ACC_QUARTERS = 3,
    ACC_QUARTERS_I32 = 2,
    ACC_QUARTERS_I64 = 1,
    /* Equal heights: registers of accumulators that hide the latency of FMAs,
       fewer if a row of C is one register and loads are the bottleneck; and
       micro-kernels per column from which the compile time of a second one
       does not matter, unless B is read from L1. Measured on Zen 4: 4x64 takes
       1 % longer than 6x64 at 1024 rows, 8x32 as long as 11x32 at 64 rows, 4x16
       of 256 bits 7 % longer than 6x16. */
    MIN_ACCUMULATORS = 12,
    MIN_ACCUMULATORS_1 = 8,
    MAX_EQUAL_TILES = 32,
    /* Fewer micro-kernels per column are as high as possible: one more reads B
       once more. Measured on Zen 4, 32 x 784 x 128: heights of 11, 11 and 10
       take 56 us, four of 8 take 64. */
    MIN_EQUAL_TILES = 4,
    /* Per cent of FMAs per load that a wider micro-kernel must have: the matmuls
       of a program then share one more often. */
    MIN_GAIN = 125,
    /* Rows up to which B is not packed for all work items (fuse_matmul.c). */
    MAX_UNSPLIT_ROWS = 128,
    /* Batches of small matmuls: bytes of an operand that is prefetched, and
       multiply-adds of a matmul that does so. */
    MAX_PREFETCH_BYTES = 64 << 10,
    MIN_PREFETCH_FMAS = 1 << 14,
    /* Rows of their micro-kernels, which are one panel wide: larger ones issue
       longer bursts of prefetches. Measured on Zen 4, 1000 x 64 x 64 x 64: 12x16
       7.1 ms, 6x64 7.0, 12x32 8.4, 8x16 5.4. */
    MAX_PREFETCH_MR = 8
};

/* -- Prefetching ----------------------------------------------------------- */

/* Bytes of an operand of one matmul of a batch, if micro-kernels prefetch the
   operand of the next one; else 0. */
static int64_t prefetched_bytes(const tgi_schedule *s, uint8_t operand)
{
    const int axis = s->matmul.row_axis;
    const tgi_dim m = s->loops->extent[axis];
    const tgi_dim n = s->loops->extent[s->vector_axis];
    const tgi_dim inner = s->loops->extent[s->inner];
    const tgi_access *access = tgi_schedule_operand(s, operand);
    if (axis == 0 || s->split_block || access->panel_width || access->index ||
        !tgi_dim_is_known(m) || !tgi_dim_is_known(n) ||
        !tgi_dim_is_known(inner) || m > MAX_PREFETCH_BYTES ||
        n > MAX_PREFETCH_BYTES || inner > MAX_PREFETCH_BYTES ||
        m * n * inner < MIN_PREFETCH_FMAS)
        return 0;
    const tgi_dim rows = operand == TGI_OPERAND_A ? m : n;
    const int64_t bytes =
        rows * inner * tgi_dtype_bytes(tgi_schedule_matmul_reduction(s)->dtype);
    const tgi_stride stride = access->stride[axis - 1];
    return bytes <= MAX_PREFETCH_BYTES && !stride.is_negative &&
                   stride.distance == rows * inner
               ? bytes
               : 0;
}

static bool prefetches(const tgi_schedule *s)
{
    return s->matmul.prefetched_a_bytes || s->matmul.prefetched_b_bytes;
}

/* -- Sizes ----------------------------------------------------------------- */

static unsigned matmul_bytes(const tgi_schedule *s)
{
    return (unsigned)tgi_dtype_bytes(tgi_schedule_matmul_reduction(s)->dtype);
}

static unsigned accumulator_quarters(const tgi_schedule *s)
{
    if (tgi_dtype_is(tgi_schedule_matmul_reduction(s)->dtype, TGI_CLASS_FLOAT))
        return ACC_QUARTERS;
    return matmul_bytes(s) == 8 ? ACC_QUARTERS_I64 : ACC_QUARTERS_I32;
}

unsigned tgi_schedule_nr_registers(const tgi_schedule *s, unsigned nr)
{
    return (nr * matmul_bytes(s) * 8 + s->vector_bits - 1) / s->vector_bits;
}

/* True if half of L1 holds nr columns of B. */
static bool reads_b_from_l1(const tgi_scheduler *r, const tgi_schedule *s,
                            unsigned nr)
{
    const tgi_dim inner = s->loops->extent[s->inner];
    return tgi_dim_is_known(inner) &&
           inner <= r->target->l1_bytes / 2 / (nr * matmul_bytes(s));
}

/* The largest height up to `max` that divides m, if that has enough
   accumulators; else 0. Then the rows need one micro-kernel, which compiles in
   half the time of two. */
static unsigned equal_mr(const tgi_scheduler *r, const tgi_schedule *s,
                         unsigned nr, unsigned max)
{
    const tgi_dim m = s->loops->extent[s->matmul.row_axis];
    const unsigned width = tgi_schedule_nr_registers(s, nr);
    const unsigned min = width == 1 ? MIN_ACCUMULATORS_1 : MIN_ACCUMULATORS;
    if (m > (int64_t)max * MAX_EQUAL_TILES && !reads_b_from_l1(r, s, nr))
        return 0;
    const int64_t tiles = (m + max - 1) / max;
    for (unsigned mr = max; mr * width >= min; mr--)
        if (m % mr == 0)
            return tiles >= MIN_EQUAL_TILES || m / mr == tiles ? mr : 0;
    return 0;
}

/* Rows of the micro-kernel: as many as registers allow beside a row of B and an
   element of A, equal or balanced over m. */
static unsigned choose_mr(const tgi_scheduler *r, const tgi_schedule *s,
                          unsigned nr, unsigned max)
{
    const unsigned n = r->target->n_registers;
    const unsigned width = tgi_schedule_nr_registers(s, nr);
    const unsigned accumulators = n * accumulator_quarters(s) / 4;
    if (max > accumulators / width)
        max = accumulators / width;
    if (max > (n - width - 1) / width)
        max = (n - width - 1) / width;
    if (max == 0)
        max = 1;
    const tgi_dim m = s->loops->extent[s->matmul.row_axis];
    if (!tgi_dim_is_known(m))
        return max;
    const unsigned equal = equal_mr(r, s, nr, max);
    const int64_t tiles = (m + max - 1) / max;
    return equal ? equal : (unsigned)((m + tiles - 1) / tiles);
}

/* Lanes of at most nr_bytes: no wider than a row of C, as in the tail of one
   (tgi_schedule_tail_lanes), and than the reduction trees of its epilogues. */
static unsigned limit_nr(const tgi_schedule *s, unsigned nr_bytes)
{
    const tgi_dim n = s->loops->extent[s->vector_axis];
    const unsigned panel = tgi_schedule_panel_lanes(s);
    unsigned nr = nr_bytes / matmul_bytes(s);
    while (nr > tgi_schedule_max_epilogue_lanes(s))
        nr /= 2;
    if (!tgi_dim_is_known(n))
        return nr;
    while (nr > 1 && (s->phases[0].can_mask ? nr / 2 : nr - 1) >= n)
        nr /= 2;
    return nr > panel && nr - panel >= n ? nr / 2 : nr;
}

/* True if nr is as wide as profitable for other reasons than registers: a
   batch is prefetched, or wider vectors divide B among too few work items, each
   of which packs its columns. Units as wide as the registers execute 8 FMAs in
   less time than 8x16 takes to load: 1000 x 32 x 32 x 32 takes 233 us with 8x32
   instead of 286 (Zen 5). */
static bool is_wide_enough(const tgi_scheduler *r, const tgi_schedule *s,
                           unsigned nr)
{
    const tgi_dim m = s->loops->extent[s->matmul.row_axis];
    if (prefetches(s))
        return r->target->unit_bits < s->vector_bits ||
               tgi_schedule_nr_registers(s, nr) > 1;
    return tgi_dim_is_known(m) && m <= MAX_UNSPLIT_ROWS &&
           tgi_schedule_has_enough_items(s, m, nr) &&
           !tgi_schedule_has_enough_items(s, m, 2 * nr);
}

/* Rows by which heights of micro-kernels are compared: all, if they are so few
   that the heights of two micro-kernels differ (4 and 3 for 7 rows). */
static int64_t row_period(const tgi_schedule *s, unsigned mr)
{
    const tgi_dim m = s->loops->extent[s->matmul.row_axis];
    return tgi_dim_is_known(m) && m > 0 && m < MIN_EQUAL_TILES * (int64_t)mr
               ? m
               : mr;
}

/*
 * Sets mr x nr to maximise the FMAs per load: each step of k loads mr elements
 * of A and a row of B, for mr FMAs per register of that row.
 */
void tgi_schedule_choose_micro_kernel(const tgi_scheduler *r, tgi_schedule *s)
{
    s->matmul.prefetched_a_bytes = prefetched_bytes(s, TGI_OPERAND_A);
    s->matmul.prefetched_b_bytes = prefetched_bytes(s, TGI_OPERAND_B);
    const unsigned hinted_height = r->hints->values[TGI_HINT_MICRO_HEIGHT];
    const unsigned hinted_width = r->hints->values[TGI_HINT_MICRO_WIDTH];
    const unsigned max = hinted_height   ? hinted_height
                         : prefetches(s) ? MAX_PREFETCH_MR
                                         : MAX_MR;
    int64_t best_fmas = 0, best_loads = 1;
    for (unsigned bytes = MIN_NR_BYTES; bytes <= MAX_NR_BYTES; bytes *= 2) {
        if (hinted_width && bytes != hinted_width * MIN_NR_BYTES)
            continue;
        const unsigned nr = limit_nr(s, bytes);
        const unsigned mr = choose_mr(r, s, nr, max);
        const unsigned width = tgi_schedule_nr_registers(s, nr);
        const int64_t rows = row_period(s, mr);
        const int64_t fmas = rows * width;
        const int64_t loads = rows + (rows + mr - 1) / mr * width;
        if (best_fmas &&
            100 * fmas * best_loads <= MIN_GAIN * best_fmas * loads)
            continue;
        s->matmul.mr = mr;
        s->matmul.nr = nr;
        best_fmas = fmas;
        best_loads = loads;
        if (is_wide_enough(r, s, nr))
            break;
    }
}
