#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Holds the layers: a file includes its own layer and lower ones, never a
# higher one.
#
#   public   include/
#   base, ir, graph, front
#            src/, by the table tests/layers.txt
#   loops    jit/
#   llvm     jit/llvm_*: the only files to include <llvm-c/...>
#   user     bench/, examples/: see public headers and their own files only
#
# The front passes through one door, jit/jit.h. OpenMP is for jit/rt.c.

list=$PWD/check-include-direction.tmp
trap 'rm -f "$list"' EXIT

cd "$srcdir" || exit 1
find include src jit bench examples -name '*.[ch]' -o -name '*.def' |
    LC_ALL=C sort >"$list"

${AWK:-awk} -v list="$list" '
function fail(text)
{
    print FILENAME ":" FNR ": " text
    bad = 1
}

function folder_of(path)
{
    sub(/[^\/]*$/, "", path)
    return path
}

function top_of(path)
{
    sub(/\/.*/, "", path)
    return path
}

function layer_of(path,    stem, i)
{
    if (path ~ /^include\//)
        return "public"
    if (path ~ /^(bench|examples)\//)
        return "user"
    if (path ~ /^jit\//)
        return path ~ /^jit\/llvm_/ ? "llvm" : "loops"
    stem = path
    sub(/^src\//, "", stem)
    sub(/\.[^.]*$/, "", stem)
    if (stem in layer)
        return layer[stem]
    for (i = 1; i <= n_prefixes; i++)
        if (index(stem, prefix[i]) == 1)
            return prefix_layer[i]
    return ""
}

# The file of this tree that `name` means in `path`, or "".
function resolve(name, path,    i)
{
    if ((folder_of(path) name) in exists)
        return folder_of(path) name
    for (i = 1; i <= 4; i++)
        if ((search[i] name) in exists)
            return search[i] name
    return ""
}

function may(from, to, target)
{
    if (to == "public")
        return 1
    if (from == "public")
        return 0
    if (from == "user" || to == "user")
        return from == to && top_of(FILENAME) == top_of(target)
    if (to == "llvm")
        return from == "llvm"
    if (from == "front" && to == "loops")
        return target == "jit/jit.h"
    return rank[to] <= rank[from]
}

BEGIN {
    split("include/ src/ jit/ bench/", search, " ")
    generated["config.h"]
    generated["build_id.h"]
    generated["smooth.h"] # written by examples/ahead_of_time/export
    n = split("base ir graph loops llvm front", order, " ")
    for (i = 1; i <= n; i++)
        rank[order[i]] = i

    while ((getline <"tests/layers.txt") > 0) {
        if ($0 ~ /^#/ || NF == 0)
            continue
        for (i = 2; i <= NF; i++)
            if (sub(/\*$/, "", $i)) {
                prefix[++n_prefixes] = $i
                prefix_layer[n_prefixes] = $1
            } else {
                layer[$i] = $1
            }
    }
    while ((getline path <list) > 0) {
        exists[path]
        ARGV[ARGC++] = path
    }
    if (ARGC == 1) {
        print "no files"
        bad = 1
        exit
    }
}

FNR == 1 {
    from = layer_of(FILENAME)
    if (from == "")
        fail("has no layer: add its name to tests/layers.txt")
}

/^[ \t]*#[ \t]*include/ {
    line = $0
    if (!match(line, /["<][^">]*[">]/))
        next
    name = substr(line, RSTART + 1, RLENGTH - 2)
    quoted = substr(line, RSTART, 1) == "\""

    if (name ~ /^llvm(-c)?\// && from != "llvm")
        fail("only jit/llvm_* may include <" name ">")
    if (name == "omp.h" && from != "user" && FILENAME != "jit/rt.c")
        fail("only jit/rt.c may use OpenMP")

    target = resolve(name, FILENAME)
    if (target == "") {
        if (quoted && !(name in generated))
            fail("\"" name "\" is nowhere in the tree")
        next
    }
    to = layer_of(target)
    if (from != "" && to != "" && !may(from, to, target))
        fail(from " may not include " target " (" to ")")
}

/^[ \t]*#[ \t]*pragma[ \t]+omp/ && from != "user" && FILENAME != "jit/rt.c" {
    fail("only jit/rt.c may use OpenMP")
}

END { exit bad }
'
