// The page of a live model: the module is advanced with the clock, or as fast as it can, and shown at every frame.

const RATES = [[0.1, "0.1 ×"], [0.25, "0.25 ×"], [0.5, "0.5 ×"], [1, "real time"], [2, "2 ×"], [5, "5 ×"], [20, "20 ×"], [Infinity, "fast"]];
const FRAME = 1 / 60, LONGEST = 0.1; // seconds: of a row, and of the real time that one frame catches up with
const WORK = 14; // milliseconds of a frame in which the model may run
const HELD = 1 / 480; // seconds for which the hand's load stays the same
const TRAIL = 900; // rows of a path

class Live {
  constructor(model, spec) {
    this.model = model; this.spec = spec; this.initial = {}; this.inputs = {}; this.hand = null;
    this.playing = false; this.rate = 1; this.last = 0; this.due = 0; this.rows = []; this.plots = null; this.slow = 0;
    const { method, step, rtol, atol } = spec;
    this.settings = { method, rtol, atol, maxStep: FRAME, ...(step ? { step } : {}) };
    const bodies = model.about.bodies.length;
    this.motion = new FunctionMotion((t, out) => this.fill(out), { bodies, amplitudes: spec.modes.length });
    this.motion.path = (b, point, most = TRAIL) => this.path(b, point, most);
    this.matrix = new THREE.Matrix4(); this.quaternion = new THREE.Quaternion();
  }
  // Poses as a figure takes them: places and quaternions, then amplitudes of modes.
  fill(out) {
    this.model.poses().forEach(({ position, rotation: R }, b) => {
      this.matrix.set(R[0], R[1], R[2], 0, R[3], R[4], R[5], 0, R[6], R[7], R[8], 0, 0, 0, 0, 1);
      const q = this.quaternion.setFromRotationMatrix(this.matrix);
      out.set([...position, q.x, q.y, q.z, q.w], 7 * b);
    });
    const first = this.model.about.outputs.length;
    this.spec.modes.forEach((place, n) => { out[7 * this.motion.bodies + n] = this.model.row[first + place]; });
  }
  path(b, point, most) {
    const from = Math.max(0, this.rows.length - most), found = [], [x, y, z] = point;
    for (let i = from; i < this.rows.length; i++) {
      const { position: p, rotation: R } = this.model.poses(this.rows[i])[b];
      found.push(new THREE.Vector3(p[0] + R[0] * x + R[1] * y + R[2] * z, p[1] + R[3] * x + R[4] * y + R[5] * z, p[2] + R[6] * x + R[7] * y + R[8] * z));
    }
    return found;
  }
  note() {
    const { model } = this;
    this.rows.push(model.row);
    if (this.rows.length > 2 * TRAIL) this.rows.splice(0, TRAIL);
    this.plots && this.plots.push(model.t, model.row);
  }
  reset() {
    if (this.hand) this.hand.release();
    this.model.reset({ ...this.settings, initial: this.initial, inputs: this.inputs });
    this.rows = []; this.due = 0;
    this.plots && this.plots.clear();
    this.note();
  }
  // A short run ahead, for the room that the motion needs; the start comes back.
  preview(seconds, milliseconds) {
    const begun = performance.now();
    for (let t = FRAME; t < seconds && performance.now() - begun < milliseconds && this.model.advance(t); t += FRAME) this.note();
    const seen = this.rows;
    this.reset();
    this.rows = seen;
  }
  // The motion for a stretch of its time; whether it still goes on.
  advance(dt) {
    const { model, hand } = this, parts = hand && hand.held ? Math.ceil(dt / HELD) : 1, from = model.t;
    model.set("max_step", parts > 1 ? HELD : FRAME);
    for (let i = 1; i <= parts && model.status === "running"; i++) {
      if (hand && hand.held) hand.pull(dt / parts);
      model.advance(from + (dt * i) / parts);
    }
    this.note();
    return model.status === "running";
  }
  // A frame of the page: as much as the clock asks for, or as there is time for.
  frame(now) {
    const passed = Math.min(LONGEST, (now - this.last) / 1000);
    this.last = now;
    if (!this.playing) return false;
    const begun = performance.now(), fast = this.rate === Infinity, start = this.model.t;
    this.due = fast ? Infinity : this.due + passed * this.rate;
    const most = Math.max(FRAME, fast ? FRAME : FRAME * Math.min(1, this.rate));
    let going = true;
    while (going && this.due > 1e-9 && performance.now() - begun < WORK) {
      const dt = Math.min(this.due, most);
      going = this.advance(dt);
      this.due -= dt;
    }
    const reached = (this.model.t - start) / (passed || FRAME);
    this.slow = !fast && this.due > 2 * LONGEST * this.rate ? reached : 0;
    if (this.due > LONGEST * this.rate) this.due = fast ? 0 : 3 * LONGEST * this.rate;
    this.reached = reached;
    if (!going) this.playing = false;
    return true;
  }
  // Why the motion ended, as a sentence.
  ending() {
    const { model } = this, at = `at ${readable(model.t)} s`, event = model.lastEvent;
    if (model.status === "event" && event && event.guard) return `The mechanism came ${at} to a position where its loops lose rank, or need a choice of speeds that this page does not hold. Reset it.`;
    if (model.status === "event" && event) return `Event “${event.name}” ended the motion ${at}.`;
    return { diverged: `The motion grew without bounds ${at}. Reset it, or move the sliders.`, "step too small": `The steps became too small ${at}. Reset it, or move the sliders.`, "events accumulate": `Events came faster and faster ${at}.` }[model.status] || `The motion ended ${at}.`;
  }
}

// The figure with the numbers that sliders of parameters change; `variants` is counted as viewer/live/variants.py does.
function reshaped(base, variants, controls) {
  const change = new Map();
  for (const { name, kind, value, start, low, high } of controls) {
    if (kind !== "parameters" || !variants[name]) continue;
    const up = value >= start, share = up ? (value - start) / (high - start || 1) : (start - value) / (start - low || 1);
    for (const [place, atLow, atHigh] of variants[name]) change.set(place, (change.get(place) || 0) + share * (up ? atHigh : atLow));
  }
  let count = 0;
  const walk = (x) => {
    if (typeof x === "number") { const place = count++; return change.has(place) ? x + change.get(place) : x; }
    if (Array.isArray(x)) return x.map(walk);
    return x && typeof x === "object" ? Object.fromEntries(Object.entries(x).map(([key, item]) => [key, walk(item)])) : x;
  };
  const [bodies, ground, springs] = [base.bodies, base.ground, base.springs].map(walk);
  return { ...base, bodies, ground, springs };
}

async function main() {
  byId("about").textContent = data.about;
  const spec = data.live;
  const [code] = await Promise.all([inflate(spec.code), loadThree(), waitForSize()]);
  const model = await ArmillaryModel.load(spec.about, code), live = new Live(model, spec), given = new URLSearchParams(location.hash.slice(1));
  const set = (control) => {
    try {
      if (control.kind === "parameters") { model.setParameters({ [control.name]: control.value }); live.stale = control.name in spec.variants; }
      else if (control.kind === "memory") { live.inputs[control.name] = control.value; model.setInputs({ [control.name]: control.value }); }
      else { live.initial[control.name] = control.value; live.reset(); }
      say("");
      if (model.t === 0 && control.kind === "parameters" && !live.playing) live.reset();
      model.refresh();
    } catch (error) { say(error.message); }
    update();
  };
  const side = element("div", { id: "right" }), plotBox = byId("plots");
  const controls = new Controls(spec, (control) => { set(control); remember(); });
  if (controls.all.length) side.append(controls.box);
  side.append(plotBox);
  document.body.append(side);
  live.reset();
  live.preview(6, 120);
  let figure = new Figure(data.figures[0], live.motion);
  figure.reach = (points) => { // where the mass centres go, too
    const box = Figure.prototype.reach.call(figure, points);
    figure.bodies.forEach((body, b) => live.motion.path(b, body.com, 400).forEach((p) => { box.expandByPoint(p); points.push(p); }));
    return box;
  };
  const scene = new Scene([figure]), labels = new Labels(scene);
  if (scene.follow < 0 && scene.radius > 8 * data.size) { // a long way: the camera goes along
    scene.follow = 0; scene.radius = 4 * data.size;
    scene.floor.removeFromParent();
    scene.addFloor();
  }
  const floor = { base: scene.floor.position.clone(), cell: 10 ** Math.ceil(Math.log10(4 * scene.radius)) / 40 };
  const tools = new Tools(scene, labels);
  const plots = (live.plots = new LivePlots(spec.outputs, data.shown));
  live.reset();

  // The floor under the body that is followed, moved by whole cells of its grid, so that the motion is seen against it.
  function moveFloor() {
    if (scene.follow < 0) return;
    const q = scene.floor.quaternion, place = scene.groups[scene.follow].position.clone().sub(floor.base).applyQuaternion(q.clone().invert());
    place.set(Math.round(place.x / floor.cell) * floor.cell, 0, Math.round(place.z / floor.cell) * floor.cell);
    scene.floor.position.copy(place.applyQuaternion(q).add(floor.base));
  }
  // Another figure in place of the one shown.
  function replaceFigure() {
    const frames = figure.ground.getObjectByName("frame").visible, shared = new Set([...MESHES.values()].map((m) => m.geometry));
    figure.root.traverse((o) => { if (o.geometry && !shared.has(o.geometry)) o.geometry.dispose(); });
    figure.root.removeFromParent();
    figure = scene.figures[0] = new Figure(reshaped(data.figures[0], spec.variants, controls.all), live.motion);
    scene.stage.add(figure.root);
    scene.showFrames(frames);
    live.stale = false;
  }
  function update() {
    if (live.stale) replaceFigure();
    scene.show(model.t);
    moveFloor();
    if (scene.trails.length) scene.showTrails(true);
    if (live.hand) live.hand.draw();
    labels.update();
    if (live.pointer && !(live.hand && live.hand.held)) live.pointer.update();
    plots.draw();
    byId("clock").textContent = `${model.t.toFixed(2)} s${live.playing && live.rate === Infinity ? ` · ${live.reached.toFixed(0)} ×` : live.slow ? ` · ${live.slow.toFixed(2)} ×` : ""}`;
  }
  // Whether all bodies have left the picture.
  function outOfSight() {
    return figure.bodies.every((body, b) => { const p = scene.project(figure.place(b, body.com)); return !p || p.x < 0 || p.y < 0 || p.x > innerWidth || p.y > innerHeight; });
  }
  function say(text) { const box = byId("hint"); clearTimeout(hint.timer); if (text) box.textContent = text; box.className = text ? "on" : ""; }
  function play(on) {
    if (on && model.status !== "running") { live.reset(); say(""); }
    live.playing = on; live.due = 0; live.last = performance.now();
    byId("play").textContent = on ? "❚❚" : "▶";
    update();
  }
  function reset() { say(""); live.reset(); update(); }
  // Values that were moved, in the address.
  function remember() {
    const moved = new URLSearchParams(controls.all.filter((c) => c.value !== [...spec.sliders, ...spec.inputs].find((s) => s.name === c.name).value).map((c) => [c.name, readable(c.value)]));
    try { history.replaceState(null, "", `#${moved}`); } catch { /* pages inside others have no address */ }
  }

  if (spec.hand) live.hand = new Hand(spec.hand, model, scene, () => { if (!live.playing) play(true); });
  live.pointer = new Pointer(scene, (figure, body) => {
    const start = `${figure.bodies[body].name}.`;
    return spec.outputs.map((o, i) => [o, model.row[i]]).filter(([o]) => o.name.startsWith(start)).slice(0, 8).map(([o, y]) => [o.name.slice(start.length), `${readable(y)} ${o.units}`]);
  });
  const speed = byId("speed"), back = byId("back"), forth = byId("forth"), keys = spec.inputs.length ? ["keys move the inputs"] : [];
  RATES.forEach(([rate, text]) => speed.append(new Option(text, rate, false, rate === live.rate)));
  speed.onchange = () => { live.rate = +speed.value; };
  Object.assign(back, { textContent: "↺", title: "back to the start (r)", onclick: reset });
  back.setAttribute("aria-label", "back to the start");
  Object.assign(forth, { title: "a sixtieth of a second (.)", onclick: () => { play(false); live.advance(FRAME); update(); } });
  byId("play").onclick = () => play(!live.playing);
  byId("line").replaceChildren(element("span", { id: "usage", textContent: [live.hand ? "drag a body to pull it, drag the background to look around" : "drag to look around", ...keys].join(" · ") }));
  byId("loop").remove();
  Object.assign(tools.keys, { " ": () => play(!live.playing), r: reset, ".": () => forth.click() });
  tools.toggle("plots", "outputs over time", "o", true, (on) => { plotBox.hidden = !on; scene.resize(); plots.draw(); }, tools.showing);
  if (controls.all.length) tools.toggle("sliders", "values to change", "s", true, (on) => { controls.box.hidden = !on; }, tools.showing);
  tools.restyled.push(() => plots.draw());
  addEventListener("resize", () => { scene.resize(); update(); });
  for (const control of controls.all) if (given.has(control.name) && Number.isFinite(+given.get(control.name))) { control.show(Math.min(control.high, Math.max(control.low, +given.get(control.name)))); control.rest = control.value; set(control); }
  scene.resize();
  scene.look((data.look || {}).view || "oblique");
  play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
  let shownEvents = 0;
  const frame = (now) => {
    controls.hold(Math.min(LONGEST, (now - live.last) / 1000), set);
    const before = live.playing;
    if (live.frame(now)) update();
    if (before && !live.playing) { play(false); say(live.ending()); }
    shownEvents = Math.min(shownEvents, model.events.length);
    if (model.events.length > shownEvents && live.playing) { const { name, time } = model.events[model.events.length - 1]; hint(`${name} at ${readable(time)} s`, 900); shownEvents = model.events.length; }
    if (scene.refresh()) {
      labels.update();
      if (scene.follow < 0 && scene.riding < 0 && outOfSight()) {
        scene.follow = 0; scene.radius = Math.max(scene.radius, 2 * data.size);
        scene.look("oblique");
        tools.nav.querySelector("select").value = tools.followed();
        moveFloor();
      }
    }
    requestAnimationFrame(frame);
  };
  requestAnimationFrame((now) => { live.last = now; frame(now); });
  window.armillary = {
    data, model, live, scene, plots, tools, controls, play, reset,
    set(name, value) { const control = controls.find(name); control.show(value); control.rest = value; set(control); },
    pose(name) { return model.poses().find((p) => p.name === name); },
    value(name) { return model.output(name); },
  };
  document.documentElement.dataset.ready = "yes";
}

main().catch(report);
