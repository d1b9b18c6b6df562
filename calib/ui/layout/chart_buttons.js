// Every chart can be saved as PNG, SVG and CSV. A button of plotly's toolbar needs a function, which
// a page of Streamlit cannot send, so this adds buttons when the toolbar is shown. A chart that is
// SVG has the three buttons beside it. CSV presses a hidden button of Streamlit, and the server then
// makes the file.
(() => {
    if (window.calibChartButtons) return;
    window.calibChartButtons = true;
    // These styles of the page are written into a saved picture.
    const LOOK = ["fill", "stroke", "stroke-opacity", "font-family", "font-weight"];

    const saveNumbers = chart => {
        let at = chart, button;
        while (!(button = at.querySelector("[class*=st-key-csv_] button"))) at = at.parentElement;
        button.click();
    };

    const saveAsSvg = plot => {
        const context = plot._context, options = context.toImageButtonOptions;
        context.toImageButtonOptions = {...options, format: "svg"};
        plot.querySelector(".modebar-btn[data-title^='Download plot']").click();
        context.toImageButtonOptions = options;
    };

    const addButtons = plot => {
        const png = plot.querySelector(".modebar-btn[data-title^='Download plot']");
        if (!png || png.nextElementSibling?.classList.contains("words")) return;
        for (const [name, action] of [["CSV", saveNumbers], ["SVG", saveAsSvg]]) {
            const button = png.cloneNode();
            button.classList.add("words");
            button.dataset.title = `Download as ${name}`;
            button.setAttribute("aria-label", button.dataset.title);
            button.textContent = name;
            button.addEventListener("click", () => action(plot));
            button.addEventListener("keydown", event => {
                if (event.key === "Enter" || event.key === " ") action(plot);
            });
            png.after(button);
        }
    };

    const standAlone = svg => {
        const copy = svg.cloneNode(true), parts = [...svg.querySelectorAll("*")];
        [...copy.querySelectorAll("*")].forEach((part, i) => {
            const style = getComputedStyle(parts[i]);
            for (const name of LOOK) part.setAttribute(name, style.getPropertyValue(name));
        });
        const ground = document.createElementNS(svg.namespaceURI, "rect");
        const page = getComputedStyle(document.querySelector("[data-testid=stApp]"));
        for (const name of ["width", "height"]) ground.setAttribute(name, "100%");
        ground.setAttribute("fill", page.backgroundColor);
        copy.prepend(ground);
        return "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(copy));
    };

    const asPng = async svg => {
        const image = new Image(), canvas = document.createElement("canvas");
        image.src = standAlone(svg);
        await image.decode();
        [canvas.width, canvas.height] = ["width", "height"].map(name => 2 * svg.getAttribute(name));
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        return canvas.toDataURL();
    };

    const press = async button => {
        const svg = [...button.closest(".saved").querySelectorAll("svg.plot")].find(one => one.checkVisibility());
        if (button.name === "csv") return saveNumbers(button);
        const href = button.name === "png" ? await asPng(svg) : standAlone(svg);
        Object.assign(document.createElement("a"), {href, download: `${svg.dataset.name}.${button.name}`}).click();
    };

    const show = event => {
        const plot = event.target.closest?.(".js-plotly-plot");
        if (plot) addButtons(plot);
    };
    // Plotly keeps a tap from being a pointer over the chart, so the chart that was tapped is marked.
    const tap = event => {
        for (const chart of document.querySelectorAll("[data-tapped]")) chart.removeAttribute("data-tapped");
        event.target.closest?.(".js-plotly-plot, .saved")?.setAttribute("data-tapped", "");
    };
    document.addEventListener("pointerdown", tap, {capture: true, passive: true});
    document.addEventListener("pointerover", show, {passive: true});
    document.addEventListener("focusin", show);
    document.addEventListener("click", event => {
        const button = event.target.closest?.(".chart-buttons button");
        if (button) press(button);
    });
})();
