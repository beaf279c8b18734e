// Time: play, pause, single rows, speed, repetition, the time line with its events, and the time in the address.

const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 50];

class Player {
  // `update(t)` is called whenever another time is to be shown; `time` are the rows that single steps go to.
  constructor(time, tools, update) {
    this.tools = tools; this.changed = update; this.playing = false; this.loop = true; this.last = 0;
    this.use(time);
    const span = this.end - this.start, near = SPEEDS.reduce((a, b) => Math.abs(Math.log(span / b / 8)) < Math.abs(Math.log(span / a / 8)) ? b : a);
    this.rate = (data.look || {}).speed || (span > 2 && span < 40 ? 1 : near);
    const speeds = [...new Set([...SPEEDS, this.rate])].sort((a, b) => a - b);
    const speed = byId("speed");
    speeds.forEach((s) => speed.append(new Option(`${s} ×`, s, false, s === this.rate)));
    speed.onchange = () => { this.rate = +speed.value; };
    byId("play").onclick = () => this.toggle();
    byId("back").onclick = () => this.step(-1);
    byId("forth").onclick = () => this.step(1);
    byId("loop").onclick = () => { this.loop = !this.loop; byId("loop").setAttribute("aria-pressed", this.loop); };
    byId("time").oninput = (e) => { this.pause(); this.seek(this.start + e.target.value * (this.end - this.start)); };
    Object.assign(tools.keys, {
      " ": () => this.toggle(), ",": () => this.step(-1), ".": () => this.step(1), ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1),
      Home: () => this.seek(this.start), End: () => this.seek(this.end), l: () => byId("loop").click(),
    });
    tools.restyled.push(() => this.marks());
    const given = tools.given();
    this.asked = given.has("t");
    if (this.asked) this.t = Math.min(this.end, Math.max(this.start, +given.get("t") || 0));
    byId("play").textContent = "▶";
  }
  // The rows of another motion.
  use(time) { this.time = time; this.start = this.t = time[0]; this.end = time[time.length - 1]; }
  toggle() {
    if (this.playing) return this.pause();
    if (this.t >= this.end) this.t = this.start;
    this.playing = true; this.last = performance.now(); byId("play").textContent = "❚❚";
  }
  pause() { this.playing = false; byId("play").textContent = "▶"; this.write(); }
  step(n) {
    this.pause();
    const [i, j, s] = rowAt(this.time, this.t), k = n > 0 ? (s < 1 ? j : j + 1) : s > 0 ? i : i - 1;
    this.seek(this.time[Math.min(this.time.length - 1, Math.max(0, k))]);
  }
  seek(t) { this.t = Math.min(this.end, Math.max(this.start, t)); this.update(); }
  update() {
    const span = this.end - this.start;
    byId("time").value = (this.t - this.start) / (span || 1);
    byId("clock").textContent = `${this.t.toFixed(span < 1 ? 4 : 2)} s`;
    this.changed(this.t);
  }
  advance(now) {
    if (!this.playing) return;
    this.t += ((now - this.last) / 1000) * this.rate;
    this.last = now;
    if (this.t > this.end) { if (this.loop) this.t = this.start; else { this.t = this.end; this.pause(); } }
    this.update();
  }
  // Events as marks on the time line.
  marks() {
    const canvas = byId("marks"), g = canvas.getContext("2d"), r = sharp(), { start, end } = this;
    canvas.width = canvas.clientWidth * r; canvas.height = canvas.clientHeight * r;
    g.fillStyle = style("--accent");
    for (const [t] of data.events) g.fillRect(((t - start) / (end - start || 1)) * canvas.width - r, 2 * r, 2 * r, 5 * r);
    byId("line").title = data.events.slice(0, 30).map(([t, name]) => `${+t.toPrecision(6)} s: ${name}`).join("\n");
  }
  write() {
    this.tools.write({ t: +this.t.toPrecision(8) });
  }
}
