// Draws a table, copies it, saves it as CSV, and sends which row's button was pressed.
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

export default ({ parentElement, data, setTriggerValue }) => {
    // The same table is not drawn again, because the focus would be lost.
    if (parentElement.calibMarkup !== data.markup) {
        parentElement.innerHTML = parentElement.calibMarkup = data.markup;
    }
    parentElement.onclick = ({ target }) => {
        const button = target.closest("button");
        if (button?.name === "row") setTriggerValue("chosen", button.value);
        if (button?.name === "csv") save(data.text, data.name);
        if (button?.name === "copy") {
            copy(data.text);
            button.textContent = "Copied";
            setTimeout(() => (button.textContent = "Copy"), 1500);
        }
    };
};
