/* SPDX-License-Identifier: MIT */
#include "run.h"

#include "DISTRIBUTED.blocks.h"

/* One rank, without a launcher: its mean is its own value. */
int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    tg_context *ctx = tg_context_create(NULL);
    tg_mpi *mpi = tg_mpi_create(ctx, MPI_COMM_WORLD, NULL);
    CHECK(mpi);
    tg_tensor *x = filled(ctx, TG_F32, TG_DIMS(3), 5), *y = NULL;
    CHECK(!run(ctx, mpi, x, &y));
    const float *elements = tg_tensor_data(y);
    for (int i = 0; i < 3; i++)
        CHECK(elements[i] == 0);
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_mpi_release(mpi);
    tg_context_release(ctx);
    MPI_Finalize();
    return 0;
}
