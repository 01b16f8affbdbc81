/* SPDX-License-Identifier: MIT */
/*
 * module.c - opens libtgjit-llvm once and passes requests on to it.
 *
 * The module is looked for where it is installed. TGJIT_MODULE_DIR names
 * another folder, for programs run in the build tree; setuid programs ignore
 * it. A failure is final for the process: its reason is kept and told to
 * everyone who asks.
 */
#include "config.h"

#include "jit.h"
#include "module.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_once_t opened = PTHREAD_ONCE_INIT;
static const struct tgi_module *module; /* NULL: see `reason` */
static char reason[1024];

/* Keeps the reason why there is no module; a long path may cut it. */
static void refuse(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

static void refuse(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
}

#ifdef TGJIT_HAVE_LLVM

/*
 * The table behind `library`, or NULL after refuse(). ISO C has no cast
 * from an object pointer to a function; POSIX promises that it works.
 */
static const struct tgi_module *table_of(void *library, const char *path)
{
    union {
        void *symbol;
        tgi_module_entry_fn *call;
    } entry = {dlsym(library, TGI_MODULE_ENTRY)};
    const struct tgi_module *table = entry.symbol ? entry.call() : NULL;

    if (!table) {
        refuse("%s is not a module of libtgjit", path);
        return NULL;
    }
    if (table->abi != TGI_MODULE_ABI || table->table_bytes != sizeof *table) {
        refuse("%s has module ABI %" PRIu32 " (%" PRIu32 " bytes), "
               "libtgjit needs %d (%zu bytes)",
               path, table->abi, table->table_bytes, TGI_MODULE_ABI,
               sizeof *table);
        return NULL;
    }
    return table;
}

static void open_module(void)
{
    const char *dir = secure_getenv("TGJIT_MODULE_DIR");
    if (!dir || !*dir)
        dir = TGJIT_MODULE_DIR;

    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/libtgjit-llvm.so", dir);
    if (length < 0 || (size_t)length >= sizeof path) {
        refuse("TGJIT_MODULE_DIR is too long");
        return;
    }

    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        refuse("cannot open the code generator: %s", why ? why : path);
        return;
    }
    module = table_of(library, path);
    if (!module)
        dlclose(library);
}

#else

static void open_module(void)
{
    refuse("libtgjit was built without LLVM");
}

#endif

const struct tgi_module *tgi_module_get(char *buf, size_t n)
{
    pthread_once(&opened, open_module);
    if (!module)
        snprintf(buf, n, "%s", reason);
    return module;
}

bool tgi_jit_describe(char *buf, size_t n)
{
    if (tgi_module_get(buf, n))
        module->describe(buf, n);
    return module != NULL;
}
