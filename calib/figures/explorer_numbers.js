// This module reads the numbers that Python sends, and sums cells over the range of a brush, which is
// any range. Every other number is Python's. It does not use the DOM.

// A score is an edge if it is above it by at most 4 units of rounding.
const EDGE_FACTOR = 1 + 4 * Number.EPSILON;
export const FEW_ROWS = 30;

const KINDS = { f8: Float64Array, f4: Float32Array, u4: Uint32Array, u2: Uint16Array, u1: Uint8Array };

// The text is the type of the numbers, such as "f8:", and their little-endian bytes in base64.
export function decode(text) {
    const bytes = atob(text.slice(3));
    const raw = new Uint8Array(bytes.length);
    for (let i = 0; i < bytes.length; i += 1) raw[i] = bytes.charCodeAt(i);
    return Float64Array.from(new KINDS[text.slice(0, 2)](raw.buffer));
}

// Compressed JSON.
export async function inflate(bytes) {
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

function prefix(values) {
    const sums = new Float64Array(values.length + 1);
    for (let i = 0; i < values.length; i += 1) sums[i + 1] = sums[i] + values[i];
    return sums;
}

// Runs of cells have prefix sums, so that sums over a range cost two reads.
export function readCells(sent) {
    const high = decode(sent.high);
    const low = sent.low ? decode(sent.low) : high;
    const rows = decode(sent.rows);
    const weight = sent.weight ? decode(sent.weight) : rows;
    return {
        n: high.length,
        low,
        high,
        rows: prefix(rows),
        weight: prefix(weight),
        weightSq: prefix(sent.weight_sq ? decode(sent.weight_sq) : weight),
        positive: prefix(decode(sent.positive)),
        score: prefix(sent.score_sum ? decode(sent.score_sum) : weight.map((w, i) => w * high[i])),
    };
}

// The cumulative difference after each run, with a leading 0, its ends, and where it is farthest from 0.
export function cumulativeDifference(cells) {
    const total = cells.weight[cells.n];
    const difference = cells.positive.map((positive, i) => (positive - cells.score[i]) / total);
    const peak = difference.reduce((most, value, i) => (Math.abs(value) > Math.abs(difference[most]) ? i : most), 0);
    const [least, most] = [Math.min, Math.max].map(end => difference.reduce((a, b) => end(a, b), 0));
    return { difference, peak, least, most };
}

const clip = x => Math.min(Math.max(x, 0), 1);

// The sums are those of the runs first to last - 1.
function sums(cells, first, last) {
    const total = values => values[last] - values[first];
    const weight = total(cells.weight);
    return {
        rows: total(cells.rows),
        weight,
        weightSq: total(cells.weightSq),
        positive: total(cells.positive),
        meanScore: clip(total(cells.score) / weight),
        observed: clip(total(cells.positive) / weight),
    };
}

const stopName = (nBins, strategy) => `${nBins} ${strategy}`;

// `packed_stops` of Python. The result has the place of each stop by its number of bins and strategy.
export function readStops(sent) {
    const columns = Object.fromEntries(Object.entries(sent).filter(([name]) => name !== "of").map(([name, text]) => [name, decode(text)]));
    const places = new Map(), start = prefix(columns.size);
    columns.n_bins.forEach((n, i) => places.set(stopName(n, columns.uniform[i] ? "uniform" : "quantile"), { i, n, from: start[i], to: start[i + 1] }));
    return { ...columns, places, bands: columns.whole ? readBands(columns) : null };
}

// The bands of each bin: numbers of positives, or their distance from the mean score.
function readBands({ whole, together_low, band_low, band_high, together_high, together_half, band_half }) {
    let [exact, other] = [0, 0];
    return Array.from(whole, isExact => {
        if (!isExact) return { half: { simultaneous: together_half[other], per_bin: band_half[other++] } };
        const low = together_low[exact] + band_low[exact], high = low + band_high[exact];
        return { counts: { simultaneous: [together_low[exact], high + together_high[exact++]], per_bin: [low, high] } };
    });
}

// An edge of quantiles is a score, the middle between two, or an end of the axis.
function edgeAfter(cells, runs, kind) {
    if (kind === 2) return runs ? 1 : 0;
    return kind ? 0.5 * (cells.high[runs - 1] + cells.low[runs]) : cells.high[runs - 1];
}

// The bins of one stop, with what belongs to them, or null if it has not been sent. Files leave out
// the intervals of bins for their size.
export function stopOf(cells, stops, nBins, strategy, halfWidth) {
    const place = stops?.places.get(stopName(nBins, strategy));
    if (!place) return null;
    const bins = [];
    let [first, parts] = [0, 0];
    for (let at = place.from; at < place.to; at += 1) {
        const last = first + stops.runs[at], before = parts + stops.low_edge[at];
        parts = before + stops.high_edge[at];
        // Equal parts are products, as in Python: i / n may differ in the last bit.
        const [lowEdge, highEdge] = strategy === "uniform"
            ? [before, parts].map(i => (i === place.n ? 1 : i * (1 / place.n)))
            : [edgeAfter(cells, first, stops.low_edge[at]), edgeAfter(cells, last, stops.high_edge[at])];
        bins.push({ lowEdge, highEdge, ...sums(cells, first, last) });
        first = last;
    }
    const { i, from } = place;
    const of = name => (stops[name] ? stops[name][i] : undefined);
    const band = kind => stops.bands && bins.map(({ rows, meanScore }, k) => {
        const { counts, half } = stops.bands[from + k];
        return counts ? counts[kind].map(n => n / rows) : [-half[kind], half[kind]].map(away => clip(meanScore + away));
    });
    return {
        bins,
        ece: of("ece"),
        worst: of("worst"),
        chance: of("chance"),
        p: of("worst_p"),
        interval: stops.worst_low ? [of("worst_low"), of("worst_high")] : null,
        intervals: bins.map((bin, k) => (stops.low ? [stops.low[from + k], stops.high[from + k]] : wilson(bin, halfWidth))),
        bands: { per_bin: band("per_bin"), simultaneous: band("simultaneous") },
        widths: { per_bin: of("band_width"), simultaneous: of("together_width") },
    };
}

// The function counts the sorted values up to x.
function upTo(values, x) {
    let [low, high] = [0, values.length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (values[middle] <= x) low = middle + 1;
        else high = middle;
    }
    return low;
}

// The result is the end of a run that is nearest to the score, because a run cannot be divided.
export function cleanEdge(cells, edge) {
    if (edge <= 0 || edge >= 1) return clip(edge);
    const i = upTo(cells.high, edge);
    if (i === cells.n || cells.low[i] > edge || cells.low[i] === cells.high[i]) return edge;
    const under = i ? cells.high[i - 1] : 0;
    return edge - under < cells.high[i] - edge ? under : cells.high[i];
}

// Wilson's interval of a range that nobody could know before it was brushed. Python sends the half
// width of a normal interval.
function wilson({ rows, weight, weightSq, observed }, halfWidth) {
    const square = weight ** 2, least = Math.max(weightSq, square / rows);
    const n = least > 0 ? square / least : 1, z2 = halfWidth ** 2;
    const centre = (observed + z2 / (2 * n)) / (1 + z2 / n);
    const half = Math.sqrt(z2 * ((observed * (1 - observed)) / n + z2 / (4 * n * n))) / (1 + z2 / n);
    return [observed <= 0 ? 0 : Math.max(centre - half, 0), observed >= 1 ? 1 : Math.min(centre + half, 1)];
}

// The range is closed on the right, and at 0. The result is null if the range has no rows.
export function between(cells, [from, to], halfWidth) {
    const [lowEdge, highEdge] = [cleanEdge(cells, from), cleanEdge(cells, to)];
    const first = lowEdge <= 0 ? 0 : upTo(cells.high, lowEdge * EDGE_FACTOR);
    const last = highEdge >= 1 ? cells.n : upTo(cells.high, highEdge * EDGE_FACTOR);
    if (last <= first) return null;
    const range = { lowEdge, highEdge, ...sums(cells, first, last) };
    return { ...range, difference: range.observed - range.meanScore, interval: wilson(range, halfWidth).map(end => end - range.meanScore) };
}

// A calibration function is interpolated linearly between its points.
export function interpolate(xs, ys, x) {
    const i = Math.min(Math.max(upTo(xs, x) - 1, 0), xs.length - 2);
    const share = clip((x - xs[i]) / (xs[i + 1] - xs[i]));
    return ys[i] + share * (ys[i + 1] - ys[i]);
}
