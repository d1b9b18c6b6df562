// This file draws the costs and the net benefit of Decisions in two panels of the explorer. A hand
// moves the threshold, and with it the ratio of the costs. Python joins it to the explorer's files.

// A panel is lower than it is wide, so that a window shows all of it.
const LOWEST = 340, HIGHEST = 560, HEIGHT_SHARE = 0.34, LABEL_GAP = 16, ANSWER_LINE = 18;
// The handle at the top of the threshold line: two arrows that point sideways.
const GRIP = "M-4 -7v14l-9 -7zM4 -7v14l9 -7z";
const SAME_THRESHOLD = "Compare the lines at your threshold only: elsewhere the same threshold means other decisions. Dots, chosen in hindsight, are optimistic and do not rank methods.";
const STARTING_COSTS = "1 and 1 are starting values: enter your costs, or drag the line to change them.";
const DRAG = "Drag the line to try others: the cost of a missed positive changes with it.";
const USEFUL = "Net benefit: cost saved against flagging nobody, in units of one missed positive. Useful: above both dashed lines.";
const NUMBERS_TITLE = "Flagged rows, errors and expected positives at this threshold";
const COST_TITLE = "Cost per row if you decide at another threshold";
const KEY_STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };

const decoded = columns => Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, decode(values)]));

// The cost per row is linear in the shares of missed positives and of false alarms.
export const costsOf = ({ missed, false_alarms: alarms }, { miss, alarm }) =>
    missed.map((share, i) => miss * share + alarm * alarms[i]);

export function readMethod({ curve, best, benefit }) {
    return { curve: decoded(curve), best: decoded(best), benefit: decode(benefit) };
}

// The lowest cost on these rows, at the threshold nearest to that of the costs.
export function lowestCost(best, costs) {
    const spent = costsOf(best, costs), optimal = costs.alarm / (costs.alarm + costs.miss);
    const limit = Math.min(...spent) + 1e-12 * Math.max(...spent);
    const far = threshold => Math.abs(Math.min(threshold, 2) - optimal);
    const at = [...spent.keys()].filter(i => spent[i] <= limit)
        .reduce((nearest, i) => (far(best.threshold[i]) < far(best.threshold[nearest]) ? i : nearest));
    return { cost: spent[at], threshold: best.threshold[at] };
}

// The numbers of the curves. The last threshold flags nobody and has no net benefit.
export function csvOfCurves(methods, costs) {
    const lines = methods.flatMap(({ label, curve, benefit }) => {
        const spent = costsOf(curve, costs);
        return Array.from(curve.threshold, (threshold, i) => [csvText(label), threshold, spent[i], benefit[i] ?? ""]);
    });
    return [["method", "threshold", "cost_per_row", "net_benefit"], ...lines].map(line => `${line.join(",")}\n`).join("");
}

// One panel whose lines are cut off at its ends.
class ThresholdPanel extends Panel {
    constructor(parent, name, label, hint = "") {
        const figure = element("figure", {}, parent), title = element("figcaption", {}, figure);
        const below = element("p", { class: "hint" }, figure, hint);
        super(figure, name, label);
        Object.assign(this, { title, hint: below });
        const clip = `clip-${Math.random().toString(36).slice(2)}`;
        this.cut = shape("rect", {}, shape("clipPath", { id: clip }, this.svg));
        this.marks.setAttribute("clip-path", `url(#${clip})`);
        this.all = shape("path", { class: "blind", "stroke-dasharray": "7 5" }, this.marks);
        this.none = shape("path", { class: "blind", "stroke-dasharray": "7 5" }, this.marks);
        this.words = shape("g", { class: "words" }, this.svg);
        this.grip = shape("path", { class: "grip", d: GRIP }, this.svg);
        this.showBrush(null);
        for (const [key, value] of [["role", "slider"], ["aria-valuemin", 0], ["aria-valuemax", 1]]) this.svg.setAttribute(key, value);
    }

    place(sizes) {
        this.frame(sizes);
        Object.entries({ x: LEFT, y: TOP, width: this.width, height: this.height }).forEach(([key, value]) => this.cut.setAttribute(key, value));
        this.words.replaceChildren();
    }

    showProbe(threshold) {
        super.showProbe(threshold);
        this.grip.setAttribute("transform", `translate(${at(this.x(threshold))} ${TOP})`);
    }

    say(words, x, y, anchor) {
        shape("text", { x: at(x), y: at(y), "text-anchor": anchor, class: "tick" }, this.words).textContent = words;
    }

    pairs(thresholds, values) {
        return Array.from(values, (value, i) => [this.x(thresholds[i]), this.y(value)]);
    }
}

// `tell` is called with the cost of a missed positive when a person lets go of the threshold.
class Decisions {
    constructor(parent, data, tell) {
        this.root = element("section", { class: "explorer decisions", "aria-label": "Costs by threshold" }, parent);
        this.tell = tell;
        this.edit = 0;
        const moves = "Threshold. Arrow keys move it.";
        const benefit = new ThresholdPanel(this.root, "benefit", moves, USEFUL);
        const below = element("div", { class: "below" }, this.root);
        this.rule = element("p", { class: "rule" }, below);
        saveButtons(this.root, below, () => ({
            panels: Object.values(this.panels).map(panel => panel.svg),
            methods: this.methods,
            note: this.sentence,
            table: csvOfCurves(this.methods, this.costs),
            name: this.data.file,
        }));
        const numbers = element("details", { class: "numbers" }, this.root);
        element("summary", {}, numbers, NUMBERS_TITLE);
        [this.table, this.positives] = [0, 1].map(() => element("table", {}, numbers));
        // Readers took the cost at other thresholds for an argument against calibration, so it is folded away.
        const folded = element("details", {}, this.root);
        element("summary", {}, folded, COST_TITLE);
        this.panels = { benefit, cost: new ThresholdPanel(folded, "cost", moves, SAME_THRESHOLD) };
        this.panels.cost.title.remove();
        Object.values(this.panels).forEach(panel => this.followHand(panel));
        this.update(data);
        new ResizeObserver(() => this.root.clientWidth !== this.width && this.paint()).observe(this.root);
    }

    // An answer to an older movement must not undo a newer one.
    update(data) {
        const ratio = this.data?.ratios[this.stop];
        if (data.of !== this.data?.of) this.read(data);
        this.data = data;
        if (ratio === undefined || data.answered >= this.edit) {
            this.edit = Math.max(this.edit, data.answered);
            this.stop = data.stop;
        } else this.stop = nearest(data.ratios, ratio);
        this.paint();
    }

    read({ methods, useful }) {
        this.methods?.forEach(({ marks }) => marks.forEach(mark => mark.remove()));
        const [[head, body], [flagged, counts]] = [this.table, this.positives].map(table => {
            table.replaceChildren();
            return [element("tr", {}, element("thead", {}, table)), element("tbody", {}, table)];
        });
        Object.assign(this, { head, flagged });
        this.observed = countedRow(counts, "Observed");
        this.methods = methods.map(method => {
            const look = { class: "line", stroke: method.color, fill: "none", "stroke-width": method.width, "stroke-dasharray": method.dash };
            const [benefit, cost] = Object.values(this.panels).map(panel => shape("path", look, panel.marks));
            const mark = shape("path", { class: "dots", fill: method.color }, this.panels.cost.marks);
            const row = element("tr", {}, body), name = element("th", { scope: "row" }, row);
            const sample = shape("svg", { class: "sample", width: 26, height: 12, "aria-hidden": "true" }, name);
            shape("path", { d: "M0 6H26", stroke: method.color, "stroke-width": method.width, "stroke-dasharray": method.dash }, sample);
            name.append(` ${method.short}`);
            element("span", { class: "which" }, name, method.label.slice(method.short.length));
            const cells = Array.from({ length: 4 }, () => element("td", {}, row));
            const expects = countedRow(counts, `Sum of scores, ${method.short}`);
            return { ...method, ...readMethod(method), cost, benefitLine: benefit, mark, cells, expects, marks: [cost, benefit, mark] };
        });
        this.panels.benefit.title.textContent = useful;
    }

    get costs() {
        const alarm = this.data.false_positive;
        return { alarm, miss: alarm * this.data.ratios[this.stop] };
    }

    get threshold() {
        return this.data.thresholds[this.stop];
    }

    paint() {
        this.width = this.root.clientWidth || 700;
        const height = Math.min(Math.max(HEIGHT_SHARE * this.width, LOWEST), HIGHEST);
        const sizes = { width: this.width, height, scale: scaleOf("linear", []), across: "Threshold" };
        this.paintCost(sizes);
        this.paintBenefit(sizes);
        for (const { svg } of Object.values(this.panels)) {
            svg.setAttribute("aria-valuenow", this.threshold);
            svg.setAttribute("aria-valuetext", this.sentence);
        }
        Object.values(this.panels).forEach(panel => panel.showProbe(this.threshold));
        this.paintTable();
        this.paintPositives();
        // The sentences of the page, and intervals, are about the threshold that the server knows.
        const sentences = document.querySelector(`.st-key-${this.data.answer} .answer`);
        for (const part of [sentences, this.root]) part?.toggleAttribute("data-moving", this.stop !== this.data.stop);
    }

    paintCost(sizes) {
        const panel = this.panels.cost, { costs } = this, rate = this.data.base_rate;
        const [all, none] = [(1 - rate) * costs.alarm, rate * costs.miss];
        const high = 1.1 * Math.max(all, none);
        panel.place({ ...sizes, low: 0, high, ticksY: niceTicks(0, high, 5), upward: "Expected cost per row" });
        for (const [path, cost] of [[panel.all, all], [panel.none, none]]) path.setAttribute("d", line([[panel.x(0), panel.y(cost)], [panel.x(1), panel.y(cost)]]));
        // Each label stands above its line, or below it if there is no room.
        const close = Math.abs(panel.y(all) - panel.y(none)) < LABEL_GAP;
        for (const [words, cost, other] of [["Flag all", all, none], ["Flag none", none, all]]) {
            panel.say(words, panel.x(0.6), panel.y(cost) + (close && cost < other ? 15 : -5), "start");
        }
        for (const method of this.methods) {
            method.cost.setAttribute("d", line(panel.pairs(method.curve.threshold, costsOf(method.curve, costs))));
            const lowest = lowestCost(method.best, costs);
            const [x, y] = [panel.x(Math.min(lowest.threshold, 1)), panel.y(lowest.cost)];
            method.mark.setAttribute("d", dot(method.corners, x, y, 5));
            Object.assign(method, { lowest, place: [x, y] });
        }
        this.labelLowest(panel);
    }

    // Two labels stand on the outer sides of their dots. Near a side of the panel, they are one.
    labelLowest(panel) {
        const [first, last] = this.methods.toSorted((a, b) => a.place[0] - b.place[0]);
        const words = ({ lowest }) => lowest.cost.toPrecision(3);
        const put = (text, [x, y], side) => panel.say(text, x + 8 * side, Math.min(y + 18, TOP + panel.height - 4), side < 0 ? "end" : "start");
        const side = first.place[0] < LEFT + 0.2 * panel.width ? 1 : -1;
        if (last && last.place[0] < LEFT + 0.8 * panel.width && side < 0) {
            put(`lowest: ${words(first)}`, first.place, -1);
            put(`lowest: ${words(last)}`, last.place, 1);
        } else put(`lowest: ${[first, last].filter(Boolean).map(words).join(" and ")}`, (side > 0 ? last ?? first : first).place, side);
    }

    paintBenefit(sizes) {
        const panel = this.panels.benefit, rate = this.data.base_rate;
        const [low, high] = [-0.25 * rate, 1.25 * rate];
        panel.place({ ...sizes, low, high, ticksY: niceTicks(low, high, 5), upward: "Net benefit per row" });
        const thresholds = this.methods[0].curve.threshold.slice(0, -1);
        const all = thresholds.map(t => rate - ((1 - rate) * t) / (1 - t));
        panel.all.setAttribute("d", line(panel.pairs(thresholds, all)));
        panel.none.setAttribute("d", line([[panel.x(0), panel.y(0)], [panel.x(1), panel.y(0)]]));
        const curves = this.methods.map(method => panel.pairs(thresholds, method.benefit));
        this.methods.forEach((method, i) => method.benefitLine.setAttribute("d", line(curves[i])));
        this.labelCurves(panel, curves, panel.pairs(thresholds, all));
        this.sayCosts(panel);
    }

    // What the errors cost stands beside the line that the hand moves, so that it follows the hand.
    sayCosts(panel) {
        const { miss, alarm } = this.costs, rows = whole(this.data.rows);
        const unit = miss === 1 && alarm === 1 ? `of ${rows} wrong` : `cost per ${rows} rows`;
        const texts = this.methods.map(({ short, printed }) => `${short}: ${printed.cost[this.stop]} ${unit}`);
        const room = LETTER * Math.max(...texts.map(text => text.length)) * 1.1;
        const x = Math.min(panel.x(this.threshold) + 14, LEFT + panel.width - room);
        texts.forEach((text, i) => {
            panel.say(text, x, TOP + ANSWER_LINE * (i + 1), "start");
            this.emphasize(panel.words.lastChild, this.methods[i].color);
        });
    }

    emphasize(text, color) {
        Object.assign(text.style, { fill: `color-mix(in srgb, ${color} 65%, currentColor)`, fontWeight: 600 });
    }

    // Names stand near the right ends of the curves: above the upper one, and below the lower one.
    labelCurves(panel, curves, all) {
        panel.labels.replaceChildren();
        const zero = [0, 1].map(threshold => [panel.x(threshold), panel.y(0)]);
        const probe = [panel.top, panel.top + panel.height].map(y => [panel.x(this.threshold), y]);
        const taken = [...curves, all, zero, probe].flatMap(pointsAlong), bottom = panel.top + panel.height;
        this.methods.forEach(({ label, color }, i) => {
            const other = curves[1 - i], half = (LETTER * label.length) / 2;
            const above = (height, at) => !other || height < other[at][1] || (height === other[at][1] && i === 0);
            const places = curves[i].map(([x, y], at) => (above(y, at) ? [x + half, y - 12] : [x - half - 6, y + 12]));
            const seen = places.filter((_, at) => curves[i][at][1] < bottom).toReversed();
            if (panel.label(label, seen, taken)) this.emphasize(panel.labels.lastChild, color);
        });
        // "Flag all" stands below its line, or on the other side if positives are rare.
        const half = (LETTER * "Flag all".length) / 2, low = all.filter(([, y]) => y > panel.y(0.7 * this.data.base_rate));
        panel.label("Flag all", [-1, 1].flatMap(side => low.map(([x, y]) => [x + side * (half + 8), y + 4])).filter(([x]) => x > LEFT + half), taken);
        panel.label("Flag none", pointsAlong(zero).map(([x, y]) => [x + 30, y + 12]), taken);
    }

    get sentence() {
        const ratio = this.data.ratios[this.stop], times = Number(ratio.toPrecision(3));
        const much = ratio === 1 ? "as much as" : `${times.toLocaleString("en-US")} times as much as`;
        return `The threshold of ${scorePercent(this.threshold)} follows from the costs: a missed positive costs ${much} a false alarm.`;
    }

    paintTable() {
        const starting = this.costs.miss === 1 && this.costs.alarm === 1;
        this.rule.textContent = `${this.sentence} ${starting ? STARTING_COSTS : DRAG}`;
        const { rows } = this.data;
        const heads = [`Of ${whole(rows)} rows`, "Flagged", "Missed positives", "False alarms", "Cost"];
        this.head.replaceChildren(...heads.map(text => element("th", { scope: "col" }, null, text)));
        this.methods.forEach(({ cells, printed }) => {
            ["flagged", "missed", "alarms", "cost"].forEach((name, k) => { cells[k].textContent = printed[name][this.stop]; });
        });
        this.panels.benefit.hint.title = this.workedOut;
    }

    // It is a tooltip, because the lines alone show where decisions are useful.
    get workedOut() {
        return "Net benefit = (positives found − relative cost of a false alarm × false alarms) / rows. "
            + `At ${scorePercent(this.threshold)}: ${this.data.worked_out[this.stop]}.`;
    }

    // All methods are compared on the rows that the first one flags.
    paintPositives() {
        const { judged } = this.data, { found, flagged } = this.methods[0].printed;
        const heads = [`Of the ${flagged[this.stop]} flagged${this.methods.length > 1 ? " before calibration" : ""}`, "Positives", ""];
        this.flagged.replaceChildren(...heads.map(text => element(text ? "th" : "td", text ? { scope: "col" } : {}, null, text)));
        this.observed[0].textContent = found[this.stop];
        this.methods.forEach(({ expects, printed }, i) => {
            expects[0].textContent = printed.expected[this.stop];
            expects[1].textContent = judged[i];
        });
    }

    move(stop, released) {
        const last = this.data.ratios.length - 1, moved = Math.min(Math.max(stop, 0), last);
        if (moved !== this.stop) {
            this.stop = moved;
            this.edit += 1;
            this.paint();
        }
        clearTimeout(this.telling);
        if (released) this.telling = setTimeout(() => this.tell({ edit: this.edit, cost_fn: this.costs.miss }), TELL_AFTER);
    }

    followHand(panel) {
        const { svg } = panel;
        let held = false;
        const follow = event => this.move(nearest(this.data.thresholds, panel.score(event)), false);
        svg.addEventListener("pointerdown", event => {
            if (event.button !== 0) return;
            held = true;
            svg.setPointerCapture(event.pointerId);
            follow(event);
        });
        svg.addEventListener("pointermove", event => { if (held) follow(event); });
        svg.addEventListener("pointerup", () => {
            if (held) this.move(this.stop, true);
            held = false;
        });
        svg.addEventListener("pointercancel", () => { held = false; });
        svg.addEventListener("keydown", event => {
            const step = KEY_STEPS[event.key];
            if (!step) return;
            event.preventDefault();
            this.move(this.stop + step, true);
        });
    }
}

// The cells of a row for a number, and for words that do not follow a hand.
function countedRow(body, name) {
    const row = element("tr", {}, body);
    element("th", { scope: "row" }, row, name);
    return [element("td", {}, row), element("td", { class: "still" }, row)];
}

function nearest(values, wanted) {
    return values.reduce((best, value, i) => (Math.abs(value - wanted) < Math.abs(values[best] - wanted) ? i : best), 0);
}

export default function decisions(call) {
    draw(call, call.data, (...parts) => new Decisions(...parts));
}
