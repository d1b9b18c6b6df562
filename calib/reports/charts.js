"use strict";
// Unpacks the one embedded copy of plotly.js, then draws every chart from the JSON beside it.
document.documentElement.classList.add("scripts");

const plots = () => document.querySelectorAll(".plot");

async function unpack(base64) {
  const packed = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

function run(source) {
  const script = document.createElement("script");
  script.textContent = source;
  document.head.append(script);
}

async function draw() {
  run(await unpack(document.getElementById("plotly").textContent));
  const config = JSON.parse(document.getElementById("config").textContent);
  for (const plot of plots()) {
    const { data, layout } = JSON.parse(plot.nextElementSibling.textContent);
    await Plotly.newPlot(plot, data, layout, config);
  }
}

// Paper is narrower than most windows, and does not tell plotly that it came.
function resize() {
  if (window.Plotly) plots().forEach((plot) => Plotly.Plots.resize(plot));
}

window.addEventListener("beforeprint", resize);
window.addEventListener("afterprint", resize);
draw().catch(() => document.documentElement.classList.remove("scripts"));
