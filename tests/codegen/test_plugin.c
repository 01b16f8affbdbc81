/* SPDX-License-Identifier: MIT */
/* test_plugin.c - the plugin: loaded, rejected and missing. */
#include "config.h"

#include "jit.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#ifdef TGJIT_HAVE_LLVM

Test(plugin, describes_llvm_and_the_host)
{
    char text[4096];
    cr_assert(tgi_jit_describe(text, sizeof text), "%s", text);
    cr_assert_eq(strncmp(text, "LLVM ", 5), 0, "%s", text);
    cr_assert_not_null(strchr(text, '-'), "no target triple: %s", text);
}

Test(plugin, cuts_the_text_at_the_end_of_the_buffer)
{
    char text[8];
    memset(text, 'x', sizeof text);
    cr_assert(tgi_jit_describe(text, 5));
    cr_assert_str_eq(text, "LLVM");
    cr_assert_eq(text[5], 'x');
}

Test(plugin, reports_the_path_of_a_missing_plugin)
{
    setenv("TGJIT_MODULE_DIR", "/nonexistent", 1);
    char text[4096];
    cr_assert_not(tgi_jit_describe(text, sizeof text));
    cr_assert_not_null(strstr(text, "/nonexistent/libtgjit-llvm.so"), "%s",
                       text);
}

#else

Test(plugin, reports_a_build_without_llvm)
{
    char text[4096];
    cr_assert_not(tgi_jit_describe(text, sizeof text));
    cr_assert_str_eq(text, "libtgjit was built without LLVM");
}

#endif
