/* SPDX-License-Identifier: MIT */
/*
 * test_inspect.c - pages about traces: tg_concrete_inspect and the option
 * inspect. tests/scripts/check-inspect.sh checks their markup.
 */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/modes.h"

/* -- Pages ----------------------------------------------------------------- */

static char folder[64]; /* of a test; it removes its files */

static void make_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/tgjit-inspect-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static const char *path_in(const char *name)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

/* The text of a file, owned by the caller; the file is removed. */
static char *take_file(const char *name)
{
    FILE *file = fopen(path_in(name), "r");
    cr_assert_not_null(file, "there is no %s", name);
    fseek(file, 0, SEEK_END);
    const long n = ftell(file);
    char *text = calloc(1, (size_t)n + 1);
    rewind(file);
    cr_assert_eq(fread(text, 1, (size_t)n, file), (size_t)n);
    fclose(file);
    unlink(path_in(name));
    return text;
}

static void check_has_at(int line, const char *page, const char *text)
{
    cr_assert_not_null(strstr(page, text), "line %d: the page lacks '%s'", line,
                       text);
}

static void check_lacks_at(int line, const char *page, const char *text)
{
    cr_assert_null(strstr(page, text), "line %d: the page has '%s'", line,
                   text);
}

#define check_has(page, text) check_has_at(__LINE__, page, text)
#define check_lacks(page, text) check_lacks_at(__LINE__, page, text)

/* -- Functions ------------------------------------------------------------- */

static int sum_line;

static void two_kernels(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    sum_line = __LINE__ + 1;
    tg_value s = tg_sum(tg_exp(in[0]), TG_AXES(0)); /* <b>&"' escaped */
    tg_return(t, tg_matmul(tg_div(in[0], s), in[0]));
}

static tg_concrete *concrete_of(tg_function *f, int64_t n)
{
    const tg_spec spec = TG_SPEC(TG_F32, n, n);
    tg_concrete *c = tg_function_concrete(f, &spec, 1);
    cr_assert_not_null(c, "%s", tg_error(NULL));
    return c;
}

/* Calls it with f32[n,n]. */
static void call_it(session *s, tg_function *f, int64_t n)
{
    tg_tensor *x = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(n, n), tg_fill(1));
    tg_tensor *y = call_one(f, TG_ARGS(x));
    tg_tensor_release(x);
    tg_tensor_release(y);
}

/* The page about the callback's trace for f32[n,n], which has been called if
   `calls`. Ends the session; the caller frees the text. */
static char *page_about(tg_context_options options, tg_callback *callback,
                        const char *name, int64_t n, bool calls)
{
    session s;
    session_begin_with(&s, options);
    tg_function *f =
        tg_function_create_named(s.ctx, name, callback, NULL, NULL);
    if (calls)
        call_it(&s, f, n);
    tg_concrete *c = concrete_of(f, n);
    check_works(tg_concrete_inspect(c, path_in("page.html")));
    tg_concrete_release(c);
    tg_function_release(f);
    session_end(&s);
    return take_file("page.html");
}

Test(inspect, a_page_has_all_parts)
{
    char line[64];
    need_compiler();
    make_folder();
    char *page = page_about((tg_context_options){.jit = "auto"}, two_kernels,
                            "two_kernels", 40, true);
    check_has(page, "<h1>two_kernels <small>trace 0</small></h1>");
    check_has(page, "two_kernels(f32[40,40])");
    check_has(page, "LLVM ");
    for (const char *const *id =
             (const char *const[]){"source", "profile", "program", "kernels",
                                   "graph", "memory", "fusion", NULL};
         *id; id++) {
        snprintf(line, sizeof(line), " id=\"%s\">", *id);
        check_has(page, line);
    }
    check_has(page, "kernel tg_two_kernels_0_");
    check_has(page, "schedule tg_two_kernels_0_");
    check_has(page, "materialised: ");
    check_has(page, "There is no profile of this trace");
    /* A source line, its text, its nodes and instructions. */
    snprintf(line, sizeof(line), "<tr id=\"l0-%d\" class=\"u\"", sum_line);
    check_has(page, line);
    check_has(page, "/* &lt;b&gt;&amp;&quot;&#39; escaped */");
    snprintf(line, sizeof(line), "<tr data-l=\"0-%d\"><td>", sum_line);
    check_has(page, line); /* assembly */
    check_has(page, "retq");
    check_lacks(page, "http:");
    free(page);
    rmdir(folder);
}

/* Code that comes from a cache has assembly, too. */
Test(inspect, code_of_a_warm_cache_has_assembly)
{
    char cache[128];
    need_compiler();
    make_folder();
    snprintf(cache, sizeof(cache), "%s/cache", folder);
    for (int run = 0; run < 2; run++) {
        char *page = page_about((tg_context_options){.jit = "required",
                                                     .cache = "rw",
                                                     .cache_dir = cache},
                                two_kernels, "two_kernels", 24, true);
        check_has(page, run ? "compiled code, from the disk cache"
                            : "<dd>compiled</dd>");
        check_has(page, "retq");
        free(page);
    }
    check_works(tg_cache_clear(cache));
    rmdir(cache);
    rmdir(folder);
}

Test(inspect, an_interpreted_trace_says_why)
{
    make_folder();
    char *page = page_about((tg_context_options){.jit = "off"}, two_kernels,
                            "two_kernels", 8, false);
    check_has(page, "Calls are interpreted: the option jit (TGJIT_JIT) is off");
    check_has(page, "There are no loops, schedules and assembly");
    check_has(page, "matmul"); /* the graph */
    check_lacks(page, "href=\"#k0\"");
    free(page);
    rmdir(folder);
}

static void body(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(tg_sin(in[1]), tg_cast(in[0], TG_F32)));
}

static void with_control(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y;
    tg_for(3, body, NULL, TG_ARGS(in[0]), &y, 1);
    tg_print(t, "y is %v", y);
    tg_assert(t, tg_lt(y, 1e9), "too large");
    tg_return(t, y);
}

Test(inspect, regions_have_their_own_graphs)
{
    need_compiler();
    make_folder();
    char *page = page_about((tg_context_options){.jit = "required"},
                            with_control, "with_control", 100, true);
    check_has(page, "<h3 id=\"g1\">");
    check_has(page, "end loop");
    check_has(page, "print <a class=\"m\" href=\"#g0n");
    free(page);
    rmdir(folder);
}

/* -- Hostile names --------------------------------------------------------- */

Test(inspect, names_are_escaped)
{
    static const char name[] = "<script>alert(\"1\")</script>&'\x01\xff";
    make_folder();
    char *page = page_about((tg_context_options){.inspect = folder},
                            two_kernels, name, 3, true);
    check_lacks(page, "<script>alert");
    check_lacks(page, "\x01");
    check_lacks(page, "'\xff");
    check_has(page, "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;");
    free(page);
    DIR *dir = opendir(folder); /* the option has written one, too */
    int n = 0;
    for (struct dirent *e; (e = readdir(dir));)
        if (strstr(e->d_name, ".html")) {
            cr_assert_null(strpbrk(e->d_name, "<>&\"'/"), "%s", e->d_name);
            n++;
            unlink(path_in(e->d_name));
        }
    closedir(dir);
    cr_assert_eq(n, 1);
    rmdir(folder);
}

/* -- The option ------------------------------------------------------------ */

Test(inspect, the_option_writes_a_page_per_trace_with_its_profile)
{
    session s;
    need_compiler();
    make_folder();
    session_begin_with(
        &s, (tg_context_options){.inspect = folder, .jit = "required"});
    check_works(tg_profile_start(NULL));
    tg_function *f = tg_function_create(s.ctx, two_kernels, NULL, NULL);
    call_it(&s, f, 30);
    call_it(&s, f, 31);
    cr_assert_eq(access(path_in("two_kernels_0.html"), R_OK), 0);
    cr_assert_eq(access(path_in("two_kernels_1.html"), R_OK), 0);
    tg_function_release(f); /* writes them again */
    check_works(tg_profile_stop());
    tg_profile_clear();
    char *page = take_file("two_kernels_0.html");
    check_lacks(page, "There is no profile");
    check_has(page, "<p class=\"d\">1 call, ");
    check_has(page, "<meta name=\"tgjit-calls\" content=\"1\">");
    free(page);
    page = take_file("two_kernels_1.html");
    check_has(page, "generalised to ?");
    check_has(page, "Shown for calls with ?0 = 31");
    free(page);
    session_end(&s);
    rmdir(folder);
}

Test(inspect, a_directory_that_cannot_be_created_is_an_error)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.inspect = "/nowhere/at/all";
    cr_assert_null(tg_context_create(&options));
    check_record(TG_ERROR_FILE, "cannot create /nowhere/at/all");
    check_nothing_is_alive();
}

/* -- Misuse and faults ----------------------------------------------------- */

Test(inspect, arguments_are_checked)
{
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "off"});
    tg_function *f = tg_function_create(s.ctx, two_kernels, NULL, NULL);
    tg_concrete *c = concrete_of(f, 3);
    check_fails(tg_concrete_inspect(NULL, "x.html"), TG_ERROR_INVALID_ARGUMENT,
                "tg_concrete_inspect: the function is NULL");
    check_fails(tg_concrete_inspect(c, NULL), TG_ERROR_INVALID_ARGUMENT,
                "path is NULL or empty");
    check_fails(tg_concrete_inspect(c, ""), TG_ERROR_INVALID_ARGUMENT,
                "path is NULL or empty");
    check_fails(tg_concrete_inspect(c, "/nowhere/page.html"), TG_ERROR_FILE,
                "cannot write /nowhere/page.html");
    tg_concrete_release(c);
    tg_function_release(f);
    session_end(&s);
}

/* The option and the function, with all that is before them. */
static bool write_a_page(void)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.jit = "off";
    options.inspect = folder;
    options.log = "off";
    tg_context *ctx = tg_context_create(&options);
    tg_function *f =
        ctx ? tg_function_create(ctx, two_kernels, NULL, NULL) : NULL;
    tg_tensor *x =
        f ? tg_tensor_create(ctx, TG_F32, TG_DIMS(4, 4), tg_fill(1)) : NULL;
    tg_tensor *y = NULL;
    tg_status status =
        x ? tg_call(f, TG_ARGS(x), TG_RESULTS(&y)) : TG_ERROR_OUT_OF_MEMORY;
    const tg_spec spec = TG_SPEC(TG_F32, 4, 4);
    tg_concrete *c = status ? NULL : tg_function_concrete(f, &spec, 1);
    if (c)
        status = tg_concrete_inspect(c, path_in("page.html"));
    const bool is_good = c && !status;
    tg_concrete_release(c);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    tg_context_release(ctx);
    return is_good;
}

/* Contexts have different numbers, and pages different names. */
static void remove_folder(void)
{
    DIR *dir = opendir(folder);
    for (struct dirent *e; (e = readdir(dir));)
        unlink(path_in(e->d_name));
    closedir(dir);
    rmdir(folder);
}

Test(inspect, any_allocation_may_fail)
{
    make_folder();
    check_every_fault(write_a_page);
    remove_folder();
}

static void small(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(in[0], 1));
}

/* LLVM runs before most faults: the function is as small as possible. */
Test(inspect, any_allocation_of_a_page_with_code_may_fail, .timeout = 120)
{
    session s;
    need_compiler();
    make_folder();
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, small, NULL, NULL);
    tg_concrete *c = concrete_of(f, 2);
    for (int forever = 0; forever <= 1; forever++)
        for (long nth = 0;; nth++) {
            tgi_alloc_inject_failure(nth, forever);
            const tg_status status =
                tg_concrete_inspect(c, path_in("page.html"));
            const bool has_failed = tgi_alloc_inject_failure(-1, 0) > nth;
            if (!has_failed) {
                check_works(status);
                break;
            }
            cr_assert(!status || status == TG_ERROR_OUT_OF_MEMORY, "%s",
                      tg_error(NULL));
        }
    tg_concrete_release(c);
    tg_function_release(f);
    session_end(&s);
    remove_folder();
}
