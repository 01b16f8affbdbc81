# SPDX-License-Identifier: MIT
#
# docs/ - installed as they are.

dist_doc_DATA += \
	README.md \
	docs/ARCHITECTURE.md \
	docs/STYLE.md

dist_man_MANS = docs/man/tgjit.3
