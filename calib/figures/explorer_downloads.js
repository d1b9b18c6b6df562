// These functions save what the explorer draws: an image of its panels, or the drawn numbers.

const MARGIN = 12, LEGEND = 26, NOTE = 22, IMAGE_SCALE = 2;
const DRAWN_STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "stroke-linejoin", "font-size", "font-family", "font-weight", "paint-order"];

function saved(content, type, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// A copy of a drawing that looks the same without the stylesheet.
function styledCopy(drawing) {
    const copy = drawing.cloneNode(true);
    const copies = [copy, ...copy.querySelectorAll("*")];
    for (const [i, original] of [drawing, ...drawing.querySelectorAll("*")].entries()) {
        const style = getComputedStyle(original);
        copies[i].setAttribute("style", style.display === "none" ? "display: none" : DRAWN_STYLES.map(name => `${name}: ${style.getPropertyValue(name)}`).join("; "));
    }
    return copy;
}

// The panels are placed as on the page, between the names of the methods and a note.
function imageOf(root, panels, methods, note) {
    const style = getComputedStyle(root);
    const boxes = panels.map(panel => panel.getBoundingClientRect());
    const [left, top] = [Math.min(...boxes.map(box => box.left)), Math.min(...boxes.map(box => box.top))];
    const size = {
        width: Math.max(...boxes.map(box => box.right)) - left + 2 * MARGIN,
        height: Math.max(...boxes.map(box => box.bottom)) - top + 2 * MARGIN + LEGEND + NOTE,
    };
    const image = shape("svg", { xmlns: SVG, ...size, viewBox: `0 0 ${size.width} ${size.height}`, color: style.color, "font-family": style.fontFamily });
    const background = style.getPropertyValue("--explorer-background") || "white";
    shape("rect", { width: "100%", height: "100%", fill: background }, image);
    let x = MARGIN + 4;
    for (const { label, color, dash, width, corners } of methods) {
        shape("path", { d: `M${x} ${MARGIN + 8}h26`, stroke: color, "stroke-width": width, "stroke-dasharray": dash }, image);
        if (corners) shape("path", { d: dot(corners, x + 13, MARGIN + 8, 4.5), fill: color }, image);
        const name = shape("text", { x: x + 32, y: MARGIN + 12, "font-size": 13, fill: style.color }, image);
        name.textContent = label;
        x += 60 + 7.2 * label.length;
    }
    const below = shape("text", { x: MARGIN + 4, y: size.height - MARGIN, "font-size": 13, fill: style.color }, image);
    below.textContent = note;
    panels.forEach((panel, i) => {
        const copy = styledCopy(panel);
        copy.setAttribute("x", boxes[i].left - left + MARGIN);
        copy.setAttribute("y", boxes[i].top - top + MARGIN + LEGEND);
        image.append(copy);
    });
    return { text: new XMLSerializer().serializeToString(image), ...size };
}

function saveImage(kind, name, image) {
    if (kind === "svg") {
        saved(image.text, "image/svg+xml", `${name}.svg`);
        return;
    }
    const picture = new Image();
    picture.onload = () => {
        const canvas = document.createElement("canvas");
        canvas.width = IMAGE_SCALE * image.width;
        canvas.height = IMAGE_SCALE * image.height;
        canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
        canvas.toBlob(content => saved(content, "image/png", `${name}.png`));
    };
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(image.text)}`;
}

function toolButton(bar, text, title, work) {
    const made = element("button", { type: "button", title }, bar, text);
    made.addEventListener("click", work);
    return made;
}

// A bar of buttons. `drawn` answers with the panels, their methods and note, the numbers as CSV, and
// the name of the files.
function saveButtons(root, parent, drawn) {
    const bar = element("div", { class: "tools" }, parent);
    for (const kind of ["png", "svg"]) {
        toolButton(bar, kind.toUpperCase(), `Save the charts as ${kind.toUpperCase()}`, () => {
            const { panels, methods, note, name } = drawn();
            saveImage(kind, name, imageOf(root, panels, methods, note));
        });
    }
    toolButton(bar, "CSV", "Save the drawn numbers", () => {
        const { table, name } = drawn();
        saved(table, "text/csv", `${name}.csv`);
    });
    return bar;
}

// A text that starts as a formula of a spreadsheet gets an apostrophe before it.
const csvText = text => `"${(/^\s*[=+\-@|%]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;

// `tables` has a label, bins, intervals and band of each method; the last two may be null.
export function csvOf(tables) {
    const head = ["method", "bin_from", "bin_to", "rows", "weight", "positive", "mean_score", "observed", "ci_low", "ci_high", "band_low", "band_high"];
    const lines = tables.flatMap(({ label, bins, intervals, band }) => bins.map((bin, i) => [
        csvText(label), bin.lowEdge, bin.highEdge, bin.rows, bin.weight, bin.positive, bin.meanScore, bin.observed,
        ...(intervals?.[i] ?? ["", ""]), ...(band?.[i] ?? ["", ""]),
    ]));
    return [head, ...lines].map(line => `${line.join(",")}\n`).join("");
}
