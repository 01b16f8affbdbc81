/* SPDX-License-Identifier: MIT */
/*
 * host.h - host calls: a C function of the program, called from inside a
 * graph.
 *
 * A host call is an ordered effect. It runs on the thread that made the call,
 * once each time it is reached, even if its results are unused: in a branch if
 * the branch is taken, in a loop in every iteration. Prints, asserts and host
 * calls keep their order; earlier assignments have taken effect. Dumps and
 * cached code do not contain the function. A function with host calls cannot be
 * exported.
 *
 * A host function may call the library, but the groups of the variables of the
 * enclosing call are locked: accessing them fails with TG_ERROR_BUSY. It must
 * return normally; neither longjmp nor a C++ exception may leave it.
 */
#ifndef TGJIT_HOST_H
#define TGJIT_HOST_H

#include "value.h"

TG_BEGIN_DECLS

/* Contiguous elements in row-major order, valid until the host function
   returns. */
typedef struct tg_host_buffer {
    void *data; /* never NULL, even if empty; read-only for inputs */
    tg_dtype dtype;
    int rank;
    const int64_t *dims;
} tg_host_buffer;

/* The type of an output. Extents may come from tg_value_dim. */
typedef struct tg_host_spec {
    tg_dtype dtype;
    int rank;
    const int64_t *dims; /* NULL if the rank is 0 */
} tg_host_spec;

/*
 * Reads `in` and must set every element of `out`, uninitialised on entry. A
 * status other than TG_OK fails the call: earlier effects remain, later ones do
 * not happen, and no result is written.
 */
typedef tg_status tg_host_function(const tg_host_buffer *in, size_t n_in,
                                   const tg_host_buffer *out, size_t n_out,
                                   void *user);

/*
 * Records a call of `function` on `inputs`. Result i has the type specs[i].
 * `function` and `user` must remain valid as long as the traced function can be
 * called.
 */
TG_API void tg_host_call_at(tg_trace *t, tg_host_function *function,
                            void *user, const tg_operand *inputs,
                            size_t n_inputs, const tg_host_spec *specs,
                            tg_value *out_results, size_t n_results,
                            tg_site site);

/*
 * As tg_host_call without results, for a function that begins something that
 * goes on by itself, such as a message; another host call takes its result. The
 * call runs it as soon as its inputs exist, ahead of computations recorded
 * before it (also of ones that then fail), but not of other effects.
 */
TG_API void tg_host_start_at(tg_trace *t, tg_host_function *function,
                             void *user, const tg_operand *inputs,
                             size_t n_inputs, tg_site site);

/* Returns false if it need not be called again. It must not block, and of the
   library it may only call tg_timeline_span and tg_timeline_now. */
typedef bool tg_host_poll_function(void *user);

/*
 * From a host function: makes the call that it is part of poll `function`, on
 * its own thread, between and inside of the work items of kernels and while
 * that thread waits for others: about every 25 us. Neither other host functions
 * nor operations of the interpreter are interrupted. One function at a time;
 * NULL ends it, as the end of the call does. Only calls with a tg_host_start
 * poll. Returns false if this thread runs no host function.
 */
TG_API bool tg_host_poll(tg_host_poll_function *function, void *user);

/*
 * Sets an error message and returns TG_ERROR_CALLBACK, for a host function to
 * return. The failing call reports the message after the location of the
 * tg_host_call. A host function that instead returns the status of a library
 * call that failed passes on the message of that call.
 */
TG_API tg_status tg_host_fail(const char *format, ...) TG_PRINTF(1, 2);

TG_END_DECLS

#ifndef __cplusplus

/* Example: tg_host_call(t, f, user, TG_ARGS(x, y), specs, results, n) */
#define tg_host_call(t, function, user, ...) \
    TG_WITH_ARGS(tg_host_call_at, __VA_ARGS__) \
    (t, function, user, __VA_ARGS__, TG_HERE)

/* Example: tg_host_start(t, f, user, TG_ARGS(x, y)) */
#define tg_host_start(t, function, user, ...) \
    TG_WITH_ARGS(tg_host_start_at, __VA_ARGS__) \
    (t, function, user, __VA_ARGS__, TG_HERE)

#else /* __cplusplus */

inline void tg_host_call(tg_trace *t, tg_host_function *function, void *user,
                         tg_ins inputs, const tg_host_spec *specs,
                         tg_value *out_results, size_t n_results,
                         tg_site site = TG_HERE)
{
    tg_host_call_at(t, function, user, inputs.begin(), inputs.size(), specs,
                    out_results, n_results, site);
}

inline void tg_host_start(tg_trace *t, tg_host_function *function, void *user,
                          tg_ins inputs, tg_site site = TG_HERE)
{
    tg_host_start_at(t, function, user, inputs.begin(), inputs.size(), site);
}

#endif /* __cplusplus */

#endif /* TGJIT_HOST_H */
