/* SPDX-License-Identifier: MIT */
/*
 * dlpack.h - tensors shared with other libraries in the same process (NumPy,
 * PyTorch, JAX, CuPy …) through the structs of DLPack, without a copy where
 * that is possible. The structs are those of <dlpack/dlpack.h>, which may be
 * included before or after this header and is not needed by it.
 */
#ifndef TGJIT_DLPACK_H
#define TGJIT_DLPACK_H

#include "tensor.h"

TG_BEGIN_DECLS

struct DLManagedTensor;          /* DLPack before 1.0 */
struct DLManagedTensorVersioned; /* DLPack 1.x */

/*
 * The tensor's memory as a struct of DLPack: no copy, strides filled. It keeps
 * the tensor alive until its consumer calls the deleter, from any thread.
 * Whoever writes to the memory while calls use the tensor must see to it that
 * they do not meet. NULL on failure: the unversioned struct cannot say that
 * memory is read-only, so such a tensor is INVALID_ARGUMENT there.
 */
TG_API TG_MUST_CHECK struct DLManagedTensor *
tg_tensor_to_dlpack(tg_tensor *tensor);
TG_API TG_MUST_CHECK struct DLManagedTensorVersioned *
tg_tensor_to_dlpack_versioned(tg_tensor *tensor);

/*
 * A tensor of what a producer exported; memory of the CPU only. It uses the
 * producer's memory if that is row-major without gaps and aligned to its
 * elements, else a copy of it. Memory that the producer marked read-only is
 * refused as a result of calls, and must not be written through
 * tg_tensor_data.
 *
 * Takes over `managed` in any case: its deleter is called exactly once, when
 * the memory is not used any more, and before this returns if it was copied or
 * on failure. DTYPE for element types that the library does not have and for
 * vectors of them (lanes), UNSUPPORTED for other devices and versions.
 */
TG_API TG_MUST_CHECK tg_tensor *
tg_tensor_from_dlpack(tg_context *ctx, struct DLManagedTensor *managed);
TG_API TG_MUST_CHECK tg_tensor *
tg_tensor_from_dlpack_versioned(tg_context *ctx,
                                struct DLManagedTensorVersioned *managed);

TG_END_DECLS

#endif /* TGJIT_DLPACK_H */
