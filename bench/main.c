/* SPDX-License-Identifier: MIT */
/*
 * main.c - tgjit-bench: measures the library against hand-written code and
 * other libraries. The modules, from the command line to the report:
 *
 *   options   the command line
 *   session   iterates over cases, sizes, numbers of threads and back ends
 *   case      the cases: a table (cases.c, case_*.c) of families
 *             (tensor_case.c, graph_case.c, data_case.c, file_case.c,
 *             process_case.c, mpi_case.c)
 *   backend   the implementations: the library, plain_*.c, expert/, peers/
 *             (libraries in this process; engines in others, engine.h)
 *   compare   comparison of results
 *   measure   timing
 *   roof      what this machine can do
 *   calibrate the same, for the choice of schedules
 *   results   measured rows, in memory and as files
 *   report    output formats
 *   baseline  comparison with an earlier run
 */
#include <stdio.h>
#include <stdlib.h>

#include "calibrate.h"
#include "process_case.h"
#include "session.h"

int main(int argc, char **argv)
{
    options o;
    int status;
    if (process_is_child(argc, argv, &status))
        return status;
    if (!options_read(&o, argc, argv, &status))
        return status;
    status = EXIT_SUCCESS;
    if (o.action == ACTION_CALIBRATE) {
        status = calibrate_machine();
    } else if (!o.n_from && !session_has_rows(&o)) {
        fprintf(stderr, "tgjit-bench: --filter=%s matches no row; see --list\n",
                o.has_filter ? o.filter_text : "");
        status = EXIT_USAGE;
    } else if (o.action == ACTION_LIST) {
        session_list(&o);
    } else if (o.action == ACTION_CHECK) {
        status = session_check(&o);
    } else {
        status = session_measure(&o, argv[0]);
    }
    options_deinit(&o);
    return status;
}
