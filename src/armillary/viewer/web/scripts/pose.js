// The page that poses a system: a slider for each coordinate; what hangs on it by loops follows.

const STEPS = 40, CLOSED = 1e-9; // of Newton's method; gaps beside the size of the system

// Poses of all bodies from those in their parents, then the amplitudes of modes.
function posesAt(q, out) {
  const relative = relativePoses(q), matrices = [], m = new THREE.Matrix4(), turn = new THREE.Quaternion();
  data.parents.forEach((parent, b) => {
    const e = relative.slice(12 * b, 12 * b + 12);
    m.set(e[3], e[4], e[5], e[0], e[6], e[7], e[8], e[1], e[9], e[10], e[11], e[2], 0, 0, 0, 1);
    matrices[b] = parent < 0 ? m.clone() : matrices[parent].clone().multiply(m);
    turn.setFromRotationMatrix(matrices[b]);
    const p = matrices[b].elements;
    out.set([p[12], p[13], p[14], turn.x, turn.y, turn.z, turn.w], 7 * b);
  });
  data.modes.forEach((i, n) => { out[7 * data.parents.length + n] = q[i]; });
}

// x of A x = b for a symmetric matrix, with a little of its largest element on the diagonal.
function solve(A, b) {
  const n = b.length, x = b.slice(), M = A.map((row) => row.slice()), most = Math.max(1e-300, ...A.map((row, i) => Math.abs(row[i])));
  for (let i = 0; i < n; i++) M[i][i] += 1e-12 * most;
  for (let i = 0; i < n; i++) {
    let best = i;
    for (let r = i + 1; r < n; r++) if (Math.abs(M[r][i]) > Math.abs(M[best][i])) best = r;
    [M[i], M[best]] = [M[best], M[i]]; [x[i], x[best]] = [x[best], x[i]];
    for (let r = i + 1; r < n; r++) {
      const f = M[r][i] / M[i][i];
      for (let c = i; c < n; c++) M[r][c] -= f * M[i][c];
      x[r] -= f * x[i];
    }
  }
  for (let i = n - 1; i >= 0; i--) { for (let c = i + 1; c < n; c++) x[i] -= M[i][c] * x[c]; x[i] /= M[i][i]; }
  return x;
}

// The nearest place with closed loops, with the coordinates of `held` as they are; null where there is none near.
function closed(start, held) {
  const q = start.slice(), n = q.length;
  for (let step = 0; step < STEPS; step++) {
    const gap = loopGaps(q), rows = gap.length, slopes = loopSlopes(q);
    const largest = Math.max(0, ...gap.map(Math.abs));
    if (largest < CLOSED * Math.max(1, data.size)) return q;
    const J = gap.map((_, r) => slopes.slice(r * n, (r + 1) * n).map((v, c) => (held.has(c) ? 0 : v)));
    const A = J.map((a) => J.map((b) => a.reduce((sum, v, c) => sum + v * b[c], 0)));
    const weights = solve(A, gap);
    if (!weights.every(Number.isFinite)) return null;
    for (let c = 0; c < n; c++) for (let r = 0; r < rows; r++) q[c] -= J[r][c] * weights[r];
  }
  return null;
}

// Euler parameters, scalar first, turned further about an axis of the body.
function turned(q, k, axis, angle) {
  const whole = new THREE.Quaternion(q[k + 1], q[k + 2], q[k + 3], q[k]), way = new THREE.Vector3().setComponent(axis, 1);
  whole.multiply(new THREE.Quaternion().setFromAxisAngle(way, angle));
  const made = q.slice();
  made.splice(k, 4, whole.w, whole.x, whole.y, whole.z);
  return made;
}

class Posing {
  constructor(changed) {
    this.q = data.start.slice(); this.changed = changed; this.sliders = []; this.box = byId("plots");
    const inside = new Set(data.quaternions.flatMap((k) => [k, k + 1, k + 2, k + 3]));
    data.sliders.forEach((s, i) => {
      if (data.quaternions.includes(i)) ["x", "y", "z"].forEach((letter, axis) => this.ball(i, axis, `${s.name.replace(/\.[^.]*$/, "")} about ${letter}`));
      else if (!inside.has(i)) this.add(i, s);
    });
    const reset = element("button", { textContent: "as at the start", className: "choose" });
    reset.onclick = () => { this.q = data.start.slice(); this.turns = []; this.update(); };
    if (this.sliders.length) this.box.append(reset);
    this.update();
  }
  slider(name, low, high, act) {
    const input = element("input", { type: "range", min: low, max: high, step: "any" }), value = element("span");
    input.setAttribute("aria-label", name);
    const box = element("div", { className: "plot slider" }, element("div", {}, element("b", { textContent: name, title: name }), value), input);
    input.oninput = () => act(+input.value);
    this.box.append(box);
    return { input, value };
  }
  add(i, { name, units, factor, low, high }) {
    const made = this.slider(name, low, high, (v) => this.move(i, v));
    this.sliders.push(() => { made.input.value = this.q[i]; made.value.textContent = `${+(this.q[i] * factor).toPrecision(4)} ${units}`; });
  }
  // A ball joint turns about the axes of its body; its sliders show how far they were moved.
  ball(k, axis, name) {
    let last = 0;
    const made = this.slider(name, -Math.PI, Math.PI, (v) => { const q = closed(turned(this.q, k, axis, v - last), new Set()); if (q) { this.q = q; last = v; } this.tell(q); });
    this.sliders.push(() => { if (!this.turns) return; last = 0; made.input.value = 0; });
    this.sliders.push(() => { made.value.textContent = `${+(last * 180 / Math.PI).toPrecision(4)} °`; });
    made.input.value = 0;
  }
  // In small steps, so that loops stay on the branch on which they are.
  move(i, value) {
    const from = this.q[i], count = Math.max(1, Math.ceil(Math.abs(value - from) / (0.02 * (data.sliders[i].high - data.sliders[i].low))));
    let reached = this.q;
    for (let k = 1; k <= count && reached; k++) {
      const next = reached.slice();
      next[i] = from + ((value - from) * k) / count;
      reached = closed(next, new Set([i]));
      if (reached) this.q = reached;
    }
    this.tell(reached);
  }
  tell(reached) { if (!reached) hint("the loops cannot be closed there"); this.update(); }
  update() { this.sliders.forEach((show) => show()); this.turns = null; this.changed(); }
}

async function main() {
  byId("about").textContent = data.about;
  document.querySelector("footer").hidden = true;
  await Promise.all([loadThree(), waitForSize()]);
  const [content] = data.figures;
  let q = data.start;
  const motion = new FunctionMotion((_, out) => posesAt(q, out), { bodies: content.bodies.length, amplitudes: data.modes.length });
  const figure = new Figure(content, motion), scene = new Scene([figure]), labels = new Labels(scene);
  new Tools(scene, labels);
  const posing = new Posing(() => scene.show(0));
  posing.changed = () => { q = posing.q; scene.show(0); labels.update(); };
  addEventListener("resize", () => scene.resize());
  scene.resize();
  scene.look((data.look || {}).view || "oblique");
  const frame = () => { if (scene.refresh()) labels.update(); requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
  window.armillary = { data, scene, posing, pose: (name) => { const b = 7 * figure.index(name), now = motion.at(0); return { position: Array.from(now.slice(b, b + 3)), quaternion: Array.from(now.slice(b + 3, b + 7)) }; } };
  document.documentElement.dataset.ready = "yes";
}

main().catch((error) => report(error));
