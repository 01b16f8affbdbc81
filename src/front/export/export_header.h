/* SPDX-License-Identifier: MIT */
/*
 * export_header.h - the C header of an exported function.
 */
#ifndef TGI_EXPORT_HEADER_H
#define TGI_EXPORT_HEADER_H

#include "front/call/function_object.h"

/* Appends the header, which declares the function and documents its
   parameters. When out of memory, out->failed is set. */
void tgi_export_header(const tg_concrete *concrete,
                       const tgi_export_options *options,
                       const tgi_exported *exported, tgi_strbuf *out);

#endif /* TGI_EXPORT_HEADER_H */
