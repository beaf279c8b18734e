// Axes of the plots of outputs over time: the range of a plot, round numbers within it, and their lines.

const ROUNDING = 1e-12; // of the largest value in the same units: what is smaller is no curve
const NOTHING = 1e-14; // in the units of an output: zero, where no other output has these units
const STEADY = 1e-10; // of its own size, by which a constant may vary
const LETTERS = "10px system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif"; // as in page.css

// The range that a plot shows. `largest`: of all values in the same units. A constant, also one with rounding errors,
// is a straight line in the middle.
function range(low, high, largest = 0) {
  if (!(high >= low)) return { low: -1, high: 1 }; // no value is a number
  const size = Math.max(Math.abs(low), Math.abs(high)), middle = 0.5 * (low + high);
  if (size <= noise(largest)) return { low: -1, high: 1 };
  if (high - low <= STEADY * size) return { low: middle - 0.1 * size, high: middle + 0.1 * size };
  const margin = 0.06 * (high - low);
  return { low: low - margin, high: high + margin };
}
const noise = (largest) => Math.max(ROUNDING * largest, NOTHING);

// Round numbers (1, 2 or 5 times a power of ten apart) within a range, at most `most`.
function ticks(low, high, most) {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((f) => f * power >= rough * (1 - 1e-9));
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return { at: found, step };
}

// A tick as text, with the digits that its step needs.
function tickText(x, step) {
  const place = Math.floor(Math.log10(step) + 1e-9), size = Math.abs(x);
  if (size < 1e-9 * step) return "0";
  if ((place < -4 && size < 0.1) || size >= 1e6) return x.toExponential(Math.max(0, Math.floor(Math.log10(size) + 1e-9) - place)).replace("e+", "e");
  return x.toFixed(Math.max(0, -place));
}

// Lines and numbers of both axes into `g`; the functions from times and values to pixels. `left`: pixels of the screen
// for the numbers of values.
function drawAxes(g, { width, height, ratio, start, end, low, high, left }) {
  const foot = 13 * ratio, inset = left * ratio, bottom = height - foot, top = 3 * ratio, right = width - 4 * ratio;
  const X = (t) => inset + ((t - start) / (end - start || 1)) * (right - inset), Y = (v) => bottom - ((v - low) / (high - low)) * (bottom - top);
  g.font = LETTERS.replace("10px", `${10 * ratio}px`);
  g.lineWidth = ratio;
  const values = ticks(low, high, height / ratio > 70 ? 4 : 3), times = ticks(start, end > start ? end : start + 1, 5);
  for (const v of values.at) {
    g.strokeStyle = style("--rule"); g.globalAlpha = Math.abs(v) < 1e-9 * values.step ? 1 : 0.5;
    g.beginPath(); g.moveTo(inset, Y(v)); g.lineTo(right, Y(v)); g.stroke();
    g.globalAlpha = 1; g.fillStyle = style("--soft"); g.textAlign = "right"; g.textBaseline = "middle";
    g.fillText(tickText(v, values.step), inset - 4 * ratio, Math.min(Math.max(Y(v), top + 4 * ratio), bottom - 2 * ratio));
  }
  g.strokeStyle = style("--rule"); g.beginPath(); g.moveTo(inset, top); g.lineTo(inset, bottom); g.lineTo(right, bottom); g.stroke();
  g.fillStyle = style("--soft"); g.textBaseline = "alphabetic";
  times.at.forEach((t, k) => {
    const last = k === times.at.length - 1, text = tickText(t, times.step) + (last ? " s" : ""), half = 0.5 * g.measureText(text).width;
    g.beginPath(); g.moveTo(X(t), bottom); g.lineTo(X(t), bottom + 3 * ratio); g.stroke();
    g.textAlign = "center";
    g.fillText(text, Math.min(X(t), width - half), height - ratio);
  });
  return { X, Y };
}

// Pixels of the screen that the numbers of these ranges need at the left.
function gutter(ranges, height) {
  const g = (gutter.paper ||= element("canvas").getContext("2d"));
  g.font = LETTERS;
  const texts = ranges.flatMap(({ low, high }) => { const { at, step } = ticks(low, high, height > 70 ? 4 : 3); return at.map((v) => tickText(v, step)); });
  return 8 + Math.ceil(Math.max(8, ...texts.map((t) => g.measureText(t).width)));
}

// Four digits, with a power of ten where there would be many zeros.
const readable = (x) => {
  const short = +x.toPrecision(4), size = Math.abs(short);
  return size < 1e-12 ? "0" : size < 1e-4 || size >= 1e7 ? short.toExponential().replace("+", "") : String(short);
};
