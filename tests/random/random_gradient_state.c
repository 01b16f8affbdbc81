/* SPDX-License-Identifier: MIT */
/*
 * random_gradient_state.c - variables, operations that stop gradients, and
 * custom gradients in random programs.
 */
#include <math.h>
#include <string.h>

#include "random/random_gradient.h"

/* -- Variables ------------------------------------------------------------- */

/* Reads one of the sources. */
void gr_make_variable(gr_frame *f)
{
    const gr_program *p = f->root->program;
    if (p->n_variables == 0 || (p->passes && !gr_sees_arguments(f))) {
        gr_make_unary(f);
        return;
    }
    const int i = gr_below(f, p->n_variables);
    gr_take(f, "read", tg_read(f->root->variables[i]), &p->variables[i]);
}

/* New contents that do not depend on a source; at most 1 + |state| / 2. */
static tg_value next_state(gr_frame *f)
{
    const gr_value state = {.value = tg_read(f->root->state),
                            .shape = f->root->program->state};
    return tg_add(tg_mul(state.value, 0.5), gr_weights(f, &state, -1, 1));
}

/*
 * The variable that is read gets values without gradients; a value that depends
 * on sources is assigned to the variable that is never read.
 */
void gr_make_state(gr_frame *f)
{
    const gr_shape *shape = &f->root->program->state;
    if (f->is_pure) {
        gr_make_binary(f);
        return;
    }
    /* Only read the state here; other operations may assign it. */
    if (gr_one_in(f, 4)) {
        gr_add(f, "read of state", tg_read(f->root->state), shape, -2, 2);
        return;
    }
    if (gr_one_in(f, 2)) {
        gr_value like = {.value = tg_read(f->root->sink), .shape = *shape};
        tg_assign(f->root->sink, gr_fitted(f, gr_pick(f), &like));
    }
    tg_value state = tg_assign(f->root->state, next_state(f));
    if (gr_one_in(f, 2))
        state = tg_read(f->root->state);
    gr_add(f, "state", state, shape, -2, 2);
}

/* -- Effects --------------------------------------------------------------- */

void gr_note_effect(gr_effects *effects, uint64_t place)
{
    effects->n++;
    effects->hash = (effects->hash ^ place) * UINT64_C(0x100000001b3);
}

static tg_status note_call(const tg_host_buffer *in, size_t n_in,
                           const tg_host_buffer *out, size_t n_out, void *user)
{
    (void)n_in, (void)n_out;
    int64_t place;
    memcpy(&place, in->data, sizeof(place));
    memcpy(out->data, in->data, sizeof(place));
    gr_note_effect(user, (uint64_t)place);
    return TG_OK;
}

/* A print or a host call; its value is an operand, passed through the host call
   if it is one. */
void gr_make_effect(gr_frame *f)
{
    const gr_value x = gr_pick(f);
    if (f->is_pure) {
        gr_make_unary(f);
        return;
    }
    const int place = gr_below(f, 1 << 30);
    if (gr_one_in(f, 2)) {
        char format[32];
        snprintf(format, sizeof(format), "%d %%v", place);
        tg_print(f->t, format, x.value);
        gr_add(f, "printed", tg_neg(x.value), &x.shape, -x.high, -x.low);
        return;
    }
    tg_value y;
    const tg_host_spec spec = {TG_I64, 0, NULL};
    tg_host_call(f->t, note_call, f->root->effects,
                 TG_ARGS(tg_scalar(TG_I64, (int64_t)place)), &spec, &y, 1);
    const tg_value same = tg_eq(y, tg_scalar(TG_I64, (int64_t)place));
    gr_add(f, "called", tg_mul(x.value, tg_cast(same, f->root->dtype)),
           &x.shape, x.low < 0 ? x.low : 0, x.high > 0 ? x.high : 0);
}

/* Random numbers of a generator, times an operand. */
void gr_make_draw(gr_frame *f)
{
    const gr_value x = gr_pick(f);
    if (f->is_pure || gr_count(&x.shape) == 0) {
        gr_make_binary(f);
        return;
    }
    int64_t dims[GR_MAX_RANK];
    for (int i = 0; i < x.shape.rank; i++)
        dims[i] = tg_value_dim(x.value, i);
    const tg_value drawn = tg_random_uniform_at(
        TG_IN(f->root->generator), f->root->dtype, x.shape.rank, dims, TG_HERE);
    const double bound = x.high > -x.low ? x.high : -x.low;
    gr_add(f, "draw", tg_mul(x.value, drawn), &x.shape, -bound, bound);
}

/* -- Stops ----------------------------------------------------------------- */

/* x with its gradient stopped, in either way. */
static tg_value stopped(gr_frame *f, const gr_value *x)
{
    if (f->is_pure || gr_one_in(f, 2) ||
        !gr_same_shape(&x->shape, &f->root->program->state))
        return tg_stop_gradient(x->value);
    const gr_value like = {.value = tg_read(f->root->sink),
                           .shape = f->root->program->state};
    tg_assign(f->root->sink, gr_fitted(f, *x, &like));
    const gr_value contents = {.value = tg_read(f->root->sink),
                               .shape = x->shape};
    return gr_fitted(f, contents, x);
}

/* At top level, the value is a result, or an argument if frozen. */
static tg_value frozen(gr_frame *f, const gr_value *x)
{
    gr_trace *root = f->root;
    const int k = root->n_stops++;
    const tg_value stop = stopped(f, x);
    root->stop_shapes[k] = x->shape;
    root->stops[k] = stop;
    if (root->form == GR_WHOLE)
        return stop;
    int64_t dims[GR_MAX_RANK];
    for (int i = 0; i < x->shape.rank; i++)
        dims[i] = tg_value_dim(x->value, i);
    return tg_broadcast(root->in[root->program->n_inputs + 1 + k],
                        x->shape.rank, dims);
}

void gr_make_stop(gr_frame *f)
{
    const gr_value x = gr_pick(f);
    if (f->depth || f->root->n_stops == GR_MAX_STOPS) {
        gr_add(f, "stopped weights",
               tg_mul(tg_stop_gradient(gr_weights(f, &x, -1, 1)), x.value),
               &x.shape, -GR_LARGEST, GR_LARGEST);
        return;
    }
    const tg_value stop = frozen(f, &x);
    if (gr_one_in(f, 3)) /* zero, but with a gradient */
        gr_add(f, "x less itself, stopped", tg_sub(x.value, stop), &x.shape,
               x.low - x.high, x.high - x.low);
    else
        gr_add(f, "stopped", stop, &x.shape, x.low, x.high);
}

/* -- Nested gradients ------------------------------------------------------ */

/* The gradient of some operations as a value, whose gradient is then their
   second derivative. */
void gr_make_inner_gradient(gr_frame *f)
{
    gr_value x = gr_pick(f);
    gr_frame inner = {.root = f->root,
                      .t = f->t,
                      .outer = f,
                      .seed = random_next(&f->random),
                      .random = f->random,
                      .depth = f->depth,
                      .is_pure = f->is_pure};
    if (inner.depth == 0 && f->root->log)
        fprintf(f->root->log, "  gradient of\n");
    x.value = tg_mul(x.value, 1.25); /* only later operations depend on it */
    x.low *= 1.25;
    x.high *= 1.25;
    const gr_value source = gr_add(&inner, "x", x.value, &x.shape, -5, 5);
    gr_make_some(&inner, 1 + gr_below(f, 3));
    const gr_value y = inner.values[inner.n_values - 1];
    const tg_value gradient =
        tg_gradient(tg_sum(tg_sin(y.value), TG_ALL_AXES), source.value);
    if (!tg_is_valid(gradient)) {
        gr_make_unary(f);
        return;
    }
    gr_add(f, "inner gradient", tg_tanh(tg_mul(gradient, 0.25)), &source.shape,
           -1, 1);
}

/* -- Custom gradients ------------------------------------------------------ */

static void product_and_sine(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], in[1]), tg_sin(in[0]));
}

static void product_and_sine_back(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value x = in[0], y = in[1], by_product = in[4], by_sine = in[5];
    const tg_value by_x =
        tg_add(tg_mul(by_product, y), tg_mul(by_sine, tg_cos(x)));
    tg_return(t, by_x, tg_mul(by_product, x));
}

static void curve(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_tanh(in[0]));
}

static void curve_back(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[2], tg_sub(1.0, tg_square(in[1]))));
}

void gr_make_custom(gr_frame *f)
{
    const gr_value x = gr_pick(f);
    tg_value results[2];
    if (gr_one_in(f, 2)) {
        tg_custom_gradient(curve, curve_back, NULL, TG_ARGS(x.value), results,
                           1);
        gr_add(f, "custom tanh", results[0], &x.shape, -1, 1);
        return;
    }
    const gr_value y = {.value = gr_fitted(f, gr_pick(f), &x),
                        .shape = x.shape};
    const double bound = GR_LARGEST * GR_LARGEST;
    tg_custom_gradient(product_and_sine, product_and_sine_back, NULL,
                       TG_ARGS(x.value, y.value), results, 2);
    gr_add(f, "custom product", results[0], &x.shape, -bound, bound);
    gr_add(f, "custom sine", results[1], &x.shape, -1, 1);
}

static tg_status host_sine(const tg_host_buffer *in, size_t n_in,
                           const tg_host_buffer *out, size_t n_out, void *user)
{
    (void)n_in, (void)n_out, (void)user;
    int64_t n = 1;
    for (int i = 0; i < in->rank; i++)
        n *= in->dims[i];
    for (int64_t i = 0; i < n; i++)
        if (in->dtype == TG_F32)
            ((float *)out->data)[i] = sinf(((const float *)in->data)[i]);
        else
            ((double *)out->data)[i] = sin(((const double *)in->data)[i]);
    return TG_OK;
}

static void host_sine_back(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[2], tg_cos(in[0])));
}

void gr_make_host(gr_frame *f)
{
    if (f->is_pure) {
        gr_make_custom(f);
        return;
    }
    const gr_value x = gr_pick(f);
    int64_t dims[GR_MAX_RANK];
    for (int i = 0; i < x.shape.rank; i++)
        dims[i] = tg_value_dim(x.value, i);
    const tg_host_spec spec = {f->root->dtype, x.shape.rank, dims};
    tg_value y;
    tg_host_call_with_gradient(f->t, host_sine, host_sine_back, NULL,
                               TG_ARGS(x.value), &spec, &y, 1);
    gr_add(f, "host sine", y, &x.shape, -1, 1);
}
