// The hand: a spring and a damper between the pointer and the point of a body that it took hold of.

const STIFF = 14, DAMPED = 0.8; // the spring's frequency for the mass of all bodies, rad/s, and the share of critical damping

class Hand {
  // `spec` has the inputs of each body and the masses; `started()` is called when a body is taken.
  constructor(spec, model, scene, started) {
    this.model = model; this.scene = scene; this.held = null;
    const total = spec.masses.reduce((a, b) => a + b, 0) || 1;
    this.stiffness = total * STIFF * STIFF;
    this.inputs = spec.names.map((names) => names.map((name) => model.find("memory", name)));
    this.masses = spec.masses.map((m) => Math.max(m, 0.02 * total));
    const ends = new THREE.BufferGeometry().setFromPoints([new THREE.Vector3(), new THREE.Vector3()]);
    this.line = new THREE.Line(ends, new Paint({ colour: "#e0532f", kind: PLAIN, opacity: 0.9, depthTest: false }));
    this.dot = new THREE.Mesh(new THREE.SphereGeometry(0.03 * data.size, 18, 12), new Paint({ colour: "#e0532f", kind: PLAIN, depthTest: false, transparent: true }));
    this.line.visible = this.dot.visible = false; this.line.renderOrder = this.dot.renderOrder = 9;
    scene.stage.add(this.line, this.dot);
    const canvas = scene.canvas;
    canvas.addEventListener("pointerdown", (e) => {
      const hit = e.button ? null : scene.pick(e.clientX, e.clientY);
      if (!hit || hit.body < 0) return;
      this.take(hit.body, hit.at.toArray(), hit.point);
      scene.controls.enabled = false;
      canvas.setPointerCapture(e.pointerId);
      started();
    }, { capture: true });
    canvas.addEventListener("pointermove", (e) => {
      if (this.held) this.point(e.clientX, e.clientY);
      else { const hit = e.buttons ? null : scene.pick(e.clientX, e.clientY); canvas.style.cursor = hit && hit.body >= 0 ? "grab" : ""; }
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { this.release(); scene.controls.enabled = true; });
  }
  // A point of a body, in its axes; `goal` is where it is pulled to, in the ground.
  take(body, at, goal) {
    this.held = { body, at, goal: new THREE.Vector3(...(goal.toArray ? goal.toArray() : goal)), last: null };
    this.scene.canvas.style.cursor = "grabbing";
  }
  // The goal under the pointer: in the plane through the point that faces the camera.
  point(x, y) {
    const ray = new THREE.Raycaster(), normal = this.scene.camera.getWorldDirection(new THREE.Vector3());
    ray.setFromCamera(new THREE.Vector2((x / innerWidth) * 2 - 1, 1 - (y / innerHeight) * 2), this.scene.camera);
    const { stage } = this.scene, along = normal.dot(ray.ray.direction), depth = normal.dot(stage.localToWorld(this.held.goal.clone()).sub(ray.ray.origin));
    this.held.goal = stage.worldToLocal(ray.ray.origin.clone().addScaledVector(ray.ray.direction, depth / along));
  }
  release() {
    if (!this.held) return;
    this.load(this.held.body, [0, 0, 0, 0, 0, 0]);
    this.held = null; this.line.visible = this.dot.visible = false; this.scene.canvas.style.cursor = ""; this.scene.changed = true;
  }
  load(body, values) {
    const memory = this.model.workspace("memory");
    this.inputs[body].forEach((place, i) => { memory[place] = values[i]; });
    this.model.set("restart", 1);
  }
  // The load on the body for the next `dt` seconds: F = k (goal - x) - c v, and r x F, in the body's axes.
  pull(dt) {
    const { body, at, goal, last } = this.held, { position: p, rotation: R } = this.model.poses()[body];
    const x = [0, 1, 2].map((i) => p[i] + R[3 * i] * at[0] + R[3 * i + 1] * at[1] + R[3 * i + 2] * at[2]);
    const k = this.stiffness, c = 2 * DAMPED * Math.sqrt(k * this.masses[body]), to = goal.toArray();
    const force = x.map((xi, i) => k * (to[i] - xi) - (last ? (c * (xi - last[i])) / dt : 0));
    const F = [0, 1, 2].map((j) => R[j] * force[0] + R[3 + j] * force[1] + R[6 + j] * force[2]);
    this.load(body, [...F, at[1] * F[2] - at[2] * F[1], at[2] * F[0] - at[0] * F[2], at[0] * F[1] - at[1] * F[0]]);
    this.held.last = x;
  }
  draw() {
    if (!this.held) return;
    const from = this.scene.figures[0].place(this.held.body, this.held.at), to = this.held.goal;
    this.line.geometry.setFromPoints([from, to]);
    this.dot.position.copy(to);
    this.line.visible = this.dot.visible = true;
  }
}
