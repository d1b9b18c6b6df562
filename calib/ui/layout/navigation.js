// The address follows every choice. Streamlit adds an entry to the browser's history each time, so
// that Back would undo nothing that is seen: only another page, or another report, is a step back.
// The links of the navigation are the same at every run; before one can be opened in a new tab it is
// given the settings. Streamlit leaves Overview's empty, which would be the page that is shown.
if (!window.calibHistory) {
    window.calibHistory = true;
    const push = history.pushState.bind(history);
    const place = ({pathname, search}) => {
        const named = new URLSearchParams(search);
        return [pathname, named.get("report"), named.get("against")].join();
    };
    history.pushState = (state, title, url) => {
        const same = place(new URL(url, location.href)) === place(location);
        same ? history.replaceState(state, title, url) : push(state, title, url);
    };
    const point = event => {
        const link = event.target.closest?.(".st-key-navigation a");
        if (!link) return;
        const page = link.innerText.trim().toLowerCase();
        link.href = (page === "overview" ? "./" : page) + location.search;
    };
    for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, point, true);
}
// On a phone the navigation scrolls sideways, and the page that is shown, PAGE, may lie outside.
(function mark(frames) {
    const bar = document.querySelector(".st-key-navigation");
    const links = [...bar?.querySelectorAll("a") ?? []];
    const shown = links.find(link => link.textContent.trim() === "PAGE");
    // The links are drawn after this.
    if (!shown) return frames && requestAnimationFrame(() => mark(frames - 1));
    for (const link of links) link.removeAttribute("aria-current");
    shown.setAttribute("aria-current", "page");
    const {left, width} = shown.getBoundingClientRect();
    bar.scrollLeft += left - bar.clientLeft + width / 2 - bar.clientWidth / 2;
})(200);
