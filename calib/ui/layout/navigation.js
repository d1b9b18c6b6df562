// Streamlit adds an entry to the browser's history at every choice, so Back would seem to do nothing.
// Here only another page, or another report, is a new entry.
// The links of the navigation are the same at every run, so each gets the settings just before it is
// opened in a new tab. Streamlit's link to Overview is empty and would open the shown page.
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
        const first = page === "overview" || page === "calib";
        link.href = (first ? "./" : page) + location.search;
        return link;
    };
    // A server that was restarted, or another replica, knows nothing of this tab. It would show the
    // example, because Streamlit's links have no settings, so the page is opened anew.
    let reconnected = false;
    window.WebSocket = class extends WebSocket {
        constructor(...address) {
            super(...address);
            reconnected = true;
        }
    };
    document.addEventListener("click", event => {
        const link = reconnected && point(event);
        if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        event.stopPropagation();
        location.assign(link.href);
    }, true);
    for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, point, true);
}
// Streamlit calls its menu after its place, and here after what it does.
// On a phone the navigation scrolls sideways, and the link of the shown page, PAGE, may be outside.
(function mark(frames) {
    const menu = document.querySelector("[data-testid=stMainMenuButton]");
    if (menu) menu.ariaLabel = menu.title = "Theme and print";
    const bar = document.querySelector(".st-key-navigation");
    const links = [...bar?.querySelectorAll("a:not(.st-key-logo a)") ?? []];
    bar?.querySelector(".st-key-logo a")?.removeAttribute("aria-current");
    const shown = links.find(link => link.textContent.trim() === "PAGE");
    // The links are drawn after this script runs.
    if (!shown) return frames && requestAnimationFrame(() => mark(frames - 1));
    for (const link of links) link.removeAttribute("aria-current");
    shown.setAttribute("aria-current", "page");
    // Here, between the parts of a page, the browser would lay out the page once more.
    requestAnimationFrame(() => {
        const {left, width} = shown.getBoundingClientRect();
        bar.scrollLeft += left - bar.clientLeft + width / 2 - bar.clientWidth / 2;
    });
})(200);
