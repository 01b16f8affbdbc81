# SPDX-License-Identifier: MIT
#
# man_page.awk - writes the manual page of a public header, tgjit-NAME(3), from
# its comments, and a link to it for each function and macro.
#
#   awk -v folder=DIR -v version=0.1.0 -f man_page.awk include/tgjit/NAME.h \
#       [FILE_OF_MACROS]
#
# A header is a sequence of paragraphs: lines up to a blank one outside of
# comments and braces. The first comment is the description. A paragraph that
# starts with a comment, or declares a function, becomes an entry. `tg_x_at' is
# shown as the macro `tg_x', which passes the site and the counts. Rows of a
# table, `X2(name) /* text */', are operations. Code for C++ is left out.

function fail(text)
{
    print "man_page.awk: " FILENAME ": " text > "/dev/stderr"
    failed = 1
    exit 1
}

# -- Text as roff -------------------------------------------------------------

function escaped(text)
{
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    if (text ~ /^[.']/)
        text = "\\\&" text
    return text
}

function put(text)
{
    body = body text "\n"
}

function put_code(text)
{
    put(".EX\n" text ".EE")
}

# The lines of a comment, separated by newlines, as paragraphs. Lines indented
# by four are code; by less, parts of a list.
function put_text(text,    lines, n, i, code, line)
{
    n = split(text, lines, "\n")
    code = ""
    for (i = 1; i <= n; i++) {
        line = lines[i]
        if (line ~ /^    / || (code != "" && line ~ /^ *$/ &&
                               i < n && lines[i + 1] ~ /^    /)) {
            code = code escaped(line) "\n"
            continue
        }
        if (code != "") {
            put_code(code)
            code = ""
            if (line !~ /^ *$/)
                put(".PP")
        }
        if (line ~ /^ *$/)
            put(".PP")
        else if (line ~ /^ *- /) {
            sub(/^ *- /, "", line)
            put(".IP \\(bu 2\n" escaped(line))
        } else {
            sub(/^ +/, "", line)
            put(escaped(line))
        }
    }
    if (code != "")
        put_code(code)
}

# -- Comments and declarations ------------------------------------------------

# The text of a comment without its delimiters.
function comment_text(comment,    lines, n, i, text)
{
    n = split(comment, lines, "\n")
    text = ""
    for (i = 1; i <= n; i++) {
        sub(/^\/\*/, "", lines[i])
        sub(/ *\*\/ *$/, "", lines[i])
        if (comment ~ /^\/\*\n/) {
            sub(/^ \* ?/, "", lines[i])
            sub(/^ $/, "", lines[i])
        } else
            sub(/^  ? ?/, "", lines[i])
        text = text (i > 1 ? "\n" : "") lines[i]
    }
    sub(/^\n+/, "", text)
    sub(/\n+$/, "", text)
    while (match(text, /tg_[a-z0-9_]+_at([^a-z0-9_]|$)/))
        text = substr(text, 1, RSTART - 1) \
            as_named(substr(text, RSTART, RLENGTH)) \
            substr(text, RSTART + RLENGTH)
    return text
}

# `tg_x_at' as `tg_x'.
function as_named(name)
{
    sub(/_at/, "", name)
    return name
}

# A declaration as a user reads it.
function as_called(text)
{
    gsub(/TG_(API|MUST_CHECK|WARN_UNUSED) +/, "", text)
    gsub(/TG_(API|MUST_CHECK)\n/, "", text)
    sub(/\n? *TG_PRINTF\([^)]*\)/, "", text)
    if (text ~ /tg_site site[,)]/) {
        gsub(/,[ \n]+tg_site site/, "", text)
        gsub(/\(tg_site site\)/, "(void)", text)
        gsub(/_at\(/, "(", text)
        while (match(text, /const tg_operand \*[a-z_]+,[ \n]+size_t n_[a-z_]+/))
            text = arguments_in(text, "tg_operand ", "TG_ARGS")
        while (match(text, /int rank,[ \n]+const int64_t \*[a-z_]+/))
            text = arguments_in(text, "int64_t ", "TG_DIMS")
    }
    sub(/^static inline /, "", text)
    return text
}

# A declaration of a function in lines of up to 66 columns, broken after commas.
function wrapped(text,    words, n, i, line, all, indent)
{
    gsub(/[ \n]+/, " ", text)
    gsub(/\* /, "*", text)
    indent = index(text, "(")
    if (indent > 36)
        indent = 8
    n = split(text, words, ", ")
    line = words[1]
    all = ""
    for (i = 2; i <= n; i++)
        if (length(line) + length(words[i]) > 64) {
            all = all line ",\n"
            line = sprintf("%" indent "s%s", "", words[i])
        } else
            line = line ", " words[i]
    return all line
}

# Replaces the array and its size at RSTART by `macro(name ...)'.
function arguments_in(text, type, macro,    found, name)
{
    found = substr(text, RSTART, RLENGTH)
    name = found
    sub(".*" type "\\*", "", name)
    sub(/,.*/, "", name)
    return substr(text, 1, RSTART - 1) macro "(" name " ...)" \
        substr(text, RSTART + RLENGTH)
}

function add_name(name)
{
    if (!(name in is_name)) {
        is_name[name] = 1
        names[++n_names] = name
    }
}

# Notes the functions that a declaration declares.
function note_names(text,    rest, name)
{
    rest = text
    while (match(rest, /tg_[a-z0-9_]+\(/)) {
        name = substr(rest, RSTART, RLENGTH - 1)
        if (name !~ /_t$/)
            add_name(name)
        rest = substr(rest, RSTART + RLENGTH)
        sub(/^[^;{]*/, "", rest)
    }
}

# The declarations of functions among other lines, each wrapped.
function functions_in(text,    rest, at, all)
{
    all = ""
    rest = text
    while ((at = index(rest, ");")) && rest !~ /^(typedef|#)/) {
        all = all wrapped(substr(rest, 1, at + 1)) "\n"
        rest = substr(rest, at + 2)
        sub(/^\n/, "", rest)
    }
    return all rest
}

# The functions tg_x_NAME of a macro, with the names of the table T of dtypes.
function note_typed_names(text,    prefix, rest)
{
    match(text, /tg_[a-z_]+##/)
    prefix = substr(text, RSTART, RLENGTH - 2)
    rest = types
    while (match(rest, /T\([a-z0-9]+,/)) {
        add_name(prefix substr(rest, RSTART + 2, RLENGTH - 3))
        rest = substr(rest, RSTART + RLENGTH)
    }
}

# -- Entries ------------------------------------------------------------------

function put_entry(comment, text)
{
    put(".PP")
    if (text != "")
        put_code(escaped_lines(text))
    if (comment != "") {
        put(".RS 4")
        put_text(comment_text(comment))
        put(".RE")
    }
}

function escaped_lines(text,    lines, n, i, all)
{
    n = split(text, lines, "\n")
    all = ""
    for (i = 1; i <= n; i++)
        if (i < n || lines[i] != "")
            all = all escaped(lines[i]) "\n"
    return all
}

# A table of operations, a row each.
function put_table(text,    lines, n, i, line, name, args, note)
{
    n = split(text, lines, "\n")
    for (i = 1; i <= n; i++) {
        line = lines[i]
        sub(/ *\\$/, "", line)
        if (match(line, /X[123]\([a-z0-9_]+\)/)) {
            name = substr(line, RSTART + 3, RLENGTH - 4)
            args = substr(line, RSTART + 1, 1)
            args = args == 1 ? "x" : args == 2 ? "a, b" : "a, b, c"
            note = line
            add_name("tg_" name)
            put(".TP\n.B tg_" name "(" args ")")
            if (note !~ /\/\*/)
                put("\\&")
        } else
            note = line
        if (note ~ /\/\*/) {
            sub(/.*\/\* */, "", note)
            sub(/ *\*\/.*/, "", note)
            put(escaped(note))
        }
    }
}

# Without the bodies of inline functions and macros.
function head_of(text)
{
    if (text ~ /^static inline/)
        sub(/\n\{.*/, ";", text)
    else if (text ~ /^#define [a-z_A-Z0-9]+\(/)
        sub(/\).*/, ")", text)
    else if (text ~ /^#define [A-Z_]+_INIT/)
        sub(/_INIT.*/, "_INIT", text)
    return text
}

function finish_paragraph(    comment, text, at, is_function)
{
    comment = ""
    text = paragraph
    paragraph = ""
    sub(/\n+$/, "", text)
    if (text == "")
        return
    if (text ~ /^\/\* -- /) {
        sub(/^\/\* -- */, "", text)
        sub(/ *-*[ \n]*\*\/.*/, "", text)
        put(".SS " escaped(text))
        return
    }
    if (text ~ /^\/\*/) {
        at = index(text, "*/")
        comment = substr(text, 1, at + 1)
        text = substr(text, at + 2)
        sub(/^\n/, "", text)
    }
    if (comment ~ /SPDX-License/)
        return
    if (!has_head) {
        read_head(comment_text(comment))
        return
    }
    if (text ~ /#define [A-Z_]+\(T\)/) {
        types = text
        return
    }
    if (text ~ /tg_[a-z_]+##name\(/) {
        put_entry(comment, "")
        note_typed_names(text)
        return
    }
    if (text ~ /X1\(/) {
        put_entry(comment, "")
        put_table(text)
        return
    }
    is_function = text ~ /TG_API|^static inline/
    if (comment == "" && text ~ /^#/)
        return
    if ((comment == "" && text !~ /TG_API/ && text !~ /^typedef/) ||
        text ~ /^#(ifndef|undef|include|pragma)|TG_COMPILE_ERROR/ ||
        text ~ /^TG_(BEGIN|END)_DECLS/ || text ~ /^TG_[A-Z_0-9]+\(/)
        return
    text = as_called(head_of(text))
    if (is_function || text ~ /^#define tg_[a-z0-9_]+\(/)
        note_names(text)
    put_entry(comment, is_function ? functions_in(text) : text)
}

function read_head(text,    at)
{
    at = index(text, " - ")
    if (!at)
        fail("the first comment has no ` - '")
    summary = text
    sub(/^[^ ]+ - /, "", summary)
    at = match(summary, /\.([ \n]|$)/)
    rest = substr(summary, at + 1)
    summary = substr(summary, 1, at - 1)
    gsub(/\n/, " ", summary)
    sub(/^[ \n]+/, "", rest)
    has_head = 1
    put_text(rest)
    put(".SH FUNCTIONS AND TYPES")
}

# -- Lines --------------------------------------------------------------------

FNR == 1 { n_files++ }
FNR == 1 && n_files == 1 {
    header = FILENAME
    sub(/.*\//, "", header)
}
# Macros without a comment only get links.
/^#define tg_[a-z0-9_]+\(/ && (n_files > 1 || is_c) {
    name = $2
    sub(/\(.*/, "", name)
    add_name(name)
}
n_files > 1 { next }

/^#if.*__cplusplus/ {
    finish_paragraph()
    depth_of_language = ++depth
    is_c = /ifndef/
    next
}
/^#if/ { depth++ }
/^#else/ && depth_of_language && depth == depth_of_language {
    finish_paragraph()
    is_c = !is_c
    next
}
/^#endif/ {
    if (depth-- == depth_of_language && depth_of_language) {
        finish_paragraph()
        depth_of_language = 0
    }
    next
}
depth_of_language && !is_c { next }
/^$/ && !is_in_comment && braces <= 0 {
    finish_paragraph()
    next
}
{
    # A comment begins an entry; in the part for C, so does a macro without one.
    if (!is_in_comment && braces <= 0 && paragraph !~ /\\\n$/ &&
        (/^\/\*/ || (depth_of_language && /^#define/ &&
                     paragraph !~ /\*\/\n$/)))
        finish_paragraph()
    paragraph = paragraph $0 "\n"
    line = $0
    if (is_in_comment || line ~ /\/\*/)
        is_in_comment = line !~ /\*\//
    if (!is_in_comment && line !~ /^ \*/ && line !~ /\\$/) {
        gsub(/\/\*.*\*\//, "", line)
        opening = gsub(/\{/, "{", line)
        closing = gsub(/\}/, "}", line)
        braces += opening - closing
    }
}

END {
    if (failed)
        exit 1
    finish_paragraph()
    if (!has_head)
        fail("no description")
    page = header
    sub(/\.h$/, "", page)
    page = "tgjit-" page
    list = page
    for (i = 1; i <= n_names; i++)
        list = list ", " names[i]
    gsub(/_/, "_", list)
    file = folder "/" page ".3"
    printf ".\\\" SPDX-License-Identifier: MIT\n" \
        ".\\\" Generated from <tgjit/%s> by man_page.awk.\n" \
        ".TH %s 3 \"\" \"libtgjit %s\" \"Library Functions Manual\"\n" \
        ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.nf\n.B #include <tgjit/%s>\n" \
        ".fi\n.SH DESCRIPTION\n%s.SH SEE ALSO\n.BR tgjit (3)\n", header, page,
        version, escaped(list), escaped(summary), header, body > file
    close(file)
    for (i = 1; i <= n_names; i++) {
        file = folder "/" names[i] ".3"
        print ".so man3/" page ".3" > file
        close(file)
    }
}
