#!/bin/sh
# SPDX-License-Identifier: MIT
#
# slices.sh [CAMPAIGN...] - random campaigns in slices that add up. Runs slices
# of the named campaigns (all), in turn, until SECONDS (60) have passed. Every
# slice has a seed of its own: the one after the last in the file of finished
# slices, TGJIT_SLICES (slices.txt), to which it appends a line
#
#     CAMPAIGN seed SEED count COUNT seconds S passed|failed
#
# The first seed of a campaign that the file does not have is FIRST_SEED (1000).
#
# slices.sh --summary prints the sums of that file. Run in a build tree, by
# `make slices' and `make slices-summary'.

file=${TGJIT_SLICES-slices.txt}
first=${FIRST_SEED-1000} # seeds below 1000 belong to the tests
bits=${VECTOR_BITS-128,256,512}
all='passes jit loops schedules determinism gradients gradients-jit calls files
    objects kills killed-files'
OMP_NUM_THREADS=${OMP_NUM_THREADS-2}
TGJIT_CACHE=${TGJIT_CACHE-off}
export OMP_NUM_THREADS TGJIT_CACHE

# The number of cases in a slice: about ten seconds. Those of kills are the kills
# that hit a write, those of determinism graphs, each in all settings.
count_of()
{
    case $1 in
    passes) echo 20000 ;;
    jit) echo 250 ;;
    loops | schedules) echo 120 ;;
    determinism) echo 25 ;;
    gradients) echo 2000 ;;
    gradients-jit) echo 120 ;;
    calls) echo 3000 ;;
    files) echo 300000 ;;
    objects) echo 300000 ;;
    kills) echo 1500 ;;
    killed-files) echo 1500 ;;
    *) return 1 ;;
    esac
}

run_slice() # CAMPAIGN SEED COUNT
{
    graphs="tests/random/random-graphs --seed $2 --count $3 --jobs ${JOBS-1}"
    gradients="tests/random/random-gradients --seed $2 --count $3"
    case $1 in
    passes) $graphs --mode passes ;;
    jit) $graphs --mode jit --threads 1,2,3,7 --vector-bits "$bits" ;;
    loops) $graphs --mode loops --threads 1,3 --vector-bits "$bits" ;;
    schedules)
        $graphs --mode jit --schedules 1 --threads 1,3 --vector-bits "$bits"
        ;;
    gradients) $gradients --mode differences ;;
    gradients-jit) $gradients --mode jit --threads 1,3 ;;
    calls) tests/stress/fuzz_calls --seed "$2" --count "$3" --jobs "${JOBS-1}" ;;
    files) tests/stress/fuzz_files --seed "$2" --count "$3" --jobs "${JOBS-1}" ;;
    objects)
        tests/stress/fuzz_objects --seed "$2" --count "$3" --jobs "${JOBS-1}"
        ;;
    determinism)
        SEED=$2 COUNT=$3 JOBS=${JOBS-1} \
            sh "$(dirname "$0")/long-determinism.sh"
        ;;
    kills) tests/stress/stress_disk_cache --hits "$3" "$2" ;;
    killed-files)
        tests/stress/stress_killed_files --hits "$3" --seed "$2"
        ;;
    esac
}

summary()
{
    awk '{ n[$1] += $5; s[$1] += $7; slices[$1]++
           if (!($1 in low) || $3 < low[$1]) low[$1] = $3
           if ($3 > high[$1]) high[$1] = $3
           if ($8 != "passed") bad[$1]++ }
         END { for (c in n)
                   printf "%-14s %10d cases, %4d slices, seeds %d to %d, " \
                          "%6d s, %d failed\n", c, n[c], slices[c], low[c], \
                          high[c], s[c], bad[c] }' "$file" | sort
}

if [ "$1" = --summary ]; then
    test -e "$file" || exit 77
    summary
    exit 0
fi

end=$(($(date +%s) + ${SECONDS_OF_SLICES-60}))
status=0
# shellcheck disable=SC2086
test $# -gt 0 || set -- $all
while [ "$(date +%s)" -lt "$end" ]; do
    for campaign; do
        [ "$(date +%s)" -lt "$end" ] || break
        count=$(count_of "$campaign") || {
            echo "slices.sh: there is no campaign '$campaign': $all" >&2
            exit 2
        }
        seed=$(awk -v c="$campaign" -v first="$first" '
            $1 == c && $3 >= s { s = $3 }
            END { print s < first ? first : s + 1 }' "$file" 2>/dev/null ||
            echo "$first")
        begin=$(date +%s)
        if run_slice "$campaign" "$seed" "$count" >slice.log 2>&1; then
            result=passed
        else
            result=failed
            status=1
            mv slice.log "slice-$campaign-$seed.log"
            echo "see slice-$campaign-$seed.log"
        fi
        echo "$campaign seed $seed count $count seconds" \
            "$(($(date +%s) - begin)) $result" >>"$file"
    done
done
summary
exit $status
