/* SPDX-License-Identifier: MIT */
/*
 * initialiser.h - initial contents of variables and tensors.
 */
#ifndef TGI_INITIALISER_H
#define TGI_INITIALISER_H

#include "front/object/tensor_object.h"
#include "tgjit/initial.h"

/*
 * Fills `out_data` as an initialiser says. A random one without a seed of its
 * own takes it from the seed of the context and `name`. Errors name `who`.
 */
tg_status tgi_initial_fill(tg_context *ctx, const char *who,
                           const tgi_spec *spec, const tg_initial *initial,
                           const char *name, void *out_data);

/*
 * Turns rows x columns random numbers, row-major, into `gain` times a matrix
 * with orthonormal columns, or rows if these are fewer. False if they are
 * linearly dependent.
 */
bool tgi_orthogonalise(double *matrix, int64_t rows, int64_t columns,
                       double gain);

#endif /* TGI_INITIALISER_H */
