"use strict";
// One page, one chart: panels that share their horizontal axis. All numbers are in this page; nothing is fetched.

const page = JSON.parse(document.getElementById("data").textContent);
const arrays = page.arrays.map((text) => new Float64Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer));
const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
const MARGIN = { left: 68, right: 14, top: 8, bottom: 26 };
const view = { x: null }; // what is shown of the horizontal axis; null: everything
let cursor = null; // { panel, curve, index }

// ---------------------------------------------------------------------------------------------- numbers

const finite = (v) => Number.isFinite(v);
const label = (name, units) => (units ? `${name} (${units})` : name);

function increasing(x) {
  for (let i = 1; i < x.length; i++) if (!(x[i] >= x[i - 1])) return false;
  return true;
}

function range(values, first = 0, last = values.length) {
  let low = Infinity, high = -Infinity;
  for (let i = first; i < last; i++) {
    if (!finite(values[i])) continue;
    if (values[i] < low) low = values[i];
    if (values[i] > high) high = values[i];
  }
  return [low, high];
}

const union = (a, b) => [Math.min(a[0], b[0]), Math.max(a[1], b[1])];

/** Room around the values; what differs by rounding only is shown as constant, what is rounding only as zero. */
function padded([low, high], part, noise = 0) {
  if (low > high) return [0, 1];
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (size <= noise) return [-1, 1];
  if (high - low < 1e-6 * size || high === low) {
    const room = 0.05 * size || 1;
    return [(low + high) / 2 - room, (low + high) / 2 + room];
  }
  return [low - part * (high - low), high + part * (high - low)];
}

/** Places of a scale at 1, 2 or 5 times a power of ten, about `count` of them. */
function ticks([low, high], count) {
  const rough = (high - low) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((m) => m * power >= rough) * power;
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step && found.length < 40; k++) found.push(k * step);
  const largest = Math.max(Math.abs(low), Math.abs(high));
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  const plain = largest < 1e6 && digits <= 5 && largest > 2e-4;
  const places = Math.max(0, Math.floor(Math.log10(largest)) - Math.floor(Math.log10(step) + 1e-9));
  const text = (v) => (Math.abs(v) < step / 1e6 ? "0" : plain ? v.toFixed(digits) : v.toExponential(places));
  return found.map((v) => [v, text(v).replace("-", "−").replace("e+", "e")]);
}

const shown = (v) => (finite(v) ? String(Number(v.toPrecision(9))).replace("-", "−") : String(v));

/** The index of the sample nearest to x in increasing values. */
function nearest(values, x) {
  let low = 0, high = values.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle] < x) low = middle; else high = middle;
  }
  return Math.abs(values[low] - x) <= Math.abs(values[high] - x) ? low : high;
}

// ----------------------------------------------------------------------------------------------- panels

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function swatch(curve) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  const set = { x1: 1, x2: "96%", y1: "50%", y2: "50%", "stroke-width": 2.4, "stroke-dasharray": curve.dash.join(" ") };
  for (const [key, value] of Object.entries(set)) line.setAttribute(key, value);
  line.style.stroke = `var(--c${curve.colour})`;
  svg.setAttribute("aria-hidden", "true");
  svg.append(line);
  return svg;
}

const panels = page.panels.map((given) => {
  const curves = given.curves.map((c) => {
    const x = arrays[c.x], y = arrays[c.y];
    return { ...c, x, y, dash: DASHES[c.dash % DASHES.length], on: true, monotone: increasing(x), span: range(x) };
  });
  const panel = { title: given.title, units: given.units, noise: given.noise, curves, y: null };
  const legend = element("div", { class: "legend", role: "group", "aria-label": "Curves" });
  for (const curve of curves) {
    const button = element("button", { type: "button", "aria-pressed": "true" }, swatch(curve), curve.label);
    button.addEventListener("click", () => {
      curve.on = !curve.on;
      button.setAttribute("aria-pressed", String(curve.on));
      draw();
    });
    if (curves.length > 1) legend.append(button);
  }
  const names = curves.map((c) => c.label).join(", ");
  panel.canvas = element("canvas", { tabindex: "0", role: "img", "aria-label": `${given.title} over ${page.x}: ${names}` });
  panel.readout = element("div", { class: "readout", hidden: "" });
  const chart = element("div", { class: "chart" }, panel.canvas, panel.readout);
  const head = element("div", { class: "head" }, element("h2", {}, given.title), legend);
  document.getElementById("panels").append(element("section", {}, head, chart));
  return panel;
});
const wide = padded(panels.flatMap((p) => p.curves).reduce((all, c) => union(all, c.span), [Infinity, -Infinity]),
  panels.every((p) => p.curves.every((c) => c.monotone)) ? 0 : 0.03);

/** Where things are in a panel: the ranges shown, and places in pixels. */
function layout(panel) {
  const width = panel.canvas.clientWidth, height = panel.canvas.clientHeight;
  const x = view.x || wide;
  let y = panel.y;
  if (!y) {
    y = [Infinity, -Infinity];
    for (const curve of panel.curves.filter((c) => c.on)) {
      let first = 0, last = curve.x.length;
      if (view.x && curve.monotone) {
        first = Math.max(0, nearest(curve.x, x[0]) - 1);
        last = Math.min(last, nearest(curve.x, x[1]) + 2);
      }
      y = union(y, range(curve.y, first, last));
    }
    y = padded(y, 0.06, panel.noise);
  }
  const inner = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
  const px = (v) => inner.left + ((v - x[0]) / (x[1] - x[0])) * (inner.right - inner.left);
  const py = (v) => inner.bottom - ((v - y[0]) / (y[1] - y[0])) * (inner.bottom - inner.top);
  const ux = (p) => x[0] + ((p - inner.left) / (inner.right - inner.left)) * (x[1] - x[0]);
  const uy = (p) => y[0] + ((inner.bottom - p) / (inner.bottom - inner.top)) * (y[1] - y[0]);
  return { width, height, x, y, inner, px, py, ux, uy };
}

// ---------------------------------------------------------------------------------------------- drawing

function draw() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  panels.forEach((panel, k) => drawPanel(panel, colour, k === panels.length - 1));
  document.getElementById("reset").disabled = !view.x && panels.every((p) => !p.y);
}

function drawPanel(panel, colour, lowest) {
  const canvas = panel.canvas, sharp = window.devicePixelRatio || 1;
  canvas.style.height = `${page.height + (lowest ? 20 : 0)}px`;
  MARGIN.bottom = lowest ? 46 : 26;
  const at = (panel.at = layout(panel)), { inner } = at;
  canvas.width = Math.round(at.width * sharp);
  canvas.height = Math.round(at.height * sharp);
  const g = canvas.getContext("2d");
  g.scale(sharp, sharp);
  g.clearRect(0, 0, at.width, at.height);
  g.font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif";
  g.lineWidth = 1;
  for (const [v, text] of ticks(at.y, (inner.bottom - inner.top) / 42)) {
    const y = Math.round(at.py(v)) + 0.5;
    rule(g, inner.left, y, inner.right, y, colour("--grid"));
    g.fillStyle = colour("--soft");
    g.textAlign = "right"; g.textBaseline = "middle";
    g.fillText(text, inner.left - 8, y);
  }
  for (const [v, text] of ticks(at.x, (inner.right - inner.left) / 90)) {
    const x = Math.round(at.px(v)) + 0.5;
    rule(g, x, inner.top, x, inner.bottom, colour("--grid"));
    g.fillStyle = colour("--soft");
    g.textAlign = "center"; g.textBaseline = "top";
    g.fillText(text, x, inner.bottom + 7);
  }
  rule(g, inner.left, inner.bottom + 0.5, inner.right, inner.bottom + 0.5, colour("--axis"));
  if (lowest) {
    g.fillStyle = colour("--text");
    g.textAlign = "center"; g.textBaseline = "top";
    g.fillText(page.x, (inner.left + inner.right) / 2, inner.bottom + 27);
  }
  g.save();
  g.beginPath();
  g.rect(inner.left, inner.top, inner.right - inner.left, inner.bottom - inner.top);
  g.clip();
  g.lineJoin = "round"; g.lineCap = "round";
  for (const curve of panel.curves) if (curve.on) trace(g, curve, at, colour(`--c${curve.colour}`));
  g.restore();
  drawCursor(g, panel, colour);
}

function rule(g, x1, y1, x2, y2, colour) {
  g.strokeStyle = colour;
  g.beginPath(); g.moveTo(x1, y1); g.lineTo(x2, y2); g.stroke();
}

/** The curve; where a pixel column holds many samples, their first, lowest, highest and last. */
function trace(g, curve, at, colour) {
  const { x, y } = curve;
  let first = 0, last = x.length;
  if (curve.monotone && x.length > 2) {
    first = Math.max(0, nearest(x, at.x[0]) - 2);
    last = Math.min(last, nearest(x, at.x[1]) + 3);
  }
  g.strokeStyle = g.fillStyle = colour;
  g.lineWidth = 1.7;
  g.setLineDash(curve.dash);
  g.beginPath();
  let pen = false;
  const to = (i) => {
    if (!finite(x[i]) || !finite(y[i])) { pen = false; return; }
    const px = at.px(x[i]), py = at.py(y[i]);
    if (pen) g.lineTo(px, py); else g.moveTo(px, py);
    pen = true;
  };
  if (curve.monotone && last - first > 6 * at.width) {
    for (let i = first; i < last; ) {
      const column = Math.floor(at.px(x[i]));
      let j = i, low = i, high = i;
      for (; j < last && Math.floor(at.px(x[j])) === column; j++) {
        if (y[j] < y[low]) low = j;
        if (y[j] > y[high]) high = j;
      }
      for (const k of [i, Math.min(low, high), Math.max(low, high), j - 1]) to(k);
      i = Math.max(j, i + 1);
    }
  } else {
    for (let i = first; i < last; i++) to(i);
  }
  g.stroke();
  g.setLineDash([]);
  if (last - first === 1 && finite(y[first])) dot(g, at.px(x[first]), at.py(y[first]), 3);
}

function dot(g, x, y, radius) {
  g.beginPath(); g.arc(x, y, radius, 0, 2 * Math.PI); g.fill();
}

// ----------------------------------------------------------------------------------------------- cursor

/** The sample of each visible curve that the cursor points at: by time, or the one curve in a plane. */
function pointed(panel) {
  if (!cursor) return [];
  const own = cursor.curve, x = own.x[cursor.index];
  if (!own.monotone) return cursor.panel === panel && own.on ? [[own, cursor.index]] : [];
  return panel.curves.filter((c) => c.on && c.monotone && c.x.length).map((c) => [c, nearest(c.x, x)]);
}

function drawCursor(g, panel, colour) {
  const found = pointed(panel), { at } = panel;
  panel.readout.hidden = true;
  if (!found.length) return;
  const x = at.px(cursor.curve.x[cursor.index]);
  if (x < at.inner.left - 1 || x > at.inner.right + 1) return;
  rule(g, Math.round(x) + 0.5, at.inner.top, Math.round(x) + 0.5, at.inner.bottom, colour("--axis"));
  for (const [curve, i] of found) {
    if (!finite(curve.y[i])) continue;
    g.fillStyle = colour("--page");
    dot(g, at.px(curve.x[i]), at.py(curve.y[i]), 5);
    g.fillStyle = colour(`--c${curve.colour}`);
    dot(g, at.px(curve.x[i]), at.py(curve.y[i]), 3.5);
  }
  panel.readout.replaceChildren(element("div", {}, `${page.x_name} ${shown(cursor.curve.x[cursor.index])} ${page.x_units}`));
  for (const [curve, i] of found) {
    const mark = element("i");
    mark.style.background = `var(--c${curve.colour})`;
    const value = element("b", {}, `${shown(curve.y[i])} ${panel.units}`);
    panel.readout.append(element("div", {}, mark, `${curve.label} `, value));
  }
  panel.readout.hidden = false;
  const left = x + 14 + panel.readout.offsetWidth < at.inner.right ? x + 14 : x - 14 - panel.readout.offsetWidth;
  panel.readout.style.left = `${Math.max(at.inner.left, left)}px`;
  panel.readout.style.top = `${at.inner.top + 4}px`;
}

function point(panel, px, py) {
  const { at } = panel;
  const visible = panel.curves.filter((c) => c.on && c.x.length);
  cursor = null;
  let best = Infinity;
  for (const curve of visible) {
    if (curve.monotone) {
      const index = nearest(curve.x, at.ux(px));
      const distance = Math.abs(at.px(curve.x[index]) - px);
      if (distance < best) { best = distance; cursor = { panel, curve, index }; }
      continue;
    }
    for (let i = 0; i < curve.x.length; i++) {
      const distance = Math.hypot(at.px(curve.x[i]) - px, at.py(curve.y[i]) - py);
      if (distance < best) { best = distance; cursor = { panel, curve, index: i }; }
    }
  }
  draw();
}

function speak(panel) {
  const values = pointed(panel).map(([c, i]) => `${c.label} ${shown(c.y[i])} ${panel.units}`);
  const x = cursor ? `${page.x_name} ${shown(cursor.curve.x[cursor.index])} ${page.x_units}: ` : "";
  document.getElementById("spoken").textContent = x + values.join(", ");
}

// ------------------------------------------------------------------------------------ mouse and keyboard

function zoom(factor, about) {
  const [low, high] = view.x || wide;
  view.x = [about - (about - low) * factor, about + (high - about) * factor];
  if (view.x[1] - view.x[0] >= 0.999 * (wide[1] - wide[0])) view.x = null;
  draw();
}

function move(part) {
  const [low, high] = view.x || wide, by = part * (high - low);
  view.x = [low + by, high + by];
}

function reset() {
  view.x = null;
  for (const panel of panels) panel.y = null;
  draw();
}

for (const panel of panels) {
  const canvas = panel.canvas;
  let start = null;
  const place = (event) => [event.offsetX, event.offsetY];
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const [x, y] = place(event);
    start = { x, y, shift: event.shiftKey, view: view.x || wide };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    if (start && start.shift) {
      const by = ((start.x - x) / (panel.at.inner.right - panel.at.inner.left)) * (start.view[1] - start.view[0]);
      view.x = [start.view[0] + by, start.view[1] + by];
      draw();
      return;
    }
    point(panel, x, y);
    if (!start || Math.abs(x - start.x) < 4) return;
    const g = canvas.getContext("2d"), { inner } = panel.at;
    const tall = Math.abs(y - start.y) > 24; // a box; less is a stretch of the axis alone
    g.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--zoom");
    if (tall) g.fillRect(start.x, start.y, x - start.x, y - start.y);
    else g.fillRect(start.x, inner.top, x - start.x, inner.bottom - inner.top);
  });
  canvas.addEventListener("pointerup", (event) => {
    const [x, y] = place(event), from = start;
    start = null;
    if (!from || from.shift || Math.abs(x - from.x) < 4) return;
    const { ux, uy } = panel.at;
    if (Math.abs(y - from.y) > 24) panel.y = [uy(Math.max(y, from.y)), uy(Math.min(y, from.y))];
    view.x = [ux(Math.min(x, from.x)), ux(Math.max(x, from.x))];
    draw();
  });
  canvas.addEventListener("pointercancel", () => { start = null; });
  canvas.addEventListener("pointerleave", () => { cursor = null; draw(); });
  canvas.addEventListener("dblclick", reset);
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // the wheel alone scrolls the page
    event.preventDefault();
    zoom(Math.exp(Math.sign(event.deltaY) * 0.25), panel.at.ux(event.offsetX));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      const curve = cursor && cursor.panel === panel ? cursor.curve : panel.curves.find((c) => c.on && c.x.length);
      if (!curve) return;
      const [low, high] = view.x || wide;
      const seen = curve.monotone ? [nearest(curve.x, low), nearest(curve.x, high)] : [0, curve.x.length - 1];
      const stride = Math.max(1, Math.round((seen[1] - seen[0]) / (event.shiftKey ? 20 : 200)));
      const index = cursor && cursor.panel === panel ? cursor.index + step * stride : seen[step > 0 ? 0 : 1];
      cursor = { panel, curve, index: Math.min(Math.max(index, seen[0]), seen[1]) };
      draw();
      speak(panel);
    } else if (event.key === "+" || event.key === "=" || event.key === "-") {
      const middle = (view.x || wide).reduce((a, b) => a + b) / 2;
      zoom(event.key === "-" ? 1.6 : 1 / 1.6, cursor && cursor.curve.monotone ? cursor.curve.x[cursor.index] : middle);
    } else if (event.key === "0" || event.key === "Escape") {
      reset();
    } else if (event.key === "PageUp" || event.key === "PageDown") {
      if (view.x) { move(event.key === "PageUp" ? -0.8 : 0.8); draw(); }
    } else {
      return;
    }
    event.preventDefault();
  });
}

// ------------------------------------------------------------------------------------- theme and values

const themes = ["system", "light", "dark"];
const system = window.matchMedia("(prefers-color-scheme: dark)");
let theme = themes.includes(location.hash.slice(1)) ? location.hash.slice(1) : "system";

function applyTheme() {
  const dark = theme === "dark" || (theme === "system" && system.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.getElementById("theme").textContent = `Theme: ${theme}`;
  draw();
}

document.getElementById("theme").addEventListener("click", () => {
  theme = themes[(themes.indexOf(theme) + 1) % themes.length];
  applyTheme();
});
document.getElementById("reset").addEventListener("click", reset);
system.addEventListener("change", applyTheme);
new ResizeObserver(draw).observe(document.getElementById("panels"));

const table = document.getElementById("values");
table.append(element("tr", {}, ...["output", "curve", "units", "first", "last", "least", "greatest"].map((t) => element("th", { scope: "col" }, t))));
for (const panel of panels) {
  for (const curve of panel.curves) {
    const [low, high] = range(curve.y);
    const cells = [panel.title, curve.label, panel.units, ...[curve.y[0], curve.y[curve.y.length - 1], low, high].map(shown)];
    table.append(element("tr", {}, ...cells.map((t) => element("td", {}, t))));
  }
}
document.getElementById("note").textContent = page.note;
applyTheme();
