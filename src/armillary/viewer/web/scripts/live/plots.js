// Outputs over time that grow while the model runs: the last seconds of each.

const KEPT = 20000; // rows

class LivePlots {
  constructor(outputs, shown) {
    this.outputs = outputs; this.shown = []; this.box = byId("plots"); this.window = 10;
    this.clear();
    const add = element("select", { className: "choose", title: "add a plot" }, new Option("add an output …", ""));
    for (const o of outputs) add.append(new Option(o.units ? `${o.name} (${o.units})` : o.name, o.name));
    add.onchange = () => { if (add.value) this.add(add.value); add.value = ""; };
    const seconds = element("select", { className: "choose", title: "time that plots show" });
    for (const s of [2, 5, 10, 30, 120]) seconds.append(new Option(`${s} s`, s, false, s === this.window));
    seconds.onchange = () => { this.window = +seconds.value; this.draw(); };
    this.box.append(element("div", { className: "row" }, add, seconds));
    for (const name of shown) this.add(name);
  }
  clear() { this.time = []; this.rows = []; }
  add(name) {
    const index = this.outputs.findIndex((o) => o.name === name);
    if (index < 0 || this.shown.some((p) => p.index === index)) return;
    const { units, about } = this.outputs[index], value = element("span"), canvas = element("canvas");
    const close = element("button", { textContent: "×", title: "remove this plot", className: "close" });
    const head = element("div", {}, element("b", { textContent: name, title: about || name }), value, close), figure = element("div", { className: "plot" }, head, canvas);
    close.onclick = () => { figure.remove(); this.shown = this.shown.filter((p) => p.index !== index); };
    this.box.append(figure);
    this.shown.push({ index, canvas, value, units });
    this.draw();
  }
  push(t, row) {
    if (this.time.length >= KEPT) { this.time.splice(0, KEPT / 2); this.rows.splice(0, KEPT / 2); }
    this.time.push(t); this.rows.push(row);
  }
  draw() {
    const { time, rows } = this, count = time.length, ratio = sharp();
    if (!count || this.box.hidden) return;
    const end = Math.max(time[count - 1], time[0] + this.window), start = end - this.window;
    let first = 0;
    for (let high = count; first < high;) { const mid = (first + high) >> 1; if (time[mid] < start) first = mid + 1; else high = mid; }
    first = Math.max(0, first - 1);
    for (const { index, canvas, value, units } of this.shown) {
      const w = Math.round(canvas.clientWidth * ratio), h = Math.round(canvas.clientHeight * ratio), g = canvas.getContext("2d");
      if (!w) continue;
      let low = Infinity, high = -Infinity;
      for (let i = first; i < count; i++) { const y = rows[i][index]; if (y < low) low = y; if (y > high) high = y; }
      const size = Math.max(Math.abs(low), Math.abs(high)), margin = Math.max(0.06 * (high - low), 1e-3 * size) || 1; // rounding is no curve
      low -= margin; high += margin;
      const X = (t) => ((t - start) / (end - start)) * w, Y = (y) => h - ((y - low) / (high - low)) * h;
      canvas.width = w; canvas.height = h;
      if (low < 0 && high > 0) { g.strokeStyle = style("--rule"); g.lineWidth = ratio; g.beginPath(); g.moveTo(0, Y(0)); g.lineTo(w, Y(0)); g.stroke(); }
      g.strokeStyle = style("--accent"); g.lineWidth = 1.5 * ratio; g.lineJoin = "round";
      g.beginPath();
      const each = Math.max(1, Math.floor((count - first) / (2 * w)));
      for (let i = first; i < count; i += each) g.lineTo(X(time[i]), Y(rows[i][index]));
      g.stroke();
      const last = rows[count - 1][index];
      g.fillStyle = style("--accent"); g.beginPath(); g.arc(Math.min(X(time[count - 1]), w - 3 * ratio), Y(last), 3 * ratio, 0, 7); g.fill();
      value.textContent = `${readable(last)}${units ? ` ${units}` : ""}`;
    }
  }
}

// Four digits, with a power of ten where there would be many zeros.
const readable = (x) => {
  const short = +x.toPrecision(4), size = Math.abs(short);
  return size < 1e-12 ? "0" : size < 1e-4 || size >= 1e7 ? short.toExponential().replace("+", "") : String(short);
};
