#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Enforces the include rules that the READMEs of the folders state. A folder of
# src/ or jit/ that holds sources has a README.md with the lines
#
#   May include: FOLDER...    folders whose headers its files may include,
#                             relative to src/ or jit/; "jit" is jit/ itself
#   Entry headers: HEADER...  its headers that other folders may include
#
# A file may also include its own folder and the public headers. The relation
# must be acyclic. mpi/, bench/ and examples/ see the public headers and their own
# files. Only jit/llvm/ may include <llvm-c/...>; only jit/run/openmp.c may use
# OpenMP.

list=$PWD/check-include-direction.tmp
trap 'rm -f "$list"' EXIT

cd "$srcdir" || exit 1
find include src jit mpi bench examples -name '*.[ch]' -o -name '*.def' |
    LC_ALL=C sort >"$list"

${AWK:-awk} -v list="$list" '
function fail(text)
{
    print FILENAME ":" FNR ": " text
    bad = 1
}

function folder_of(path)
{
    sub(/\/[^\/]*$/, "", path)
    return path
}

# The name of a folder in the READMEs.
function short_name(folder)
{
    sub(/^(src|jit)\//, "", folder)
    return folder
}

function is_library(folder)
{
    return folder ~ /^(src|jit)(\/|$)/ && folder != "src/tools"
}

# Reads the two entries of a README, which may continue on indented lines.
function read_rules(folder,    path, line, words, n, i, key, found)
{
    path = folder "/README.md"
    while ((getline line <path) > 0) {
        if (line ~ /^May include:/)
            key = "may"
        else if (line ~ /^Entry headers:/)
            key = "entry"
        else if (line !~ /^ /)
            key = ""
        if (key == "")
            continue
        found[key]
        sub(/^[A-Z][a-z ]*:/, "", line)
        n = split(line, words, " ")
        for (i = 1; i <= n; i++)
            if (key == "may")
                may[short_name(folder), words[i]]
            else
                entry[folder "/" words[i]]
    }
    close(path)
    if (!("may" in found) || !("entry" in found)) {
        print path ": needs the lines May include: and Entry headers:"
        bad = 1
    }
}

# The file of this tree to which `name` refers in `path`, or "".
function resolve(name, path,    i, folder)
{
    folder = folder_of(path)
    for (; name ~ /^\.\.\//; name = substr(name, 4))
        folder = folder_of(folder)
    if ((folder "/" name) in exists)
        return folder "/" name
    for (i = 1; i <= 5; i++)
        if ((search[i] name) in exists)
            return search[i] name
    return ""
}

# Repeatedly removes folders that include no remaining one; a nonempty remainder
# contains a cycle.
function check_cycles(    n, pair, parts, from, is_leaf, removed)
{
    do {
        removed = 0
        for (from in folders) {
            is_leaf = 1
            for (pair in may) {
                split(pair, parts, SUBSEP)
                if (parts[1] == from && parts[2] in folders)
                    is_leaf = 0
            }
            if (is_leaf) {
                delete folders[from]
                removed = 1
            }
        }
    } while (removed)
    for (from in folders) {
        print from ": is part of a cycle of May include: lines"
        bad = 1
    }
}

BEGIN {
    split("include/ src/ jit/ bench/ :", search, " ")
    search[5] = "" # mpi/ includes "mpi/..."
    generated["config.h"]
    generated["build_id.h"]
    generated["data_loaders.inc"]
    generated["engine_programs.inc"]
    generated["smooth.h"] # written by examples/ahead_of_time/export

    while ((getline path <list) > 0) {
        exists[path]
        ARGV[ARGC++] = path
        folder = folder_of(path)
        if (is_library(folder) && !(short_name(folder) in folders)) {
            folders[short_name(folder)]
            read_rules(folder)
        }
    }
    if (ARGC == 1) {
        print "no files"
        bad = 1
        exit
    }
    for (pair in may) {
        split(pair, parts, SUBSEP)
        if (!(parts[2] in folders)) {
            print parts[1] ": May include: no folder " parts[2]
            bad = 1
        }
    }
    for (path in entry)
        if (!(path in exists)) {
            print path ": Entry headers: no such file"
            bad = 1
        }
    check_cycles()
}

FNR == 1 { from = folder_of(FILENAME) }

/^[ \t]*#[ \t]*include/ {
    line = $0
    if (!match(line, /["<][^">]*[">]/))
        next
    name = substr(line, RSTART + 1, RLENGTH - 2)
    quoted = substr(line, RSTART, 1) == "\""

    if (name ~ /^llvm(-c)?\// && from !~ /^jit\/llvm(\/|$)/)
        fail("only jit/llvm/ may include <" name ">")
    if (name == "omp.h" && is_library(from) && FILENAME != "jit/run/openmp.c")
        fail("only jit/run/openmp.c may use OpenMP")

    target = resolve(name, FILENAME)
    if (target == "") {
        if (quoted && !(name in generated))
            fail("\"" name "\" is nowhere in the tree")
        next
    }
    to = folder_of(target)
    if (to ~ /^include/ || to == from)
        next
    if (!is_library(from)) {
        split(from, top, "/")
        if (index(to, top[1]) != 1 || from == "src/tools")
            fail("may include public headers only, not " target)
    } else if (!is_library(to)) {
        fail("may not include " target)
    } else {
        # Included as FOLDER/FILE; the files of jit/ itself have no folder.
        if (name != short_name(to) substr(target, length(to) + 1) &&
            to != "jit")
            fail("write \"" short_name(to) substr(target, length(to) + 1) "\"")
        if (!((short_name(from), short_name(to)) in may))
            fail(short_name(from) "/README.md does not allow " short_name(to))
        used[short_name(from), short_name(to)]
        if (!(target in entry))
            fail(target " is not an entry header of its folder")
        entered[target]
    }
}

/^[ \t]*#[ \t]*pragma[ \t]+omp/ && is_library(from) &&
    FILENAME != "jit/run/openmp.c" {
    fail("only jit/run/openmp.c may use OpenMP")
}

# An unused permission would hide the next wrong include.
END {
    for (pair in may)
        if (!(pair in used)) {
            split(pair, parts, SUBSEP)
            print parts[1] "/README.md: May include: " parts[2] " is not used"
            bad = 1
        }
    for (path in entry)
        if (!(path in entered) && path in exists && path !~ /jit\/jit.h$/) {
            print path ": Entry headers: included from nowhere else"
            bad = 1
        }
    exit bad
}
'
