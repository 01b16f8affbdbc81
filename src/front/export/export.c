/* SPDX-License-Identifier: MIT */
/*
 * export.c - tg_concrete_export: checks the options, compiles the trace
 * (jit/export/export_object.c), and writes the object and its header.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/settings.h"
#include "base/temporary_file.h"
#include "base/versioned.h"
#include "front/export/export_header.h"
#include "tgjit/export.h"

/* Threads of a team; each has scratch memory. */
enum { MAX_THREADS = 1024 };

/* -- Options --------------------------------------------------------------- */

static bool is_keyword(const char *word)
{
    /* Of C11 and C++17: the header is for both. */
    static const char *const keywords[] = {
        "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand",
        "bitor", "bool", "break", "case", "catch", "char", "char16_t",
        "char32_t", "class", "compl", "const", "const_cast", "constexpr",
        "continue", "decltype", "default", "delete", "do", "double",
        "dynamic_cast", "else", "enum", "explicit", "export", "extern",
        "false", "float", "for", "friend", "goto", "if", "inline", "int",
        "long", "main", "mutable", "namespace", "new", "noexcept", "not",
        "not_eq", "nullptr", "operator", "or", "or_eq", "private",
        "protected", "public", "register", "reinterpret_cast", "restrict",
        "return", "short", "signed", "sizeof", "static", "static_assert",
        "static_cast", "struct", "switch", "template", "this",
        "thread_local", "throw", "true", "try", "typedef", "typeid",
        "typename", "union", "unsigned", "using", "virtual", "void",
        "volatile", "wchar_t", "while", "xor", "xor_eq"};
    for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
        if (strcmp(word, keywords[i]) == 0)
            return true;
    return false;
}

static tg_status check_symbol(const char *symbol)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    const bool is_name = *symbol && !(*symbol >= '0' && *symbol <= '9') &&
                         !symbol[strspn(symbol, letters)] &&
                         strlen(symbol) < 200;
    if (!is_name || is_keyword(symbol))
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "'%.200s' is not a valid C function name; set the option "
                 "symbol",
                 symbol);
    if (*symbol == '_' || strncmp(symbol, "tgjit_", 6) == 0 ||
        strncmp(symbol, "tgi_", 4) == 0)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "'%s': names that begin with _, tgjit_ or tgi_ are reserved; "
                 "set the option symbol",
                 symbol);
    return TG_OK;
}

static tg_status check_extents(const tg_concrete *c)
{
    for (size_t i = 0; i < c->spec.list.n; i++) {
        const tgi_arg *arg = &c->spec.list.data[i];
        for (int axis = 0; axis < arg->rank; axis++)
            if (arg->kind == TGI_ARG_TENSOR && arg->dims[axis] < 0)
                TGI_FAIL(TG_ERROR_SHAPE, TGI_NO_SITE,
                         "%s: argument %u, axis %d: unknown extent; export a "
                         "trace with known ones",
                         c->name, arg->operand, axis);
    }
    return TG_OK;
}

static const tgi_keyword memory_words[] = {
    {"TG_EXPORT_STATIC", TG_EXPORT_STATIC, 0},
    {"TG_EXPORT_CALLER", TG_EXPORT_CALLER, 0},
    {NULL, 0, 0},
};

enum { CPU, VECTOR_BITS, MEMORY, THREADS, SETTINGS };
static const tgi_setting settings[SETTINGS] = {
    [CPU] = {TGI_OPTION(tg_export_options, cpu), .kind = TGI_SETTING_KEYWORD,
             .keywords = tgi_jit_cpus},
    [VECTOR_BITS] = {TGI_OPTION(tg_export_options, vector_bits),
                     .kind = TGI_SETTING_NUMBER, .keywords = tgi_jit_widths},
    [MEMORY] = {TGI_OPTION(tg_export_options, memory),
                .kind = TGI_SETTING_NUMBER, .keywords = memory_words},
    [THREADS] = {TGI_OPTION(tg_export_options, threads),
                 .kind = TGI_SETTING_NUMBER, .max = MAX_THREADS,
                 .default_value = 1},
};

/* Fills in the compiler's options; strings are borrowed from the user's. */
static tg_status read_options(const tg_concrete *c,
                              const tg_export_options *user,
                              tgi_export_options *out)
{
    uint64_t values[SETTINGS];
    for (int i = 0; i < SETTINGS; i++)
        TGI_TRY(tgi_setting_read(&settings[i], user, NULL, &values[i]));
    *out = (tgi_export_options){
        .symbol = user->symbol ? user->symbol : c->name,
        .cpu = user->cpu ? user->cpu : "x86-64-v3",
        .vector_bits = (unsigned)values[VECTOR_BITS],
        .skip_passes = c->ctx->skip_loop_passes,
        .verifies = c->ctx->verifies,
        .threads = (int)values[THREADS],
        .grain = c->ctx->grain,
        .takes_memory = values[MEMORY] == TG_EXPORT_CALLER};
    return check_symbol(out->symbol);
}

/* -- Files ----------------------------------------------------------------- */

typedef struct file {
    const void *data;
    size_t bytes;
    char temporary
        [TGI_TEMPORARY_NAME_BYTES]; /* "": not written yet, or renamed */
    char *name;
} file;

/* Writes all files under temporary names, then renames them: a full disk leaves
   no file. Returns 0 or an errno. */
static int write_files(int dir, file *files, int n)
{
    int reason = 0, renamed = 0;
    for (int i = 0; i < n && !reason; i++) {
        reason = tgi_temporary_write(dir, files[i].data, files[i].bytes, 0666,
                                     files[i].temporary);
        if (reason)
            *files[i].temporary = '\0';
    }
    for (; renamed < n && !reason; renamed++) {
        if (renameat(dir, files[renamed].temporary, dir, files[renamed].name))
            reason = errno;
        else
            *files[renamed].temporary = '\0';
    }
    if (!reason)
        return 0;
    for (int i = 0; i < n; i++)
        if (*files[i].temporary)
            unlinkat(dir, files[i].temporary, 0);
    /* An object without its header is worse than neither. */
    for (int i = 0; i < renamed - 1; i++)
        unlinkat(dir, files[i].name, 0);
    return reason;
}

static tg_status write_object_and_header(const char *path,
                                         const tgi_exported *exported,
                                         const tgi_strbuf *header)
{
    tgi_strbuf object_name = {0}, header_name = {0};
    const char *base = tgi_path_base(path);
    tgi_strbuf_addf(&object_name, "%s.o", base);
    tgi_strbuf_addf(&header_name, "%s.h", base);
    tg_status status = object_name.failed || header_name.failed
                           ? tgi_error_memory()
                           : TG_OK;
    if (!status) {
        file files[] = {{.data = exported->object,
                         .bytes = exported->object_bytes,
                         .name = object_name.text},
                        {.data = header->text,
                         .bytes = header->n,
                         .name = header_name.text}};
        const int dir = tgi_path_open_folder(path);
        const int reason = dir < 0 ? errno : write_files(dir, files, 2);
        if (dir >= 0)
            close(dir);
        if (reason)
            status = tgi_error_file("write", path, reason);
    }
    tgi_strbuf_deinit(&object_name);
    tgi_strbuf_deinit(&header_name);
    return status;
}

/* -- The public function --------------------------------------------------- */

static tg_status export_to(const tg_concrete *c, const char *path,
                           const tg_export_options *user)
{
    tg_export_options copy;
    tgi_export_options options;
    tgi_exported exported;
    if (!path || !*tgi_path_base(path))
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "%s: the path of the files to write %s", c->name,
                 path ? "has no file name" : "is NULL");
    TGI_TRY(tgi_versioned_read(&copy, sizeof(copy), user, "tg_export_options"));
    TGI_TRY(read_options(c, &copy, &options));
    TGI_TRY(check_extents(c));
    TGI_TRY(tgi_jit_export(c->graph, &options, &exported));
    tgi_strbuf header = {0};
    tgi_export_header(c, &options, &exported, &header);
    tg_status status = header.failed
                           ? tgi_error_memory()
                           : write_object_and_header(path, &exported, &header);
    tgi_strbuf_deinit(&header);
    tgi_exported_deinit(&exported);
    return status;
}

tg_status tg_concrete_export(tg_concrete *concrete, const char *path,
                             const tg_export_options *options)
{
    tgi_api_frame frame =
        tgi_api_enter(concrete ? concrete->ctx : NULL, __func__);
    tg_status status =
        concrete ? export_to(concrete, path, options)
                 : tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                                 "tg_concrete_export: the function is NULL");
    tgi_api_leave(frame);
    return status;
}
