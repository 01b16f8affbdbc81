/* SPDX-License-Identifier: MIT */
/*
 * plugin.c - opens libtgjit-llvm once and passes requests on to it.
 *
 * The module is looked for in
 *   1. TGJIT_MODULE_DIR, if it is set: there only;
 *   2. the folder of the file that holds this code, where a build tree has it:
 *      .libs/libtgjit.so, or a program that links the library statically;
 *   3. the folder where it is installed.
 * Programs that run with more rights than their user look in the third alone.
 * The second is skipped if anybody may write to the folder: who can add a file
 * to it could not yet change the library. A failure is final for the process:
 * its reason is kept and told to everyone who asks.
 *
 * A fork in the midst of a compile by another thread would leave LLVM's locks
 * and half-initialised statics as they are, for ever, to the child. So a fork
 * waits for compiles under way, but not for long ones: a child that was forked
 * amid one opens a copy of its own, of all that the module needs, in a new
 * namespace of the dynamic linker.
 */
#include "config.h"

#include "codegen/generator.h"
#include "codegen/plugin.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static pthread_once_t opened = PTHREAD_ONCE_INIT;
static const struct tgi_plugin *module; /* NULL: see `reason` */
static char reason[1024];
static atomic_bool is_missing;

/* Keeps the reason why there is no module; a long path may cut it. */
static void refuse(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

static void refuse(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    atomic_store(&is_missing, true);
}

/* -- Who is inside --------------------------------------------------------- */

/*
 * Threads that open the module or compile. LLVM registers what is to be done
 * at the end of the process when it is opened, and some more when it compiles
 * something of a new kind; none of that must find anybody inside. Hence at_end,
 * which must come first, and so be registered last. The end of the thread that
 * ends the process comes before all that has been registered: there it is done
 * for the main thread, and for those who have had something compiled.
 *
 * For threads that the library has never seen it is done when LLVM is open, and
 * again after its first compiles. That leaves a gap: if such a thread ends the
 * process amid a compile, what this very compile has registered comes first.
 *
 * Nobody waits for ever: a log may hold a compile up.
 */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t has_left;
    int n_inside;
    int n_working; /* of those: in LLVM, or opening it */
    int n_opening; /* of those: in the dynamic linker */
    int n_forks;   /* that wait for who is working: nobody begins */
    unsigned n_compiles; /* that are over */
    bool is_over;        /* the process ends */
    bool is_orphaned;    /* forked while another thread opened the module */
    bool needs_copy;     /* forked while another thread was in LLVM */
} inside = {.lock = PTHREAD_MUTEX_INITIALIZER,
            .has_left = PTHREAD_COND_INITIALIZER};

/* Of this thread; more than one if a log calls. */
static _Thread_local int n_own;
static _Thread_local int n_own_working;

static struct timespec after_milliseconds(long n)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += n % 1000 * 1000000;
    until.tv_sec += n / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return until;
}

/* Nobody enters any more, and those who are inside leave. */
static void at_end(void)
{
    const struct timespec until = after_milliseconds(60000);
    pthread_mutex_lock(&inside.lock);
    inside.is_over = true;
    while (inside.n_inside > n_own &&
           pthread_cond_timedwait(&inside.has_left, &inside.lock, &until) == 0)
        ;
    pthread_mutex_unlock(&inside.lock);
}

/* -- Work, and forks ------------------------------------------------------- */

/* No user's code runs between these two: work always ends. */
static void begin_work(void)
{
    pthread_mutex_lock(&inside.lock);
    while (inside.n_forks > 0 && n_own_working == 0)
        pthread_cond_wait(&inside.has_left, &inside.lock);
    inside.n_working++;
    n_own_working++;
    pthread_mutex_unlock(&inside.lock);
}

static void end_work(void)
{
    pthread_mutex_lock(&inside.lock);
    inside.n_working--;
    n_own_working--;
    pthread_cond_broadcast(&inside.has_left);
    pthread_mutex_unlock(&inside.lock);
}

static void count_opening(int change)
{
    pthread_mutex_lock(&inside.lock);
    inside.n_opening += change;
    pthread_cond_broadcast(&inside.has_left);
    pthread_mutex_unlock(&inside.lock);
}

/*
 * Waits for others who work. Most compiles are over in that time. To open the
 * module takes some 20 ms, but may be slow on a cold disk, and nothing helps a
 * child that has lost the dynamic linker's lock.
 */
static void before_fork(void)
{
    const struct timespec compiled = after_milliseconds(250);
    const struct timespec opened_too = after_milliseconds(10000);
    pthread_mutex_lock(&inside.lock);
    inside.n_forks++;
    while (inside.n_working > n_own_working && n_own_working == 0 &&
           pthread_cond_timedwait(&inside.has_left, &inside.lock,
                                  inside.n_opening ? &opened_too
                                                   : &compiled) == 0)
        ;
}

static void in_parent(void)
{
    inside.n_forks--;
    pthread_cond_broadcast(&inside.has_left);
    pthread_mutex_unlock(&inside.lock);
}

/* Those who were inside are not in the child. */
static void in_child(void)
{
    if (inside.n_working > n_own_working) {
        inside.is_orphaned |= inside.n_opening > 0;
        inside.needs_copy = true;
        opened = (pthread_once_t)PTHREAD_ONCE_INIT;
        module = NULL;
    }
    inside.n_inside = n_own;
    inside.n_working = n_own_working;
    inside.n_opening = inside.n_forks = 0;
    pthread_cond_init(&inside.has_left, NULL);
    pthread_mutex_unlock(&inside.lock);
}

/* From load time on: the first call may come after the fork. */
__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, in_parent, in_child);
}

/* -- The end of threads ---------------------------------------------------- */

#ifdef __GLIBC__
/* What the destructors of C++'s thread-local objects are registered with. */
int __cxa_thread_atexit_impl(void (*end)(void *), void *object, void *dso);
extern void *__dso_handle __attribute__((visibility("hidden")));
#endif

/* This thread ends; nobody can know whether the process does. */
static void at_thread_end(void *unused)
{
    (void)unused;
    (void)atexit(at_end);
}

void tgi_jit_wait_at_exit(void)
{
    static _Thread_local bool is_watched;
    if (is_watched)
        return;
    is_watched = true;
#ifdef __GLIBC__
    (void)__cxa_thread_atexit_impl(at_thread_end, NULL, &__dso_handle);
#endif
}

__attribute__((constructor)) static void at_load(void)
{
    if (gettid() == getpid())
        tgi_jit_wait_at_exit();
}

/* -- Opening --------------------------------------------------------------- */

#ifdef TGJIT_HAVE_LLVM

/*
 * The table behind `library`, or NULL after refuse(). ISO C has no cast
 * from an object pointer to a function; POSIX promises that it works.
 */
static const struct tgi_plugin *table_of(void *library, const char *path)
{
    union {
        void *symbol;
        tgi_plugin_entry_fn *call;
    } entry = {dlsym(library, TGI_PLUGIN_ENTRY)};
    const struct tgi_plugin *table = entry.symbol ? entry.call() : NULL;

    if (!table) {
        refuse("%s is not a module of libtgjit", path);
        return NULL;
    }
    if (table->abi != TGI_PLUGIN_ABI || table->table_bytes != sizeof *table) {
        refuse("%s has module ABI %" PRIu32 " (%" PRIu32 " bytes), "
               "libtgjit needs %d (%zu bytes)",
               path, table->abi, table->table_bytes, TGI_PLUGIN_ABI,
               sizeof *table);
        return NULL;
    }
    return table;
}

/* A sanitizer's run time can be there only once. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    !defined(LM_ID_NEWLM)
#define CAN_COPY 0
#else
#define CAN_COPY 1
#endif

/* NULL after refuse(). */
static void *open_library(const char *path)
{
#if CAN_COPY
    void *library = inside.needs_copy
                        ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW | RTLD_LOCAL)
                        : dlopen(path, RTLD_NOW | RTLD_LOCAL);
#else
    if (inside.needs_copy) {
        refuse("the process was forked during a compile");
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
#endif
    if (!library) {
        const char *why = dlerror();
        refuse("cannot open the code generator: %s", why ? why : path);
    }
    return library;
}

/* Writes the path of the module in the folder named by the first n characters
   of `dir`; false if it is too long. */
static bool path_in(const char *dir, int n, char path[PATH_MAX])
{
    const int length =
        snprintf(path, PATH_MAX, "%.*s/libtgjit-llvm.so", n, dir);
    return length >= 0 && length < PATH_MAX;
}

/* The file that holds this code: the library's, or the program's, which the
   loader may know by a relative name only. False if it cannot be told. */
static bool own_file(char file[PATH_MAX])
{
    Dl_info info;
    if (!dladdr(&opened, &info) || !info.dli_fname)
        return false;
    if (info.dli_fname[0] == '/')
        return snprintf(file, PATH_MAX, "%s", info.dli_fname) < PATH_MAX;
    const ssize_t n = readlink("/proc/self/exe", file, PATH_MAX - 1);
    if (n <= 0)
        return false;
    file[n] = '\0';
    return file[0] == '/';
}

/* Writes the path of a module beside this code, if there is one to trust. */
static bool find_beside(char path[PATH_MAX])
{
    char file[PATH_MAX];
    struct stat folder;
    if (getauxval(AT_SECURE) || !own_file(file))
        return false;
    char *end = strrchr(file, '/');
    const int n = (int)(end - file);
    end[1] = '\0';
    return stat(file, &folder) == 0 && !(folder.st_mode & S_IWOTH) &&
           path_in(file, n, path) && access(path, R_OK) == 0;
}

static void open_module(void)
{
    const char *dir = secure_getenv("TGJIT_MODULE_DIR");
    char path[PATH_MAX];
    if (dir && *dir) {
        if (!path_in(dir, (int)strnlen(dir, PATH_MAX), path)) {
            refuse("TGJIT_MODULE_DIR is too long");
            return;
        }
    } else if (!find_beside(path)) {
        (void)path_in(TGJIT_MODULE_DIR, (int)strlen(TGJIT_MODULE_DIR), path);
    }

    count_opening(1);
    void *library = open_library(path);
    module = library ? table_of(library, path) : NULL;
    if (module)
        (void)atexit(at_end);
    else if (library)
        dlclose(library);
    count_opening(-1);
}

#else

static void open_module(void)
{
    refuse("libtgjit was built without LLVM");
}

#endif

/* The module, opened if need be; else NULL, and the reason in `buf`. */
static const struct tgi_plugin *get(char *buf, size_t n)
{
    begin_work();
    pthread_once(&opened, open_module);
    if (!module)
        snprintf(buf, n, "%s", reason);
    end_work();
    return module;
}

/* -- Entering -------------------------------------------------------------- */

static void leave(bool has_compiled)
{
    pthread_mutex_lock(&inside.lock);
    inside.n_compiles += has_compiled;
    /* The more LLVM has compiled before, the less likely it is to have
       registered something: after the 1st, the 2nd, the 4th, the 8th … */
    if (has_compiled && (inside.n_compiles & (inside.n_compiles - 1)) == 0)
        (void)atexit(at_end);
    inside.n_inside--;
    n_own--;
    pthread_cond_broadcast(&inside.has_left);
    pthread_mutex_unlock(&inside.lock);
}

static const char orphaned[] =
    "the process was forked while it opened the code generator";

const struct tgi_plugin *tgi_plugin_acquire(char *buf, size_t n)
{
    pthread_mutex_lock(&inside.lock);
    const char *why = inside.is_over ? "the process ends"
                      : inside.is_orphaned ? orphaned
                                           : NULL;
    if (!why) {
        inside.n_inside++;
        n_own++;
    }
    pthread_mutex_unlock(&inside.lock);
    if (why) {
        snprintf(buf, n, "%s", why);
        return NULL;
    }
    const struct tgi_plugin *entered = get(buf, n);
    if (!entered)
        leave(false);
    return entered;
}

void tgi_plugin_release(void)
{
    leave(true);
}

bool tgi_plugin_compile(const struct tgi_plugin *entered,
                        const tgi_loops *loops,
                        const tgi_codegen_options *options, tgi_codegen *out)
{
    begin_work();
    const bool is_good = entered->compile(loops, options, out);
    end_work();
    return is_good;
}

bool tgi_jit_is_unavailable(void)
{
    return atomic_load(&is_missing);
}

bool tgi_jit_is_exiting(void)
{
    pthread_mutex_lock(&inside.lock);
    const bool is_over = inside.is_over;
    pthread_mutex_unlock(&inside.lock);
    return is_over;
}

bool tgi_jit_describe(char *buf, size_t n)
{
    pthread_mutex_lock(&inside.lock);
    const bool is_orphaned = inside.is_orphaned;
    pthread_mutex_unlock(&inside.lock);
    if (is_orphaned) {
        snprintf(buf, n, "%s", orphaned);
        return false;
    }
    const struct tgi_plugin *of = get(buf, n);
    if (of) {
        begin_work();
        of->describe(buf, n);
        end_work();
    }
    return of != NULL;
}
