# SPDX-License-Identifier: MIT
#
# speed_picture.awk - draws docs/speed.svg, the picture of README.md, from a result
# file of `tgjit-bench --peers --out=FILE': for some cases with one thread, the best
# times of others relative to compiled code. `make update-speed-picture' calls it.

function text_at(x, y, anchor, class, text)
{
    printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">%s</text>\n",
        x, y, anchor, class, text
}

function x_of(ratio)
{
    return LEFT + (log(ratio) - log(LOW)) / (log(HIGH) - log(LOW)) * WIDE
}

function add_case(key, title)
{
    cases[++n_cases] = key
    titles[key] = title
}

# The colours on a light and on a dark page.
function add_peer(key, title, colour, dark)
{
    peers[++n_peers] = key
    peer_titles[key] = title
    colours[n_peers] = colour
    dark_colours[n_peers] = dark
}

BEGIN {
    add_case("chain/1e6", "tanh(a x + b) sigmoid(c x) - x/2")
    add_case("softmax/1024x1024", "softmax, 1024 x 1024")
    add_case("layer_norm/1024x1024", "layer norm, 1024 x 1024")
    add_case("black_scholes/1e6", "Black-Scholes, f64")
    add_case("jacobi/2048x2048", "Jacobi stencil, 2048 x 2048")
    add_case("attention/8x256x256x64", "attention, 8 x 256 x 256 x 64")
    add_case("mlp_forward/64", "MLP, batch of 64")
    add_case("train/mlp", "MLP, training step")
    add_case("train/logistic", "logistic regression, step")
    add_case("cnn_train/32", "CNN, training step")
    add_peer("c", "plain C (gcc -O3 -ffast-math)", "#6b7280", "#9ca3af")
    add_peer("jax", "JAX (XLA)", "#b45309", "#f59e0b")
    add_peer("torch.compile", "torch.compile", "#dc2626", "#f87171")
    add_peer("onnxruntime", "ONNX Runtime", "#2563eb", "#60a5fa")
}

/^    "(label|cpu)": / {
    key = $1
    value = $0
    sub(/^[^:]*: "/, "", value)
    sub(/",?$/, "", value)
    facts[key] = value
}

/"run_type": "iteration"/ {
    if (!match($0, /"run_name": "[^"]*"/))
        next
    name = substr($0, RSTART + 13, RLENGTH - 14)
    match($0, /"real_time": [0-9.e+-]*/)
    time = substr($0, RSTART + 13, RLENGTH - 13) + 0
    if (!(name in best) || time < best[name])
        best[name] = time
}

END {
    LEFT = 270; WIDE = 450; ROW = 26; TOP = 64; LOW = 0.7; HIGH = 16
    for (i = 1; i <= n_cases; i++)
        if ((cases[i] "/jit/threads:1") in best)
            shown[++n_shown] = cases[i]
    bottom = TOP + n_shown * ROW
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\" " \
        "height=\"%d\" viewBox=\"0 0 760 %d\">\n", bottom + 40, bottom + 40
    print "<style>text { font: 12px system-ui, sans-serif; fill: #1f2937 }"
    print ".small { font-size: 11px; fill: #4b5563 }"
    print ".page { fill: #ffffff } .grid { stroke: #e5e7eb }"
    print ".one { stroke: #059669; fill: #059669 }"
    for (i = 1; i <= n_peers; i++)
        printf ".peer%d { fill: %s }\n", i, colours[i]
    print "@media (prefers-color-scheme: dark) {"
    print "text { fill: #e5e7eb } .small { fill: #9ca3af }"
    print ".page { fill: #0d1117 } .grid { stroke: #30363d }"
    print ".one { stroke: #34d399; fill: #34d399 }"
    for (i = 1; i <= n_peers; i++)
        printf ".peer%d { fill: %s }\n", i, dark_colours[i]
    print "}</style>"
    printf "<rect width=\"760\" height=\"%d\" class=\"page\"/>\n", bottom + 40

    x = LEFT
    text_at(LEFT - 12, 22, "end", "", "time relative to libtgjit")
    for (i = 1; i <= n_peers; i++) {
        printf "<circle cx=\"%d\" cy=\"18\" r=\"5\" class=\"peer%d\"/>\n", x, i
        text_at(x + 9, 22, "start", "small", peer_titles[peers[i]])
        x += 36 + 5.4 * length(peer_titles[peers[i]])
    }
    for (tick = 1; tick <= HIGH; tick *= 2) {
        printf "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" " \
            "class=\"%s\"/>\n", x_of(tick), TOP - 14, x_of(tick), bottom,
            tick == 1 ? "one" : "grid"
        text_at(x_of(tick), TOP - 20, "middle", "small",
            tick == 1 ? "libtgjit" : tick "x")
    }
    for (i = 1; i <= n_shown; i++) {
        y = TOP + (i - 0.5) * ROW
        text_at(LEFT - 12, y + 4, "end", "", titles[shown[i]])
        printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" class=\"one\"/>\n",
            x_of(1), y
        for (k = n_peers; k >= 1; k--) {
            name = shown[i] "/" peers[k] "/threads:1"
            if (!(name in best))
                continue
            ratio = best[name] / best[shown[i] "/jit/threads:1"]
            far = ratio > HIGH
            printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" class=\"peer%d\" " \
                "fill-opacity=\"0.85\"><title>%s: %.2f</title></circle>\n",
                x_of(far ? HIGH : ratio < LOW ? LOW : ratio), y,
                k, peer_titles[peers[k]], ratio
            if (far)
                text_at(x_of(HIGH) + 8, y + 4, "start", "small",
                    sprintf("%.0fx", ratio))
            if (ratio < LOW)
                text_at(x_of(LOW) + 8, y + 4, "start", "small",
                    sprintf("%.1fx", ratio))
        }
    }
    text_at(LEFT - 12, bottom + 24, "end", "small", "one thread, best of all " \
        "repetitions")
    text_at(LEFT, bottom + 24, "start", "small",
        facts["\"label\":"] " - left of the line: faster than libtgjit")
    print "</svg>"
}
