/* SPDX-License-Identifier: MIT */
/*
 * dlpack.h - shares tensors with other libraries in the process (NumPy,
 * PyTorch, JAX …) through DLPack. The structs are those of <dlpack/dlpack.h>,
 * which this header does not need; it may be included before or after it.
 */
#ifndef TGJIT_DLPACK_H
#define TGJIT_DLPACK_H

#include "tensor.h"

TG_BEGIN_DECLS

struct DLManagedTensor;          /* DLPack before 1.0 */
struct DLManagedTensorVersioned; /* DLPack 1.x */

/*
 * Exports a tensor without copying; strides are always filled. The struct
 * retains the tensor until the consumer calls its deleter, from any thread. The
 * caller must not let a consumer write while a call uses the tensor. NULL on
 * failure; the unversioned struct has no read-only flag, so exporting a
 * read-only tensor that way is INVALID_ARGUMENT.
 */
TG_API TG_MUST_CHECK struct DLManagedTensor *
tg_tensor_to_dlpack(tg_tensor *tensor);
TG_API TG_MUST_CHECK struct DLManagedTensorVersioned *
tg_tensor_to_dlpack_versioned(tg_tensor *tensor);

/*
 * Imports a tensor in CPU memory. Memory that is row-major, without gaps and
 * aligned to its elements is used in place; otherwise the tensor is a copy. A
 * tensor over memory marked read-only is rejected as a result of calls, and
 * must not be written through tg_tensor_data.
 *
 * Always takes ownership of `managed`: its deleter is called exactly once, when
 * the tensor is released, or before this returns if the memory was copied or
 * the import failed. NULL on failure: DTYPE for unsupported dtypes and for
 * lanes other than 1, UNSUPPORTED for other devices and major versions.
 */
TG_API TG_MUST_CHECK tg_tensor *
tg_tensor_from_dlpack(tg_context *ctx, struct DLManagedTensor *managed);
TG_API TG_MUST_CHECK tg_tensor *
tg_tensor_from_dlpack_versioned(tg_context *ctx,
                                struct DLManagedTensorVersioned *managed);

TG_END_DECLS

#endif /* TGJIT_DLPACK_H */
