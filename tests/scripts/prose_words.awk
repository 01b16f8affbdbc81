# SPDX-License-Identifier: MIT
#
# prose_words.awk - prints the words of prose, each with its file and line: of
# Markdown and plain text without code, of manual pages without requests, and of
# comments in C, awk, shell and make. Identifiers, paths, options, numbers and
# abbreviations in capitals are no words.

function kind_of(name)
{
    if (name ~ /\.(c|h|def|cpp)$/)
        return "C"
    if (name ~ /\.[1-9]$/)
        return "man"
    if (name ~ /\.(sh|awk|mk|am|ac|py)$/ || name ~ /quickstart$/)
        return "#"
    return "text"
}

# Comments of a line of C; is_comment lives on.
function comments_of(line,    out, at)
{
    out = ""
    for (;;) {
        if (is_comment) {
            at = index(line, "*/")
            if (!at)
                return out " " line
            out = out " " substr(line, 1, at - 1)
            line = substr(line, at + 2)
            is_comment = 0
        } else {
            gsub(/"([^"\\]|\\.)*"/, "", line)
            at = index(line, "/*")
            if (!at)
                return out
            line = substr(line, at + 2)
            is_comment = 1
        }
    }
}

FNR == 1 {
    kind = kind_of(FILENAME)
    is_comment = is_code = 0
}

{ line = $0 }

kind == "C" { line = comments_of(line) }

kind == "#" {
    if (line !~ /^[ \t]*#/ || line ~ /^#!/)
        next
}

kind == "man" {
    if (line ~ /^\.(EX|nf)/)
        is_code = 1
    if (line ~ /^\.(EE|fi)/)
        is_code = 0
    if (is_code || line ~ /^\.(TH|EX|EE|BR|B|I|IR|RB|BI|so|\\")/ ||
        line ~ /^'?\\"/)
        next
    sub(/^\.[A-Z]+/, "", line)
    gsub(/\\f[BI][^\\]*\\f[RP]/, " ", line)
    gsub(/\\f.|\\-|\\&|\\[(]../, " ", line)
}

kind == "text" {
    if (line ~ /^ *```/) {
        is_code = !is_code
        next
    }
    if (is_code || line ~ /^    /)
        next
    gsub(/<[^>]*>/, " ", line)
    gsub(/\]\([^)]*\)/, "]", line)
}

{
    gsub(/`[^`]*`/, " ", line)
    gsub(/[a-z]+:\/\/[^ )]*/, " ", line)
    n = split(line, tokens, /[][ \t(){},;:!?"*=<>|+…→×·&^~%]+/)
    for (i = 1; i <= n; i++) {
        token = tokens[i]
        # Paths, file names, options, identifiers, numbers.
        if (token ~ /[_\/\\@$#0-9]/ || token ~ /[a-z]\.[a-z]/ ||
            token ~ /^-/ || token ~ /[a-z][A-Z]/)
            continue
        gsub(/[.]+$/, "", token)
        m = split(token, words, /[^A-Za-z']+/)
        for (j = 1; j <= m; j++) {
            word = words[j]
            gsub(/^'+|'+$/, "", word)
            sub(/'s$/, "", word)
            if (length(word) > 2 && word !~ /^[A-Z]+s?$/)
                print word, FILENAME ":" FNR
        }
    }
}
