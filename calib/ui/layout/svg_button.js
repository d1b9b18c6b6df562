// A button of plotly's toolbar needs a function, which a page of Streamlit cannot send. So this adds
// a button when the toolbar is shown, and it lets plotly's own button make the image as SVG.
(() => {
    if (window.calibSvgButton) return;
    window.calibSvgButton = true;
    const add = event => {
        const plot = event.target.closest?.(".js-plotly-plot");
        const png = plot?.querySelector(".modebar-btn[data-title^='Download plot']");
        if (!png || png.nextElementSibling?.dataset.title === "Download as SVG") return;
        const svg = png.cloneNode();
        svg.dataset.title = "Download as SVG";
        svg.setAttribute("aria-label", "Download as SVG");
        svg.textContent = "SVG";
        svg.style.cssText = "font: 600 10px sans-serif; line-height: 24px;";
        const download = () => {
            const context = plot._context, options = context.toImageButtonOptions;
            context.toImageButtonOptions = {...options, format: "svg"};
            png.click();
            context.toImageButtonOptions = options;
        };
        svg.addEventListener("click", download);
        svg.addEventListener("keydown", event => {
            if (event.key === "Enter" || event.key === " ") download();
        });
        png.after(svg);
    };
    document.addEventListener("pointerover", add, {passive: true});
    document.addEventListener("focusin", add);
})();
