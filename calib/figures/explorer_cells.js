// This component holds the data of the explorer beside it: they are sent once, and not with every choice.
export default function hold({ data }) {
    const held = (globalThis.calibExplorer ??= new EventTarget());
    if (held.sent === data) return;
    held.sent = data;
    held.data = JSON.parse(new TextDecoder().decode(data));
    held.dispatchEvent(new Event("held"));
}
