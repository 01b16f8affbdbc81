/* SPDX-License-Identifier: MIT */
/*
 * library.c - see library.h.
 */
#include "library.h"

#include <dlfcn.h>
#include <string.h>

bool library_open(const char *file, const library_function *functions,
                  reason *out_why)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        reason_set(out_why, "%s", dlerror());
        return false;
    }
    for (const library_function *f = functions; f->name; f++) {
        void *address = dlsym(library, f->name);
        if (!address) {
            reason_set(out_why, "%s has no %s", file, f->name);
            dlclose(library);
            return false;
        }
        memcpy(f->out_address, &address, sizeof(address));
    }
    return true;
}
