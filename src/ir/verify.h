/* SPDX-License-Identifier: MIT */
/*
 * verify.h - checks that a graph is well formed: inputs precede users, dtypes
 * and shapes obey the rules of the op, attributes are in range, reads name the
 * last write. Run after every pass if TGJIT_VERIFY is nonzero; a failure is a
 * bug of the library.
 */
#ifndef TGI_VERIFY_H
#define TGI_VERIFY_H

#include "ir/graph.h"

/* TG_OK, or TG_ERROR_INTERNAL with a message that names the node. */
tg_status tgi_graph_verify(const tgi_graph *graph);

#endif /* TGI_VERIFY_H */
