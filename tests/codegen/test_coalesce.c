/* SPDX-License-Identifier: MIT */
/*
 * test_coalesce.c - live ranges and interference, on hand-made programs. A
 * program is a string of steps, separated by spaces:
 *
 *   ab>c    a kernel that loads a[i] and b[i] and stores their sum to c[i]
 *   ab~c    the same, but it loads a[n - 1 - i] and b[n - 1 - i]
 *   a=c     a kernel that copies a to c; a/c only the first half
 *   ab&c    a kernel that copies a to c, then b to c
 *   >c d    a kernel that stores a constant to c
 *   >cd     a kernel that stores one constant to c and d
 *   !a>c    a straight-line kernel
 *   |       a barrier; ?  return if a check has failed
 *   Hab>c   a host call with inputs a and b and output c
 *   L T E   loop, its test, end of the loop
 *   S C Z   switch, case, end of the switch
 *
 * Letters are buffers: v and w are variables, r and s results, the others
 * temporaries. Loops read i as their count and t as their test, switches i.
 * A second string has pairs of buffers: a carried value of the (only) loop, and
 * its next value.
 */
#include <ctype.h>

#include "memory/coalesce.h"
#include "support/loops_building.h"
#include "support/support.h"

enum { N = 64, LETTERS = 26 };

static tgi_buffer_id buffer_of(char letter)
{
    return tgi_buffer_id_from((size_t)(letter - 'a'));
}

static void add_buffers(tgi_loops *loops)
{
    for (int i = 0; i < LETTERS; i++) {
        const char letter = (char)('a' + i);
        const int place = strchr("vw", letter)   ? TGI_PLACE_PARAM
                          : strchr("rs", letter) ? TGI_PLACE_RESULT
                                                 : TGI_PLACE_TEMP;
        ADD(&loops->buffers, (tgi_loop_buffer){.place = (uint8_t)place,
                                               .dtype = TG_F32,
                                               .index = (uint32_t)i,
                                               .count = N});
    }
}

/* "ab>c", "ab~c", "a=c", "a/c", with "!" before it if it is straight-line. */
static void add_elementwise(tgi_loops *loops, const char *text)
{
    const bool is_straightline = *text == '!';
    text += is_straightline;
    const char *op = text + strcspn(text, ">~=/&");
    const tgi_dim extent[] = {*op == '/' ? N / 2 : N};
    tgi_kernel_loops *k = add_kernel(loops, "k", TGI_ROWS, 0, extent);
    k->is_straightline = is_straightline;
    const bool is_reversed = *op == '~';
    uint32_t value = 0;
    for (; text < op; text++) {
        const uint32_t access = add_access(
            k, tgi_buffer_id_index(buffer_of(*text)), is_reversed ? N - 1 : 0,
            (int64_t[]){is_reversed ? -1 : 1});
        const uint32_t load = add_load(loops, k, 0, access);
        if (*op == '&')
            add_store(k, 0, load,
                      add_access(k, tgi_buffer_id_index(buffer_of(op[1])), 0,
                                 (int64_t[]){1}),
                      TGI_LEVEL_INNER);
        value = value ? add_op(k, 0, TGI_OP_ADD, value, load, 0) : load;
    }
    if (*op == '&')
        return;
    if (!value)
        value = add_number(k, TG_F32, 1);
    else if (*op == '>' || is_reversed)
        value = add_op(k, 0, TGI_OP_NEG, value, 0, 0);
    for (text++; *text; text++)
        add_store(k, 0, value,
                  add_access(k, tgi_buffer_id_index(buffer_of(*text)), 0,
                             (int64_t[]){1}),
                  TGI_LEVEL_INNER);
}

/* "ab>c" */
static void add_host(tgi_loops *loops, const char *text)
{
    const size_t n_inputs = strcspn(text, ">"), n = strlen(text) - 1;
    tgi_buffer_id *buffers =
        tgi_arena_alloc(&loops->arena, (n + 1) * sizeof(*buffers));
    cr_assert(buffers);
    for (size_t i = 0; i < n; i++)
        buffers[i] = buffer_of(text[i + (i >= n_inputs)]);
    const uint32_t host =
        ADD(&loops->hosts, (tgi_host_step){.n_inputs = (uint32_t)n_inputs,
                                           .n_buffers = (uint32_t)n,
                                           .buffers = buffers});
    add_step(loops, TGI_STEP_HOST, host);
}

static tgi_buffer_id *new_ids(tgi_loops *loops, size_t n)
{
    tgi_buffer_id *ids = tgi_arena_alloc(&loops->arena, (n + 1) * sizeof(*ids));
    cr_assert(ids);
    return ids;
}

/* The control flow of a loop or switch; see the head of this file. */
static tgi_control_id add_control(tgi_loops *loops, bool is_loop,
                                  const char *carried)
{
    const uint32_t n = is_loop ? (uint32_t)strlen(carried) / 2 : 0;
    tgi_control_flow c = {.n_cases = is_loop ? 0 : 2,
                          .operand = buffer_of('i'),
                          .base = buffer_of('i'),
                          .test = buffer_of('t'),
                          .has_test = is_loop,
                          .n_carried = n,
                          .carried = new_ids(loops, n),
                          .next = new_ids(loops, n),
                          .to = new_ids(loops, 2 * n),
                          .from = new_ids(loops, 2 * n)};
    for (uint32_t k = 0; k < n; k++) {
        c.carried[k] = c.to[c.n_moved] = buffer_of(carried[2 * k]);
        c.next[k] = c.from[c.n_moved++] = buffer_of(carried[2 * k + 1]);
        c.to[c.n_moved] = c.next[k];
        c.from[c.n_moved++] = c.carried[k];
    }
    return tgi_control_id_from(ADD(&loops->controls, c));
}

static tgi_loops *make_program(const char *program, const char *carried)
{
    static const char controls[] = "LTESCZ";
    static const int kinds[] = {TGI_STEP_LOOP,   TGI_STEP_TEST,
                                TGI_STEP_LOOP_END, TGI_STEP_SWITCH,
                                TGI_STEP_CASE,   TGI_STEP_SWITCH_END};
    tgi_loops *loops = new_loops("f");
    tgi_control_id open[8];
    int depth = 0;
    add_buffers(loops);
    while (*program) {
        char step[16] = "";
        const size_t n = strcspn(program, " ");
        cr_assert(n < sizeof(step));
        memcpy(step, program, n);
        program += n + (program[n] == ' ');
        const char *control = strchr(controls, *step);
        if (*step == 'L' || *step == 'S') {
            open[depth] =
                add_control(loops, *step == 'L', depth ? "" : carried);
            depth++;
        }
        if (control)
            ADD(&loops->steps,
                (tgi_loop_step){.kind = (uint8_t)kinds[control - controls],
                                .control = open[depth - 1]});
        else if (*step == '|' || *step == '?')
            add_step(loops,
                     *step == '|' ? TGI_STEP_BARRIER
                                  : TGI_STEP_RETURN_IF_FAILED,
                     0);
        else if (*step == 'H')
            add_host(loops, step + 1);
        else
            add_elementwise(loops, step);
        depth -= *step == 'E' || *step == 'Z';
    }
    return loops;
}

/* -- Live ranges ----------------------------------------------------------- */

/* The steps of the live range of a buffer: "0-4 7-8". Points within a step are
   not shown. */
static void check_range(const char *program, const char *carried, char letter,
                        const char *expected)
{
    tgi_loops *loops = make_program(program, carried);
    tgi_live_ranges live;
    tgi_live_range range = {0};
    tgi_strbuf text = {0};
    cr_assert_eq(tgi_live_ranges_init(&live, loops), TG_OK);
    cr_assert(tgi_live_range_of(&live, buffer_of(letter), &range));
    for (size_t i = 0; i < range.n; i++)
        tgi_strbuf_addf(&text, "%s%u-%u", i ? " " : "",
                        range.data[i].span.first / 2,
                        range.data[i].span.last / 2);
    cr_assert_str_eq(text.text ? text.text : "", expected, "%c in %s", letter,
                     program);
    tgi_strbuf_deinit(&text);
    tgi_vec_deinit(&range);
    tgi_live_ranges_deinit(&live);
    tgi_loops_destroy(loops);
}

Test(coalesce, live_ranges_are_from_the_first_access_to_the_last)
{
    /* 0    1 2    3 4    5 6 */
    check_range(">a | a>b | b>c | c>r", "", 'a', "0-2");
    check_range(">a | a>b | b>c | c>r", "", 'b', "2-4");
    check_range(">a | a>b | b>c | c>r", "", 'r', "6-7");
    check_range(">a | a>b | b>c | c>r", "", 'z', "");
    /* Kernels of an epoch run at any time of it; straight-line ones in turn. */
    check_range(">b >a | a>b a>c b>d |", "", 'a', "0-5");
    check_range("!>b !>a !a>b !a>c !b>d", "", 'a', "1-3");
}

Test(coalesce, accesses_in_a_loop_count_for_all_of_it)
{
    /*           0  1 2 3   4   5 6 7 8 */
    check_range(">a | L a>b b>c | E | c>r", "", 'a', "0-6");
    check_range(">a | L a>b | b>c | E | c>r", "", 'b', "3-5");
    /* In a loop within the scope. */
    check_range("| L >b | L b>c | E | E |", "", 'b', "2-7");
    check_range("| L L | >b | b>c | E | E |", "", 'b', "4-6");
}

Test(coalesce, carried_values_are_dead_after_their_last_read)
{
    /*           0  1 2 3   4 5   6 7 8 9 */
    check_range(">c | L c>d | d>n | E | c>r", "cn", 'c', "0-3 7-9");
    check_range(">c | L c>d | d>n | E | c>r", "cn", 'n', "5-7");
    /* A test may end the loop, and a loop within repeats the read. */
    check_range(">c | L c>t | T >d | d>n | E |", "cn", 'c', "0-5 10-10");
    check_range(">c | L L c>d | E | d>n | E |", "cn", 'c', "0-6 10-10");
    /* Without an initial value. */
    check_range("| L >n | E | c>r", "cn", 'c', "1-1 4-6");
}

Test(coalesce, variables_are_live_except_before_new_contents)
{
    check_range("v>a | a>b | b=v | v>r", "", 'v', "0-0 4-7");
    check_range("v>a | a>b | b/v | v>r", "", 'v', "0-7");
    check_range("v>a | a>b | b>v |", "", 'v', "0-0 4-6");
    check_range("v>a | a>b | vb>v |", "", 'v', "0-6");
    /* A call that fails leaves the old contents. */
    check_range("v>a | a>b | ? >d | b=v |", "", 'v', "0-3 7-9");
    /* Only within one iteration, or one case. */
    check_range("| L v>a | a>b | b=v | E |", "", 'v', "0-2 6-10");
    check_range("| L v>a | T a>b | b=v | E |", "", 'v', "0-4 7-11");
    check_range("| S C v>a | C a>b | b=v | Z |", "", 'v', "0-5 8-12");
    check_range("w>a |", "", 'v', "");
}

Test(coalesce, cases_do_not_see_each_other)
{
    /*           0 1 2 3 4 5 6 7 8 9 */
    check_range("| S C >a | C >a | Z a>r", "", 'a', "3-4 6-9");
    check_range(">a | S C a>b | C >c | a>d | Z >e", "", 'a', "0-4 6-9");
    check_range(">e | S C >a | a>b | C >a | a>d | Z", "", 'a', "4-6 9-11");
    /* A loop around them does not make them see each other. */
    check_range("| L S C >a | a>b | C >a | a>d | Z | E", "", 'a', "4-6 9-11");
    check_range(">a | L S C a>b | >c | C a>d | Z | E", "", 'a', "0-14");
}

/* -- Interference ---------------------------------------------------------- */

static void check_pair(const char *program, const char *carried,
                       const char *pair, bool expected)
{
    tgi_loops *loops = make_program(program, carried);
    tgi_coalescer c;
    cr_assert_eq(tgi_coalescer_init(&c, loops, NULL), TG_OK);
    cr_assert_eq(tgi_coalescer_try_pinned(&c, buffer_of(pair[0]),
                                          buffer_of(pair[1])),
                 expected, "%s in %s", pair, program);
    cr_assert_eq(tgi_coalescer_apply(&c), TG_OK);
    tgi_coalescer_deinit(&c);
    tgi_loops_destroy(loops);
}

#define UNITES(program, pair) check_pair(program, "", pair, true)
#define KEEPS(program, pair) check_pair(program, "", pair, false)

Test(coalesce, copies_share_storage_until_one_changes)
{
    UNITES(">a | a=b | b>r", "ab");
    UNITES(">a | a=b | >b | b>r", "ab");
    UNITES(">a | a/b | b>r", "ab");
    KEEPS(">a | a=b | >b | ab>r", "ab");
    KEEPS(">a | a=b | >a | ab>r", "ab");
    KEEPS(">a | >b a=c | bc>r", "ab");
    UNITES(">a | a=b | ab>r", "ab");
    KEEPS(">a >x | a=b | x=b | ab>r", "ab");
    /* The read is in the epoch of the change, not before it. */
    KEEPS(">a | a=b | >b a>d | b>r", "ab");
    KEEPS(">a | a=b | a>d >b | b>r", "ab");
    UNITES("!>a !a=b !a>d !>b !b>r", "ab");
    KEEPS("!>a !a=b !>b !a>d !b>r", "ab");
    /* One value, stored twice. */
    UNITES(">ab | a>d | b>r", "ab");
    KEEPS(">ab | >a | ab>r", "ab");
}

Test(coalesce, kernels_update_the_elements_they_load)
{
    UNITES(">a | a=b | a>b | b>r", "ab");
    UNITES(">a | a>b | b>r", "ab");
    KEEPS(">a | a~b | b>r", "ab");
    KEEPS(">a | a>b a>d | b>r", "ab");
    KEEPS(">a | a>d a>b | b>r", "ab");
    KEEPS(">a | a>b | ab>r", "ab");
    UNITES("!>a !a>b !b>r", "ab");
    /* Not while a loop will load them again. */
    KEEPS(">a | L a>b | b>d | E |", "ab");
    UNITES("| L >a | a>b | b>d | E |", "ab");
}

Test(coalesce, back_edges_count)
{
    KEEPS(">a | L a=b | >b | b>d | E |", "ab");
    UNITES("| L >a | a=b | >b | b>d | E |", "ab");
    KEEPS(">a | a=b | L a>d | >b | E | b>r", "ab");
    UNITES(">a | a=b | L b>d | >b | E | b>r", "ab");
}

Test(coalesce, branches_change_only_their_own_values)
{
    UNITES(">a | S C a=b | C >b | Z b>r", "ab");
    UNITES(">a | S C a=b | >b | C a=b | Z b>r", "ab");
    KEEPS(">a | S C >b | C a=b | Z ab>r", "ab");
    KEEPS(">a | S C a=b | >b | C a>d | Z ab>r", "ab");
    KEEPS(">a | S C a=b | >b | a>d | C a=b | Z b>r", "ab");
}

Test(coalesce, variables_change_when_no_step_can_fail_before_their_assignment)
{
    UNITES("v=a | >a | a=v |", "va");
    KEEPS("v=a | >a | ? a=v |", "va");
    UNITES("v=a | ? >a | a=v |", "va");
    KEEPS("v=a | >a | >v | a>r", "va");
    KEEPS("v=a | >a | a/v |", "va");
    KEEPS("v=a | >a | v>d | a=v |", "va");
    KEEPS("v=a | >a | a=v | >a | a>r", "va");
    /* Assigned twice in one kernel: the last one counts. */
    KEEPS("| >a >b | ab&v |", "vb");
    KEEPS("| >a >b | ab&v |", "va");
    /* The assigned value, stored twice. */
    UNITES("v>av | a>r", "va");
    /* A copy that does not change shares the storage of a parameter. */
    UNITES("v=a | a>r", "va");
    KEEPS("v=a | >a | a>r", "va");
    /* A result has memory of its own. */
    KEEPS("v=r", "vr");
    KEEPS(">rs", "rs");
}

Test(coalesce, host_calls_keep_inputs_and_outputs_apart)
{
    KEEPS(">a | Ha>b | b>r", "ab");
    KEEPS(">a | a=b | H>b | ? ab>r", "ab");
    UNITES(">a | H>b | ? b=d | d>r", "bd");
    KEEPS("H>a | ? a=v |", "va");
}

Test(coalesce, carried_values_have_one_buffer_if_the_old_one_is_dead)
{
    check_pair(">c | L c>n | E | c>r", "cn", "cn", true);
    check_pair(">c | L c~n | E | c>r", "cn", "cn", false);
    check_pair(">c | L c>n | c>d | E | c>r", "cn", "cn", false);
    check_pair(">c | L c>d | d>n | E | c>r", "cn", "cn", true);
    check_pair(">c | L L c>n | E | E | c>r", "cn", "cn", false);
    check_pair(">c | L Hc>n | ? E | c>r", "cn", "cn", false);
    check_pair(">c | L c>t | T >n | E | c>r", "cn", "cn", true);
    /* The test comes after the change: the loop may end with the old value. */
    check_pair(">c | L >n | T c>d | E | c>r", "cn", "cn", false);
}

/* -- Classes --------------------------------------------------------------- */

Test(coalesce, a_class_is_live_where_any_member_is)
{
    tgi_loops *loops = make_program(
        ">a | a=b | >b | b=d | >d | d>r | >e | de>s", "");
    tgi_coalescer c;
    cr_assert_eq(tgi_coalescer_init(&c, loops, NULL), TG_OK);
    cr_assert(tgi_coalescer_try(&c, buffer_of('a'), buffer_of('b')));
    cr_assert(tgi_coalescer_try(&c, buffer_of('b'), buffer_of('d')));
    cr_assert(tgi_coalescer_try(&c, buffer_of('a'), buffer_of('d')));
    cr_assert(!tgi_coalescer_try(&c, buffer_of('a'), buffer_of('e')));
    const size_t n_steps = loops->steps.n, n_kernels = loops->kernels.n;
    cr_assert_eq(tgi_coalescer_apply(&c), TG_OK);
    /* Two copies, and a barrier after each, are gone. */
    cr_assert_eq(loops->buffers.n, LETTERS - 2);
    cr_assert_eq(loops->kernels.n, n_kernels - 2);
    cr_assert_eq(loops->steps.n, n_steps - 4);
    tgi_coalescer_deinit(&c);
    tgi_loops_destroy(loops);
}

Test(coalesce, a_class_writes_what_any_member_writes)
{
    tgi_loops *loops =
        make_program(">a | a=z | a=b | >b | b>r | z>s", "");
    tgi_coalescer c;
    cr_assert_eq(tgi_coalescer_init(&c, loops, NULL), TG_OK);
    cr_assert(tgi_coalescer_try(&c, buffer_of('a'), buffer_of('b')));
    cr_assert(!tgi_coalescer_try(&c, buffer_of('a'), buffer_of('z')));
    tgi_coalescer_deinit(&c);
    tgi_loops_destroy(loops);
}

/* The time of n updates of one value is not quadratic in n. */
Test(coalesce, long_chains_take_linear_time, .timeout = 60)
{
    enum { UPDATES = 20000 };
    tgi_loops *loops = new_loops("f");
    for (int i = 0; i <= 2 * UPDATES; i++)
        ADD(&loops->buffers, (tgi_loop_buffer){.place = TGI_PLACE_TEMP,
                                               .dtype = TG_F32,
                                               .count = N});
    const tgi_dim extent[] = {N};
    for (uint32_t i = 0; i < UPDATES; i++) {
        tgi_kernel_loops *k = add_kernel(loops, "copy", TGI_ROWS, 0, extent);
        const uint32_t from = add_access(k, i, 0, (int64_t[]){1});
        const uint32_t to = add_access(k, i + 1, 0, (int64_t[]){1});
        add_store(k, 0, add_load(loops, k, 0, from), to, TGI_LEVEL_INNER);
        add_step(loops, TGI_STEP_BARRIER, 0);
        k = add_kernel(loops, "change", TGI_ROWS, 0, (tgi_dim[]){1});
        const uint32_t at = add_access(k, i + 1, i % N, (int64_t[]){1});
        add_store(k, 0, add_number(k, TG_F32, 1), at, TGI_LEVEL_INNER);
        add_step(loops, TGI_STEP_BARRIER, 0);
    }
    tgi_coalescer c;
    cr_assert_eq(tgi_coalescer_init(&c, loops, NULL), TG_OK);
    for (uint32_t i = 0; i < UPDATES; i++)
        cr_assert(tgi_coalescer_try(&c, tgi_buffer_id_from(i),
                                    tgi_buffer_id_from(i + 1)));
    cr_assert_eq(tgi_coalescer_apply(&c), TG_OK);
    cr_assert_eq(loops->kernels.n, UPDATES);
    tgi_coalescer_deinit(&c);
    tgi_loops_destroy(loops);
}
