// Shows one of several drawings of the same chart: the widest that its place has room for, because
// the size of text must not change with the width. Each is a width in pixels and HTML.
const watched = new WeakMap();

export default function drawing({ parentElement, data }) {
    watched.get(parentElement)?.disconnect();
    let shown = null;
    const draw = width => {
        const [, markup] = data.findLast(([least]) => least <= width) ?? data[0];
        if (markup !== shown) parentElement.innerHTML = shown = markup;
    };
    // The observer tells the width before the next frame. To ask for it here, between the charts of
    // a page, would have the browser lay out the page once for each.
    const watch = new ResizeObserver(([{contentRect}]) => draw(Math.round(contentRect.width)));
    if (data.length > 1) watch.observe(parentElement);
    else draw(0);
    watched.set(parentElement, watch);
}
