/* SPDX-License-Identifier: MIT */
/*
 * plugin.c - loads libtgjit-llvm once and passes compiles to it.
 *
 * The plugin is searched in
 *   1. TGJIT_MODULE_DIR, if it is set: only there;
 *   2. the directory of the file that contains this code, as in a build tree:
 *      .libs/libtgjit.so, or a program that links the library statically;
 *   3. the installation directory.
 * Setuid programs search only the third. The second is skipped if it is
 * world-writable: a user who can add files there need not be able to replace
 * the library. A failure is final for the process; its reason is stored.
 *
 * A fork during a compile of another thread would leave LLVM's locks held and
 * its statics half-initialised in the child. Therefore a fork waits for running
 * compiles, up to a time limit. A child that was forked during a longer one
 * loads a second copy of the plugin and its dependencies into a new namespace
 * of the dynamic linker.
 */
#include "config.h"

#include "base/at_fork.h"
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
static const struct tgi_plugin *plugin; /* NULL: see `reason` */
static char reason[1024];
static atomic_bool is_unavailable;

/* Stores the reason why there is no plugin; a long path may truncate it. */
static void set_unavailable(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

static void set_unavailable(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    atomic_store(&is_unavailable, true);
}

/* -- Users of the plugin, and process exit --------------------------------- */

/*
 * Threads that load the plugin or compile. LLVM registers exit handlers when it
 * is loaded, and more when it first compiles something of a new kind; no thread
 * may be in LLVM when they run. Therefore wait_at_exit must run before them,
 * that is, be registered after them. Thread-local destructors of the thread
 * that calls exit() run before all exit handlers: they register it for the main
 * thread, and for threads that have requested a compile.
 *
 * For other threads it is registered when LLVM has been loaded, and again after
 * its first compiles. This leaves a gap: if such a thread exits the process
 * during a compile, the handlers that this compile has registered run first.
 *
 * The wait has a time limit, because a log callback may block a compile.
 */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int n_users;
    int n_working; /* users in LLVM, or loading it */
    int n_loading; /* of those: in the dynamic linker */
    int n_forks;   /* waiting for working users; no user may start to work */
    unsigned n_compiles; /* completed */
    bool is_exiting;
    bool is_orphaned; /* forked while another thread loaded the plugin */
    bool needs_copy;  /* forked while another thread was in LLVM */
} users = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .changed = PTHREAD_COND_INITIALIZER};

/* Uses by this thread; more than one if a log callback calls. */
static _Thread_local int n_thread_users;
static _Thread_local int n_thread_working;

static struct timespec after_milliseconds(long n)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += n % 1000 * 1000000;
    until.tv_sec += n / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return until;
}

/* Rejects new users and waits for those of other threads. */
static void wait_at_exit(void)
{
    const struct timespec until = after_milliseconds(60000);
    pthread_mutex_lock(&users.lock);
    users.is_exiting = true;
    while (users.n_users > n_thread_users &&
           pthread_cond_timedwait(&users.changed, &users.lock, &until) == 0)
        ;
    pthread_mutex_unlock(&users.lock);
}

/* -- Work and forks -------------------------------------------------------- */

/* No user code runs between begin_work and end_work. */
static void begin_work(void)
{
    pthread_mutex_lock(&users.lock);
    while (users.n_forks > 0 && n_thread_working == 0)
        pthread_cond_wait(&users.changed, &users.lock);
    users.n_working++;
    n_thread_working++;
    pthread_mutex_unlock(&users.lock);
}

static void end_work(void)
{
    pthread_mutex_lock(&users.lock);
    users.n_working--;
    n_thread_working--;
    pthread_cond_broadcast(&users.changed);
    pthread_mutex_unlock(&users.lock);
}

/*
 * Waits for working threads. Most compiles end within 250 ms. Loading takes
 * about 20 ms, but longer from a cold disk, and is waited for up to 10 s,
 * because a child that has lost the dynamic linker's lock cannot recover.
 */
static void before_fork(void)
{
    const struct timespec compile_limit = after_milliseconds(250);
    const struct timespec load_limit = after_milliseconds(10000);
    pthread_mutex_lock(&users.lock);
    users.n_forks++;
    while (users.n_working > n_thread_working && n_thread_working == 0 &&
           pthread_cond_timedwait(&users.changed, &users.lock,
                                  users.n_loading ? &load_limit
                                                  : &compile_limit) == 0)
        ;
}

static void in_parent(void)
{
    users.n_forks--;
    pthread_cond_broadcast(&users.changed);
    pthread_mutex_unlock(&users.lock);
}

/* The other threads are not in the child. */
static void in_child(void)
{
    if (users.n_working > n_thread_working) {
        users.is_orphaned |= users.n_loading > 0;
        users.needs_copy = true;
        opened = (pthread_once_t)PTHREAD_ONCE_INIT;
        plugin = NULL;
    }
    users.n_users = n_thread_users;
    users.n_working = n_thread_working;
    users.n_loading = users.n_forks = 0;
    pthread_cond_init(&users.changed, NULL);
    pthread_mutex_unlock(&users.lock);
}

/* Registered at load time: a fork may precede the first call. */
__attribute__((constructor(TGI_AT_FORK))) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, in_parent, in_child);
}

/* -- Thread exit ----------------------------------------------------------- */

#ifdef __GLIBC__
/* Registers destructors of C++ thread-local objects. */
int __cxa_thread_atexit_impl(void (*end)(void *), void *object, void *dso);
extern void *__dso_handle __attribute__((visibility("hidden")));
#endif

/* This thread exits, perhaps because the process does. */
static void at_thread_exit(void *unused)
{
    (void)unused;
    (void)atexit(wait_at_exit);
}

void tgi_jit_wait_at_exit(void)
{
    static _Thread_local bool is_registered;
    if (is_registered)
        return;
    is_registered = true;
#ifdef __GLIBC__
    (void)__cxa_thread_atexit_impl(at_thread_exit, NULL, &__dso_handle);
#endif
}

__attribute__((constructor)) static void at_load(void)
{
    if (gettid() == getpid())
        tgi_jit_wait_at_exit();
}

/* -- Loading --------------------------------------------------------------- */

#ifdef TGJIT_HAVE_LLVM

/*
 * The table of a loaded plugin; NULL after set_unavailable(). A union, because
 * ISO C has no cast from an object pointer to a function pointer.
 */
static const struct tgi_plugin *get_table(void *library, const char *path)
{
    union {
        void *symbol;
        tgi_plugin_entry_fn *call;
    } entry = {dlsym(library, TGI_PLUGIN_ENTRY)};
    const struct tgi_plugin *table = entry.symbol ? entry.call() : NULL;

    if (!table) {
        set_unavailable("%s is not a plugin of libtgjit", path);
        return NULL;
    }
    if (table->abi != TGI_PLUGIN_ABI || table->table_bytes != sizeof *table) {
        set_unavailable("%s has plugin ABI %" PRIu32 " (%" PRIu32 " bytes), "
                        "libtgjit needs %d (%zu bytes)",
                        path, table->abi, table->table_bytes, TGI_PLUGIN_ABI,
                        sizeof *table);
        return NULL;
    }
    return table;
}

/* The run-time library of a sanitizer cannot be loaded twice. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    !defined(LM_ID_NEWLM)
#define CAN_COPY 0
#else
#define CAN_COPY 1
#endif

/* NULL after set_unavailable(). */
static void *load_library(const char *path)
{
#if CAN_COPY
    void *library = users.needs_copy
                        ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW | RTLD_LOCAL)
                        : dlopen(path, RTLD_NOW | RTLD_LOCAL);
#else
    if (users.needs_copy) {
        set_unavailable("the process was forked during a compile");
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
#endif
    if (!library) {
        const char *error = dlerror();
        set_unavailable("cannot open the code generator: %s",
                        error ? error : path);
    }
    return library;
}

/* Writes the path of the plugin in the directory named by the first n
   characters of `dir`; false if it is too long. */
static bool plugin_path(const char *dir, int n, char path[PATH_MAX])
{
    const int length =
        snprintf(path, PATH_MAX, "%.*s/libtgjit-llvm.so", n, dir);
    return length >= 0 && length < PATH_MAX;
}

/* The file that contains this code: the library, or the program, which the
   loader may know only by a relative name. False if it is unknown. */
static bool containing_file(char file[PATH_MAX])
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

/* Writes the path of a plugin in the directory of this code; false if there is
   none, or if it cannot be trusted. */
static bool find_next_to_library(char path[PATH_MAX])
{
    char file[PATH_MAX];
    struct stat folder;
    if (getauxval(AT_SECURE) || !containing_file(file))
        return false;
    char *end = strrchr(file, '/');
    const int n = (int)(end - file);
    end[1] = '\0';
    return stat(file, &folder) == 0 && !(folder.st_mode & S_IWOTH) &&
           plugin_path(file, n, path) && access(path, R_OK) == 0;
}

/* A fork waits for a thread that loads the plugin: see before_fork. */
static void add_loading(int change)
{
    pthread_mutex_lock(&users.lock);
    users.n_loading += change;
    pthread_cond_broadcast(&users.changed);
    pthread_mutex_unlock(&users.lock);
}

static void load_plugin(void)
{
    const char *dir = secure_getenv("TGJIT_MODULE_DIR");
    char path[PATH_MAX];
    if (dir && *dir) {
        if (!plugin_path(dir, (int)strnlen(dir, PATH_MAX), path)) {
            set_unavailable("TGJIT_MODULE_DIR is too long");
            return;
        }
    } else if (!find_next_to_library(path)) {
        (void)plugin_path(TGJIT_MODULE_DIR, (int)strlen(TGJIT_MODULE_DIR),
                          path);
    }

    add_loading(1);
    void *library = load_library(path);
    plugin = library ? get_table(library, path) : NULL;
    if (plugin)
        (void)atexit(wait_at_exit);
    else if (library)
        dlclose(library);
    add_loading(-1);
}

#else

static void load_plugin(void)
{
    set_unavailable("libtgjit was built without LLVM");
}

#endif

/* The plugin, loaded if necessary; NULL with the reason in `buf`. */
static const struct tgi_plugin *get_plugin(char *buf, size_t n)
{
    begin_work();
    pthread_once(&opened, load_plugin);
    if (!plugin)
        snprintf(buf, n, "%s", reason);
    end_work();
    return plugin;
}

/* -- Use ------------------------------------------------------------------- */

static void end_use(bool has_compiled)
{
    pthread_mutex_lock(&users.lock);
    users.n_compiles += has_compiled;
    /* LLVM may have registered exit handlers, the less likely the more it has
       compiled before: register again after the 1st, 2nd, 4th, 8th … */
    if (has_compiled && (users.n_compiles & (users.n_compiles - 1)) == 0)
        (void)atexit(wait_at_exit);
    users.n_users--;
    n_thread_users--;
    pthread_cond_broadcast(&users.changed);
    pthread_mutex_unlock(&users.lock);
}

static const char orphaned[] =
    "the process was forked while it loaded the code generator";

const struct tgi_plugin *tgi_plugin_acquire(char *buf, size_t n)
{
    pthread_mutex_lock(&users.lock);
    const char *error = users.is_exiting    ? "the process is exiting"
                        : users.is_orphaned ? orphaned
                                            : NULL;
    if (!error) {
        users.n_users++;
        n_thread_users++;
    }
    pthread_mutex_unlock(&users.lock);
    if (error) {
        snprintf(buf, n, "%s", error);
        return NULL;
    }
    const struct tgi_plugin *acquired = get_plugin(buf, n);
    if (!acquired)
        end_use(false);
    return acquired;
}

void tgi_plugin_release(void)
{
    end_use(true);
}

bool tgi_plugin_compile(const struct tgi_plugin *acquired,
                        const tgi_loops *loops,
                        const tgi_codegen_options *options, tgi_codegen *out)
{
    begin_work();
    const bool is_good = acquired->compile(loops, options, out);
    end_work();
    return is_good;
}

bool tgi_jit_is_unavailable(void)
{
    return atomic_load(&is_unavailable);
}

bool tgi_jit_is_exiting(void)
{
    pthread_mutex_lock(&users.lock);
    const bool is_exiting = users.is_exiting;
    pthread_mutex_unlock(&users.lock);
    return is_exiting;
}

bool tgi_jit_describe(char *buf, size_t n)
{
    pthread_mutex_lock(&users.lock);
    const bool is_orphaned = users.is_orphaned;
    pthread_mutex_unlock(&users.lock);
    if (is_orphaned) {
        snprintf(buf, n, "%s", orphaned);
        return false;
    }
    const struct tgi_plugin *loaded = get_plugin(buf, n);
    if (loaded) {
        begin_work();
        loaded->describe(buf, n);
        end_work();
    }
    return loaded != NULL;
}
