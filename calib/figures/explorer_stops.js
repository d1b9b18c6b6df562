// This component holds the stops of one method: they are sent once, and not with every choice.
const MOST = 24;

export default function hold({ data }) {
    const held = (globalThis.calibExplorer ??= new EventTarget());
    const stops = (held.stops ??= new Set());
    if (stops.has(data)) return;
    stops.add(data);
    if (stops.size > MOST) stops.delete(stops.values().next().value);
    held.take?.(data);
}
