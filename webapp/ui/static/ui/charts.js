// Draws every [data-chart] from the JSON beside it, in the colours of the page's theme.

const CONFIG = {
  displayModeBar: false,
  displaylogo: false,
  plotlyServerURL: "",
  responsive: true,
  showTips: false,
};
let loading = null;

function plotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = document.documentElement.dataset.plotly;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => reject(new Error("The chart library did not load."));
    document.head.append(script);
  });
  return loading;
}

// plotly.js ignores var(--x), so every such string becomes the colour it stands for.
export function resolved(value, style) {
  if (typeof value === "string") {
    return value.replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  }
  if (Array.isArray(value)) return value.map((item) => resolved(item, style));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolved(item, style)]));
  }
  return value;
}

// On a phone the legend takes lines of its own and the time axis fewer ticks.
function fitted(figure, width) {
  const layout = { ...figure.layout, autosize: true };
  if (width >= 520) return layout;
  layout.height += 18 * Math.max(0, figure.data.length - 2);
  layout.xaxis = { ...layout.xaxis, nticks: 3, tickangle: 0 };
  return layout;
}

async function draw(area) {
  const source = document.getElementById(area.dataset.chart);
  if (!source) return;
  const figure = resolved(JSON.parse(source.textContent), getComputedStyle(document.documentElement));
  try {
    const library = await plotly();
    await library.react(area, figure.data, fitted(figure, area.clientWidth), CONFIG);
    area.dataset.drawn = "true";
  } catch (error) {
    area.textContent = `${error.message} The numbers below are complete.`;
  }
}

function drawAll(root = document) {
  root.querySelectorAll("[data-chart]").forEach((area) => {
    area.style.minHeight = `${area.dataset.height}px`;
    draw(area);
  });
}

drawAll();
// After a swap the new areas lie in the document; react() leaves drawn ones as they are.
document.addEventListener("htmx:after:swap", () => drawAll());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());
new MutationObserver(() => drawAll()).observe(document.documentElement, {
  attributes: true,
  attributeFilter: ["data-theme"],
});
