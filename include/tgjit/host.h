/* SPDX-License-Identifier: MIT */
/*
 * host.h - host calls: a C function of the user's as a part of a compiled
 * one, called at its place in the order of effects with concrete elements.
 *
 * It is called by the thread that runs the call, once each time the call
 * comes by, whether or not its results are used; in a branch only if that is
 * taken, in a loop in every trip. Prints and host calls keep one order, and
 * assignments before it have happened. Dumps and cached code do not name the
 * function; a function that has host calls cannot be exported.
 *
 * It may call the library, too. The variables of the call it is part of, and
 * all of their groups, are busy meanwhile: touching them fails with
 * TG_ERROR_BUSY. It must return: neither longjmp nor an exception may leave it.
 */
#ifndef TGJIT_HOST_H
#define TGJIT_HOST_H

#include "value.h"

TG_BEGIN_DECLS

/* Dense elements in row-major order; never NULL, also if there are none. Good
   until the function returns. */
typedef struct tg_host_buffer {
    void *data; /* of an input: only to be read */
    tg_dtype dtype;
    int rank;
    const int64_t *dims;
} tg_host_buffer;

/* What an output will be. Extents may be those of tg_value_dim. */
typedef struct tg_host_spec {
    tg_dtype dtype;
    int rank;
    const int64_t *dims; /* NULL if the rank is 0 */
} tg_host_spec;

/*
 * Reads all of `in`, sets all elements of `out`: they are not set before. What
 * it returns other than TG_OK fails the call: effects before it stay, later
 * ones do not happen, and no result is written.
 */
typedef tg_status tg_host_function(const tg_host_buffer *in, size_t n_in,
                                   const tg_host_buffer *out, size_t n_out,
                                   void *user);

/*
 * Calls `function` with the elements of the inputs. Result i will be as
 * specs[i] says. `function` and `user` must stay good as long as the function
 * that is traced can be called.
 */
TG_API void tg_host_call_at(tg_trace *t, tg_host_function *function,
                            void *user, const tg_operand *inputs,
                            size_t n_inputs, const tg_host_spec *specs,
                            tg_value *out_results, size_t n_results,
                            tg_site site);

/*
 * For a host function to return: TG_ERROR_CALLBACK, with the message that the
 * failing call will have behind the place of the tg_host_call. If it returns
 * the status of a call of its own that failed, that message is kept.
 */
TG_API tg_status tg_host_fail(const char *format, ...) TG_PRINTF(1, 2);

TG_END_DECLS

#ifndef __cplusplus

/* tg_host_call(t, f, user, TG_ARGS(x, y), specs, results, n) */
#define tg_host_call(t, function, user, ...) \
    tg_host_call_at(t, function, user, __VA_ARGS__, TG_HERE)

#else /* __cplusplus */

inline void tg_host_call(tg_trace *t, tg_host_function *function, void *user,
                         tg_ins inputs, const tg_host_spec *specs,
                         tg_value *out_results, size_t n_results,
                         tg_site site = TG_HERE)
{
    tg_host_call_at(t, function, user, inputs.begin(), inputs.size(), specs,
                    out_results, n_results, site);
}

#endif /* __cplusplus */

#endif /* TGJIT_HOST_H */
