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

// What must be square shrinks with the page: the height that it leaves would be empty. A legend
// keeps its distance, which plotly counts in heights of the panel.
function fit(plot) {
  if (!("square" in plot.dataset)) return Plotly.Plots.resize(plot);
  const { width, height, inner, legend } = plot.natural;
  const spare = Math.max(0, width - plot.clientWidth);
  plot.style.height = `${height - spare}px`;
  return Plotly.relayout(plot, {
    width: plot.clientWidth,
    height: height - spare,
    "legend.y": (legend * inner) / (inner - spare),
  });
}

async function draw() {
  run(await unpack(document.getElementById("plotly").textContent));
  const config = JSON.parse(document.getElementById("config").textContent);
  for (const plot of plots()) {
    const { data, layout } = JSON.parse(plot.nextElementSibling.textContent);
    plot.natural = {
      width: parseFloat(plot.parentElement.style.maxWidth),
      height: layout.height,
      inner: layout.height - layout.margin.t - layout.margin.b,
      legend: layout.legend.y,
    };
    const toImageButtonOptions = { ...config.toImageButtonOptions, filename: plot.dataset.name };
    await Plotly.newPlot(plot, data, layout, { ...config, toImageButtonOptions });
    await fit(plot);
  }
}

// Paper is narrower than most windows, and does not tell plotly that it came.
function resize() {
  if (window.Plotly) plots().forEach(fit);
}

for (const event of ["beforeprint", "afterprint", "resize"]) window.addEventListener(event, resize);
draw().catch(() => document.documentElement.classList.remove("scripts"));
