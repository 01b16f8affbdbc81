/* SPDX-License-Identifier: MIT */
/*
 * verify.h - checks that a graph is well formed: inputs before users, types
 * and shapes by the rules of the op table, attributes in range, reads name
 * the last write, parameters and results in order. Run after every pass in
 * tests and on request; a failure is a bug of the library.
 */
#ifndef TGI_VERIFY_H
#define TGI_VERIFY_H

#include "ir/graph.h"

/* TG_ERROR_INTERNAL with the node in the message. */
tg_status tgi_graph_verify(const tgi_graph *graph);

#endif /* TGI_VERIFY_H */
