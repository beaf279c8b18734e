// Outputs over time, those of equal names together, with one cursor.

class Plots {
  // `runs`: for each figure its { time, outputs, columns, colour }; `seek(t)` is called where the pointer asks for a time.
  constructor(runs, seek) {
    this.seek = seek; this.shown = []; this.box = byId("plots"); this.t = 0;
    this.use(runs);
    const outputs = new Map(runs.flatMap((r) => r.outputs).map((o) => [o.name, o]));
    this.outputs = [...outputs.values()];
    if (!this.outputs.length) return;
    this.select = element("select", { className: "choose" }, new Option("add an output …", ""));
    for (const o of this.outputs) this.select.append(new Option(o.units ? `${o.name} (${o.units})` : o.name, o.name));
    this.select.onchange = () => { if (this.select.value) this.add(this.select.value); this.select.value = ""; };
    this.box.append(this.select);
    for (const name of data.shown) this.add(name);
  }
  // Other runs in the same plots.
  use(runs) {
    this.runs = runs;
    this.start = Math.min(...runs.map((r) => r.time[0])); this.end = Math.max(...runs.map((r) => r.time[r.time.length - 1]));
    this.largest = new Map(); // value of the outputs in the same units
    for (const { outputs, columns } of runs) outputs.forEach(({ units }, k) => {
      let most = this.largest.get(units) || 0;
      for (const v of columns[k]) { const size = Math.abs(v); if (size > most && size < Infinity) most = size; }
      this.largest.set(units, most);
    });
    for (const plot of this.shown) Object.assign(plot, this.curvesOf(plot.name, plot.units), { drawn: null });
  }
  curvesOf(name, units) {
    const curves = this.runs.filter((r) => r.outputs.some((o) => o.name === name))
      .map((r) => ({ time: r.time, y: r.columns[r.outputs.findIndex((o) => o.name === name)], colour: r.colour }));
    return { curves, ...extent(curves, this.largest.get(units)) };
  }
  add(name) {
    if (this.shown.some((p) => p.name === name)) return;
    const output = this.outputs.find((o) => o.name === name);
    if (!output) return;
    const title = element("b", { textContent: name, title: output.about || name }), value = element("span"), canvas = element("canvas");
    const close = element("button", { textContent: "×", title: "remove this plot", className: "close" });
    const figure = element("div", { className: "plot" }, element("div", {}, title, value, close), canvas);
    const seek = (e) => {
      const r = canvas.getBoundingClientRect(), left = this.left, s = Math.min(1, Math.max(0, (e.clientX - r.left - left) / (r.width - left - 4)));
      this.seek(this.start + (this.end - this.start) * s);
    };
    canvas.onpointerdown = (e) => { canvas.setPointerCapture(e.pointerId); seek(e); };
    canvas.onpointermove = (e) => { if (e.buttons) seek(e); };
    close.onclick = () => { figure.remove(); this.shown = this.shown.filter((p) => p.name !== name); };
    this.box.append(figure);
    this.shown.push({ name, canvas, value, units: output.units, ...this.curvesOf(name, output.units) });
    this.draw(this.t);
  }
  draw(t) {
    this.t = t;
    const { start, end } = this, ratio = sharp(), seen = this.shown.filter((p) => p.canvas.clientHeight);
    if (!seen.length) return;
    const left = (this.left = gutter(seen, seen[0].canvas.clientHeight)); // the same for all: their times are in line
    for (const plot of this.shown) {
      const { canvas, value, curves, units, largest } = plot;
      const w = Math.round(canvas.clientWidth * ratio), h = Math.round(canvas.clientHeight * ratio), g = canvas.getContext("2d");
      if (!(w && h)) continue;
      const theme = document.documentElement.dataset.theme;
      if (!plot.drawn || plot.drawn.width !== w || plot.drawn.height !== h || plot.theme !== theme || plot.left !== left) {
        plot.theme = theme; plot.left = left;
        plot.drawn = element("canvas", { width: w, height: h });
        this.curves(plot, w, h, ratio);
      }
      const { X, Y } = plot;
      canvas.width = w; canvas.height = h;
      g.drawImage(plot.drawn, 0, 0);
      g.fillStyle = style("--rule"); g.fillRect(X(t) - 0.5 * ratio, 0, ratio, h);
      const now = (curves.length > 8 ? curves.slice(0, 1) : curves).map((c) => { const [i, j, s] = rowAt(c.time, t); return c.y[i] * (1 - s) + c.y[j] * s; });
      now.forEach((v, k) => { g.fillStyle = curves[k].colour || style("--text"); g.beginPath(); g.arc(X(t), Y(v), 3 * ratio, 0, 7); g.fill(); });
      value.textContent = now.slice(0, 3).map((v) => (Math.abs(v) <= noise(largest) ? 0 : +v.toPrecision(4))).join(", ") + (now.length > 3 ? " …" : "") + (units ? ` ${units}` : "");
    }
  }
  // Axes and curves, kept as a picture: what moves over it is the cursor.
  curves(plot, w, h, ratio) {
    const g = plot.drawn.getContext("2d"), { curves, low, high, left } = plot, { start, end } = this;
    const { X, Y } = Object.assign(plot, drawAxes(g, { width: w, height: h, ratio, start, end, low, high, left }));
    g.lineWidth = (curves.length > 8 ? 0.7 : 1.4) * ratio; g.lineJoin = "round";
    for (const { time, y, colour } of curves) {
      g.strokeStyle = colour || style("--accent");
      g.globalAlpha = curves.length > 8 ? 0.45 : 1;
      g.beginPath();
      // Of the rows within a pixel the lowest and the highest are drawn.
      const each = Math.max(1, Math.floor(y.length / (2 * w)));
      let drawing = false;  // a curve has gaps where its values are no numbers
      for (let k = 0; k < y.length; k += each) {
        let least = k, most = k;
        if (y[k] !== y[k]) { drawing = false; continue; }
        for (let i = k; i < Math.min(k + each, y.length); i++) { if (y[i] < y[least]) least = i; if (y[i] > y[most]) most = i; }
        for (const i of least < most ? [least, most] : least > most ? [most, least] : [k]) { if (drawing) g.lineTo(X(time[i]), Y(y[i])); else g.moveTo(X(time[i]), Y(y[i])); drawing = true; }
      }
      g.stroke();
    }
    g.globalAlpha = 1;
  }
}

function extent(curves, largest = 0) {
  let low = Infinity, high = -Infinity;
  for (const { y } of curves) for (const v of y) { if (v < low) low = v; if (v > high) high = v; }
  return { ...range(low, high, largest), largest };
}
