/* SPDX-License-Identifier: MIT */
/*
 * llvm_plugin.c - the function table that libtgjit-llvm exports.
 *
 * The plugin links LLVM but not libtgjit: what it needs of libtgjit is passed
 * in arguments. It therefore works with the shared library, the static library
 * and the unit tests.
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
