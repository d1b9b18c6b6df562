// Shows one of several drawings of the same chart: the widest that its place has room for, because
// the size of text must not change with the width. Each is a width in pixels and HTML.
const watched = new WeakMap();

export default function drawing({ parentElement, data }) {
    watched.get(parentElement)?.disconnect();
    let shown = null;
    const draw = () => {
        const width = parentElement.clientWidth;
        const [, markup] = data.findLast(([least]) => least <= width) ?? data[0];
        if (markup !== shown) parentElement.innerHTML = shown = markup;
    };
    draw();
    const watch = new ResizeObserver(draw);
    if (data.length > 1) watch.observe(parentElement);
    watched.set(parentElement, watch);
}
