// The explorer draws three linked panels of held-out scores without a server. Python joins this file
// to explorer_numbers.js. Text of the data is set by textContent only, so that it cannot be markup.

const SVG = "http://www.w3.org/2000/svg";
const LEFT = 56, RIGHT = 14, TOP = 10, BOTTOM = 44, HISTOGRAM = 72;
const HEADING_LINE = 18, HEADING_LETTER = 7, LETTER = 6.3, LABEL_HEIGHT = 15, SYMBOL_WIDTH = 14;
const WIDE = 820, LEAST_SIDE = 380, WIDEST_SHARE = 0.58;
// The height of everything of the left column besides the plot, and that of the panel on the right.
const BELOW_DIAGRAM = HISTOGRAM + TOP + BOTTOM - LEFT - RIGHT + TOP + 6, READOUTS = 172, READOUT_OF_METHOD = 60, LEAST_DIFFERENCE = 218;
const LOGIT_TICKS = [
    ...Array.from({ length: 9 }, (_, i) => 10 ** (i - 9)), 0.5,
    ...Array.from({ length: 9 }, (_, i) => 1 - 10 ** -(i + 1)),
];
const TELL_AFTER = 150, SAY_AFTER = 500, MOST_SETS = 24;

const logOdds = p => Math.log(p) - Math.log1p(-p);
const percent = x => `${(100 * x).toFixed(1)}%`;
const minus = text => (/[1-9]/.test(text) ? text.replace("-", "−") : text.replace(/[-+]/, ""));
const inPercent = p => String(Number((100 * p).toFixed(Math.max(1, tail(Math.min(p, 1 - p)) - 2))));
const scorePercent = p => `${inPercent(p)}%`;
// Like `percent` of Python: below 0.1% two digits are left, but no power of ten.
const errorPercent = x => (x >= 1e-9 && x < 1e-6 ? "< 0.0001%" : x > 0 && x < 0.001 ? `${Number((100 * x).toPrecision(2))}%` : percent(x));
const pValue = p => (p < 0.001 ? "p < 0.001" : p > 0.99 ? "p > 0.99" : `p = ${p.toFixed(3)}`);
const points = x => minus(`${x > 0 ? "+" : ""}${(100 * x).toFixed(1)}`);
const tail = distance => (distance > 0 ? Math.min(Math.max(3, 1 - Math.floor(Math.log10(distance))), 12) : 3);
// With all its decimals, so that numbers below each other line up.
const aligned = p => `${(100 * p).toFixed(Math.max(1, tail(Math.min(p, 1 - p)) - 2))}%`;
const thousands = new Intl.NumberFormat("en-US");
const whole = n => thousands.format(Math.round(n));
const counted = (n, noun) => `${whole(n)} ${n === 1 ? noun : `${noun}s`}`;

function element(name, attributes = {}, parent = null, text = "") {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    parent?.append(made);
    return made;
}

function shape(name, attributes, parent) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    parent?.append(made);
    return made;
}

const at = x => x.toFixed(1);

// The text in lines of at most this many letters.
function wrapped(text, letters) {
    const lines = [];
    for (const word of text.split(" ").filter(Boolean)) {
        const longer = `${lines.at(-1)} ${word}`;
        if (lines.length && longer.length <= letters) lines[lines.length - 1] = longer;
        else lines.push(word);
    }
    return lines;
}

const headingLines = (heading, width) => wrapped(heading, width / HEADING_LETTER);
const noteLines = (note, width) => note.split("\n").flatMap(part => wrapped(part, width / LETTER));
const headHeight = (heading, note, width) => HEADING_LINE * (headingLines(heading, width).length + noteLines(note, width).length);

// A circle has no corners.
function dot(corners, x, y, r) {
    if (!corners.length) {
        return `M${at(x - r)} ${at(y)}a${at(r)} ${at(r)} 0 1 0 ${at(2 * r)} 0a${at(r)} ${at(r)} 0 1 0 ${at(-2 * r)} 0z`;
    }
    return `M${corners.map(([a, b]) => `${at(x + r * a)} ${at(y + r * b)}`).join("L")}z`;
}

const line = pairs => (pairs.length ? `M${pairs.map(([x, y]) => `${at(x)} ${at(y)}`).join("L")}` : "");

// Points of a line in steps of at most about 5 pixels.
const pointsAlong = pairs => pairs.flatMap(([x, y], i) => {
    const [a, b] = pairs[Math.max(i - 1, 0)], n = Math.ceil(Math.hypot(x - a, y - b) / 5) || 1;
    return Array.from({ length: n }, (_, k) => [a + ((x - a) * (k + 1)) / n, b + ((y - b) * (k + 1)) / n]);
});

// A scale gives the positions of probabilities on an axis: linear, or by their log-odds.
function scaleOf(kind, values) {
    if (kind === "linear") {
        const ticks = [0, 0.2, 0.4, 0.6, 0.8, 1].map(p => [p, `${Math.round(100 * p)}%`]);
        return { kind, low: -0.02, high: 1.02, at: p => p, ticks };
    }
    const inside = values.filter(p => p > 0 && p < 1);
    const [least, most] = [Math.min(0.1, ...inside), Math.max(0.9, ...inside)];
    const first = LOGIT_TICKS.findLast(p => p <= least) ?? LOGIT_TICKS[0];
    const last = LOGIT_TICKS.find(p => p >= most) ?? LOGIT_TICKS.at(-1);
    const margin = 0.04 * (logOdds(last) - logOdds(first));
    const [low, high] = [logOdds(first) - margin, logOdds(last) + margin];
    const shown = LOGIT_TICKS.filter(p => p >= first && p <= last);
    const step = Math.ceil(shown.length / 7), middle = shown.indexOf(0.5);
    const ticks = shown.map((p, i) => [p, (i - middle) % step ? "" : tickLabel(p)]);
    const place = p => Math.min(Math.max(p <= 0 ? low : p >= 1 ? high : logOdds(p), low), high);
    return { kind, low, high, at: place, ticks };
}

function tickLabel(p) {
    if (p < 1e-4) return power(p);
    return p > 1 - 1e-4 ? `1−${power(1 - p)}` : `${Number((100 * p).toPrecision(6))}%`;
}

const power = p => `10⁻${[...String(Math.round(-Math.log10(p)))].map(digit => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")}`;

// The score at a position is rounded to steps that a pointer can reach.
function scoreAt(scale, place) {
    if (scale.kind === "linear") return Math.round(1000 * Math.min(Math.max(place, 0), 1)) / 1000;
    if (place <= scale.low) return 0;
    if (place >= scale.high) return 1;
    const p = 1 / (1 + Math.exp(-place));
    return p < 0.5 ? Number(p.toPrecision(2)) : 1 - Number((1 - p).toPrecision(2));
}

// A panel is an SVG with a frame, axes, and the brush that all panels share.
class Panel {
    constructor(parent, name, label) {
        this.svg = shape("svg", { class: `panel ${name}`, role: "group", tabindex: "0", "aria-label": label }, parent);
        this.back = shape("g", { class: "axes" }, this.svg);
        this.marks = shape("g", {}, this.svg);
        this.labels = shape("g", {}, this.svg);
        this.notes = shape("g", {}, this.svg);
        this.brush = shape("rect", { class: "brush" }, this.svg);
        this.probe = shape("line", { class: "probe" }, this.svg);
    }

    // `ticksY` has pairs of a value and its label. Above the panel stands `heading`, with room for
    // `note` below it, which `explain` writes.
    frame({ width, height, scale, low, high, ticksY, across, upward, bottom = BOTTOM, heading = "", note = "" }) {
        this.top = TOP + headHeight(heading, note, width);
        this.noteAt = TOP + 4 + headHeight(heading, "", width);
        this.note = null;
        this.width = width - LEFT - RIGHT;
        this.height = height - this.top - bottom;
        Object.assign(this, { scale, low, high });
        this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
        this.svg.setAttribute("width", width);
        this.svg.setAttribute("height", height);
        this.back.replaceChildren();
        const end = this.top + this.height;
        headingLines(heading, width).forEach((text, i) => this.text(text, 4, TOP + 4 + HEADING_LINE * i, "start", "heading"));
        for (const [p, text] of scale.ticks) {
            if (across) this.text(text, this.x(p), end + 16, "middle");
        }
        for (const [value, text] of ticksY) {
            shape("path", { class: "grid", d: `M${LEFT} ${at(this.y(value))}H${LEFT + this.width}` }, this.back);
            this.text(text, LEFT - 6, this.y(value) + 4, "end");
        }
        shape("rect", { class: "frame", x: LEFT, y: this.top, width: this.width, height: this.height }, this.back);
        this.text(across, LEFT + this.width / 2, end + 36, "middle", "title");
        const turned = this.text(upward, 0, 0, "middle", "title");
        turned.setAttribute("transform", `translate(13 ${at(this.top + this.height / 2)}) rotate(-90)`);
        this.brush.setAttribute("y", this.top);
        this.brush.setAttribute("height", this.height);
        this.probe.setAttribute("y1", this.top);
        this.probe.setAttribute("y2", end);
    }

    text(words, x, y, anchor, kind = "tick", parent = this.back) {
        const made = shape("text", { x: at(x), y: at(y), "text-anchor": anchor, class: kind }, parent);
        made.textContent = words;
        return made;
    }

    explain(note) {
        if (note === this.note) return;
        this.note = note;
        this.notes.replaceChildren();
        noteLines(note, this.width + LEFT + RIGHT).forEach((text, i) => this.text(text, 4, this.noteAt + HEADING_LINE * i, "start", "tick", this.notes));
    }

    x(p) {
        const { low, high } = this.scale;
        return LEFT + ((this.scale.at(p) - low) / (high - low)) * this.width;
    }

    y(value) {
        return this.top + this.height - ((value - this.low) / (this.high - this.low)) * this.height;
    }

    // The text stands at the first of the places where it hides no point and no other label. The
    // result is that place, or undefined. `places` are middles of the text and of the room for a
    // symbol before it.
    label(text, places, taken, symbol = 0) {
        const half = [(LETTER * text.length + symbol) / 2, LABEL_HEIGHT / 2];
        const [left, right, bottom] = [LEFT + half[0], LEFT + this.width - half[0], this.top + this.height - half[1]];
        const hit = ([x, y]) => taken.some(([a, b]) => Math.abs(a - x) < half[0] + 3 && Math.abs(b - y) < half[1] + 2);
        const inside = places.map(([x, y]) => [Math.min(Math.max(x, left), right), y])
            .filter(([, y]) => y >= this.top + half[1] && y <= bottom);
        const place = inside.find(middle => !hit(middle));
        if (!place) return undefined;
        const [x, anchor] = symbol ? [place[0] - half[0] + symbol, "start"] : [place[0], "middle"];
        this.text(text, x, place[1] + 4, anchor, "tick label", this.labels);
        for (let x = -half[0]; x <= half[0]; x += LETTER) taken.push([place[0] + x, place[1] - half[1]], [place[0] + x, place[1] + half[1]]);
        return place;
    }

    score(event) {
        const box = this.svg.getBoundingClientRect();
        const share = (((event.clientX - box.left) * (this.width + LEFT + RIGHT)) / box.width - LEFT) / this.width;
        return scoreAt(this.scale, this.scale.low + share * (this.scale.high - this.scale.low));
    }

    showBrush(range) {
        this.brush.toggleAttribute("hidden", !range);
        if (!range) return;
        const [from, to] = range.map(p => this.x(p));
        this.brush.setAttribute("x", at(from));
        this.brush.setAttribute("width", at(Math.max(to - from, 1)));
    }

    showProbe(score) {
        this.probe.toggleAttribute("hidden", score === null);
        if (score === null) return;
        this.probe.setAttribute("x1", at(this.x(score)));
        this.probe.setAttribute("x2", at(this.x(score)));
    }
}

const edgesOf = bin => [bin.lowEdge, bin.highEdge];

const placesOf = axis => {
    const scale = axis.scale;
    return { x: p => axis.x(p), y: p => axis.y(scale.at(p)) };
};

// The marks of a method are a few paths in each panel. Only their shapes change.
class MethodMarks {
    constructor(panels, { color, dash, width, corners }) {
        const look = { stroke: color, fill: "none" };
        const path = (panel, kind, more = {}) => shape("path", { class: kind, ...look, ...more }, panel.marks);
        this.corners = corners;
        this.bars = path(panels.diagram, "bars");
        const line = { "stroke-dasharray": dash, "stroke-width": width };
        this.line = path(panels.diagram, "line", line);
        this.dots = path(panels.diagram, "dots", { fill: color, stroke: "var(--explorer-background)" });
        this.few = path(panels.diagram, "dots few", { fill: "var(--explorer-background)" });
        this.steps = path(panels.histogram, "steps", { "stroke-dasharray": dash });
        this.curve = path(panels.difference, "line", line);
    }

    // `intervals` has the bounds of each bin, or is null.
    drawBins(panel, bins, intervals, { full_area, smallest_dot }) {
        const { x, y } = placesOf(panel);
        const total = bins.reduce((sum, bin) => sum + bin.weight, 0);
        let [full, few, bars] = ["", "", ""];
        for (const [i, bin] of bins.entries()) {
            const r = Math.max(smallest_dot, Math.sqrt((full_area * bin.weight) / total)) / 2;
            const drawn = dot(this.corners, x(bin.meanScore), y(bin.observed), r);
            if (bin.rows < FEW_ROWS) few += drawn;
            else full += drawn;
            if (intervals) {
                const [across, bottom, top] = [x(bin.meanScore), ...intervals[i].map(y)];
                bars += `M${at(across)} ${at(bottom)}V${at(top)}`;
            }
        }
        this.line.setAttribute("d", line(bins.map(bin => [x(bin.meanScore), y(bin.observed)])));
        this.dots.setAttribute("d", full);
        this.few.setAttribute("d", few);
        this.bars.setAttribute("d", bars);
    }

    drawSteps(panel, heights) {
        const base = panel.y(0);
        const pairs = [[panel.x(0), base]];
        heights.forEach((height, i) => {
            for (const end of [i, i + 1]) pairs.push([panel.x(end / heights.length), panel.y(height)]);
        });
        this.steps.setAttribute("d", line([...pairs, [panel.x(1), base]]));
    }

    // The first, lowest, highest and last point of a column of pixels look the same as all its points.
    drawCurve(panel, cells, difference) {
        const pairs = [[panel.x(0), panel.y(0)]];
        let column = null;
        const flush = () => column && pairs.push(...[[column.x, column.first], [column.x, column.low], [column.x, column.high], [column.x, column.last]]);
        for (let i = 0; i < cells.n; i += 1) {
            const [x, y] = [panel.x(cells.high[i]), panel.y(difference[i + 1])];
            if (!column || x - column.x >= 1) {
                flush();
                column = { x, first: y, low: y, high: y };
            }
            column.low = Math.min(column.low, y);
            column.high = Math.max(column.high, y);
            column.last = y;
        }
        flush();
        this.curve.setAttribute("d", line(pairs));
        return pairs;
    }

    remove() {
        for (const path of [this.bars, this.line, this.dots, this.few, this.steps, this.curve]) path.remove();
    }
}

// The number of ticks is at most about `most`.
function niceTicks(low, high, most) {
    const rough = (high - low) / most, unit = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(k => k * unit).find(size => size >= rough);
    const digits = Math.max(0, -Math.floor(Math.log10(step)));
    const ticks = [];
    for (let i = Math.ceil(low / step); i * step <= high; i += 1) {
        const text = step >= 1000 ? `${whole((i * step) / 1000)}k` : (i * step).toFixed(digits);
        ticks.push([i * step, minus(text)]);
    }
    return ticks;
}

// The controls are native inputs, which work with a keyboard and a screen reader.
class Controls {
    constructor(parent, changed) {
        this.root = element("div", { class: "controls" }, parent);
        this.changed = changed;
        // The names of the methods say what they are, and need the room.
        this.methods = this.group("Methods");
        this.methods.firstChild.className = "spoken";
        const binning = element("div", { class: "binning" }, this.root);
        const label = element("label", { class: "number" }, binning, "Number of bins");
        this.bins = element("input", { type: "range", name: "n_bins", min: 2, step: 1 }, label);
        this.count = element("output", {}, label);
        this.listen(this.bins, () => ({ n_bins: Number(this.bins.value) }));
        this.strategy = this.radios(binning, "Bins", "strategy", { quantile: "Quantile", uniform: "Uniform" });
        const choice = this.strategy[0].closest("fieldset");
        choice.className = "switch";
        choice.firstChild.className = "spoken";
        this.more = element("details", { class: "more" }, this.root);
        element("summary", {}, this.more, "More");
        const rest = element("div", { class: "rest" }, this.more);
        this.auto = this.box(this.group("Bins", rest), "Automatic", () => ({ auto_bins: this.auto.checked }));
        this.axis = this.radios(rest, "Axes", "axis", { linear: "Linear", logit: "Log-odds" });
        this.layers = this.group("Show", rest);
        this.intervals = this.box(this.layers, "Intervals", () => this.hidden());
        this.band = this.box(this.layers, "Consistency band", () => this.hidden());
        this.together = this.box(this.layers, "Simultaneous", () => ({ band: this.together.checked ? "simultaneous" : "per_bin" }));
        this.boxes = new Map();
        this.lines = new Map();
    }

    group(title, parent = this.root) {
        const made = element("fieldset", {}, parent);
        element("legend", {}, made, title);
        return made;
    }

    radios(parent, title, name, options) {
        const group = this.group(title, parent);
        // Radio buttons of the same name in the whole document would be one group.
        const shared = `${name}-${Math.random().toString(36).slice(2)}`;
        return Object.entries(options).map(([value, text]) => {
            const label = element("label", {}, group);
            const input = element("input", { type: "radio", name: shared, value }, label);
            label.append(text);
            this.listen(input, () => ({ [name]: value }));
            return input;
        });
    }

    box(group, text, answer) {
        const label = element("label", {}, group);
        const input = element("input", { type: "checkbox" }, label);
        label.append(text);
        this.listen(input, answer);
        return input;
    }

    listen(input, answer) {
        input.addEventListener("input", () => this.changed(answer(), false));
        input.addEventListener("change", () => this.changed(answer(), true));
    }

    hidden() {
        const off = { intervals: !this.intervals.checked, band: !this.band.checked };
        return { hidden: Object.keys(off).filter(name => off[name]) };
    }

    // Each method and each line without bins has a box with a sample of its look. Only a server
    // computes such lines and the automatic number of bins.
    list({ methods, rates, help, most_bins }) {
        this.bins.max = most_bins;
        this.boxes = this.samples(this.methods, this.boxes, methods, key => this.chosen(key));
        this.lines = this.samples(this.layers, this.lines, rates ?? {}, () => ({ lines: checked(this.lines) }));
        this.auto.parentElement.hidden = !rates;
        const titles = { auto_bins: this.auto, band: this.band, simultaneous: this.together, ...Object.fromEntries(this.lines) };
        for (const [name, input] of Object.entries(titles)) input.parentElement.title = help[name] ?? "";
    }

    samples(group, before, looks, answer) {
        const keys = Object.keys(looks);
        if (keys.join() === [...before.keys()].join()) return before;
        before.forEach(input => input.parentElement.remove());
        return new Map(keys.map(key => {
            const { label, color, dash, width, corners } = looks[key];
            const input = this.box(group, label, () => answer(key));
            const sample = shape("svg", { class: "sample", width: 24, height: 12, "aria-hidden": "true" });
            shape("path", { d: "M0 6H24", stroke: color, "stroke-width": width, "stroke-dasharray": dash }, sample);
            if (corners) shape("path", { d: dot(corners, 12, 6, 4.5), fill: color, stroke: color }, sample);
            input.after(sample);
            return [key, input];
        }));
    }

    chosen(key) {
        const shown = checked(this.boxes);
        return { shown: shown.length ? shown : [key] };
    }

    show(chosen) {
        for (const input of this.strategy) input.checked = input.value === chosen.strategy;
        for (const input of this.axis) input.checked = input.value === chosen.axis;
        if (this.bins.value !== String(chosen.n_bins)) this.bins.value = chosen.n_bins;
        this.count.textContent = chosen.n_bins;
        this.bins.disabled = this.auto.checked = Boolean(chosen.auto_bins);
        this.intervals.checked = !chosen.hidden.includes("intervals");
        this.band.checked = !chosen.hidden.includes("band");
        this.together.checked = chosen.band === "simultaneous";
        this.together.disabled = !this.band.checked;
        this.boxes.forEach((input, key) => { input.checked = chosen.shown.includes(key); });
        this.lines.forEach((input, key) => { input.checked = chosen.lines.includes(key); });
        this.openMore(chosen);
    }

    // A choice that is not the usual one must be visible. A person can close it again.
    openMore({ auto_bins, axis, hidden, band, lines }) {
        const unusual = [auto_bins, axis === "logit", hidden.length, band === "simultaneous", lines.length].some(Boolean);
        if (unusual && !this.unusual) this.more.open = true;
        this.unusual = unusual;
    }
}

// A decimal fraction of a percent is kept as it was typed.
const typedScore = input => clip(Number((Number(input.value) / 100).toPrecision(12)));

const checked = boxes => [...boxes].filter(([, input]) => input.checked).map(([key]) => key);

// `tell` is called with the choices when a person releases a control.
class Explorer {
    constructor(parent, data, tell) {
        this.root = element("section", { class: "explorer", "aria-label": "Calibration explorer" }, parent);
        this.tell = tell;
        this.controls = new Controls(this.root, (changed, released) => this.choose(changed, released));
        this.figures = element("div", { class: "figures" }, this.root);
        const left = element("div", {}, this.figures);
        this.right = element("div", { class: "right" }, this.figures);
        this.results();
        this.panels = {
            diagram: new Panel(left, "diagram", "Reliability diagram. Arrow keys move the selected range."),
            histogram: new Panel(left, "histogram", "Score histogram. Arrow keys move the selected range."),
            difference: new Panel(this.right, "difference", "Cumulative difference. Arrow keys move the selected range."),
        };
        this.layers();
        this.looks();
        this.tools();
        for (const panel of Object.values(this.panels)) this.followPointer(panel);
        this.drawn = new Map();
        this.cells = new Map();
        this.exact = new Map();
        this.sets = new Map();
        this.edit = 0;
        this.score = null;
        this.fit();
        this.update(data);
        new ResizeObserver(() => this.resize()).observe(this.root);
        window.addEventListener("resize", () => this.resize());
    }

    layers() {
        const { diagram, difference } = this.panels;
        this.bandArea = shape("path", { class: "band" }, diagram.marks);
        this.bandEdge = shape("path", { class: "band-edge" }, diagram.marks);
        this.diagonal = shape("path", { class: "ideal" }, diagram.marks);
        this.rates = shape("g", {}, diagram.marks);
        this.worst = shape("circle", { class: "worst", r: 13 }, diagram.marks);
        this.nullArea = shape("path", { class: "band" }, difference.marks);
        this.zero = shape("path", { class: "ideal" }, difference.marks);
        this.peak = shape("path", { class: "peak" }, difference.labels);
    }

    // What was found, above the chart beside the diagram.
    results() {
        const box = element("div", { class: "readouts" }, this.right);
        this.what = element("strong", { class: "what" }, box);
        this.said = element("div", { class: "said" }, box);
        // From step to step the sentences have more or fewer lines. Their place only grows, because
        // otherwise the whole page below would move, and be painted again, with every step.
        new ResizeObserver(() => { this.said.style.minHeight = `${Math.ceil(this.said.getBoundingClientRect().height)}px`; }).observe(this.said);
        this.noBand = element("p", { class: "small" }, box);
        this.live = element("p", { class: "spoken", "aria-live": "polite" }, box);
    }

    // What can be looked at more closely, below that chart: a range of scores, and a single score.
    looks() {
        const box = element("div", { class: "readouts" }, this.right);
        const choice = element("div", { class: "row" }, box);
        this.from = this.numberInput(choice, "Look closer at scores from", () => this.typed(0));
        this.to = this.numberInput(choice, "to", () => this.typed(1));
        const button = (text, work) => {
            const made = element("button", { type: "button" }, choice, text);
            made.addEventListener("click", work);
            return made;
        };
        // Each of two buttons hides itself and shows the other, which gets the focus.
        const chooses = (range, next) => {
            this.choose({ range }, true);
            next.focus();
        };
        this.look = button("Show", () => chooses(this.readRange, this.clear));
        this.list = button("Show them below", () => this.toRows());
        this.clear = button("Clear", () => chooses(null, this.look));
        this.probeRow = element("div", { class: "row" }, box);
        this.probeAt = this.numberInput(this.probeRow, "A score of", () => {
            this.probe(this.probeAt.value === "" ? null : typedScore(this.probeAt));
            this.speak(this.probes.map(({ label, value, interval }) => `${label} ${value.textContent}${interval.textContent && ` ${this.ci} ${interval.textContent}`}`).join(". "));
        });
        element("span", {}, this.probeRow, "becomes");
        this.probed = element("table", { class: "probed" }, box);
    }

    // Buttons that save what is drawn, and one that fills the screen.
    tools() {
        const bar = saveButtons(this.root, this.controls.root, () => ({
            panels: Object.values(this.panels).map(panel => panel.svg),
            methods: [...this.shown.map(key => this.data.methods[key]), ...this.linesDrawn],
            note: "",
            table: csvOf(this.tables()),
            name: this.fileName,
        }));
        if (!this.root.requestFullscreen) return;
        const full = toolButton(bar, "Full screen", "", () => (this.isFull ? document.exitFullscreen() : this.root.requestFullscreen()));
        this.root.addEventListener("fullscreenchange", () => {
            full.textContent = this.isFull ? "Exit full screen" : "Full screen";
            this.fit();
        });
    }

    get isFull() {
        return this.root.getRootNode().fullscreenElement === this.root;
    }

    // Ties and empty bins leave fewer bins than were chosen.
    get details() {
        const [first] = this.shown, { cells } = this.cells.get(first);
        const bins = counted(this.binned.get(first).bins.length, `${this.chosen.strategy} bin`);
        return `${counted(cells.rows[cells.n], "row")} · ${bins}${this.chosen.hidden.includes("intervals") ? "" : ` · ${this.levelWords} intervals`}`;
    }

    get fileName() {
        return `${this.data.file}-${this.chosen.n_bins}-${this.chosen.strategy}`;
    }

    tables() {
        return this.shown.map((key, i) => {
            const stop = this.stopOf(key);
            const band = i === 0 && !this.chosen.hidden.includes("band") ? this.bandOf(key, stop) : null;
            return { label: this.data.methods[key].label, bins: stop.bins, intervals: this.intervalsOf(key, stop), band };
        });
    }

    // The chosen stop comes with the choices, and all others, in single precision, after the first
    // drawing.
    stopOf(key) {
        const { cells, stops } = this.cells.get(key), { n_bins, strategy } = this.chosen;
        const of = sent => stopOf(cells, sent, n_bins, strategy, this.data.half_width);
        return of(this.exact.get(key)) ?? of(this.sets.get(stops));
    }

    // The stops of a method have arrived. A drawing that waits for them is drawn.
    take(sent) {
        this.sets.set(sent.of, readStops(sent));
        if (this.sets.size > MOST_SETS) this.sets.delete(this.sets.keys().next().value);
        if (this.waits) this.paint();
    }

    // Scores are typed in percent, the unit of the axes.
    numberInput(parent, label, changed) {
        const made = element("label", {}, parent, label);
        const input = element("input", { type: "number", min: 0, max: 100, step: 1 }, made);
        made.append("%");
        input.addEventListener("change", changed);
        return input;
    }

    // The data are new, or the same with other choices. Only the parts that changed are drawn again,
    // because an answer to an earlier movement may arrive during the next one.
    update(data) {
        if (data.methods !== this.data?.methods) this.read(data);
        this.data = data;
        this.exact = new Map(Object.entries(data.stop).map(([key, sent]) => [key, readStops(sent)]));
        // The choices of an older answer must not undo newer ones.
        if (!this.chosen || data.answered >= this.edit) {
            this.edit = Math.max(this.edit, data.answered);
            this.chosen = { ...data.chosen };
        }
        if (this.waits || data.methods !== this.painted?.methods || this.state() !== this.painted.state) this.paint();
    }

    // The result identifies everything that is painted except the methods and the bins.
    state() {
        const { methods, answered, chosen, stop, ...others } = this.data;
        return JSON.stringify([this.chosen, others]);
    }

    read(data) {
        const { methods } = data;
        for (const [key, method] of Object.entries(methods)) {
            const held = this.cells.get(key);
            if (method.cells && (held?.stops !== method.stops || held.high !== method.cells.high + method.cells.positive)) {
                const cells = readCells(method.cells), { heights, ks, stops } = method;
                const high = method.cells.high + method.cells.positive;
                this.cells.set(key, { high, cells, heights, ks, stops, ...cumulativeDifference(cells) });
            } else if (!method.cells) this.cells.delete(key);
        }
        this.functions = new Map(Object.entries(methods).filter(([, method]) => method.function)
            .map(([key, { label, function: { score, ...curves } }]) => [key, {
                label, xs: decode(score), ...Object.fromEntries(Object.entries(curves).map(([name, values]) => [name, decode(values)])),
            }]));
        this.probesOf = null;
        this.controls.list(data);
    }

    choose(changed, released) {
        const before = JSON.stringify(this.chosen);
        this.chosen = { ...this.chosen, ...changed };
        this.edit += 1;
        if ("range" in changed && Object.keys(changed).length === 1) this.paintRange();
        // Letting go of a control repeats its last value, which is painted already.
        else if (JSON.stringify(this.chosen) === before) this.controls.show(this.chosen);
        else this.paint();
        clearTimeout(this.telling);
        if (released) this.telling = setTimeout(() => this.tell({ edit: this.edit, ...this.chosen }), TELL_AFTER);
    }

    get shown() {
        return this.chosen.shown.filter(key => this.data.methods[key] && this.cells.has(key));
    }

    resize() {
        if (!this.root.clientWidth) return;
        // The address bar of a phone changes the height while a page is scrolled.
        const taller = this.width >= WIDE && window.innerHeight !== this.height;
        if (taller || this.root.clientWidth !== this.width) this.fit();
    }

    // Only here are sizes read: the browser would have to lay out the page for it in every step.
    fit() {
        this.width = this.root.clientWidth || 700;
        this.height = window.innerHeight;
        if (this.data) this.paint();
    }

    // Axes are drawn again only if their sizes or kinds have changed.
    paint() {
        this.controls.show(this.chosen);
        const binned = new Map(this.shown.map(key => [key, this.stopOf(key)]));
        // Until the bins of a stop have arrived, those of the last one stay.
        this.waits = [...binned.values()].includes(null);
        if (this.waits) return;
        for (const [key, drawn] of this.drawn) {
            if (!this.shown.includes(key)) {
                drawn.remove();
                this.drawn.delete(key);
            }
        }
        this.binned = binned;
        this.worsts = new Map([...binned].map(([key, { bins, worst }]) => [key, bins[worst]]));
        this.paintFrames(binned);
        const place = [this.width, ...this.shown].join();
        if (place !== this.saidAt) this.said.style.minHeight = "";
        this.saidAt = place;
        this.listFunctions();
        binned.forEach((stop, key) => this.drawn.get(key).drawBins(this.panels.diagram, stop.bins, this.intervalsOf(key, stop), this.data));
        this.paintBand(binned);
        this.paintLines();
        this.paintRange();
        this.summarize(binned);
    }

    paintFrames(binned) {
        const dots = [...binned.values()].flatMap(({ bins }) => bins).flatMap(bin => [bin.meanScore, bin.observed]);
        const scale = scaleOf(this.chosen.axis, dots);
        const note = this.diagramNote();
        // A moved slider changes numbers of the note, which is written again without new axes.
        const key = JSON.stringify([this.width, this.height, this.isFull, scale.low, scale.high, this.diagramHeading, note.replace(/\d/g, "0"), this.data.level,
            this.shown.map(method => [method, this.cells.get(method).high.length, this.cells.get(method).ks])]);
        if (key === this.framed) return;
        this.framed = key;
        const wide = this.width >= WIDE;
        const side = wide ? this.sideWithin(this.sideWithin(WIDEST_SHARE * this.width)) : this.width;
        this.frameDiagram(scale, side);
        const beside = Math.max(LEAST_DIFFERENCE, side + this.aroundDiagram(side) - READOUTS - READOUT_OF_METHOD * this.shown.length);
        this.frameDifference(scale, wide ? this.width - side - 16 : side, wide ? beside : 0.8 * side);
        const curves = new Map();
        for (const method of this.shown) {
            if (!this.drawn.has(method)) this.drawn.set(method, new MethodMarks(this.panels, this.data.methods[method]));
            const [drawn, held] = [this.drawn.get(method), this.cells.get(method)];
            drawn.drawSteps(this.panels.histogram, held.heights);
            curves.set(method, drawn.drawCurve(this.panels.difference, held.cells, held.difference));
        }
        this.labelDifference(curves);
    }

    // The peak of the first method and all lines have names, in this order, if a place is free.
    labelDifference(curves) {
        const { difference } = this.panels, [first] = this.shown;
        difference.labels.replaceChildren(this.peak);
        if (!first) return;
        const taken = [...curves.values()].flatMap(pointsAlong);
        const { cells, peak, ks, difference: values } = this.cells.get(first);
        const [x, y, zero] = [difference.x(peak ? cells.high[peak - 1] : 0), difference.y(values[peak]), difference.y(0)];
        this.peak.setAttribute("d", `M${at(x)} ${at(zero)}V${at(y)}`);
        const away = y < zero ? -1 : 1;
        difference.label(`${this.data.error} ${errorPercent(ks)}`, [13, 20, 28, 36, 48, 60].flatMap(gap => [[x, y + away * gap], [x, y - away * gap]]), taken);
        taken.push(...pointsAlong([[x, zero], [x, y]]));
        curves.forEach((pairs, key) => {
            const { label, color, corners } = this.data.methods[key];
            const half = (LETTER * label.length + SYMBOL_WIDTH) / 2;
            // The end of the line is tried first, and then places on both sides of earlier points.
            const [end, last] = pairs.at(-1);
            const places = [12, -12, 18, -18, 26, -26].map(gap => [end, last + gap]);
            for (const share of [0.75, 0.5, 0.25]) {
                const [a, b] = pairs[Math.round(share * (pairs.length - 1))];
                places.push([a + half + 14, b], [a - half - 14, b], [a, b + 14], [a, b - 14]);
            }
            const place = difference.label(label, places, taken, SYMBOL_WIDTH);
            if (place) shape("path", { d: dot(corners, place[0] - half + SYMBOL_WIDTH / 2, place[1], 4), fill: color }, difference.labels);
        });
    }

    // The height of the window below the controls, before the page is scrolled.
    get room() {
        const top = this.figures.getBoundingClientRect().top - (this.isFull ? 0 : this.scrolled);
        return window.innerHeight - Math.min(Math.max(top, 0), 0.4 * window.innerHeight) - 8;
    }

    // Streamlit scrolls a part of the page, and a report the page.
    get scrolled() {
        const host = this.root.getRootNode().host ?? this.root;
        return -(host.closest("[data-testid=stMain]")?.scrollTop ?? document.documentElement.scrollTop);
    }

    // What stands above the diagram may need more lines if the diagram is narrower.
    sideWithin(width) {
        return Math.min(WIDEST_SHARE * this.width, Math.max(LEAST_SIDE, this.room - this.aroundDiagram(width)));
    }

    aroundDiagram(side) {
        return BELOW_DIAGRAM + headHeight(this.diagramHeading, this.diagramNote(), side);
    }

    // What the diagram shows of the first method. Python has the words, because its tests decide them.
    get diagramHeading() {
        const [first] = this.shown;
        return first ? this.titled(this.data.methods[first].title) : "";
    }

    titled(title) {
        const [first, ...others] = this.shown;
        if (!others.length && first === "uncalibrated") return title;
        return `${this.data.methods[first].label}. ${title}`;
    }

    // The grey areas are of the scores of the first method, and other scores vary more or less.
    get ofFirst() {
        return this.shown.length > 1 ? ` (with the scores of ${this.data.methods[this.shown[0]].label})` : "";
    }

    // The rows, bins and level, which follow the slider, and what the grey area and the circle are.
    diagramNote(band = true, ring = true) {
        const details = this.shown.length ? this.details : "";
        const grey = this.chosen.band === "simultaneous"
            ? `where all dots of a calibrated model lie in ${this.levelWords} of samples`
            : `where ${this.levelWords} of a calibrated model's dots lie`;
        const drawn = [band ? `Grey: ${grey}${this.ofFirst}.` : "", ring ? "Circle: largest gap." : ""].filter(Boolean).join(" ");
        return [details, drawn].filter(Boolean).join("\n");
    }

    frameDiagram(scale, side) {
        const { diagram, histogram } = this.panels;
        const [heading, note] = [this.diagramHeading, this.diagramNote()];
        const height = side - LEFT - RIGHT + TOP + 6 + headHeight(heading, note, side);
        const ticksY = scale.ticks.map(([p, text]) => [scale.at(p), text]);
        diagram.frame({ width: side, height, scale, low: scale.low, high: scale.high, ticksY, heading, note, across: "", upward: this.data.upward, bottom: 6 });
        this.diagonal.setAttribute("d", line([scale.low, scale.high].map(end => {
            const share = (end - scale.low) / (scale.high - scale.low);
            return [LEFT + share * diagram.width, diagram.y(end)];
        })));
        const most = Math.max(1, ...this.shown.flatMap(key => this.cells.get(key).heights));
        histogram.frame({ width: side, height: HISTOGRAM + TOP + BOTTOM, scale, low: 0, high: 1.05 * most, ticksY: niceTicks(0, most, 3), across: this.data.across, upward: this.data.unit });
    }

    frameDifference(scale, width, height) {
        const { difference } = this.panels;
        const half = this.shown.length ? this.data.methods[this.shown[0]].null_half_width : 0;
        const drawn = this.shown.map(key => this.cells.get(key));
        // The name of the peak stands above it.
        const low = 1.15 * Math.min(-half, ...drawn.map(({ least }) => least)) || -1;
        const high = 1.15 * Math.max(half, ...drawn.map(({ most }) => most)) || 1;
        const ticksY = niceTicks(100 * low, 100 * high, 6).map(([value, text]) => [value / 100, `${text}%`]);
        const heading = this.shown.length ? this.titled(this.differenceTitle(half)) : "";
        const note = `Observed minus predicted ${this.data.positives}, counted from the lowest score up. It rises where scores are too low, and falls where they are too high. `
            + `Grey: a calibrated model in ${this.levelWords} of samples${this.ofFirst}.`;
        difference.frame({ width, height, scale, low, high, ticksY, heading, note, across: "Scores up to", upward: "Cumulative difference" });
        difference.explain(note);
        const [top, bottom, end] = [difference.y(half), difference.y(-half), LEFT + difference.width];
        this.nullArea.setAttribute("d", `M${LEFT} ${at(top)}H${end}V${at(bottom)}H${LEFT}z`);
        this.zero.setAttribute("d", `M${LEFT} ${at(difference.y(0))}H${end}`);
    }

    // How far from zero the curve of the first method gets, and whether it leaves the band.
    differenceTitle(half) {
        const { cells, ks, peak, difference: values } = this.cells.get(this.shown[0]);
        const place = peak < cells.n ? ` up to ${scorePercent(cells.high[peak - 1])}` : "";
        const error = `${errorPercent(ks).replace("%", "")} ${this.data.positives} too ${values[peak] < 0 ? "many" : "few"}`;
        return `Of every 100 rows, scores${place} predict ${error}${ks > half ? "" : ", which may be chance"}`;
    }

    intervalsOf(key, stop) {
        if (this.chosen.hidden.includes("intervals")) return null;
        return this.data.clusters ? this.ofClusters(key, stop.bins, "intervals") : stop.intervals;
    }

    // Intervals of clusters need the rows. The server sends them with its answer, for its bins only.
    ofClusters(key, bins, name) {
        const { n_bins, strategy, methods } = this.data.clusters;
        if (name === "band" && this.data.clusters.band !== this.chosen.band) return null;
        const bounds = n_bins === this.chosen.n_bins && strategy === this.chosen.strategy && methods[key]?.[name];
        return bounds && bounds.length === bins.length ? bounds : null;
    }

    paintBand(binned) {
        const [key] = this.shown;
        const asked = this.chosen.hidden.includes("band") || !key ? null : this.bandOf(key, binned.get(key));
        this.noBand.textContent = asked ? this.withoutBand(key, binned.get(key)) : "";
        const band = this.noBand.textContent ? null : asked;
        const hidden = !band;
        this.hasBand = !hidden;
        const { x, y } = placesOf(this.panels.diagram);
        const places = hidden ? [] : binned.get(key).bins.map(bin => x(bin.meanScore));
        const low = places.map((place, i) => [place, y(band[i][0])]);
        const high = places.map((place, i) => [place, y(band[i][1])]);
        this.bandArea.setAttribute("d", hidden ? "" : `${line([...low, ...high.toReversed()])}z`);
        this.bandEdge.setAttribute("d", line(low) + line(high));
    }

    // Lines without bins, with their bands. Dots are then not joined.
    paintLines() {
        const { x, y } = placesOf(this.panels.diagram), { linesDrawn } = this;
        if (!linesDrawn.length && !this.rates.firstChild) return;
        this.rates.replaceChildren();
        for (const { color, dash, width, score, observed, low, high } of linesDrawn) {
            const [places, ...curves] = [score, observed, low, high].map(decode);
            const [middle, lower, upper] = curves.map(curve => Array.from(curve, (value, i) => [x(places[i]), y(value)]));
            shape("path", { d: `${line([...lower, ...upper.toReversed()])}z`, fill: color, "fill-opacity": 0.16 }, this.rates);
            shape("path", { class: "line rate", d: line(middle), fill: "none", stroke: color, "stroke-width": width, "stroke-dasharray": dash }, this.rates);
        }
        this.panels.diagram.svg.classList.toggle("with-lines", linesDrawn.length > 0);
    }

    // The server computes a line after it is chosen. It is that of the first method.
    get linesDrawn() {
        return this.chosen.lines.map(kind => ({ ...this.data.rates?.[kind], ...this.data.lines?.[kind] })).filter(drawn => drawn.score);
    }

    // Why no band is drawn, or "".
    withoutBand(key, { bins, widths }) {
        if (this.data.clusters) return this.data.clusters.methods[key].without_band;
        const rows = bins.reduce((sum, bin) => sum + bin.rows, 0);
        if (rows < FEW_ROWS) return `No band: ${whole(rows)} ${rows === 1 ? "row is" : "rows are"} too few for one.`;
        if (widths[this.chosen.band] <= this.data.widest_band) return "";
        const each = Math.floor(rows / bins.length);
        return `No band: with about ${whole(each)} ${each === 1 ? "row" : "rows"} per bin, a calibrated model's dots could lie in more than half of the diagram. Choose fewer bins.`;
    }

    bandOf(key, stop) {
        return this.data.clusters ? this.ofClusters(key, stop.bins, "band") : stop.bands[this.chosen.band];
    }

    // The panel beside the diagram describes the selected range, or else the worst bin.
    paintRange() {
        this.painted = { methods: this.data.methods, state: this.state() };
        const { range } = this.chosen;
        for (const panel of Object.values(this.panels)) panel.showBrush(range);
        this.clear.hidden = !range;
        this.list.hidden = !range || !this.data.rows_at;
        this.look.hidden = Boolean(range) || !this.readRange;
        const { n_bins, strategy } = this.chosen;
        this.what.textContent = range ? "Selected range" : `Gaps of ${n_bins} ${strategy} bins`;
        [this.from, this.to].forEach((input, i) => { input.value = this.readRange ? inPercent(this.readRange[i]) : ""; });
        const lines = range ? this.shown.map(key => this.sayRange(key, range)) : [this.tableOfGaps()];
        this.said.replaceChildren(...lines);
        if (range) this.speak(lines.map(made => made.textContent).join(" "));
        this.ringWorst();
        this.paintProbe();
    }

    // The page lists the rows of the range below the explorer, with their download.
    toRows() {
        document.querySelector(`.st-key-${this.data.rows_at}`)?.scrollIntoView({ block: "start" });
    }

    // The range that is described: the selected one, or else the worst bin of the first method.
    get readRange() {
        const worst = this.worsts.get(this.shown[0]);
        return this.chosen.range ?? (worst && edgesOf(worst));
    }

    ringWorst() {
        const bin = this.worsts.get(this.shown[0]), hidden = !bin || Boolean(this.chosen.range);
        this.worst.toggleAttribute("hidden", hidden);
        this.panels.diagram.explain(this.diagramNote(this.hasBand, !hidden));
        if (hidden) return;
        const { x, y } = placesOf(this.panels.diagram);
        this.worst.setAttribute("cx", at(x(bin.meanScore)));
        this.worst.setAttribute("cy", at(y(bin.observed)));
    }

    sayGap(key, { lowEdge, highEdge, rows, meanScore, observed }) {
        return `${this.nameOf(key)}${counted(rows, "row")} with scores of ${scorePercent(lowEdge)} to ${scorePercent(highEdge)}: ` +
            `predicted ${percent(meanScore)}, observed ${percent(observed)}, difference ${points(observed - meanScore)} points`;
    }

    nameOf(key) {
        return this.shown.length > 1 ? `${this.data.methods[key].label}: ` : "";
    }

    sayRange(key, range) {
        const part = between(this.cells.get(key).cells, range, this.data.half_width);
        if (!part) return element("p", {}, null, `${this.nameOf(key)}no rows with scores of ${scorePercent(range[0])} to ${scorePercent(range[1])}.`);
        const interval = this.data.clusters ? this.ofClustersIn(key, range) : part.interval;
        const ends = interval ? interval.map(points).join(" to ") : "when you let go";
        return element("p", {}, null, `${this.sayGap(key, part)} (${this.ci} ${ends}).`);
    }

    // The largest and the average gap of each method.
    tableOfGaps() {
        const table = element("table", { class: "gaps" });
        element("caption", {}, table, `The average gap is the expected calibration error (ECE).${this.chosen.strategy === "quantile" ? " Quantile bins have about equal numbers of rows." : ""}`);
        const head = element("tr", {}, table);
        for (const text of ["Method", "Average gap", "Largest gap", "Its scores", "Predicted", "Observed"]) element("th", { scope: "col" }, head, text);
        for (const key of this.shown) this.rowOfGaps(key, element("tr", {}, table));
        return table;
    }

    // The interval of the largest of many gaps excludes 0 too often. So the row has a test that
    // allows for all bins, and the interval is only in a title.
    rowOfGaps(key, row) {
        const stop = this.binned.get(key), { bins } = stop, worst = this.worsts.get(key);
        const ofEach = name => this.ofClusters(key, bins, name)?.[stop.worst];
        const [p, ends] = this.data.clusters ? [ofEach("tests"), ofEach("intervals")] : [stop.p, stop.interval];
        const chance = p < this.data.significance ? "too large for chance" : `may be chance: largest of ${bins.length} bins`;
        const title = [ends ? `${this.ci} of this bin alone: ${ends.map(end => points(end - worst.meanScore)).join(" to ")} points.` : "",
            p === undefined ? "" : this.sayTest(bins, p)];
        const { lowEdge, highEdge, rows, meanScore, observed } = worst;
        element("th", { scope: "row" }, row, this.data.methods[key].label);
        // Ties and empty bins leave fewer bins than were chosen.
        const fewer = bins.length < this.chosen.n_bins ? counted(bins.length, "bin") : "";
        this.cellOf(row, percent(stop.ece), fewer).title = this.sayChance(stop);
        this.cellOf(row, `${points(observed - meanScore)} points`, p === undefined ? "" : chance).title = title.filter(Boolean).join(" ");
        this.cellOf(row, `${scorePercent(lowEdge)} to ${scorePercent(highEdge)}`, counted(rows, "row"));
        this.cellOf(row, percent(meanScore));
        this.cellOf(row, percent(observed));
    }

    // A cell with a second line of small print.
    cellOf(row, text, small = "") {
        const cell = element("td", {}, row, text);
        if (small) element("small", {}, cell, small);
        return cell;
    }

    // Readers stumbled over the correction, so the p-value is in the tooltip, as in the table of the bins.
    sayTest(bins, p) {
        const enough = bins.filter(bin => bin.rows >= FEW_ROWS).length, judged = enough || bins.length, few = judged < bins.length ? ` with at least ${FEW_ROWS} rows` : "";
        return `Exact test: ${pValue(p)}${judged > 1 ? `, Holm-corrected for ${judged} bins${few}` : ""}.`;
    }

    ofClustersIn(key, range) {
        const { range: answered, methods } = this.data.clusters;
        return answered?.every((end, i) => end === range[i]) ? methods[key]?.difference : null;
    }

    get ci() {
        return `${this.levelWords} CI`;
    }

    get levelWords() {
        return `${Number((100 * this.data.level).toPrecision(6))}%`;
    }

    probe(score) {
        this.score = score;
        this.paintProbe();
    }

    // The score whose calibrated values are read: that of the pointer, or that of the range or bin.
    get readScore() {
        const { range } = this.chosen;
        if (this.score !== null) return this.score;
        return range ? (range[0] + range[1]) / 2 : (this.worsts.get(this.shown[0])?.meanScore ?? 0.5);
    }

    paintProbe() {
        const score = this.readScore;
        for (const panel of Object.values(this.panels)) panel.showProbe(this.score);
        if (this.root.getRootNode().activeElement !== this.probeAt) this.probeAt.value = inPercent(score);
        for (const { xs, calibrated, low, high, value, interval } of this.probes) {
            const read = curve => interpolate(xs, curve, score);
            value.textContent = aligned(read(calibrated));
            const bounds = low ? [low, high].map(read) : [NaN];
            interval.textContent = bounds.some(isNaN) ? "" : bounds.map(aligned).join(" to ");
        }
    }

    // Every shown calibrator has a row from the start, so nothing moves while a person points at scores.
    // Uncalibrated scores stay what they are.
    // Calibrators of whole rows of a matrix have no value at a score.
    listFunctions() {
        const names = this.shown.join();
        if (names === this.probesOf) return;
        this.probesOf = names;
        const drawn = this.shown.filter(key => key !== "uncalibrated").map(key => this.functions.get(key)).filter(Boolean);
        this.probeRow.hidden = this.probed.hidden = !drawn.length;
        this.probed.replaceChildren();
        const head = element("tr", {}, this.probed);
        const titles = ["Method", "Calibrated value", ...(drawn.some(read => read.low) ? [this.ci] : [])];
        const heads = titles.map(text => element("th", { scope: "col" }, head, text));
        if (heads[2]) heads[2].title = "Jackknife over folds (spread of the fitted calibrator).";
        this.probes = drawn.map(read => {
            const row = element("tr", {}, this.probed);
            element("th", { scope: "row" }, row, read.label);
            return { ...read, value: element("td", {}, row), interval: element("td", {}, row) };
        });
    }

    // The end that was not typed stays, unless the typed one is beyond it.
    typed(i) {
        const input = [this.from, this.to][i], range = [...(this.readRange ?? [0, 1])];
        range[i] = input.value === "" ? i : typedScore(input);
        if (range[0] >= range[1]) range[1 - i] = 1 - i;
        if (range[0] < range[1]) this.choose({ range }, true);
        else this.paintRange();
    }

    // The brush follows a pointer. A click selects the bin under it, and arrow keys move it.
    followPointer(panel) {
        const { svg } = panel;
        let start = null;
        svg.addEventListener("pointerdown", event => {
            if (event.button !== 0) return;
            start = { score: panel.score(event), x: event.clientX, moved: false };
            svg.setPointerCapture(event.pointerId);
        });
        svg.addEventListener("pointermove", event => {
            const score = panel.score(event);
            this.probe(score);
            if (!start || (!start.moved && Math.abs(event.clientX - start.x) < 4)) return;
            start.moved = true;
            if (score !== start.score) this.choose({ range: [score, start.score].sort((a, b) => a - b) }, false);
        });
        svg.addEventListener("pointerup", () => {
            if (!start) return;
            if (start.moved) this.choose({}, true);
            else this.pick(start.score);
            start = null;
        });
        svg.addEventListener("pointercancel", () => { start = null; });
        svg.addEventListener("pointerleave", () => { if (!start) this.probe(null); });
        svg.addEventListener("keydown", event => this.moved(event));
    }

    pick(score) {
        const [key] = this.shown;
        if (!key) return;
        const { bins } = this.binned.get(key);
        const bin = bins.find(bin => bin.highEdge >= score), before = bins.findLast(bin => bin.highEdge < score);
        // Bins without rows are not sent, so their scores are one range.
        const isInside = bin && (bin.lowEdge === 0 || bin.lowEdge < score);
        const range = isInside ? edgesOf(bin) : [before?.highEdge ?? 0, bin?.lowEdge ?? 1];
        const again = this.chosen.range?.every((end, j) => end === range[j]);
        this.choose({ range: again ? null : range }, true);
    }

    moved(event) {
        const step = { ArrowLeft: -0.01, ArrowDown: -0.01, ArrowRight: 0.01, ArrowUp: 0.01, PageDown: -0.1, PageUp: 0.1 }[event.key];
        if (event.key === "Escape" && this.chosen.range) this.choose({ range: null }, true);
        if (!step) return;
        event.preventDefault();
        const [from, to] = this.chosen.range ?? [0.4, 0.5];
        const by = this.chosen.range ? Math.min(Math.max(step, -from), 1 - to) : 0;
        const tidy = p => Math.round(1e6 * p) / 1e6;
        // With Shift only the upper end moves.
        const moved = event.shiftKey ? [from, clip(tidy(to + step))] : [tidy(from + by), tidy(to + by)];
        if (moved[0] < moved[1]) this.choose({ range: moved }, true);
    }

    summarize(binned) {
        const { n_bins, strategy } = this.chosen;
        const errors = [...binned].map(([key, { ece }]) => `${this.data.methods[key].label} ${percent(ece)}`);
        const text = errors.length ? `Average gap of ${n_bins} ${strategy} bins (expected calibration error, ECE): ${errors.join(", ")}.` : "";
        if (text === this.heard) return;
        this.heard = text;
        this.speak(`${this.data.finding} ${text}`);
    }

    // Readers took an error above its level for miscalibration, so the level is a tooltip. Rows of a
    // cluster are alike, so that more is by chance than their bins show.
    sayChance({ chance }) {
        return this.data.clusters ? "" : `Chance alone shows ${percent(chance)} on average.`;
    }

    // A screen reader reads only the last state of a movement.
    speak(text) {
        clearTimeout(this.speaking);
        this.speaking = setTimeout(() => { this.live.textContent = text; }, SAY_AFTER);
    }
}

// The explorer is drawn into an element. Its `update` takes new data.
export function mount(parentElement, data, tell = () => {}) {
    return new Explorer(parentElement, data, tell);
}

const mounted = new WeakMap();
const latest = new WeakMap();

// Streamlit calls this at every rerun with the same element and the choices. Another component
// (explorer_cells.js) holds the cells, which may arrive later.
export default function explorer(call) {
    const { parentElement, data } = call;
    const held = (globalThis.calibExplorer ??= new EventTarget());
    latest.set(parentElement, data);
    if (held.data?.of === data.of) draw(call, { ...held.data, ...data }, (...parts) => follow(held, mount(...parts)));
    else held.addEventListener("held", () => latest.get(parentElement) === data && explorer(call), { once: true });
}

// A third component (explorer_stops.js) holds the stops of each method, which arrive last.
function follow(held, made) {
    held.take = async bytes => made.take(await inflate(bytes));
    held.stops?.forEach(held.take);
    return made;
}

// The first call mounts the explorer, and later ones update it.
function draw({ parentElement, setStateValue }, data, make = mount) {
    const tell = sent => setStateValue("sent", sent);
    const place = parentElement.host ?? parentElement;
    try {
        const earlier = mounted.get(parentElement);
        if (earlier) {
            earlier.tell = tell;
            earlier.update(data);
        } else mounted.set(parentElement, make(parentElement, data, tell));
        place.dataset.explorer = "drawn";
    } catch (error) {
        place.dataset.explorer = "failed";
        element("p", { role: "alert" }, parentElement, "The interactive chart could not be drawn. The static chart is below.");
        console.error(error);
    }
}
