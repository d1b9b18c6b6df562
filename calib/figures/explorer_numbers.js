// This module computes the cells, bins, intervals and bands of the explorer. The numbers are those of
// calib's Python. It does not use the DOM.

const NEGLIGIBLE_PROBABILITY = 1e-18;
const ROUNDING = 1e-12;
// A score is an edge if it is above it by at most 4 units of rounding.
const EDGE_FACTOR = 1 + 4 * Number.EPSILON;
const MAX_EXACT_ROWS = 1000;
const MIN_NORMAL_VARIANCE = 100;
const LARGE_BIN_PARTS = 32;
const HALVINGS = 30;
const MAX_FRACTIONS = 10_000;
export const FEW_ROWS = 30;

const KINDS = { f8: Float64Array, u4: Uint32Array };

// The text is "f8:" or "u4:", the type of the numbers, and their little-endian bytes in base64.
export function decode(text) {
    const bytes = atob(text.slice(3));
    const raw = new Uint8Array(bytes.length);
    for (let i = 0; i < bytes.length; i += 1) raw[i] = bytes.charCodeAt(i);
    return Float64Array.from(new KINDS[text.slice(0, 2)](raw.buffer));
}

function prefix(values) {
    const sums = new Float64Array(values.length + 1);
    for (let i = 0; i < values.length; i += 1) sums[i + 1] = sums[i] + values[i];
    return sums;
}

// Runs of cells have prefix sums, so that sums over bins cost two reads.
export function readCells(sent) {
    const high = decode(sent.high);
    const low = sent.low ? decode(sent.low) : high;
    const rows = decode(sent.rows);
    const weight = sent.weight ? decode(sent.weight) : rows;
    const weightSq = sent.weight_sq ? decode(sent.weight_sq) : weight;
    const scoreSum = sent.score_sum ? decode(sent.score_sum) : weight.map((w, i) => w * high[i]);
    const variance = sent.variance
        ? decode(sent.variance)
        : weightSq.map((w, i) => w * high[i] * (1 - high[i]));
    const cells = {
        n: high.length,
        low,
        high,
        rows: prefix(rows),
        weight: prefix(weight),
        weightSq: prefix(weightSq),
        positive: prefix(decode(sent.positive)),
        score: prefix(scoreSum),
        variance: prefix(variance),
    };
    const effective = cells.weight[cells.n] ** 2 / cells.weightSq[cells.n];
    const total = cells.rows[cells.n];
    cells.equalWeights = Math.abs(effective - total) <= 1e-11 * Math.max(effective, total);
    return cells;
}

// The function counts the sorted values below x, or up to x.
function below(values, x, orEqual, from = 0, to = values.length) {
    let [low, high] = [from, to];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (values[middle] < x || (orEqual && values[middle] === x)) low = middle + 1;
        else high = middle;
    }
    return low;
}

function quantile(cells, level) {
    const total = cells.weight[cells.n];
    const at = below(cells.weight, level * total * (1 - ROUNDING), false, 1) - 1;
    const first = Math.min(at, cells.n - 1);
    const met = cells.weight[first + 1] <= level * total * (1 + ROUNDING);
    const next = met ? Math.min(first + 1, cells.n - 1) : first;
    return 0.5 * (cells.high[first] + (next === first ? cells.high : cells.low)[next]);
}

export function binEdges(cells, nBins, strategy) {
    // The last bit of an edge decides where a score of exactly 0.3 falls, so this is a product as in
    // Python, and not i / nBins.
    const inner = Array.from({ length: nBins - 1 }, (_, i) => (i + 1) * (1 / nBins));
    if (strategy === "uniform") return [0, ...inner, 1];
    const cut = inner.map(level => quantile(cells, level)).filter(edge => edge > 0 && edge < 1);
    return [0, ...cut.filter((edge, i) => i === 0 || edge > cut[i - 1]), 1];
}

const clip = x => Math.min(Math.max(x, 0), 1);

// The sums are those of the runs first to last - 1.
function sums(cells, first, last) {
    const total = values => values[last] - values[first];
    const weight = total(cells.weight);
    return {
        first,
        last,
        rows: total(cells.rows),
        weight,
        weightSq: total(cells.weightSq),
        positive: total(cells.positive),
        meanScore: clip(total(cells.score) / weight),
        observed: clip(total(cells.positive) / weight),
        spread: Math.sqrt(Math.max(total(cells.variance), 0)) / weight,
    };
}

// Bins are closed on the right, the first on both sides. Empty bins are left out.
export function binBetween(cells, edges) {
    const bins = [];
    let first = 0;
    for (let i = 1; i < edges.length; i += 1) {
        const end = edges[i] * EDGE_FACTOR;
        const last = i === edges.length - 1 ? cells.n : below(cells.high, end, true, first);
        if (last > first) {
            bins.push({ lowEdge: edges[i - 1], highEdge: edges[i], ...sums(cells, first, last) });
        }
        first = last;
    }
    return bins;
}

export const binCells = (cells, nBins, strategy) =>
    binBetween(cells, binEdges(cells, nBins, strategy));

export function expectedCalibrationError(bins) {
    let [gaps, weight] = [0, 0];
    for (const bin of bins) {
        gaps += bin.weight * Math.abs(bin.observed - bin.meanScore);
        weight += bin.weight;
    }
    return gaps / weight;
}

// The bins with enough rows, or all if there are none.
export function judgedBins(bins) {
    const enough = bins.filter(bin => bin.rows >= FEW_ROWS);
    return enough.length ? enough : bins;
}

// The bin with the largest gap, among those with enough rows if there are any.
export function worstBin(bins) {
    const gap = bin => Math.abs(bin.observed - bin.meanScore);
    return judgedBins(bins).reduce((worst, bin) => (gap(bin) > gap(worst) ? bin : worst));
}

// The result has the cumulative difference after each run, with a leading 0, its extremes, its KS
// error, the first position of that distance from 0, and its Kuiper error.
export function cumulativeDifference(cells) {
    const total = cells.weight[cells.n];
    const difference = cells.positive.map((positive, i) => (positive - cells.score[i]) / total);
    let [least, most] = [0, 0];
    for (const value of difference) {
        least = Math.min(least, value);
        most = Math.max(most, value);
    }
    const ks = Math.max(most, -least);
    const peak = difference.findIndex(value => Math.abs(value) === ks);
    return { difference, least, most, ks, peak, kuiper: most - least };
}

const CENTRE = [
    [3.387132872796366608, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
        45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727],
    [1, 42.313330701600911252, 687.1870074920579083, 5394.1960214247511077, 21213.794301586595867,
        39307.89580009271061, 28729.085735721942674, 5226.495278852854561],
];
const TAIL = [
    [1.42343711074968357734, 4.6303378461565452959, 5.7694972214606914055, 3.64784832476320460504,
        1.27045825245236838258, 0.24178072517745061177, 0.0227238449892691845833,
        7.7454501427834140764e-4],
    [1, 2.05319162663775882187, 1.6763848301838038494, 0.68976733498510000455,
        0.14810397642748007459, 0.0151986665636164571966, 5.475938084995344946e-4,
        1.05075007164441684324e-9],
];
const FAR_TAIL = [
    [6.6579046435011037772, 5.4637849111641143699, 1.7848265399172913358, 0.29656057182850489123,
        0.026532189526576123093, 0.0012426609473880784386, 2.71155556874348757815e-5,
        2.01033439929228813265e-7],
    [1, 0.59983220655588793769, 0.13692988092273580531, 0.0148753612908506148525,
        7.868691311456132591e-4, 1.8463183175100546818e-5, 1.4215117583164458887e-7,
        2.04426310338993978564e-15],
];

const polynomial = (c, x) => c.reduceRight((sum, coefficient) => sum * x + coefficient, 0);
const ratio = ([top, bottom], x) => polynomial(top, x) / polynomial(bottom, x);

// The normal quantile of an upper tail's probability is that of Wichura 1988, AS 241. Its error is
// about 1e-15.
function normalQuantile(tail) {
    const q = 0.5 - tail;
    if (Math.abs(q) <= 0.425) return q * ratio(CENTRE, 0.180625 - q * q);
    const r = Math.sqrt(-Math.log(tail));
    return r <= 5 ? ratio(TAIL, r - 1.6) : ratio(FAR_TAIL, r - 5);
}

export const normalHalfWidth = level => normalQuantile((1 - level) / 2);

function effectiveRows(bin) {
    const square = bin.weight ** 2;
    const least = Math.max(bin.weightSq, square / bin.rows);
    return least > 0 ? square / least : 1;
}

// Wilson's interval counts the effective rows of the bin.
export function wilson(bin, level) {
    const n = effectiveRows(bin);
    const rate = bin.observed;
    const z2 = normalHalfWidth(level) ** 2;
    const centre = (rate + z2 / (2 * n)) / (1 + z2 / n);
    const half = Math.sqrt(z2 * ((rate * (1 - rate)) / n + z2 / (4 * n * n))) / (1 + z2 / n);
    return [
        rate <= 0 ? 0 : Math.max(centre - half, 0),
        rate >= 1 ? 1 : Math.min(centre + half, 1),
    ];
}

// Stirling's series, from 10 on, and the recurrence of the gamma function below.
function logGamma(x) {
    let product = 1;
    for (; x < 10; x += 1) product *= x;
    const square = x * x;
    const series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * square)) / square) / square) / x;
    return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series - Math.log(product);
}

// The regularised incomplete beta function by its continued fraction (DLMF 8.17.22), computed by
// Lentz's method.
function incompleteBeta(a, b, x) {
    if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
    if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(b, a, 1 - x);
    const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a;
    let [c, d] = [1, 1 / (1 - ((a + b) * x) / (a + 1))];
    let fraction = d;
    for (let m = 1; m < MAX_FRACTIONS; m += 1) {
        const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
        const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
        let step = 1;
        for (const term of [even, odd]) {
            d = 1 / (1 + term * d);
            c = 1 + term / c;
            step = c * d;
            fraction *= step;
        }
        if (Math.abs(step - 1) < 1e-14) break;
    }
    return front * fraction;
}

// The exact binomial test of a bin at its mean score: twice the smaller tail, at most 1.
function binomialP(bin) {
    const n = effectiveRows(bin), p = bin.meanScore;
    const exact = Math.min(bin.observed * n, n), nearest = Math.round(exact);
    const k = Math.abs(exact - nearest) < 1e-6 ? nearest : exact;
    // The median of a binomial is within 1 of its mean, so the other tail is the smaller one.
    const atLeast = k > 0 && k > n * p - 1 ? incompleteBeta(k, n - k + 1, p) : 1;
    const atMost = k < n && k < n * p + 1 ? incompleteBeta(n - k, k + 1, 1 - p) : 1;
    return Math.min(2 * Math.min(atLeast, atMost), 1);
}

// The p-values of all bins, after Holm's correction.
export function binTests(bins) {
    const p = bins.map(binomialP), adjusted = [];
    let largest = 0;
    p.map((_, i) => i).sort((i, j) => p[i] - p[j]).forEach((i, rank) => {
        largest = Math.max(largest, Math.min((bins.length - rank) * p[i], 1));
        adjusted[i] = largest;
    });
    return adjusted;
}

// The mean distance of a binomial count from its mean (De Moivre 1730).
function meanDeviation(n, p) {
    if (p <= 0 || p >= 1) return 0;
    const k = Math.floor(n * p) + 1;
    const logMass = logGamma(n + 1) - logGamma(k + 1) - logGamma(n - k + 1) + k * Math.log(p) + (n - k + 1) * Math.log1p(-p);
    return 2 * k * Math.exp(logMass);
}

// The mean ECE of calibrated scores. Counts of a bin vary less if its scores differ, so the distance
// is that of a binomial at the mean score, times the ratio of the standard deviations.
export function calibratedError(bins) {
    let [gaps, weight] = [0, 0];
    for (const bin of bins) {
        const n = effectiveRows(bin), p = bin.meanScore, deviation = Math.sqrt(p * (1 - p) / n);
        if (deviation > 0) gaps += bin.weight * (meanDeviation(n, p) / n) * (bin.spread / deviation);
        weight += bin.weight;
    }
    return gaps / weight;
}

// The result is the first count whose probability is not negligible, and the probabilities from it on.
function binomial(n, p) {
    const mode = Math.min(n, Math.floor((n + 1) * p));
    const odds = p / (1 - p);
    const [under, over] = [[], [1]];
    for (let k = mode, mass = 1; k > 0 && mass > NEGLIGIBLE_PROBABILITY; k -= 1) {
        mass *= k / ((n - k + 1) * odds);
        under.push(mass);
    }
    for (let k = mode, mass = 1; k < n && mass > NEGLIGIBLE_PROBABILITY; k += 1) {
        mass *= ((n - k) / (k + 1)) * odds;
        over.push(mass);
    }
    const pmf = [...under.reverse(), ...over];
    const total = pmf.reduce((sum, mass) => sum + mass, 0);
    return { first: mode - under.length, pmf: pmf.map(mass => mass / total) };
}

function trimmed(first, pmf) {
    let [low, high] = [0, pmf.length];
    while (high - low > 1 && pmf[low] < NEGLIGIBLE_PROBABILITY) low += 1;
    while (high - low > 1 && pmf[high - 1] < NEGLIGIBLE_PROBABILITY) high -= 1;
    return { first: first + low, pmf: pmf.slice(low, high) };
}

function added(one, two) {
    const pmf = new Float64Array(one.pmf.length + two.pmf.length - 1);
    for (let i = 0; i < two.pmf.length; i += 1) {
        for (let j = 0; j < one.pmf.length; j += 1) pmf[i + j] += two.pmf[i] * one.pmf[j];
    }
    return trimmed(one.first + two.first, pmf);
}

// The function adds a trial in place: the window is the part of the buffer from low to high.
function tried(window, p) {
    const { buffer } = window;
    for (let j = window.high; j > window.low; j -= 1) {
        buffer[j] = buffer[j] * (1 - p) + buffer[j - 1] * p;
    }
    buffer[window.low] *= 1 - p;
    window.high += 1;
    while (window.high - window.low > 1 && buffer[window.low] < NEGLIGIBLE_PROBABILITY) buffer[window.low++] = 0;
    while (window.high - window.low > 1 && buffer[window.high - 1] < NEGLIGIBLE_PROBABILITY) buffer[--window.high] = 0;
}

// The result is the cumulative distribution of the number of positives if the scores are calibrated.
function countOf(cells, bin) {
    const large = bin.rows > MAX_EXACT_ROWS;
    const window = { buffer: new Float64Array(large ? 1 : bin.rows + 2), low: 0, high: 1 };
    window.buffer[0] = 1;
    let many = { first: 0, pmf: Float64Array.of(1) };
    for (const [first, last] of large ? parts(bin) : singles(bin)) {
        const n = cells.rows[last] - cells.rows[first];
        const p = clip(
            (cells.score[last] - cells.score[first]) / (cells.weight[last] - cells.weight[first]),
        );
        if (p >= 1) many.first += n;
        else if (p > 0 && !large && n < 4) for (let i = 0; i < n; i += 1) tried(window, p);
        else if (p > 0) many = added(many, binomial(n, p));
    }
    const single = { first: window.low, pmf: window.buffer.slice(window.low, window.high) };
    const { first, pmf } = added(many, single);
    let sum = 0;
    return { first, cdf: pmf.map(mass => (sum += mass)) };
}

function* singles(bin) {
    for (let i = bin.first; i < bin.last; i += 1) yield [i, i + 1];
}

// The runs of a large bin are joined into parts of about equal size, whose rows count at their mean
// score.
function* parts(bin) {
    let before = bin.first;
    for (let i = 1; i <= LARGE_BIN_PARTS; i += 1) {
        const end = evenly(bin.first + (i * (bin.last - bin.first)) / LARGE_BIN_PARTS);
        if (end > before) yield [before, end];
        before = Math.max(before, end);
    }
}

// Halves are rounded to the even number, as Python rounds them.
function evenly(x) {
    const floor = Math.floor(x);
    if (x - floor !== 0.5) return Math.round(x);
    return floor % 2 ? floor + 1 : floor;
}

function bounds({ first, cdf }, tail) {
    const last = cdf.length - 1;
    const [low, high] = [below(cdf, tail, false), Math.min(below(cdf, 1 - tail, false), last)];
    return { low: first + low, high: first + high, share: cdf[high] - (low ? cdf[low - 1] : 0) };
}

// The tail is the largest at which all bins together are within their bounds often enough.
function tailOfAll(counts, nNormal, level) {
    const enough = tail =>
        counts.reduce((product, count) => product * bounds(count, tail).share, 1) *
            (1 - 2 * tail) ** nNormal >= level;
    let high = (1 - level) / 2;
    if (enough(high)) return high;
    let low = high / (counts.length + nNormal);
    for (let i = 0; i < HALVINGS; i += 1) {
        const middle = Math.sqrt(low * high);
        if (enough(middle)) low = middle;
        else high = middle;
    }
    return low;
}

const isCounted = (cells, bin) =>
    cells.equalWeights &&
    (bin.rows <= MAX_EXACT_ROWS || (bin.spread * bin.rows) ** 2 < MIN_NORMAL_VARIANCE);

// The consistency band is the range of each observed frequency if the scores are calibrated.
export function consistencyBand(cells, bins, level, simultaneous) {
    const counts = bins.map(bin => (isCounted(cells, bin) ? countOf(cells, bin) : null));
    const counted = counts.filter(Boolean);
    const tail = simultaneous
        ? tailOfAll(counted, bins.length - counted.length, level)
        : (1 - level) / 2;
    const z = normalQuantile(tail);
    return bins.map((bin, i) => {
        if (counts[i]) {
            const { low, high } = bounds(counts[i], tail);
            return [low / bin.rows, Math.min(high / bin.rows, 1)];
        }
        return [Math.max(bin.meanScore - z * bin.spread, 0), Math.min(bin.meanScore + z * bin.spread, 1)];
    });
}

// The result is the end of a run that is nearest to the score, because a run cannot be divided.
export function cleanEdge(cells, edge) {
    if (edge <= 0 || edge >= 1) return clip(edge);
    const i = below(cells.high, edge, true);
    if (i === cells.n || cells.low[i] > edge || cells.low[i] === cells.high[i]) return edge;
    const under = i ? cells.high[i - 1] : 0;
    return edge - under < cells.high[i] - edge ? under : cells.high[i];
}

// The range is closed on the right, and at 0. The result is null if the range has no rows.
export function between(cells, [from, to], level) {
    const [low, high] = [cleanEdge(cells, from), cleanEdge(cells, to)];
    const edges = [...new Set([0, low, high, 1])].sort((a, b) => a - b);
    const bin = binBetween(cells, edges).find(({ lowEdge }) => lowEdge === low && low < high);
    if (!bin) return null;
    const interval = wilson(bin, level).map(bound => bound - bin.meanScore);
    return { ...bin, difference: bin.observed - bin.meanScore, interval };
}

// A calibration function is interpolated linearly between its points.
export function interpolate(xs, ys, x) {
    const i = Math.min(Math.max(below(xs, x, true) - 1, 0), xs.length - 2);
    const share = clip((x - xs[i]) / (xs[i + 1] - xs[i]));
    return ys[i] + share * (ys[i + 1] - ys[i]);
}

// The median of the widths of a band: the middle one, or the mean of the two in the middle.
export function medianWidth(band) {
    const widths = band.map(([low, high]) => high - low).sort((a, b) => a - b);
    const half = widths.length >> 1;
    return widths.length % 2 ? widths[half] : 0.5 * (widths[half - 1] + widths[half]);
}
