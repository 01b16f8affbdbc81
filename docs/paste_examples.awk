# SPDX-License-Identifier: MIT
#
# paste_examples.awk - prints a page of docs/ with the programs it shows. A line
# that ends with a link to ../examples/NAME.c names a program; the next block
# ```c becomes its text without head and includes, up to a ruler "Plain C" if it
# has one; the next block ```text becomes its expected output. The page is read in docs/ of the source tree:
#
#     awk -v docs=DIR -f paste_examples.awk PAGE.md

function paste(file, begins,    line, on, status, blank)
{
    on = !begins
    while ((status = (getline line <file)) > 0) {
        if (begins && line ~ /^\/\* -- Plain C -/)
            break
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
    paste(name ".c", "^#include \"(\\.\\./check|compare)\\.h\"$")
    skips = 1
}
/^```text$/ && name {
    paste(name ".expected", "")
    skips = 1
}
END { exit failed }
