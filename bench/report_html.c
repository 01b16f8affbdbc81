/* SPDX-License-Identifier: MIT */
/*
 * report_html.c - the page of --html: its head, style and summary. html_*.c
 * write the charts.
 */
#include "format.h"
#include "html.h"

void html_text(FILE *out, const char *plain)
{
    for (; *plain; plain++)
        switch (*plain) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*plain, out);
        }
}

/* -- Style ----------------------------------------------------------------- */

static const char style[] =
    ":root{color-scheme:light dark;--back:#fff;--panel:#f6f7f9;--ink:#1d2430;"
    "--soft:#5d6778;--line:#d9dee6;--ours:#2563c9;--good:#16803c;"
    "--bad:#c02f2f;--lib:#b26a00;--grid:#e6e9ee;--c0:#2563c9;--c1:#b26a00;"
    "--c2:#16803c;--c3:#8a3ec2;--c4:#0f7c86;--c5:#c02f2f}\n"
    "@media(prefers-color-scheme:dark){:root{--back:#12161d;--panel:#1a2029;"
    "--ink:#e4e8ef;--soft:#9aa5b6;--line:#323b49;--ours:#6ea4f7;"
    "--good:#4fc27c;--bad:#f07b7b;--lib:#e0a34a;--grid:#28303c;--c0:#6ea4f7;"
    "--c1:#e0a34a;--c2:#4fc27c;--c3:#c08cf0;--c4:#4fc0cb;--c5:#f07b7b}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;padding:2rem 1.5rem 4rem;max-width:1120px;"
    "background:var(--back);color:var(--ink);"
    "font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',"
    "sans-serif}\n"
    "h1{font-size:1.7rem;margin:0}h2{font-size:1.25rem;margin:2.6rem 0 .3rem}"
    "h3{font-size:1rem;margin:1.4rem 0 .2rem}\n"
    "p{margin:.3rem 0 .8rem;max-width:75ch}.soft{color:var(--soft)}\n"
    "nav{margin:.8rem 0;display:flex;flex-wrap:wrap;gap:.3rem 1.1rem}"
    "a{color:var(--ours)}\n"
    ".tiles{display:flex;flex-wrap:wrap;gap:.8rem;margin:1.2rem 0}"
    ".tile{background:var(--panel);border:1px solid var(--line);"
    "border-radius:10px;padding:.7rem 1.1rem;min-width:150px}"
    ".tile b{display:block;font-size:1.6rem;line-height:1.3;"
    "font-variant-numeric:tabular-nums}.tile span{color:var(--soft);"
    "font-size:.85rem}\n"
    ".chart{background:var(--panel);border:1px solid var(--line);"
    "border-radius:10px;padding:.8rem;margin:.8rem 0;overflow-x:auto}"
    "svg{display:block;max-width:100%;height:auto}\n"
    "svg text{font-family:inherit;fill:var(--ink)}svg .soft{fill:var(--soft)}"
    "svg .grid{stroke:var(--grid)}svg .axis{stroke:var(--soft)}"
    "svg .ours{fill:var(--ours)}svg .good{fill:var(--good)}"
    "svg .bad{fill:var(--bad)}svg .lib{fill:var(--lib)}"
    "svg .idle{fill:var(--soft)}"
    "svg .roof{stroke:var(--lib);fill:none}svg .peak{stroke:var(--bad);"
    "fill:none}\n"
    ".f0{fill:var(--c0)}.f1{fill:var(--c1)}.f2{fill:var(--c2)}"
    ".f3{fill:var(--c3)}.f4{fill:var(--c4)}.f5{fill:var(--c5)}"
    ".s0{stroke:var(--c0)}.s1{stroke:var(--c1)}.s2{stroke:var(--c2)}"
    ".s3{stroke:var(--c3)}.s4{stroke:var(--c4)}.s5{stroke:var(--c5)}"
    ".curve{fill:none;stroke-width:2}\n"
    "svg text.t0{fill:var(--c0)}svg text.t1{fill:var(--c1)}"
    "svg text.t2{fill:var(--c2)}svg text.t3{fill:var(--c3)}"
    "svg text.t4{fill:var(--c4)}svg text.t5{fill:var(--c5)}\n"
    "table{border-collapse:collapse;font-size:.87rem;"
    "font-variant-numeric:tabular-nums}"
    "th,td{padding:.16rem .6rem;text-align:right;white-space:nowrap;"
    "border-bottom:1px solid var(--grid)}"
    ".wide{font-size:.78rem}.wide th,.wide td{padding:.14rem .4rem}"
    "th{color:var(--soft);font-weight:600}th:first-child,td:first-child{"
    "text-align:left}td.good{color:var(--good)}td.bad{color:var(--bad);"
    "font-weight:600}tr.ours td:first-child{color:var(--ours);"
    "font-weight:600}\n"
    "details{margin:.25rem 0;border:1px solid var(--line);border-radius:8px;"
    "padding:.25rem .8rem;background:var(--panel)}summary{cursor:pointer}"
    "details[open]>summary{margin-bottom:.3rem}"
    ".legend{columns:3 240px;font-size:.83rem;margin:.4rem 0 0;"
    "padding:0;list-style:none}.legend li{break-inside:avoid;"
    "padding-left:2.4em;text-indent:-2.4em}"
    ".legend span{white-space:nowrap}"
    ".legend b{display:inline-block;min-width:1.9em;text-align:right;"
    "margin-right:.5em;color:var(--ours)}\n"
    "@media print{details{border:0}}\n";

/* -- Summary --------------------------------------------------------------- */

static void print_head(FILE *out, const results *r)
{
    const machine_facts *machine = &r->machine;
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
          "<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
          "content=\"width=device-width\">\n<title>tgjit-bench: ",
          out);
    html_text(out, machine->cpu);
    fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", style);
    fputs("<h1>tgjit-bench</h1>\n<p>", out);
    if (*r->label) {
        html_text(out, r->label);
        fputs("<br>\n", out);
    }
    html_text(out, machine->cpu);
    fprintf(out, ", %d CPU%s, %s, libtgjit %s<br>\n<span class=\"soft\">",
            machine->processors, machine->processors == 1 ? "" : "s",
            text_machine(machine).text, machine->library);
    html_text(out, r->date);
    fputs("</span></p>\n<nav><a href=\"#speed\">Speed-ups</a>"
          "<a href=\"#roofline\">Roofline</a>"
          "<a href=\"#growth\">Growth</a><a href=\"#phases\">Compile time</a>"
          "<a href=\"#peers\">Peers</a><a href=\"#rows\">All rows</a></nav>\n",
          out);
}

static void print_tile(FILE *out, double number, const char *unit,
                       const char *what)
{
    if (number > 0)
        fprintf(out, "<div class=\"tile\"><b>%s%s</b><span>%s</span></div>\n",
                text_number(number).text, unit, what);
}

static void print_tiles(FILE *out, const results *r)
{
    geometric_mean speedup = {0, 0}, c = {0, 0}, library = {0, 0};
    geometric_mean scaling = {0, 0};
    int threads = 0;
    for (size_t begin = 0, n; begin < r->n_rows; begin += n) {
        n = results_size(r, begin);
        const screen_line line = screen_line_of(r->rows + begin, n);
        const row *first = &r->rows[begin];
        if (!line.ours || first->is_overhead || !first->is_on_screen)
            continue;
        geometric_mean_add(&speedup, line.speedup);
        geometric_mean_add(&c, line.c_ratio > 0 ? 1 / line.c_ratio : 0);
        geometric_mean_add(&library,
                           line.library_ratio > 0 ? 1 / line.library_ratio : 0);
        geometric_mean_add(&scaling, line.scaling);
        if (line.team)
            threads = line.team->threads;
    }
    char team[48];
    snprintf(team, sizeof(team), "faster with %d threads than with 1", threads);
    fputs("<div class=\"tiles\">\n", out);
    print_tile(out, geometric_mean_value(&speedup), " &times;",
               "faster than the interpreter");
    print_tile(out, geometric_mean_value(&c), " &times;",
               "the speed of plain C");
    print_tile(out, geometric_mean_value(&library), " &times;",
               "the speed of the fastest library");
    print_tile(out, geometric_mean_value(&scaling), " &times;", team);
    fputs("</div>\n<p class=\"soft\">Geometric means of all cases that "
          "compute. Times are the best of all repetitions; every repetition "
          "is under <a href=\"#rows\">All rows</a>.</p>\n",
          out);
}

void report_html(FILE *out, const results *r)
{
    print_head(out, r);
    print_tiles(out, r);
    html_bars(out, r);
    html_roofline(out, r);
    html_curves(out, r);
    html_phases(out, r);
    html_peers(out, r);
    html_rows(out, r);
    fputs("</body>\n</html>\n", out);
}
