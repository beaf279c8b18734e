// A figure: the bodies of one run, with their springs and bent parts, moved by a motion.

const PLACES = 8000; // of corners over a motion, about, that a camera is placed by

const cornersOf = ({ min, max }) => [min.x, max.x].flatMap((x) => [min.y, max.y].flatMap((y) => [min.z, max.z].map((z) => new THREE.Vector3(x, y, z))));

class Figure {
  constructor(content, motion) {
    this.content = content; this.motion = motion; this.bodies = content.bodies;
    this.root = new THREE.Group();
    if (content.shift) this.root.position.set(...content.shift);
    this.groups = content.bodies.map((body, b) => this.addBody(body, b));
    this.ground = this.addBody(content.ground, -1);
    this.springs = content.springs.map((spring) => this.addSpring(spring));
    this.bent = content.bending.map((part) => this.addBent(part));
    if (content.ghost) this.fade(content.ghost);
  }
  index(name) { return this.bodies.findIndex((body) => body.name === name); }
  addBody(body, b) {
    const group = new THREE.Group(), tint = this.content.tint, colour = new THREE.Color(tint || body.colour);
    const skin = new Paint({ colour }), steel = new Paint({ colour: "#7d8790", gloss: 0.16 }), dark = new Paint({ colour: colour.clone().multiplyScalar(0.62) });
    for (const part of body.parts) {
      const maker = MAKERS[part.kind];
      if (!maker) continue;
      const object = maker(part, skin);
      let material = JOINTS.has(part.kind) ? steel : part.kind === "rod" ? dark : skin;
      if (part.colour || part.opacity !== undefined) {
        material = material.clone();
        if (part.colour && !tint) material.color.set(part.colour);
        if (part.opacity !== undefined) { material.opacity = part.opacity; material.transparent = part.opacity < 1; }
      }
      object.traverse((o) => { if (o.isMesh) { if (!o.userData.painted) o.material = material; if (!o.userData.flat) o.layers.enable(CASTER); } });
      group.add(object);
    }
    const frame = new THREE.Group();
    ["#d55e00", "#009e73", "#0072b2"].forEach((axis, k) => frame.add(lineOf([[0, 0, 0], [0, 1, 2].map((n) => (n === k ? 0.3 * data.size : 0))], axis)));
    frame.visible = false; frame.name = "frame";
    group.add(frame);
    group.userData = { figure: this, body: b };
    this.root.add(group);
    return group;
  }
  addSpring(spring) {
    const paint = new Paint({ colour: spring.colour || "#6b7680", gloss: 0.16, opacity: spring.opacity });
    const line = LINKS[spring.kind](spring, paint);
    line.root.traverse((o) => o.layers.enable(CASTER));
    this.root.add(line.root);
    return { line, ends: spring.ends.map((e) => ({ body: this.index(e.body), at: new THREE.Vector3(...e.at) })) };
  }
  // A flexible body: a chain of rods along a beam, a sheet for a plate, balls at the nodes of another part.
  addBent(part) {
    const skin = new Paint({ colour: this.bodies[part.body].colour, side: part.sheet ? THREE.DoubleSide : THREE.FrontSide });
    const count = part.sheet ? 1 : part.chain ? part.places.length - 1 : part.places.length;
    const solid = part.sheet ? sheet(part.places, ...part.sheet) : part.chain ? new THREE.CylinderGeometry(part.radius, part.radius, 1, 12) : new THREE.SphereGeometry(1.6 * part.radius, 14, 10);
    const meshes = Array.from({ length: count }, () => new THREE.Mesh(solid, skin));
    for (const mesh of meshes) { mesh.layers.enable(CASTER); this.groups[part.body].add(mesh); }
    const bending = this.content.bending, earlier = bending.slice(0, bending.indexOf(part));
    const first = 7 * this.bodies.length + earlier.reduce((n, p) => n + p.modes, 0);
    return { ...part, meshes, first };
  }
  // All parts transparent and without shadows: a figure for comparison.
  fade(opacity) {
    this.root.traverse((o) => {
      if (!o.isMesh) return;
      const faded = (m) => Object.assign(m.clone(), { transparent: true, depthWrite: false, opacity: opacity * (m.opacity ?? 1) });
      o.material = Array.isArray(o.material) ? o.material.map(faded) : faded(o.material);
      o.layers.disable(CASTER);
    });
  }
  show(t) {
    const now = this.motion.at(t);
    this.groups.forEach((group, b) => {
      group.position.set(now[7 * b], now[7 * b + 1], now[7 * b + 2]);
      group.quaternion.set(now[7 * b + 3], now[7 * b + 4], now[7 * b + 5], now[7 * b + 6]).normalize();
    });
    for (const part of this.bent) this.bend(part, now);
    for (const { line, ends } of this.springs) {
      line.show(ends.map(({ body, at }) => this.place(body, at)));
    }
  }
  // A place of a body (-1: of the ground) in the axes of the ground, at the time shown.
  place(body, at) {
    const place = at.clone ? at.clone() : new THREE.Vector3(...at);
    return body < 0 ? place : place.applyQuaternion(this.groups[body].quaternion).add(this.groups[body].position);
  }
  bend(part, now) {
    part.now = part.places.map((place, k) => {
      const p = new THREE.Vector3(...place);
      part.shapes[k].forEach((shape, n) => {
        const a = now[part.first + n];
        p.x += a * shape[0]; p.y += a * shape[1]; p.z += a * shape[2];
      });
      return p;
    });
    if (part.sheet) { bendSheet(part.meshes[0].geometry, part.now); return; }
    part.meshes.forEach((mesh, k) => { if (part.chain) between(mesh, part.now[k], part.now[k + 1]); else mesh.position.copy(part.now[k]); });
  }
  // The box in which the figure stays: its parts at the start, and the corners of its bodies later; `points` get
  // corners by which a camera is placed.
  reach(points = []) {
    const take = (box) => { if (!box.isEmpty()) points.push(...cornersOf(box)); return box; };
    this.show(this.motion.start);
    this.root.updateMatrixWorld(true);
    const box = new THREE.Box3();
    for (const group of [...this.groups, this.ground])
      for (const part of group.children) if (!part.userData.around && part.visible) box.union(take(new THREE.Box3().setFromObject(part)));
    for (const { line } of this.springs) box.union(take(new THREE.Box3().setFromObject(line.root)));
    const every = Math.max(1, Math.ceil((800 * this.bodies.length) / PLACES));
    this.bodies.forEach((_, b) => {
      const group = this.groups[b], own = new THREE.Box3(), back = group.matrixWorld.clone().invert();
      for (const part of group.children) if (!part.userData.around) part.traverse((o) => { // in the axes of the body
        if (!o.isMesh) return;
        if (!o.geometry.boundingBox) o.geometry.computeBoundingBox();
        own.union(o.geometry.boundingBox.clone().applyMatrix4(o.matrixWorld.clone().premultiply(back)));
      });
      const corners = own.isEmpty() ? [[0, 0, 0]] : cornersOf(own).map((p) => p.toArray());
      for (const corner of corners) this.motion.path(b, corner, 100).forEach((p, k) => { box.expandByPoint(p.add(this.root.position)); if (k % every === 0) points.push(p); });
    });
    return box;
  }
}
