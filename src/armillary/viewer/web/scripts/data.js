// Data of the page and its unpacking; the elements of the page.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const sharp = () => Math.min(window.devicePixelRatio || 1, 2);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name in made) made[name] = value; else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

async function inflate(text) {
  const plain = atob(text), bytes = new Uint8Array(plain.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = plain.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Channels of 16 bits from the second differences, low bytes first, as viewer/pages/encoding.py packs them.
// Poses have the digits of a picture; columns are read as numbers, on a scale of their own.
async function unpack(packed, Numbers = Float32Array) {
  const { rows, low, step } = packed, count = low.length;
  const bytes = await inflate(packed.data), half = rows * count, out = [];
  for (let c = 0; c < count; c++) {
    const values = new Numbers(rows);
    let level = 0, slope = 0;
    for (let i = 0; i < rows; i++) {
      const k = c * rows + i;
      slope = (slope + bytes[k] + 256 * bytes[half + k]) & 0xffff;
      level = (level + slope) & 0xffff;
      values[i] = low[c] + step[c] * level;
    }
    out.push(values);
  }
  for (const [c, first, end] of packed.gaps || []) out[c].fill(NaN, first, end);
  return out;
}

function loadThree() {
  return inflate(byId("three").textContent.trim()).then((bytes) => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = URL.createObjectURL(new Blob([bytes], { type: "text/javascript" }));
    script.onload = resolve;
    script.onerror = () => reject(new Error("three.js was not loaded"));
    document.head.append(script);
  })).then(makePaint).then(readMeshes);
}

// Whether the page has a size: in a hidden frame, or before the page around it is laid out, it has none, and a
// picture can be neither framed nor drawn.
const hasSize = () => innerWidth > 0 && innerHeight > 0;

function waitForSize() {
  return new Promise((go) => {
    const look = () => { if (hasSize()) go(); else setTimeout(look, 100); };
    addEventListener("resize", () => { if (hasSize()) go(); }); // at once, where a hidden page's clock ticks seldom
    look();
  });
}

// What a page shows instead of a picture where it cannot make one.
function report(error, whole = true) {
  if (whole) document.documentElement.dataset.ready = "no";
  const hint = byId("hint");
  hint.textContent = /WebGL/i.test(String(error)) ? "This browser shows no WebGL, which the picture needs." : `The page could not be shown: ${error.message}`;
  hint.className = "on";
}
