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
  clear() { this.time = []; this.rows = []; this.largest = new Map(); } // values in the same units
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
    this.outputs.forEach(({ units }, k) => { const size = Math.abs(row[k]); if (size > (this.largest.get(units) || 0) && size < Infinity) this.largest.set(units, size); });
  }
  rangeOf(index, first) {
    let low = Infinity, high = -Infinity;
    for (let i = first; i < this.rows.length; i++) { const y = this.rows[i][index]; if (y < low) low = y; if (y > high) high = y; }
    return range(low, high, this.largest.get(this.outputs[index].units));
  }
  draw() {
    const { time, rows } = this, count = time.length, ratio = sharp();
    if (!count || this.box.hidden) return;
    const end = Math.max(time[count - 1], time[0] + this.window), start = end - this.window;
    let first = 0;
    for (let high = count; first < high;) { const mid = (first + high) >> 1; if (time[mid] < start) first = mid + 1; else high = mid; }
    first = Math.max(0, first - 1);
    const seen = this.shown.filter((p) => p.canvas.clientHeight), ranges = seen.map(({ index }) => this.rangeOf(index, first));
    if (!seen.length) return;
    const left = gutter(ranges, seen[0].canvas.clientHeight);
    for (const [p, { index, canvas, value, units }] of seen.entries()) {
      const w = Math.round(canvas.clientWidth * ratio), h = Math.round(canvas.clientHeight * ratio), g = canvas.getContext("2d");
      if (!w) continue;
      canvas.width = w; canvas.height = h;
      const { X, Y } = drawAxes(g, { width: w, height: h, ratio, start, end, ...ranges[p], left });
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
