/* SPDX-License-Identifier: MIT */
/*
 * zip_format.h - records of ZIP files (APPNOTE.TXT 6.3.10) and where their
 * fields are: offsets in bytes, as the records have no alignment.
 */
#ifndef TGI_ZIP_FORMAT_H
#define TGI_ZIP_FORMAT_H

enum {
    TGI_ZIP_STORED = 0,
    TGI_ZIP_DEFLATED = 8,

    TGI_ZIP_ENCRYPTED = 1 << 0,  /* flags */
    TGI_ZIP_DESCRIPTOR = 1 << 3, /* sizes follow the data */
    TGI_ZIP_UTF8 = 1 << 11,

    TGI_ZIP64_EXTRA = 0x0001,
    TGI_ZIP_ALIGN_EXTRA = 0xd935, /* Android's: an alignment, then padding */
    TGI_ZIP_EXTRA_BYTES = 4,      /* before the data of an extra field */

    /* Before a member: "PK\3\4" */
    TGI_ZIP_LOCAL_NEEDS = 4,
    TGI_ZIP_LOCAL_FLAGS = 6,
    TGI_ZIP_LOCAL_METHOD = 8,
    TGI_ZIP_LOCAL_TIME = 10,
    TGI_ZIP_LOCAL_DATE = 12,
    TGI_ZIP_LOCAL_CRC = 14,
    TGI_ZIP_LOCAL_STORED = 18,
    TGI_ZIP_LOCAL_SIZE = 22,
    TGI_ZIP_LOCAL_NAME = 26,
    TGI_ZIP_LOCAL_EXTRA = 28,
    TGI_ZIP_LOCAL_BYTES = 30,

    /* Of the directory: "PK\1\2" */
    TGI_ZIP_CENTRAL_MADE_BY = 4,
    TGI_ZIP_CENTRAL_NEEDS = 6,
    TGI_ZIP_CENTRAL_FLAGS = 8,
    TGI_ZIP_CENTRAL_METHOD = 10,
    TGI_ZIP_CENTRAL_DATE = 14,
    TGI_ZIP_CENTRAL_CRC = 16,
    TGI_ZIP_CENTRAL_STORED = 20,
    TGI_ZIP_CENTRAL_SIZE = 24,
    TGI_ZIP_CENTRAL_NAME = 28,
    TGI_ZIP_CENTRAL_EXTRA = 30,
    TGI_ZIP_CENTRAL_COMMENT = 32,
    TGI_ZIP_CENTRAL_DISK = 34,
    TGI_ZIP_CENTRAL_MODE = 38, /* external attributes */
    TGI_ZIP_CENTRAL_OFFSET = 42,
    TGI_ZIP_CENTRAL_BYTES = 46,

    /* At the end: "PK\5\6" */
    TGI_ZIP_END_DISK = 4,
    TGI_ZIP_END_DIRECTORY_DISK = 6,
    TGI_ZIP_END_COUNT_HERE = 8,
    TGI_ZIP_END_COUNT = 10,
    TGI_ZIP_END_SIZE = 12,
    TGI_ZIP_END_OFFSET = 16,
    TGI_ZIP_END_COMMENT = 20,
    TGI_ZIP_END_BYTES = 22,

    /* The same with 64 bits: "PK\6\6" */
    TGI_ZIP_END64_REST = 4, /* bytes that follow this field */
    TGI_ZIP_END64_MADE_BY = 12,
    TGI_ZIP_END64_NEEDS = 14,
    TGI_ZIP_END64_DISK = 16,
    TGI_ZIP_END64_DIRECTORY_DISK = 20,
    TGI_ZIP_END64_COUNT_HERE = 24,
    TGI_ZIP_END64_COUNT = 32,
    TGI_ZIP_END64_SIZE = 40,
    TGI_ZIP_END64_OFFSET = 48,
    TGI_ZIP_END64_BYTES = 56,

    /* Where that is: "PK\6\7", just before the end record */
    TGI_ZIP_LOCATOR_DISK = 4,
    TGI_ZIP_LOCATOR_OFFSET = 8,
    TGI_ZIP_LOCATOR_DISKS = 16,
    TGI_ZIP_LOCATOR_BYTES = 20
};

#define TGI_ZIP_LOCAL_MAGIC 0x04034b50u
#define TGI_ZIP_CENTRAL_MAGIC 0x02014b50u
#define TGI_ZIP_END_MAGIC 0x06054b50u
#define TGI_ZIP_END64_MAGIC 0x06064b50u
#define TGI_ZIP_LOCATOR_MAGIC 0x07064b50u

#endif /* TGI_ZIP_FORMAT_H */
