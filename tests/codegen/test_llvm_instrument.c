/* SPDX-License-Identifier: MIT */
/*
 * test_llvm_instrument.c - code instrumented for AddressSanitizer: it is right
 * on buffers of the right size, and a buffer that is one element too short is
 * reported, whichever it is. Without the sanitizer instrumentation is rejected.
 */
#include "support/api.h"
#include "support/instrument.h"
#include "support/loops_building.h"

/* out[i] = sum over j of x[i][j], for rows whose last vector is partial, and
   tanh(x): plain and masked loads and stores, arrays on the stack, constants.
   */
enum { ROWS = 3, COLUMNS = 77 };

static tgi_loops *make_loops(void)
{
    tgi_loops *loops = new_loops("watched");
    const uint32_t x = add_buffer(loops, TG_F32, ROWS * COLUMNS);
    const uint32_t sums = add_buffer(loops, TG_F32, ROWS);
    const uint32_t y = add_buffer(loops, TG_F32, ROWS * COLUMNS);
    tgi_kernel_loops *k = add_kernel(loops, "tg_watched", TGI_ROWS, 1,
                                     (tgi_dim[]){ROWS, COLUMNS});
    const int64_t dense[] = {COLUMNS, 1}, point[] = {1, 0};
    const uint32_t value = add_load(loops, k, 0, add_access(k, x, 0, dense));
    add_store(k, 0, add_op(k, 0, TGI_OP_TANH, value, 0, 0),
              add_access(k, y, 0, dense), TGI_LEVEL_INNER);
    const uint32_t sum = add_reduction(k, 0, TGI_OP_SUM, value, 0);
    add_store(k, 0, sum, add_access(k, sums, 0, point), TGI_LEVEL_POINT);
    return loops;
}

static void doubled(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(in[0], in[0]));
}

/* The status of a call that must be compiled with the setting. */
static tg_status status_of_call(void)
{
    session s;
    setenv("TGJIT_INSTRUMENT", "address", 1);
    session_begin_with(&s, (tg_context_options){.jit = "required"});
    tg_function *f = tg_function_create(s.ctx, doubled, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2, 3), *y = NULL;
    const tg_status status = tg_call(f, TG_ARGS(x), TG_RESULTS(&y));
    if (!status)
        cr_expect_eq(((const float *)tg_tensor_data(y))[2], 6.0f);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    session_end(&s);
    return status;
}

#ifdef UNDER_ADDRESS_SANITIZER

#include <sanitizer/common_interface_defs.h>
#include <sys/wait.h>

static const size_t sizes[] = {ROWS * COLUMNS, ROWS, ROWS *COLUMNS};

/* Runs the code on memory from malloc, which has red zones; buffer `which`
   is one element too short. */
static void run_short(const code *c, int which)
{
    void *buffers[3];
    for (int i = 0; i < 3; i++)
        buffers[i] = calloc(sizes[i] - (i == which), sizeof(float));
    tgi_frame frame = {.buffers = buffers};
    run_code(c, &frame, 1);
    for (int i = 0; i < 3; i++)
        free(buffers[i]);
}

Test(llvm_instrument, code_is_right_and_silent)
{
    code c = compile_loops_with(make_loops(),
                                (tgi_codegen_options){.instruments = true});
    float x[ROWS * COLUMNS], sums[ROWS], y[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (float)(i % COLUMNS);
    void *const buffers[] = {x, sums, y};
    tgi_frame frame = {.buffers = buffers};
    run_code(&c, &frame, 1);
    for (int i = 0; i < ROWS; i++)
        cr_expect_eq(sums[i], COLUMNS * (COLUMNS - 1) / 2.0f);
    cr_expect_eq(y[ROWS * COLUMNS - 1], 1.0f);
    run_short(&c, -1);
    free_code(&c);
    check_nothing_is_alive();
}

Test(llvm_instrument, calls_work_with_the_setting)
{
    check_works(status_of_call());
}

/* In a child, because a report terminates the process. */
static void check_report(const code *c, int which)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    const pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0) {
        __sanitizer_set_report_fd((void *)(intptr_t)ends[1]);
        run_short(c, which);
        _exit(0);
    }
    close(ends[1]);
    char text[1 << 14];
    size_t n = 0;
    ssize_t got;
    while ((got = read(ends[0], text + n, sizeof(text) - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    close(ends[0]);
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_neq(status, 0, "no report of the short buffer %d", which);
    cr_expect(strstr(text, "heap-buffer-overflow"), "buffer %d: %s", which,
              text);
}

Test(llvm_instrument, a_buffer_that_is_too_short_is_reported)
{
    code c = compile_loops_with(make_loops(),
                                (tgi_codegen_options){.instruments = true});
    for (int which = 0; which < 3; which++)
        check_report(&c, which);
    free_code(&c);
    check_nothing_is_alive();
}

#else

Test(llvm_instrument, without_the_sanitizer_it_is_refused)
{
    tgi_loops *loops = make_loops();
    schedule_loops(loops, 0, 0);
    tgi_codegen codegen;
    const tgi_codegen_options options = {
        .instruments = true, .alloc = tgi_alloc, .free = tgi_free};
    cr_assert_not(tgi_llvm_codegen(loops, &options, &codegen));
    cr_expect(strstr(codegen.error, "cannot be instrumented"), "%s",
              codegen.error);
    tgi_llvm_codegen_dispose(&codegen);
    tgi_loops_destroy(loops);
    check_nothing_is_alive();
}

Test(llvm_instrument, without_the_sanitizer_the_setting_is_an_error)
{
    check_fails(status_of_call(), TG_ERROR_UNSUPPORTED,
                "cannot be instrumented");
}

#endif
