#!/bin/sh
# SPDX-License-Identifier: MIT
#
# mutants.sh [NAME...] - mutation testing: plants the faults of mutants.list
# (all, or those named), one at a time, in a scratch copy of the tree, and runs
# the tests that should fail. A fault that survives is a gap in the tests.
#
# mutants.sh --applies only tests that every fault can be planted.
#
# Run in a build tree, by `make check-mutants'. The named tests are part of
# `make check'; they must first pass without a fault. The last line is "N
# caught, N survived, N broken"; a broken fault does not apply or does not build.
#
# SECONDS_OF_MUTANTS=N stops after N seconds and keeps the copy. The next run
# with it goes on where this one stopped, on the same copy, whatever the tree has
# become: mutants.txt has a line for each fault that is done.

srcdir=${srcdir-$(dirname "$0")/../..}
list=$srcdir/tests/scripts/mutants.list
scratch=$PWD/mutants.tmp
results=$PWD/mutants.txt
tree=$scratch/tree build=$scratch/build log=$scratch/log
seconds=${TGJIT_TEST_TIMEOUT:-120}
jobs=${JOBS-2}
unset MAKEFLAGS MFLAGS MAKELEVEL

die()
{
    echo "mutants: $*"
    exit 1
}

# -- Building ----------------------------------------------------------------

make_copy()
{
    rm -rf "$scratch"
    : >"$results"
    mkdir "$scratch" "$build" &&
        ${MAKE-make} distdir distdir=mutants.tmp/tree >"$log" 2>&1 &&
        chmod -R u+w "$tree" || return
    # Configured like this tree, but faster to build.
    eval "set -- $(./config.status --config)"
    (cd "$build" && "$tree/configure" "$@" --disable-static --disable-werror \
        CFLAGS=-O1) >"$log" 2>&1 </dev/null
}

# Builds the programs of the commands in $tests, and the plugin.
make_tests()
{
    programs=$(printf '%s' "$tests" | sed '/^$/d; s/ .*//; s|^|tests/|')
    # The tests of a folder find the code generator beside them, if the Makefile
    # puts it there.
    links=$(printf '%s\n' "$programs" | sed 's|/[^/]*$|/libtgjit-llvm.so|' |
        sort -u | while read -r link; do
        grep -q "^[[:space:]]$link" "$build/Makefile" && echo "$link"
    done)
    # shellcheck disable=SC2086
    (cd "$build" && timeout $limit ${MAKE-make} -j"$jobs" \
        libtgjit-llvm.la $links $programs) >"$log" 2>&1 </dev/null
}

# -- Testing -----------------------------------------------------------------

# Prints the first line that reports a failure.
first_failure()
{
    sed -n 's/^not ok - //p; s/^FAILED .*# //p' "$log" |
        sed 's/ *(.*//; q'
}

# Runs the command line $1. If it fails, returns false and sets $why.
passes()
{
    # shellcheck disable=SC2086
    (
        cd "$build" || exit
        srcdir=$tree CRITERION_OUTPUTS=tap:-
        OMP_NUM_THREADS=${OMP_NUM_THREADS-2}
        export srcdir CRITERION_OUTPUTS OMP_NUM_THREADS
        exec timeout -k 5 "$seconds" tests/$1
    ) >"$log" 2>&1 </dev/null
    status=$?
    test $status = 0 && return
    why=$(first_failure)
    test $status = 124 || test $status = 137 && why="hangs"
    why="${1%% *} (${why:-exit status $status})"
    return 1
}

all_pass()
{
    while IFS= read -r one; do
        test -z "$one" || passes "$one" || return
    done <<END
$tests
END
}

# -- Faults ------------------------------------------------------------------

# Copies $1, a copy of $file, to $2. Replaces $before, which must occur once, by
# $after.
plant()
{
    before=$before after=$after awk '
        { n += gsub_one() } { print }
        function gsub_one(    at, rest, count)
        {
            at = index($0, ENVIRON["before"])
            if (!at)
                return 0
            rest = substr($0, at + length(ENVIRON["before"]))
            count = 1 + (index(rest, ENVIRON["before"]) > 0)
            $0 = substr($0, 1, at - 1) ENVIRON["after"] rest
            return count
        }
        END { exit n != 1 }' "$1" >"$2" && return
    n_broken=$((n_broken + 1))
    echo "${name%%:*}: broken: '$before' is not in $file exactly once"
    return 1
}

find_line()
{
    plant "$srcdir/$file" /dev/null
}

# Tests the fault given by $name, $file, $before, $after, $tests.
try()
{
    grep -q "^${name%%:*}: " "$results" && return
    has_time || return
    begin=$(date +%s)
    cp "$tree/$file" "$scratch/original" || die "$name: no file $file"
    echo "$file" >"$scratch/planted"
    if ! plant "$scratch/original" "$tree/$file"; then
        result='BROKEN: does not apply'
    elif ! make_tests; then
        grep 'error' "$log" | head -n 3
        result='BROKEN: does not build'
    elif all_pass; then
        result=SURVIVED
    else
        result="caught by $why"
    fi
    restore
    echo "${name%%:*}: $result, $(($(date +%s) - begin)) s" |
        tee -a "$results"
}

restore()
{
    test -e "$scratch/planted" || return
    cp "$scratch/original" "$tree/$(cat "$scratch/planted")" &&
        rm "$scratch/planted"
}

seconds_left()
{
    echo $((started + ${SECONDS_OF_MUTANTS-1000000} - $(date +%s)))
}

has_time()
{
    test "$(seconds_left)" -gt 0
}

not_finished()
{
    echo "not finished: $(wc -l <"$results") faults are done"
    exit 0
}

# Makes the copy, with all programs, whose tests pass without a fault.
prepare()
{
    test -n "$SECONDS_OF_MUTANTS" && test -e "$build/Makefile" || make_copy || {
        tail -n 20 "$log"
        die "no copy of the tree"
    }
    each_fault remember_tests
    every=$(printf '%s' "$every" | sort -u)
    tests=$every limit=$(seconds_left)
    make_tests || {
        has_time || not_finished
        tail -n 20 "$log"
        die "the tree does not build"
    }
    limit=0
    while IFS= read -r tests; do
        grep -qxF "$tests" "$scratch/passed" 2>/dev/null && continue
        has_time || not_finished
        all_pass || {
            tail -n 20 "$log"
            die "without any fault, $why fails"
        }
        echo "$tests" >>"$scratch/passed"
    done <<END
$every
END
    : >"$scratch/ready"
}

# Calls $1 for each selected fault of the list.
each_fault()
{
    name='' tests=''
    while IFS= read -r line; do
        case $line in
        '#'*) ;;
        'fault: '*) name=${line#fault: } tests='' ;;
        'file: '*) file=${line#file: } ;;
        'test: '*) tests="$tests${line#test: }
" ;;
        '- '*) before=${line#- } ;;
        '+ '*) after=${line#+ } ;;
        '')
            case " $wanted " in
            '  ' | *" ${name%%:*} "*) test -z "$name" || "$1" ;;
            esac
            name=''
            ;;
        *) die "unexpected line '$line'" ;;
        esac
    done <<END
$(cat "$list")

END
}

remember_tests()
{
    every="$every$tests"
}

wanted="$*" every='' n_broken=0
if test "$wanted" = --applies; then
    wanted=''
    each_fault find_line
    exit $((n_broken > 0))
fi
grep -q '^#define TGJIT_HAVE_LLVM 1' config.h || exit 77
command -v timeout >/dev/null || exit 77
test -n "$SECONDS_OF_MUTANTS" || trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
started=$(date +%s) limit=0 # of building, in seconds; 0: none
test -n "$SECONDS_OF_MUTANTS" && test -e "$scratch/ready" || prepare
restore # what a run that was killed has planted
list=$tree/tests/scripts/mutants.list
each_fault try
has_time || not_finished
rm -rf "$scratch"
awk '/: caught by / { caught++ } /: SURVIVED, / { survived++ }
     /: BROKEN: / { broken++ }
     END { printf "%d caught, %d survived, %d broken\n", caught, survived,
                  broken
           exit survived + broken > 0 }' "$results"
