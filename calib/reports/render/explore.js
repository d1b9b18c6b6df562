
// Draws the explorer from the cells beside it; a page whose script does not run has no such section.
const section = document.getElementById("explore");
section.hidden = false;
mount(document.getElementById("explorer"), JSON.parse(document.getElementById("cells").textContent));
