// The page of a motion: poses are unpacked once, interpolated at the time shown, and drawn with three.js.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 50];

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Channels of 16 bits from the second differences, low bytes first, as viewer/encoding.py packs them.
async function unpack(packed) {
  const { rows, low, step } = packed, count = low.length;
  const bytes = await inflate(packed.data), half = rows * count, out = [];
  for (let c = 0; c < count; c++) {
    const values = new Float32Array(rows);
    let level = 0, slope = 0;
    for (let i = 0; i < rows; i++) {
      const k = c * rows + i;
      slope = (slope + bytes[k] + 256 * bytes[half + k]) & 0xffff;
      level = (level + slope) & 0xffff;
      values[i] = low[c] + step[c] * level;
    }
    out.push(values);
  }
  return out;
}

function loadThree() {
  return inflate(byId("three").textContent.trim()).then((bytes) => new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = URL.createObjectURL(new Blob([bytes], { type: "text/javascript" }));
    script.onload = resolve;
    script.onerror = () => reject(new Error("three.js was not loaded"));
    document.head.append(script);
  }));
}

// ------------------------------------------------------------------------------------------ the motion

class Motion {
  constructor(time, channels, bodies) {
    this.time = time; this.channels = channels; this.bodies = bodies;
    this.start = time[0]; this.end = time[time.length - 1];
  }
  row(t) {
    let low = 0, high = this.time.length - 1;
    while (high - low > 1) { const mid = (low + high) >> 1; if (this.time[mid] <= t) low = mid; else high = mid; }
    const span = this.time[high] - this.time[low];
    return [low, high, span > 0 ? Math.min(1, Math.max(0, (t - this.time[low]) / span)) : 0];
  }
  // Position by straight lines, attitude by the shorter arc between two rows.
  pose(b, t, position, quaternion) {
    const [i, j, s] = this.row(t), c = this.channels, k = 7 * b;
    position.set(...[0, 1, 2].map((n) => c[k + n][i] * (1 - s) + c[k + n][j] * s));
    quaternion.set(c[k + 3][i], c[k + 4][i], c[k + 5][i], c[k + 6][i]).normalize();
    if (s > 0) {
      const next = new THREE.Quaternion(c[k + 3][j], c[k + 4][j], c[k + 5][j], c[k + 6][j]).normalize();
      quaternion.slerp(next, s);
    }
  }
}

// ------------------------------------------------------------------------------------------ shapes

const CURVES = 28;
function between(mesh, from, to) {
  const along = new THREE.Vector3().subVectors(to, from), length = along.length() || 1e-12;
  mesh.position.copy(from).addScaledVector(along, 0.5);
  mesh.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), along.divideScalar(length));
  mesh.scale.set(1, length, 1);
}
function turnTo(mesh, axis) {
  mesh.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), new THREE.Vector3(...axis).normalize());
}
function placed(mesh, part) {
  if (part.at) mesh.position.set(...part.at);
  if (part.axes) {
    const a = part.axes;
    const m = new THREE.Matrix4().set(a[0], a[1], a[2], 0, a[3], a[4], a[5], 0, a[6], a[7], a[8], 0, 0, 0, 0, 1);
    mesh.quaternion.setFromRotationMatrix(m);
  }
  return mesh;
}
const MAKERS = {
  box: (p) => placed(new THREE.Mesh(new THREE.BoxGeometry(...p.size)), p),
  sphere: (p) => placed(new THREE.Mesh(new THREE.SphereGeometry(p.radius, CURVES, CURVES / 2)), p),
  ball: (p) => placed(new THREE.Mesh(new THREE.SphereGeometry(p.radius, CURVES, CURVES / 2)), p),
  ellipsoid: (p) => {
    const mesh = placed(new THREE.Mesh(new THREE.SphereGeometry(1, CURVES, CURVES / 2)), p);
    mesh.scale.set(...p.radii);
    return mesh;
  },
  cylinder: (p) => axial(new THREE.CylinderGeometry(p.radius, p.radius, p.length, CURVES), p),
  cone: (p) => axial(new THREE.ConeGeometry(p.radius, p.length, CURVES), p),
  capsule: (p) => axial(new THREE.CapsuleGeometry(p.radius, p.length, CURVES / 4, CURVES), p),
  wheel: (p) => {
    const tyre = 0.5 * Math.min(p.width, 0.5 * p.radius), rim = new THREE.TorusGeometry(p.radius - tyre, tyre, CURVES / 2, 2 * CURVES);
    rim.rotateX(Math.PI / 2);
    const mesh = axial(rim, p);
    const hub = new THREE.CylinderGeometry(0.16 * p.radius, 0.16 * p.radius, p.width, CURVES);
    mesh.add(new THREE.Mesh(hub));
    for (let i = 0; i < 6; i++) {
      const spoke = new THREE.CylinderGeometry(0.025 * p.radius, 0.025 * p.radius, 2 * p.radius - 2 * tyre, 8);
      spoke.rotateZ(Math.PI / 2); spoke.rotateY((i * Math.PI) / 6);
      mesh.add(new THREE.Mesh(spoke));
    }
    return mesh;
  },
  rod: (p) => {
    const mesh = new THREE.Mesh(new THREE.CylinderGeometry(p.radius, p.radius, 1, CURVES / 2));
    between(mesh, new THREE.Vector3(...(p.from || [0, 0, 0])), new THREE.Vector3(...p.to));
    return mesh;
  },
  pin: (p) => {
    const mesh = new THREE.Mesh(new THREE.CylinderGeometry(0.5 * p.size, 0.5 * p.size, 2.2 * p.size, CURVES));
    turnTo(mesh, p.axis);
    return mesh;
  },
  sleeve: (p) => {
    const mesh = new THREE.Mesh(new THREE.BoxGeometry(1.1 * p.size, 2.4 * p.size, 1.1 * p.size));
    turnTo(mesh, p.axis);
    return mesh;
  },
};
function axial(geometry, p) {
  const mesh = new THREE.Mesh(geometry), axis = new THREE.Vector3(...(p.axis || [0, 0, 1])).normalize();
  const turned = new THREE.Group();
  turned.add(mesh);
  mesh.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), axis);
  return placed(turned, p);
}
const JOINTS = new Set(["pin", "sleeve", "ball"]);

// A helix of unit length along y; a spring is this, stretched between its ends.
function helix(radius) {
  const points = [], turns = 9;
  for (let i = 0; i <= 180; i++) {
    const s = i / 180, inner = Math.min(1, Math.max(0, (s - 0.08) / 0.84)), a = 2 * Math.PI * turns * inner;
    const r = s < 0.06 || s > 0.94 ? 0 : radius;
    points.push(new THREE.Vector3(r * Math.cos(a), s - 0.5, r * Math.sin(a)));
  }
  return new THREE.TubeGeometry(new THREE.CatmullRomCurve3(points), 360, 0.14 * radius, 6);
}

// ------------------------------------------------------------------------------------------ the view

class View {
  constructor(motion) {
    this.motion = motion; this.bodies = data.bodies; this.follow = -1; this.trails = new Map();
    this.canvas = byId("view");
    this.renderer = new THREE.WebGLRenderer({ canvas: this.canvas, antialias: true, alpha: true, preserveDrawingBuffer: true });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
    this.renderer.shadowMap.enabled = true;
    this.scene = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(38, 1, 0.01, 1000);
    this.camera.up.set(...data.up);
    this.controls = new THREE.OrbitControls(this.camera, this.canvas);
    this.controls.enableDamping = true; this.controls.dampingFactor = 0.12;
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0x8793a0, 1.5));
    this.sun = new THREE.DirectionalLight(0xffffff, 2.1);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.scene.add(this.sun, this.sun.target);
    this.groups = this.bodies.map((body) => this.add(body));
    this.ground = this.add(data.ground);
    this.springs = data.springs.map((spring) => this.addSpring(spring));
    this.bent = data.bending.map((part) => this.addBent(part));
    this.measure();
    this.floor();
    this.look("iso");
  }
  add(body) {
    const group = new THREE.Group(), colour = new THREE.Color(body.colour);
    const skin = new THREE.MeshStandardMaterial({ color: colour, roughness: 0.55, metalness: 0.08 });
    const steel = new THREE.MeshStandardMaterial({ color: new THREE.Color(0x7d8790), roughness: 0.4, metalness: 0.35 });
    const dark = new THREE.MeshStandardMaterial({ color: colour.clone().multiplyScalar(0.62), roughness: 0.6 });
    for (const part of body.parts) {
      const maker = MAKERS[part.kind];
      if (!maker) continue;
      const object = maker(part);
      let material = JOINTS.has(part.kind) ? steel : part.kind === "rod" ? dark : skin;
      if (part.colour || part.opacity !== undefined) {
        material = material.clone();
        if (part.colour) material.color.set(part.colour);
        if (part.opacity !== undefined) { material.opacity = part.opacity; material.transparent = part.opacity < 1; }
      }
      object.traverse((o) => { if (o.isMesh) { o.material = material; o.castShadow = true; o.receiveShadow = true; } });
      group.add(object);
    }
    const frame = new THREE.AxesHelper(data.size * 0.3);
    frame.visible = false; frame.name = "frame";
    group.add(frame);
    this.scene.add(group);
    return group;
  }
  addSpring(spring) {
    const line = new THREE.Mesh(helix(spring.radius), new THREE.MeshStandardMaterial({ color: 0x6b7680, roughness: 0.4, metalness: 0.4 }));
    line.castShadow = true;
    this.scene.add(line);
    return { line, ends: spring.ends.map((e) => ({ body: data.bodies.findIndex((b) => b.name === e.body), at: new THREE.Vector3(...e.at) })) };
  }
  // A flexible body: a chain of rods along a beam, balls at the nodes of another part.
  addBent(part) {
    const colour = new THREE.Color(data.bodies[part.body].colour), skin = new THREE.MeshStandardMaterial({ color: colour, roughness: 0.55 });
    const count = part.chain ? part.places.length - 1 : part.places.length;
    const solid = part.chain ? new THREE.CylinderGeometry(part.radius, part.radius, 1, 12) : new THREE.SphereGeometry(1.6 * part.radius, 14, 10);
    const meshes = Array.from({ length: count }, () => new THREE.Mesh(solid, skin));
    for (const mesh of meshes) { mesh.castShadow = true; this.groups[part.body].add(mesh); }
    const first = data.bending.slice(0, data.bending.indexOf(part)).reduce((n, p) => n + (p.shapes[0] || []).length, 0);
    return { ...part, meshes, first };
  }
  bend(t) {
    const [i, j, s] = this.motion.row(t);
    for (const part of this.bent || []) {
      const places = part.places.map((place, k) => {
        const p = new THREE.Vector3(...place);
        part.shapes[k].forEach((shape, n) => {
          const channel = this.motion.amplitudes[part.first + n], a = channel[i] * (1 - s) + channel[j] * s;
          p.x += a * shape[0]; p.y += a * shape[1]; p.z += a * shape[2];
        });
        return p;
      });
      part.meshes.forEach((mesh, k) => { if (part.chain) between(mesh, places[k], places[k + 1]); else mesh.position.copy(places[k]); });
      part.now = places;
    }
  }
  // The box in which all origins stay, widened by the size of a body.
  measure() {
    const box = new THREE.Box3(), c = this.motion.channels, p = new THREE.Vector3();
    const rows = this.motion.time.length, every = Math.max(1, Math.floor(rows / 400));
    for (let b = 0; b < this.bodies.length; b++)
      for (let i = 0; i < rows; i += every) box.expandByPoint(p.set(c[7 * b][i], c[7 * b + 1][i], c[7 * b + 2][i]));
    this.show(this.motion.start);
    for (const group of [...this.groups, this.ground]) box.union(new THREE.Box3().setFromObject(group));
    if (box.isEmpty()) box.set(new THREE.Vector3(-1, -1, -1), new THREE.Vector3(1, 1, 1));
    this.box = box; this.centre = box.getCenter(new THREE.Vector3());
    this.radius = Math.max(0.5 * box.getSize(new THREE.Vector3()).length(), data.size * 0.6);
    this.wide = this.radius > 150 * data.size; // a motion so long that the bodies would be dots
    if (this.wide) { this.follow = 0; this.radius = 6 * data.size; }
  }
  floor() {
    const up = new THREE.Vector3(...data.up), size = 10 ** Math.ceil(Math.log10(this.radius * 4));
    this.grid = new THREE.GridHelper(size, 40, 0x9aa7b2, 0x9aa7b2);
    this.grid.material.opacity = 0.28; this.grid.material.transparent = true;
    const plane = new THREE.Mesh(new THREE.PlaneGeometry(size, size), new THREE.ShadowMaterial({ opacity: 0.16 }));
    plane.rotateX(-Math.PI / 2); plane.receiveShadow = true;
    const floor = new THREE.Group();
    floor.add(this.grid, plane);
    floor.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), up);
    const corners = [this.box.min, this.box.max].flatMap((a) => [this.box.min, this.box.max].flatMap((b) => [this.box.min, this.box.max].map((c) => new THREE.Vector3(a.x, b.y, c.z).dot(up))));
    const lowest = Math.min(...corners) - 0.02 * this.radius;
    floor.position.copy(this.centre).addScaledVector(up, lowest - this.centre.dot(up));
    floor.visible = !this.wide;
    this.floorGroup = floor;
    this.scene.add(floor);
  }
  look(name) {
    const up = new THREE.Vector3(...data.up);
    const side = Math.abs(up.y) < 0.9 ? new THREE.Vector3(0, 1, 0) : new THREE.Vector3(0, 0, 1);
    const front = side.clone().addScaledVector(up, -side.dot(up)).normalize(), right = new THREE.Vector3().crossVectors(front, up).normalize();
    const ways = {
      iso: new THREE.Vector3().addScaledVector(front, -1).addScaledVector(right, 0.75).addScaledVector(up, 0.5),
      front: front.clone().negate(), right: right.clone(), top: up.clone().addScaledVector(front, -1e-3),
    };
    const distance = this.radius / Math.tan((this.camera.fov * Math.PI) / 360) * 1.12;
    const target = this.follow >= 0 ? this.groups[this.follow].position : this.centre;
    this.controls.target.copy(target);
    this.camera.position.copy(target).addScaledVector(ways[name].normalize(), distance);
    this.camera.near = distance / 200; this.camera.far = distance * 60;
    this.camera.updateProjectionMatrix();
    this.sun.position.copy(target).addScaledVector(up, 2.2 * this.radius).addScaledVector(right, 1.1 * this.radius).addScaledVector(front, -0.8 * this.radius);
    this.sun.target.position.copy(target);
    const s = this.sun.shadow.camera, r = 1.6 * this.radius;
    Object.assign(s, { left: -r, right: r, top: r, bottom: -r, near: 0.05 * this.radius, far: 6 * this.radius });
    s.updateProjectionMatrix();
    this.changed = true;
  }
  show(t) {
    const before = this.follow >= 0 ? this.groups[this.follow].position.clone() : null;
    this.groups.forEach((group, b) => this.motion.pose(b, t, group.position, group.quaternion));
    this.bend(t);
    for (const { line, ends } of this.springs || []) {
      const places = ends.map(({ body, at }) => body < 0 ? at.clone() : at.clone().applyQuaternion(this.groups[body].quaternion).add(this.groups[body].position));
      between(line, places[1], places[0]);
    }
    if (before) {
      const moved = this.groups[this.follow].position.clone().sub(before);
      this.camera.position.add(moved); this.controls.target.add(moved);
      this.sun.position.add(moved); this.sun.target.position.add(moved);
    }
    this.changed = true;
  }
  trail(b, on) {
    if (!on) { const old = this.trails.get(b); if (old) this.scene.remove(old); this.trails.delete(b); return; }
    const c = this.motion.channels, rows = this.motion.time.length, every = Math.max(1, Math.floor(rows / 5000)), points = [];
    const com = new THREE.Vector3(...this.bodies[b].com), q = new THREE.Quaternion();
    for (let i = 0; i < rows; i += every) {
      q.set(c[7 * b + 3][i], c[7 * b + 4][i], c[7 * b + 5][i], c[7 * b + 6][i]).normalize();
      points.push(com.clone().applyQuaternion(q).add(new THREE.Vector3(c[7 * b][i], c[7 * b + 1][i], c[7 * b + 2][i])));
    }
    const line = new THREE.Line(new THREE.BufferGeometry().setFromPoints(points), new THREE.LineBasicMaterial({ color: new THREE.Color(this.bodies[b].colour) }));
    this.trails.set(b, line);
    this.scene.add(line);
  }
  resize() {
    const w = window.innerWidth, h = window.innerHeight;
    this.renderer.setSize(w, h, false);
    this.camera.aspect = w / h;
    this.camera.updateProjectionMatrix();
    this.changed = true;
  }
  draw() { this.renderer.render(this.scene, this.camera); }
}

// ------------------------------------------------------------------------------------------ plots

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
class Plots {
  constructor(player, time, columns) {
    this.player = player; this.time = time; this.columns = columns; this.shown = []; this.box = byId("plots");
    if (!data.outputs.length) return;
    this.select = document.createElement("select");
    this.select.className = "choose";
    this.select.append(new Option("add an output …", ""));
    data.outputs.forEach((o, i) => this.select.append(new Option(o.units ? `${o.name} (${o.units})` : o.name, i)));
    this.select.onchange = () => { if (this.select.value) this.add(+this.select.value); this.select.value = ""; };
    this.box.append(this.select);
    data.shown.forEach((i) => this.add(i));
  }
  add(i) {
    if (this.shown.some((p) => p.i === i)) return;
    const figure = document.createElement("div"), head = document.createElement("div"), name = document.createElement("b"), value = document.createElement("span"), canvas = document.createElement("canvas");
    figure.className = "plot";
    name.textContent = data.outputs[i].name; name.title = data.outputs[i].about || data.outputs[i].name;
    head.append(name, value); figure.append(head, canvas); this.box.append(figure);
    const seek = (e) => { const r = canvas.getBoundingClientRect(), m = this.player.motion; this.player.seek(m.start + (m.end - m.start) * Math.min(1, Math.max(0, (e.clientX - r.left) / r.width))); };
    canvas.onpointerdown = (e) => { canvas.setPointerCapture(e.pointerId); seek(e); };
    canvas.onpointermove = (e) => { if (e.buttons) seek(e); };
    name.onclick = () => { figure.remove(); this.shown = this.shown.filter((p) => p.i !== i); };
    name.style.cursor = "pointer";
    this.shown.push({ i, canvas, value });
    this.draw();
  }
  draw() {
    const { start, end } = this.player.motion, t = this.player.t, ratio = Math.min(window.devicePixelRatio || 1, 2);
    for (const { i, canvas, value } of this.shown) {
      const w = canvas.clientWidth * ratio, h = canvas.clientHeight * ratio, y = this.columns[i], g = canvas.getContext("2d");
      if (!w) continue;
      canvas.width = w; canvas.height = h;
      let low = Infinity, high = -Infinity;
      for (const v of y) { if (v < low) low = v; if (v > high) high = v; }
      if (!(high > low)) { low -= 1; high += 1; }
      const X = (s) => 2 + ((s - start) / (end - start || 1)) * (w - 4), Y = (v) => h - 4 - ((v - low) / (high - low)) * (h - 8);
      if (low < 0 && high > 0) { g.strokeStyle = style("--rule"); g.beginPath(); g.moveTo(0, Y(0)); g.lineTo(w, Y(0)); g.stroke(); }
      g.strokeStyle = style("--accent"); g.lineWidth = 1.3 * ratio; g.beginPath();
      const n = y.length, every = Math.max(1, Math.floor(n / (2 * w)));
      for (let k = 0; k < n; k += every) g.lineTo(X(this.time[k]), Y(y[k]));
      g.stroke();
      const [a, b, s] = this.player.motion.row(t), now = y[a] * (1 - s) + y[b] * s;
      g.fillStyle = style("--text"); g.beginPath(); g.arc(X(t), Y(now), 3 * ratio, 0, 7); g.fill();
      value.textContent = `${+now.toPrecision(5)} ${data.outputs[i].units}`;
    }
  }
}

// ------------------------------------------------------------------------------------------ playing

class Player {
  constructor(motion, view) {
    this.motion = motion; this.view = view; this.t = motion.start; this.playing = false; this.rate = 1; this.loop = true; this.names = false;
    const span = motion.end - motion.start, near = SPEEDS.reduce((a, b) => Math.abs(Math.log(span / b / 8)) < Math.abs(Math.log(span / a / 8)) ? b : a);
    this.rate = span > 2 && span < 40 ? 1 : near;
    const speed = byId("speed");
    SPEEDS.forEach((s) => speed.append(new Option(`${s} ×`, s, false, s === this.rate)));
    speed.onchange = () => { this.rate = +speed.value; };
    byId("play").onclick = () => this.toggle();
    byId("back").onclick = () => this.step(-1);
    byId("forth").onclick = () => this.step(1);
    byId("loop").onclick = () => { this.loop = !this.loop; byId("loop").setAttribute("aria-pressed", this.loop); };
    byId("time").oninput = (e) => { this.pause(); this.seek(motion.start + e.target.value * span); };
    this.tools();
    addEventListener("keydown", (e) => this.key(e));
    addEventListener("resize", () => { view.resize(); this.marks(); this.plots && this.plots.draw(); });
    this.read();
  }
  tools() {
    const nav = byId("tools"), button = (text, title, act) => { const b = document.createElement("button"); b.textContent = text; b.title = title; b.onclick = () => act(b); nav.append(b); return b; };
    const flag = (b, on) => b.setAttribute("aria-pressed", on);
    const look = document.createElement("select");
    look.title = "standard views";
    [["view", ""], ["oblique", "iso"], ["front", "front"], ["side", "right"], ["top", "top"]].forEach(([a, b]) => look.append(new Option(a, b)));
    look.onchange = () => { if (look.value) this.view.look(look.value); look.value = ""; };
    nav.append(look);
    const follow = document.createElement("select");
    follow.title = "keep a body in sight";
    follow.append(new Option("follow nothing", -1));
    data.bodies.forEach((b, i) => follow.append(new Option(`follow ${b.name}`, i)));
    follow.value = this.view.follow;
    follow.onchange = () => { this.view.follow = +follow.value; this.view.look("iso"); };
    nav.append(follow);
    button("names", "names of the bodies (n)", (b) => { this.names = !this.names; flag(b, this.names); this.labels(); });
    button("axes", "axes of the bodies (a)", (b) => { this.axes = !this.axes; flag(b, this.axes); this.view.groups.forEach((g) => { g.getObjectByName("frame").visible = this.axes; }); this.view.changed = true; });
    button("paths", "paths of the mass centres (p)", (b) => { this.paths = !this.paths; flag(b, this.paths); data.bodies.forEach((_, i) => this.view.trail(i, this.paths)); this.view.changed = true; });
    button("theme", "light or dark (d)", () => this.theme());
    button("picture", "save what is seen as a PNG file", () => this.picture());
    if (data.outputs.length) flag(button("plots", "outputs over time (o)", (b) => { const box = byId("plots"); box.hidden = !box.hidden; flag(b, !box.hidden); if (!box.hidden) this.plots.draw(); }), true);
  }
  press(text) { for (const b of byId("tools").querySelectorAll("button")) if (b.textContent === text) b.click(); }
  key(e) {
    if (e.target.tagName === "SELECT" || e.ctrlKey || e.metaKey || e.altKey) return;
    const acts = { " ": () => this.toggle(), ",": () => this.step(-1), ".": () => this.step(1), ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1), Home: () => this.seek(this.motion.start), End: () => this.seek(this.motion.end), l: () => byId("loop").click(), n: () => this.press("names"), a: () => this.press("axes"), p: () => this.press("paths"), d: () => this.theme(), o: () => this.press("plots"), 1: () => this.view.look("iso"), 2: () => this.view.look("front"), 3: () => this.view.look("right"), 4: () => this.view.look("top") };
    if (acts[e.key]) { e.preventDefault(); acts[e.key](); }
  }
  theme(name) {
    const root = document.documentElement;
    root.dataset.theme = name || (root.dataset.theme === "dark" ? "light" : "dark");
    this.marks(); this.plots && this.plots.draw(); this.view.changed = true;
  }
  picture() {
    this.view.draw();
    const link = document.createElement("a");
    link.href = byId("view").toDataURL("image/png"); link.download = `${data.system.replace(/[^\w-]+/g, "_")}.png`;
    link.click();
  }
  toggle() { if (this.playing) this.pause(); else { if (this.t >= this.motion.end) this.t = this.motion.start; this.playing = true; this.last = performance.now(); byId("play").textContent = "❚❚"; } }
  pause() { this.playing = false; byId("play").textContent = "▶"; this.write(); }
  step(n) { this.pause(); const [i, j, s] = this.motion.row(this.t), k = n > 0 ? (s < 1 ? j : j + 1) : s > 0 ? i : i - 1; this.seek(this.motion.time[Math.min(this.motion.time.length - 1, Math.max(0, k))]); }
  seek(t) { this.t = Math.min(this.motion.end, Math.max(this.motion.start, t)); this.update(); }
  update() {
    const { start, end } = this.motion;
    this.view.show(this.t);
    byId("time").value = (this.t - start) / (end - start || 1);
    byId("clock").textContent = `${this.t.toFixed(end - start < 1 ? 4 : 2)} s`;
    this.plots && this.plots.draw();
    this.labels();
  }
  marks() {
    const canvas = byId("marks"), g = canvas.getContext("2d"), r = Math.min(window.devicePixelRatio || 1, 2), { start, end } = this.motion;
    canvas.width = canvas.clientWidth * r; canvas.height = canvas.clientHeight * r;
    g.fillStyle = style("--accent");
    for (const [t] of data.events) g.fillRect(((t - start) / (end - start || 1)) * canvas.width - r, 2 * r, 2 * r, 5 * r);
    byId("line").title = data.events.slice(0, 30).map(([t, name]) => `${+t.toPrecision(6)} s: ${name}`).join("\n");
  }
  labels() {
    const box = byId("labels");
    if (!this.names) { box.replaceChildren(); return; }
    if (box.children.length !== data.bodies.length) box.replaceChildren(...data.bodies.map((b) => { const s = document.createElement("span"); s.textContent = b.name; return s; }));
    data.bodies.forEach((b, i) => {
      const p = new THREE.Vector3(...b.com).applyQuaternion(this.view.groups[i].quaternion).add(this.view.groups[i].position).project(this.view.camera);
      const s = box.children[i].style;
      s.left = `${(p.x * 0.5 + 0.5) * innerWidth}px`; s.top = `${(0.5 - p.y * 0.5) * innerHeight}px`; s.display = p.z < 1 ? "" : "none";
    });
  }
  frame(now) {
    if (this.playing) {
      this.t += ((now - this.last) / 1000) * this.rate;
      this.last = now;
      if (this.t > this.motion.end) { if (this.loop) this.t = this.motion.start; else { this.t = this.motion.end; this.pause(); } }
      this.update();
    }
    if (this.view.controls.update()) { this.view.changed = true; this.labels(); }
    if (this.view.changed) { this.view.changed = false; this.view.draw(); }
    requestAnimationFrame((t) => this.frame(t));
  }
  // The state of the view in the address: time, theme, body followed.
  write() { try { history.replaceState(null, "", `#t=${+this.t.toPrecision(8)}&theme=${document.documentElement.dataset.theme || "light"}`); } catch { /* pages inside others have no address */ } }
  read() {
    const given = new URLSearchParams(location.hash.slice(1)), dark = matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = given.get("theme") === "dark" || (!given.get("theme") && dark) ? "dark" : "light";
    if (given.has("t")) this.t = Math.min(this.motion.end, Math.max(this.motion.start, +given.get("t") || 0));
    this.asked = given.has("t");
  }
}

async function main() {
  byId("about").textContent = data.about;
  byId("play").textContent = "▶";
  await loadThree();
  const [channels, columns, amplitudes] = await Promise.all([data.poses, data.columns, data.amplitudes].map(unpack));
  const time = data.time.values || Float64Array.from({ length: data.time.rows }, (_, i) => data.time.start + i * data.time.step);
  const motion = new Motion(time, channels, data.bodies);
  motion.amplitudes = amplitudes;
  const view = new View(motion), player = new Player(motion, view);
  player.plots = new Plots(player, time, columns);
  view.resize();
  player.marks();
  player.update();
  if (!player.asked && time.length > 1 && !matchMedia("(prefers-reduced-motion: reduce)").matches) player.toggle();
  requestAnimationFrame((t) => { player.last = t; player.frame(t); });
  const position = new THREE.Vector3(), quaternion = new THREE.Quaternion();
  window.armillary = {
    data, player, view,
    pose(name, t) {
      motion.pose(data.bodies.findIndex((b) => b.name === name), t, position, quaternion);
      return { position: position.toArray(), quaternion: quaternion.toArray() };
    },
    bent(name, t) { view.show(t); const part = view.bent.find((p) => data.bodies[p.body].name === name); return part.now.map((p) => p.toArray()); },
    value(name, t) { const [i, j, s] = motion.row(t), y = columns[data.outputs.findIndex((o) => o.name === name)]; return y[i] * (1 - s) + y[j] * s; },
  };
  document.documentElement.dataset.ready = "yes";
}

main().catch((error) => {
  document.documentElement.dataset.ready = "no";
  const hint = byId("hint");
  hint.textContent = /WebGL/i.test(String(error)) ? "This browser shows no WebGL, which the picture needs." : `The page could not be shown: ${error.message}`;
  hint.className = "on";
});
