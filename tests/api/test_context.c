/* SPDX-License-Identifier: MIT */
/*
 * test_context.c - contexts: options and their environment variables, dumps to
 * files, the log, skipped passes.
 */
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/api.h"
#include "support/golden.h"
#include "support/traced.h"

/* -- A folder for dumps ---------------------------------------------------- */

typedef struct folder {
    char path[64];
} folder;

static folder folder_make(void)
{
    folder f = {"/tmp/tgjit-test-XXXXXX"};
    cr_assert_not_null(mkdtemp(f.path));
    return f;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The names of the files in the folder, one per line, sorted. */
static void list_files(const folder *f, char *out, size_t room)
{
    char names[64][256];
    size_t n = 0;
    DIR *dir = opendir(f->path);
    cr_assert_not_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.' && n < 64)
            snprintf(names[n++], sizeof(names[0]), "%s", entry->d_name);
    closedir(dir);
    qsort(names, n, sizeof(names[0]), by_name);
    out[0] = '\0';
    for (size_t i = 0; i < n; i++)
        keep_line(out, room, names[i]);
}

static void check_files_at(int line, const folder *f, const char *expected)
{
    char names[4096];
    list_files(f, names, sizeof(names));
    cr_assert_str_eq(names, expected, "line %d: %s", line, names);
}
#define check_files(f, expected) check_files_at(__LINE__, f, expected)

/* The contents of one file. */
static char *read_file(const folder *f, const char *name)
{
    static char text[1 << 14];
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", f->path, name);
    FILE *in = fopen(path, "r");
    cr_assert_not_null(in, "%s", path);
    text[fread(text, 1, sizeof(text) - 1, in)] = '\0';
    fclose(in);
    return text;
}

static void folder_remove(const folder *f)
{
    DIR *dir = opendir(f->path);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", f->path, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    closedir(dir);
    rmdir(f->path);
}

/* -- Support --------------------------------------------------------------- */

static size_t n_lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* Traces gelu_like (or with_static) once for f32[2]. */
static tg_function *traced_once(tg_context *ctx, const char *name)
{
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.name = name;
    tg_function *f = tg_function_create(ctx, gelu_like, NULL, &options);
    const tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(2));
    tg_concrete *c = tg_function_concrete(f, &spec, 1);
    cr_assert_not_null(c, "%s", tg_error(ctx));
    tg_concrete_release(c);
    return f;
}

/* -- Dumps ----------------------------------------------------------------- */

Test(context, nothing_is_dumped_unless_requested)
{
    folder dir = folder_make();
    tg_context_options options = {.dump_dir = dir.path};
    session s;
    session_begin_with(&s, options);
    tg_function_release(traced_once(s.ctx, NULL));
    check_files(&dir, "");
    session_end(&s);
    folder_remove(&dir);
}

Test(context, graphs_are_dumped_as_text_and_dot)
{
    folder dir = folder_make();
    tg_context_options options = {.dump = "graph,dot", .dump_dir = dir.path};
    session s;
    session_begin_with(&s, options);
    tg_function *f = traced_once(s.ctx, NULL);
    tg_function *g = traced_once(s.ctx, "again");
    check_files(&dir, "again_1.final.dot\nagain_1.final.txt\n"
                      "gelu_like_0.final.dot\ngelu_like_0.final.txt\n");
    /* All possible items. */
    char *text = tg_function_text(f, TG_TEXT_GRAPH);
    cr_assert_str_eq(read_file(&dir, "gelu_like_0.final.txt"), text);
    tg_text_free(text);
    text = tg_function_text(f, TG_TEXT_DOT);
    cr_assert_str_eq(read_file(&dir, "gelu_like_0.final.dot"), text);
    tg_text_free(text);
    tg_function_release(f);
    tg_function_release(g);
    session_end(&s);
    folder_remove(&dir);
}

Test(context, every_pass_can_be_dumped)
{
    folder dir = folder_make();
    setenv("TGJIT_DUMP", "passes", 1);
    setenv("TGJIT_DUMP_DIR", dir.path, 1);
    session s;
    session_begin(&s);
    tg_function *f = traced_once(s.ctx, NULL);
    check_files(&dir, "gelu_like_0.crop.txt\n"
                      "gelu_like_0.dead.txt\ngelu_like_0.distribute.txt\n"
                      "gelu_like_0.final.txt\n"
                      "gelu_like_0.fold.txt\ngelu_like_0.hoist.txt\n"
                      "gelu_like_0.inline.txt\ngelu_like_0.layout.txt\n"
                      "gelu_like_0.shape.txt\n"
                      "gelu_like_0.simplify.txt\ngelu_like_0.trace.txt\n");
    check_golden("dumped_trace.txt", read_file(&dir, "gelu_like_0.trace.txt"));
    check_golden("dumped_final.txt", read_file(&dir, "gelu_like_0.final.txt"));
    tg_function_release(f);
    session_end(&s);
    folder_remove(&dir);
}

Test(context, a_name_cannot_escape_the_directory)
{
    folder dir = folder_make();
    tg_context_options options = {.dump = "graph", .dump_dir = dir.path};
    session s;
    session_begin_with(&s, options);
    tg_function_release(traced_once(s.ctx, "layer/../dense"));
    check_files(&dir, "layer_.._dense_0.final.txt\n");
    session_end(&s);
    folder_remove(&dir);
}

Test(context, a_dump_that_cannot_be_written_is_a_warning)
{
    tg_context_options options = {.dump = "graph",
                                  .dump_dir = "/nowhere/to/be/found"};
    session s;
    session_begin_with(&s, options);
    tg_function_release(traced_once(s.ctx, NULL));
    cr_assert_str_eq(s.logged, "cannot write /nowhere/to/be/found/"
                               "gelu_like_0.final.txt\n");
    session_end(&s);
}

/* -- Options and environment ----------------------------------------------- */

Test(context, options_win_over_the_environment)
{
    setenv("TGJIT_LOG", "debug", 1);
    setenv("TGJIT_EXPLAIN", "retrace", 1);
    setenv("TGJIT_SKIP_PASSES",
           "inline,layout,crop,shape,distribute,fold,simplify,hoist,dead", 1);
    session s;
    session_begin(&s);
    tg_function *f = traced_once(s.ctx, NULL);
    cr_assert_not_null(strstr(s.logged, "gelu_like is traced: first call"));
    cr_assert_not_null(strstr(s.logged, "traced gelu_like: 15 nodes, 15 after "
                                        "passes"),
                       "%s", s.logged);
    tg_function_release(f);
    session_end(&s);

    tg_context_options options = {.log = "warn", .explain = "",
                                  .skip_passes = ""};
    session_begin_with(&s, options);
    f = traced_once(s.ctx, NULL);
    cr_assert_str_eq(s.logged, "");
    char *text = tg_function_text(f, TG_TEXT_VERBOSE);
    cr_assert_null(strstr(text, "15 after passes"), "%s", text);
    tg_text_free(text);
    tg_function_release(f);
    session_end(&s);
}

Test(context, an_empty_environment_variable_is_none)
{
    setenv("TGJIT_LOG", "", 1);
    setenv("TGJIT_EXPLAIN", "", 1);
    setenv("TGJIT_DUMP", "", 1);
    setenv("TGJIT_DUMP_DIR", "", 1);
    setenv("TGJIT_SKIP_PASSES", "", 1);
    session s;
    session_begin(&s);
    tg_function_release(traced_once(s.ctx, NULL));
    cr_assert_str_eq(s.logged, "");
    session_end(&s);
}

/* The message for invalid options; no context is created. */
static void check_refused(tg_context_options options, const char *message)
{
    options.struct_bytes = sizeof options;
    tg_error_clear();
    cr_assert_null(tg_context_create(&options), "%s", message);
    check_record(TG_ERROR_INVALID_ARGUMENT, message);
    cr_assert_str_eq(tg_error_last()->message, message);
    check_nothing_is_alive();
}

#define REFUSED(member, value, text) \
    check_refused((tg_context_options){.member = value}, \
                  "tg_context_options." #member ": " text)

Test(context, options_that_mean_nothing_are_refused)
{
    REFUSED(log, "warn,loud",
            "'loud' is not one of off, warn, info, debug, +trace, +pass, "
            "+call, +memory, +jit, +cache, +config");
    REFUSED(skip_passes, "fold, unfold",
            "'unfold' is not one of inline, layout, crop, shape, distribute, "
            "fold, simplify, hoist, dead, elide-copies, in-place, group, "
            "row-blocks, share");
    REFUSED(explain, "retrace,everything",
            "'everything' is not one of retrace, fusion");
    REFUSED(dump, "graphics",
            "'graphics' is not one of graph, passes, dot, loops, llvm, asm, "
            "repro");
    REFUSED(jit, "of", "'of' is not one of auto, off, required");
    REFUSED(jit, "", "'' is not one of auto, off, required");
    REFUSED(jit, "off,required",
            "'off,required' is not one of auto, off, required");
    REFUSED(show_code, "gdb,pref", "'pref' is not one of gdb, perf, jitdump");
    REFUSED(cache, "on", "'on' is not one of off, ro, rw");
    REFUSED(compile, "lazy", "'lazy' is not one of background, eager");
    REFUSED(vector_bits, 77, "77 is not one of 0, 128, 256, 512");
    REFUSED(vector_bits, -128, "-128 is not one of 0, 128, 256, 512");
    REFUSED(threads, -3, "-3 is not a number from 0 to 2147483647");
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.cpu = "penitum";
    cr_assert_null(tg_context_create(&options));
    check_record(TG_ERROR_INVALID_ARGUMENT,
                 "tg_context_options.cpu: 'penitum' is not one of host, "
                 "x86-64-v3, ");
    check_nothing_is_alive();
}

Test(context, wrong_environment_variables_are_warned_of_once)
{
    static const char *const wrong[][3] = {
        {"TGJIT_LOG", "warn,loud", "'loud' is not one of off, warn, info"},
        {"TGJIT_SKIP_PASSES", "unfold,fold,unfold",
         "'unfold' is not one of inline"},
        {"TGJIT_EXPLAIN", "everything", "'everything' is not one of retrace"},
        {"TGJIT_DUMP", "graphics", "'graphics' is not one of graph"},
        {"TGJIT_JIT", "of",
         "'of' is not one of auto, off, required; using "
         "auto"},
        {"TGJIT_COMPILE", "lazy",
         "'lazy' is not one of background, eager; "
         "using background"},
        {"TGJIT_CPU", "penitum", "'penitum' is not one of host"},
        {"TGJIT_VECTOR_BITS", "77",
         "'77' is not one of 0, 128, 256, 512; "
         "ignored"},
        {"TGJIT_SHOW_CODE", "pref",
         "'pref' is not one of gdb, perf, jitdump; ignored"},
        {"TGJIT_THREADS", "-3",
         "'-3' is not a number from 0 to 2147483647; "
         "ignored"},
        {"TGJIT_CACHE", "on", "'on' is not one of off, ro, rw; using off"},
        {"TGJIT_CACHE_MAX", "much",
         "'much' is not a number of bytes, such as "
         "256M; ignored"},
        {"TGJIT_VERIFY", "yes", "'yes' is not a number from 0"},
        {"TGJIT_INSTRUMENT", "memory", "'memory' is not one of address"},
        {"TGJIT_GRAIN", "fine", "'fine' is not a number from 0"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char line[512];
        session s;
        setenv(wrong[i][0], wrong[i][1], 1);
        session_begin(&s);
        snprintf(line, sizeof line, "%s: %s", wrong[i][0], wrong[i][2]);
        cr_assert_not_null(strstr(s.logged, line), "%s", s.logged);
        cr_assert_eq(n_lines(s.logged), 1, "%s", s.logged);
        unsetenv(wrong[i][0]);
        session_end(&s);
    }
}

Test(context, an_option_hides_a_wrong_variable)
{
    session s;
    setenv("TGJIT_JIT", "of", 1);
    setenv("TGJIT_DUMP", "graphics", 1);
    session_begin_with(&s, (tg_context_options){.jit = "off", .dump = ""});
    cr_assert_str_eq(s.logged, "");
    session_end(&s);
}

Test(context, warnings_can_be_silenced)
{
    session s;
    setenv("TGJIT_DUMP", "graphics", 1);
    session_begin_with(&s, (tg_context_options){.log = "off"});
    cr_assert_str_eq(s.logged, "");
    session_end(&s);
}

/* -- Passes ---------------------------------------------------------------- */

static void foldable(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value two = tg_add(tg_scalar(TG_F32, 1), tg_scalar(TG_F32, 1));
    tg_return(t, tg_mul(in[0], two));
}

Test(context, passes_can_be_left_out_and_change_no_bits)
{
    static const char *const skips[] = {
        "", "fold",
        "inline,layout,crop,shape,distribute,fold,simplify,hoist,dead",
        "dead, simplify"};
    for (int i = 0; i < 4; i++) {
        tg_context_options options = {.skip_passes = skips[i]};
        session s;
        session_begin_with(&s, options);
        tg_function *f = tg_function_create(s.ctx, foldable, NULL, NULL);
        tg_tensor *x = f32_vector(s.ctx, 1.25f, -3);
        check_f32(call_one(f, TG_ARGS(x)), 2.5f, -6);
        char *text = tg_function_text(f, TG_TEXT_GRAPH);
        const bool is_folded = strstr(text, " add ") == NULL;
        cr_assert_eq(is_folded, strstr(skips[i], "fold") == NULL, "%s: %s",
                     skips[i], text);
        tg_text_free(text);
        tg_tensor_release(x);
        tg_function_release(f);
        session_end(&s);
    }
}

/* -- Log ------------------------------------------------------------------- */

typedef struct logged {
    tg_log_level level;
    char component[16];
    int n;
} logged;

static void keep_last(tg_log_level level, const char *component,
                      const char *message, void *user)
{
    logged *log = user;
    (void)message;
    log->level = level;
    snprintf(log->component, sizeof(log->component), "%s", component);
    log->n++;
}

Test(context, log_messages_have_level_and_component)
{
    logged log = {TG_LOG_OFF, "", 0};
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.log = "warn,+trace";
    options.log_callback = keep_last;
    options.log_user = &log;
    tg_context *ctx = tg_context_create(&options);
    tg_function_release(traced_once(ctx, NULL));
    cr_assert_eq(log.level, TG_LOG_INFO);
    cr_assert_str_eq(log.component, "trace");
    cr_assert_eq(log.n, 1, "other components are silent");
    tg_context_release(ctx);
    check_nothing_is_alive();
}

/* -- Life ------------------------------------------------------------------ */

Test(context, objects_keep_it_alive_in_any_order)
{
    tg_context *ctx = tg_context_create(NULL);
    cr_assert_eq(tg_context_retain(ctx), ctx);
    tg_context_release(ctx);
    tg_function *f = traced_once(ctx, NULL);
    tg_variable *v = f32_scalar_variable(ctx, "v", 1);
    tg_group *group = tg_group_create(ctx);
    const tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(2));
    tg_concrete *c = tg_function_concrete(f, &spec, 1);
    tg_tensor *x = f32_vector(ctx, 1, 2), *y = NULL;
    tg_bound *b = tg_bind(f, TG_ARGS(x), TG_RESULTS(&y));
    tg_context_release(ctx);
    check_works(tg_run(b));
    tg_function_release(f);
    tg_tensor_release(x);
    tg_bound_release(b);
    tg_variable_release(v);
    tg_group_release(group);
    tg_tensor_release(y);
    tg_concrete_release(c);
    check_nothing_is_alive();
    cr_assert_null(tg_context_retain(NULL));
    tg_context_release(NULL);
}

Test(context, structs_of_other_versions)
{
    struct {
        tg_context_options known;
        uint64_t future[2];
    } newer = {{0}, {0, 0}};
    newer.known.struct_bytes = sizeof(newer);
    newer.known.no_contraction = true;
    tg_context *ctx = tg_context_create(&newer.known);
    cr_assert_not_null(ctx, "what it does not use does not matter");
    tg_context_release(ctx);
    newer.future[1] = 1;
    cr_assert_null(tg_context_create(&newer.known));
    check_record(TG_ERROR_UNSUPPORTED, "newer than the library");
    cr_assert_str_eq(tg_error_last()->function, "tg_context_create");
    newer.future[1] = 0;
    newer.known.struct_bytes = sizeof(newer) - 1;
    cr_assert_null(tg_context_create(&newer.known));
    check_record(TG_ERROR_INVALID_ARGUMENT, "no version of the struct");
    check_nothing_is_alive();
}

/* A size that ends inside a member. */
Test(context, sizes_of_no_version_are_refused)
{
    char message[128];
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.log = "warn";
    for (size_t bytes = 0; bytes < sizeof(options); bytes++) {
        options.struct_bytes = bytes;
        cr_assert_null(tg_context_create(&options));
        snprintf(message, sizeof message,
                 "tg_context_options: struct_bytes is %zu, the size of no "
                 "version",
                 bytes);
        check_record(TG_ERROR_INVALID_ARGUMENT, message);
    }
    check_nothing_is_alive();
}

static bool make_context(void)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.dump_dir = "somewhere";
    tg_context *ctx = tg_context_create(&options);
    tg_context_release(ctx);
    return ctx != NULL;
}

Test(context, every_lack_of_memory_is_reported)
{
    check_every_fault(make_context);
}
