# SPDX-License-Identifier: MIT
#
# docs/ - installed as they are.

dist_doc_DATA +=
