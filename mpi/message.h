/* SPDX-License-Identifier: MIT */
/*
 * message.h - messages of any size: an MPI count is an int, so large arrays are
 * sent in pieces.
 */
#ifndef TGI_MPI_MESSAGE_H
#define TGI_MPI_MESSAGE_H

#include <mpi.h>
#include <stddef.h>

#define TGI_MPI_MAX_MESSAGE ((size_t)1 << 30)

/* The number of pieces. */
static inline size_t tgi_mpi_n_messages(size_t bytes)
{
    return (bytes + TGI_MPI_MAX_MESSAGE - 1) / TGI_MPI_MAX_MESSAGE;
}

/* The bytes of piece i. */
static inline int tgi_mpi_message_bytes(size_t bytes, size_t i)
{
    const size_t rest = bytes - i * TGI_MPI_MAX_MESSAGE;
    return (int)(rest < TGI_MPI_MAX_MESSAGE ? rest : TGI_MPI_MAX_MESSAGE);
}

#endif /* TGI_MPI_MESSAGE_H */
