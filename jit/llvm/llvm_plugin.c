/* SPDX-License-Identifier: MIT */
/*
 * llvm_plugin.c - the table libtgjit-llvm shows to libtgjit.
 *
 * The module links LLVM and nothing of libtgjit: what it needs from there
 * comes through arguments, so it works with the shared and the static library
 * and with the unit tests alike.
 */
#include "codegen/plugin.h"
#include "llvm/llvm_codegen.h"
#include "llvm/llvm_describe.h"

static const struct tgi_plugin table = {
    .abi = TGI_PLUGIN_ABI,
    .table_bytes = sizeof table,
    .describe = tgi_llvm_describe,
    .compile = tgi_llvm_codegen,
    .dispose = tgi_llvm_codegen_dispose,
};

__attribute__((visibility("default"))) tgi_plugin_entry_fn tgi_plugin_entry;

const struct tgi_plugin *tgi_plugin_entry(void)
{
    return &table;
}
