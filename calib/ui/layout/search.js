// Ctrl K opens a search over what Python lists; "?" lists the keys. Both are modal dialogs of the
// browser, which keep the focus inside and close with Escape.
const KEYS = [
    ["Ctrl K or \u2318 K", "Search pages, methods, metrics, examples and files"],
    ["?", "Show these keys"],
    ["Esc", "Close a dialog; on the reliability diagram, forget the selected range"],
    ["\u2190 \u2192", "Move a slider, or the end of a selected range"],
    ["Tab, Shift Tab", "Next and previous control"],
];
const MAX_SHOWN = 8;
const ICON = `<svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true" fill="none"
    stroke="currentColor" stroke-width="1.75"><circle cx="8.5" cy="8.5" r="5.5"/>
    <path d="m12.5 12.5 5 5"/></svg>`;
const MARKUP = `
<button type="button" class="search-button" aria-label="Search (Ctrl K)" aria-haspopup="dialog"
    title="Search (Ctrl K)">${ICON}</button>
<dialog class="search-dialog" aria-label="Search">
    <input role="combobox" aria-label="Search" aria-autocomplete="list" aria-expanded="true"
        aria-controls="search-results" autocomplete="off" spellcheck="false"
        placeholder="Page, method, metric, example or file">
    <ul id="search-results" role="listbox" aria-label="Results"></ul>
    <p aria-live="polite"></p>
</dialog>
<dialog class="search-dialog" aria-label="Keys">
    <b>Keys</b>
    <dl>${KEYS.map(([key, meaning]) => `<dt><kbd>${key}</kbd></dt><dd>${meaning}</dd>`).join("")}</dl>
    <form method="dialog"><button>Close</button></form>
</dialog>`;

// Matches come first that start with the words, then those that hold them in their name.
function matches(entries, query) {
    const words = query.toLowerCase().replaceAll("-", " ").split(" ").filter(Boolean);
    const rank = ([kind, , name, more]) => {
        const plain = name.toLowerCase().replaceAll("-", " ");
        const all = [plain, more.toLowerCase().replaceAll("-", " "), kind.toLowerCase()].join(" ");
        if (!words.every(word => all.includes(word))) return -1;
        return plain.startsWith(words.join(" ")) ? 0 : words.every(word => plain.includes(word)) ? 1 : 2;
    };
    if (!words.length) return entries.filter(([kind]) => kind === "Page" || kind === "File");
    const ranked = entries.map(entry => [rank(entry), entry]).filter(([at]) => at >= 0);
    return ranked.sort((a, b) => a[0] - b[0]).map(([, entry]) => entry);
}

function typing(event) {
    const field = event.composedPath()[0];
    return field.closest?.("input, textarea, select, [contenteditable=true], [role=textbox]") != null;
}

class Search {
    constructor(parent) {
        parent.innerHTML = MARKUP;
        [this.dialog, this.keys] = parent.querySelectorAll("dialog");
        this.field = this.dialog.querySelector("input");
        this.list = this.dialog.querySelector("ul");
        parent.querySelector("button").onclick = () => this.open();
        this.field.oninput = () => this.show();
        this.field.onkeydown = event => this.move(event);
        // A click beside a dialog is a click on its backdrop, which belongs to the dialog.
        for (const dialog of [this.dialog, this.keys])
            dialog.onclick = event => { if (event.target === dialog) dialog.close(); };
        // A page that was left has listeners too, and only the latest may answer.
        window.calibSearch?.abort();
        window.calibSearch = new AbortController();
        const { signal } = window.calibSearch;
        document.addEventListener("keydown", event => this.pressed(event), { signal, capture: true });
    }

    pressed(event) {
        if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
            event.preventDefault();
            this.dialog.open ? this.dialog.close() : this.open();
        } else if (event.key === "?" && !typing(event) && !document.querySelector("dialog[open]")) {
            event.preventDefault();
            this.keys.showModal();
        }
    }

    open() {
        if (this.keys.open) this.keys.close();
        this.field.value = "";
        this.show();
        if (!this.dialog.open) this.dialog.showModal();
        this.field.focus();
    }

    show() {
        const all = matches(this.entries, this.field.value);
        this.shown = this.field.value.trim() ? all.slice(0, MAX_SHOWN) : all;
        this.list.replaceChildren(...this.shown.map(([kind, , name], i) => {
            const item = document.createElement("li");
            Object.assign(item, { id: `search-result-${i}`, role: "option" });
            const label = Object.assign(document.createElement("span"), { textContent: name });
            const about = Object.assign(document.createElement("small"), { textContent: kind });
            item.append(label, about);
            item.onclick = () => this.choose(i);
            item.onpointermove = () => this.select(i);
            return item;
        }));
        const none = this.shown.length ? "" : "No matches.";
        this.dialog.querySelector("p").textContent = none || (all.length > this.shown.length
            ? `${all.length - this.shown.length} more` : "? lists the keys");
        this.select(0);
    }

    select(at) {
        this.at = at;
        [...this.list.children].forEach((item, i) => item.setAttribute("aria-selected", i === at));
        const item = this.list.children[at];
        item ? this.field.setAttribute("aria-activedescendant", item.id)
            : this.field.removeAttribute("aria-activedescendant");
        item?.scrollIntoView({ block: "nearest" });
    }

    move(event) {
        const n = this.shown.length, step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (event.key === "Enter" && n) this.choose(this.at);
        else if (step && n) this.select((this.at + step + n) % n);
        else return;
        event.preventDefault();
    }

    choose(i) {
        const [kind, key] = this.shown[i];
        this.dialog.close();
        this.send([kind, key]);
    }
}

export default function ({ parentElement, data, setTriggerValue }) {
    const search = parentElement.calibSearch ??= new Search(parentElement);
    search.entries = data;
    search.send = chosen => setTriggerValue("chosen", chosen);
}
