/* SPDX-License-Identifier: MIT */
/*
 * main.c - tgjit-bench: measures the library against hand-written code and
 * other libraries. The parts, from the command line to the report:
 *
 *   options   what is asked for
 *   session   goes through cases, sizes, teams and back ends
 *   case      what is measured: a table of cases (cases.c, case_*.c) of three
 *             families (tensor_case.c, graph_case.c, process_case.c)
 *   backend   who computes: the library, plain_*.c, expert/, peers/
 *   compare   whether all compute the same
 *   measure   times
 *   report    how they are written
 */
#include <stdio.h>
#include <stdlib.h>

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
    if (o.has_filter && !session_has_rows(&o)) {
        fprintf(stderr,
                "tgjit-bench: --filter=%s matches no row; see --list\n",
                o.filter_text);
        status = EXIT_USAGE;
    } else if (o.action == ACTION_LIST) {
        session_list(&o);
    } else if (!session_run(&o, argv[0])) {
        status = EXIT_FAILURE;
    }
    options_deinit(&o);
    return status;
}
