// Draws a table, sorts and opens its rows, copies it, saves it as CSV, and sends which row's button
// was pressed.
const csv = text =>
    text.replace(/[^\t\n]*[",][^\t\n]*/g, cell => `"${cell.replaceAll('"', '""')}"`)
        .replaceAll("\t", ",");

// A page that is not served over HTTPS has no `navigator.clipboard`.
const copy = text => {
    const take = event => {
        event.clipboardData.setData("text/plain", text);
        event.preventDefault();
    };
    document.addEventListener("copy", take, { once: true });
    document.execCommand("copy");
};

const save = (text, name) => {
    // Without the mark at its start, Excel does not read the file as UTF-8.
    const href = URL.createObjectURL(new Blob(["\uFEFF", csv(text), "\n"], { type: "text/csv" }));
    Object.assign(document.createElement("a"), { href, download: `${name}.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 1000);
};

// Rows without a number stay at the end. What a row opens moves with it.
const sort = button => {
    const head = button.closest("th"), body = button.closest("table").tBodies[0];
    const column = head.cellIndex, rising = head.ariaSort !== "ascending";
    for (const other of head.parentElement.cells) other.ariaSort = null;
    head.ariaSort = rising ? "ascending" : "descending";
    const order = row => parseFloat(row.cells[column].dataset.order);
    const compare = (one, other) => {
        const [a, b] = [order(one), order(other)];
        if (isNaN(a) || isNaN(b)) return isNaN(a) - isNaN(b);
        return rising ? a - b : b - a;
    };
    const rows = [...body.rows].filter(row => !row.classList.contains("opened"));
    const opened = new Map(rows.map(row => [row, row.nextElementSibling]));
    for (const row of rows.sort(compare)) {
        body.append(row);
        if (opened.get(row)?.classList.contains("opened")) body.append(opened.get(row));
    }
};

const open = button => {
    const row = button.closest("tr").nextElementSibling;
    row.hidden = !row.hidden;
    button.ariaExpanded = !row.hidden;
};

export default ({ parentElement, data, setTriggerValue }) => {
    // The same table is not drawn again, because the focus would be lost.
    if (parentElement.calibMarkup !== data.markup) {
        parentElement.innerHTML = parentElement.calibMarkup = data.markup;
    }
    parentElement.onclick = ({ target }) => {
        const button = target.closest("button");
        if (button?.name === "row") setTriggerValue("chosen", button.value);
        if (button?.name === "sort") sort(button);
        if (button?.name === "open") open(button);
        const text = parentElement.querySelector("[name=exact]")?.checked ? data.exact : data.text;
        if (button?.name === "csv") save(text, data.name);
        if (["copy", "markdown"].includes(button?.name)) {
            const label = button.textContent;
            copy(button.name === "copy" ? text : data.markdown);
            button.textContent = "Copied";
            setTimeout(() => (button.textContent = label), 1500);
        }
    };
};
