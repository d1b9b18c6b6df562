
// Draws the explorer from the cells beside it; a page whose script does not run has no such section.
const sent = atob(document.getElementById("cells").textContent);
const { stops, ...data } = await inflate(Uint8Array.from(sent, letter => letter.charCodeAt(0)));
document.getElementById("explore").hidden = false;
const drawn = mount(document.getElementById("explorer"), data);
stops.forEach(each => drawn.take(each));
