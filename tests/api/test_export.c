/* SPDX-License-Identifier: MIT */
/*
 * test_export.c - functions that tg_concrete_export rejects, the files it
 * leaves, and out of memory. check-export.sh tests the results of exported
 * functions.
 */
#include <dirent.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/modes.h"

/* -- A folder of its own --------------------------------------------------- */

static char folder[64], path[128];

static void folder_begin(void)
{
    snprintf(folder, sizeof(folder), "/tmp/tgjit-export-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/f", folder);
}

/* Removes the folder; returns the number of files in it. */
static int folder_clear(void)
{
    int n = 0;
    DIR *dir = opendir(folder);
    cr_assert_not_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.' || strlen(entry->d_name) > 2) {
            cr_assert_eq(unlinkat(dirfd(dir), entry->d_name, 0), 0);
            n++;
        }
    closedir(dir);
    return n;
}

static void folder_end(void)
{
    folder_clear();
    cr_assert_eq(rmdir(folder), 0);
}

/* -- Functions ------------------------------------------------------------- */

static void twice(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], 2));
}

static void print_value(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_print(t, "%v", in[0]);
    tg_return(t, in[0]);
}

static void insist(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_assert(t, tg_gt(in[0], 0), "%v", in[0]);
    tg_return(t, in[0]);
}

static tg_status do_nothing(const tg_host_buffer *in, size_t n_in,
                            const tg_host_buffer *out, size_t n_out,
                            void *user)
{
    (void)in, (void)n_in, (void)out, (void)n_out, (void)user;
    return TG_OK;
}

static void call_host(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_host_call(t, do_nothing, NULL, TG_ARGS(in[0]), NULL, NULL, 0);
    tg_return(t, in[0]);
}

/* Has a temporary, a constant and a check. */
static void much(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    static const int64_t picks[] = {0, 2};
    tg_value e = tg_exp(in[0]);
    tg_value norm = tg_div(e, tg_sum(e, TG_AXES(0)));
    tg_return(t, norm, tg_gather(in[0], in[1], 0),
              tg_gather(norm, tg_constant(TG_I64, TG_DIMS(2), picks), 0));
}

static tg_concrete *concrete_of(session *s, const char *name,
                                tg_callback *callback, int64_t rows)
{
    tg_function *f =
        tg_function_create_named(s->ctx, name, callback, NULL, NULL);
    cr_assert_not_null(f);
    const tg_spec specs[] = {tg_spec_tensor(TG_F32, TG_DIMS(rows, 3)),
                             tg_spec_tensor(TG_I32, TG_DIMS(2))};
    tg_concrete *c = tg_function_concrete(f, specs, 2);
    cr_assert_not_null(c, "%s", tg_error(NULL));
    tg_function_release(f);
    return c;
}

/* -- Errors ---------------------------------------------------------------- */

Test(export, refuses_bad_arguments)
{
    session s;
    session_begin(&s);
    folder_begin();
    tg_concrete *c = concrete_of(&s, "f", twice, 40);
    tg_export_options options = TG_EXPORT_OPTIONS_INIT;
    check_fails(tg_concrete_export(NULL, path, NULL),
                TG_ERROR_INVALID_ARGUMENT, "NULL");
    check_fails(tg_concrete_export(c, NULL, NULL), TG_ERROR_INVALID_ARGUMENT,
                "f: the path", "NULL");
    check_fails(tg_concrete_export(c, "", NULL), TG_ERROR_INVALID_ARGUMENT,
                "no file name");
    check_fails(tg_concrete_export(c, "/tmp/", NULL),
                TG_ERROR_INVALID_ARGUMENT, "no file name");
    options.struct_bytes = 1;
    check_fails(tg_concrete_export(c, path, &options),
                TG_ERROR_INVALID_ARGUMENT, "struct_bytes");
    options.struct_bytes = sizeof(options);
    for (options.threads = -1; options.threads < 2000; options.threads += 1500)
        if (options.threads < 0 || options.threads > 1024)
            check_fails(tg_concrete_export(c, path, &options),
                        TG_ERROR_INVALID_ARGUMENT, "threads");
    options.threads = 0;
    options.memory = (tg_export_memory)7;
    check_fails(tg_concrete_export(c, path, &options),
                TG_ERROR_INVALID_ARGUMENT,
                "tg_export_options.memory: 7 is not one of TG_EXPORT_STATIC");
    cr_assert_eq(folder_clear(), 0);
    tg_concrete_release(c);
    folder_end();
    session_end(&s);
}

Test(export, refuses_invalid_c_identifiers)
{
    static const char *const names[] = {"", "1st", "a b", "a-b", "int",
                                        "class", "main", "_f", "tgi_f",
                                        "tgjit_f", "\xc3\xa4"};
    session s;
    session_begin(&s);
    folder_begin();
    tg_concrete *c = concrete_of(&s, "x -> 2 * x", twice, 40);
    tg_export_options options = TG_EXPORT_OPTIONS_INIT;
    check_fails(tg_concrete_export(c, path, NULL), TG_ERROR_INVALID_ARGUMENT,
                "'x -> 2 * x'", "symbol");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        options.symbol = names[i];
        check_fails(tg_concrete_export(c, path, &options),
                    TG_ERROR_INVALID_ARGUMENT, names[i]);
    }
    cr_assert_eq(folder_clear(), 0);
    tg_concrete_release(c);
    folder_end();
    session_end(&s);
}

Test(export, names_the_argument_whose_extent_is_unknown)
{
    session s;
    session_begin(&s);
    tg_concrete *c = concrete_of(&s, "f", twice, TG_UNKNOWN);
    check_fails(tg_concrete_export(c, "/tmp/f", NULL), TG_ERROR_SHAPE,
                "argument 0, axis 0: unknown extent");
    tg_concrete_release(c);
    session_end(&s);
}

/* Exporting a function of this callback names its line and says why not. */
static void check_unsupported(tg_callback *callback, const char *reason)
{
    session s;
    session_begin(&s);
    tg_concrete *c = concrete_of(&s, "f", callback, 40);
    check_fails(tg_concrete_export(c, "/tmp/f", NULL), TG_ERROR_UNSUPPORTED,
                "test_export.c:", reason);
    tg_concrete_release(c);
    session_end(&s);
}

Test(export, refuses_prints_and_names_their_line)
{
    check_unsupported(print_value, "'f' prints");
}

Test(export, refuses_asserts_and_names_their_line)
{
    check_unsupported(insist, "'f' asserts");
}

Test(export, refuses_host_calls_and_names_their_line)
{
    check_unsupported(call_host, "'f' calls the host");
}

Test(export, refuses_unknown_cpus_and_widths)
{
    need_compiler();
    session s;
    session_begin(&s);
    folder_begin();
    tg_concrete *c = concrete_of(&s, "f", twice, 40);
    tg_export_options options = TG_EXPORT_OPTIONS_INIT;
    options.cpu = "pentium";
    check_fails(tg_concrete_export(c, path, &options),
                TG_ERROR_INVALID_ARGUMENT,
                "tg_export_options.cpu: 'pentium' is not one of host, ");
    options.cpu = "host";
    options.vector_bits = 100;
    check_fails(tg_concrete_export(c, path, &options),
                TG_ERROR_INVALID_ARGUMENT,
                "tg_export_options.vector_bits: 100 is not one of 0, 128");
    options.vector_bits = 128;
    check_works(tg_concrete_export(c, path, &options));
    cr_assert_eq(folder_clear(), 2);
    tg_concrete_release(c);
    folder_end();
    session_end(&s);
}

/* -- Files ----------------------------------------------------------------- */

Test(export, leaves_nothing_where_it_cannot_write)
{
    need_compiler();
    session s;
    session_begin(&s);
    folder_begin();
    tg_concrete *c = concrete_of(&s, "f", twice, 40);
    check_fails(tg_concrete_export(c, "/nowhere/at/all/f", NULL),
                TG_ERROR_FILE, "/nowhere/at/all/f", "No such file");
    /* A folder has the name of the second file. */
    char blocked[256];
    snprintf(blocked, sizeof(blocked), "%s.h", path);
    cr_assert_eq(mkdir(blocked, 0700), 0);
    check_fails(tg_concrete_export(c, path, NULL), TG_ERROR_FILE, path);
    cr_assert_eq(rmdir(blocked), 0);
    cr_assert_eq(folder_clear(), 0);
    /* The object is too large for the process. */
    const struct rlimit small = {100, 100};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    check_fails(tg_concrete_export(c, path, NULL), TG_ERROR_FILE,
                "too large");
    cr_assert_eq(folder_clear(), 0);
    tg_concrete_release(c);
    folder_end();
    session_end(&s);
}

Test(export, replaces_existing_files)
{
    need_compiler();
    session s;
    session_begin(&s);
    folder_begin();
    tg_concrete *c = concrete_of(&s, "f", twice, 40);
    check_works(tg_concrete_export(c, path, NULL));
    check_works(tg_concrete_export(c, path, NULL));
    cr_assert_eq(folder_clear(), 2);
    tg_concrete_release(c);
    folder_end();
    session_end(&s);
}

/* Internal names of the object begin with tg_ too. */
Test(export, keeps_the_name_it_is_given)
{
    need_compiler();
    session s;
    session_begin(&s);
    folder_begin();
    tg_concrete *c = concrete_of(&s, "f", twice, 4000);
    tg_export_options options = TG_EXPORT_OPTIONS_INIT;
    static const char *const names[] = {"tg_f", "tg_f_0_mul"};
    const bool has_nm = system("command -v nm >/dev/null") == 0;
    for (int i = 0; i < 2; i++) {
        char command[256];
        options.symbol = names[i];
        check_works(tg_concrete_export(c, path, &options));
        snprintf(command, sizeof(command), "nm -g %s.o | grep -q ' T %s$'",
                 path, names[i]);
        if (has_nm)
            cr_assert_eq(system(command), 0, "%s", names[i]);
    }
    cr_assert_eq(folder_clear(), 2);
    tg_concrete_release(c);
    folder_end();
    session_end(&s);
}

/* -- Memory that runs out -------------------------------------------------- */

Test(export, survives_every_fault)
{
    need_compiler();
    session s;
    session_begin(&s);
    folder_begin();
    tg_concrete *c = concrete_of(&s, "f", much, 40);
    for (int forever = 0; forever <= 1; forever++) {
        bool has_failed = true;
        for (long nth = 0; has_failed; nth++) {
            const size_t bytes = tg_live_bytes();
            tgi_alloc_inject_failure(nth, forever);
            const tg_status status = tg_concrete_export(c, path, NULL);
            has_failed = tgi_alloc_inject_failure(-1, 0) > nth;
            cr_assert_eq(tg_live_bytes(), bytes, "allocation %ld", nth);
            cr_assert_eq(folder_clear(), status ? 0 : 2);
            if (status)
                check_record(TG_ERROR_OUT_OF_MEMORY, "memory");
            cr_assert(has_failed || !status, "%s", tg_error(NULL));
        }
    }
    tg_concrete_release(c);
    folder_end();
    session_end(&s);
}
