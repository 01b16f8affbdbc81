# SPDX-License-Identifier: MIT
#
# paste_examples.awk - prints a page of docs/ with the programs it shows. A line
# that ends with a link to ../examples/NAME.c names a program; the next block
# ```c becomes its text, the next block ```text its expected output. Of the
# tutorial, whose readers save it as a file, the text is whole but for the licence;
# else it has no head and includes, and ends at a ruler "Plain C". The page is read
# in docs/ of the source tree:
#
#     awk -v docs=DIR -f paste_examples.awk PAGE.md

function paste(file, begins, is_file,    line, on, status, blank)
{
    on = !begins
    while ((status = (getline line <file)) > 0) {
        if (begins && line ~ /^\/\* -- Plain C -/)
            break
        if (is_file)
            sub(/^#include "\.\.\//, "#include \"", line)
        if (on == 1 && !(begins && line == ""))
            on = 2
        if (on == 2 && line == "") {
            blank = blank "\n"
        } else if (on == 2) {
            printf "%s%s\n", blank, line
            blank = ""
        }
        if (begins && line ~ begins)
            on = 1
    }
    close(file)
    if (status < 0 || on == 0) {
        printf "%s: cannot be pasted\n", file >"/dev/stderr"
        failed = 1
    }
}

/^```$/ { skips = 0 }
!skips
/^\[.*\]\(\.\.\/examples\/[a-z0-9_\/]*\.c\)$/ {
    name = $0
    sub(/.*\(/, docs "/", name)
    sub(/\.c\)$/, "", name)
}
/^```c$/ && name {
    if (name ~ /\/tutorial\//)
        paste(name ".c", "^/\\* SPDX", 1)
    else
        paste(name ".c", "^#include \"(\\.\\./check|compare)\\.h\"$")
    skips = 1
}
/^```text$/ && name {
    paste(name ".expected", "")
    skips = 1
}
END { exit failed }
