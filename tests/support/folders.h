/* SPDX-License-Identifier: MIT */
/* folders.h - temporary folders of tests. */
#ifndef TGI_TEST_FOLDERS_H
#define TGI_TEST_FOLDERS_H

#include <dirent.h>
#include <unistd.h>

/* Removes a folder and its files; returns their number. */
static inline int remove_folder(const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.') {
            unlinkat(dirfd(dir), entry->d_name, 0);
            n++;
        }
    closedir(dir);
    rmdir(path);
    return n;
}

#endif /* TGI_TEST_FOLDERS_H */
