// The scene: light, floor, camera, and the figures in it. All but the camera stands on a stage, which is turned
// against a body from which the motion is seen.

const SKY = { light: ["#fbfcfd", "#e9eef2"], dark: ["#1b232b", "#0e1317"] };
const SLOW = { picture: 120, count: 4, still: 250 }; // ms of a picture, so many one after another; ms after the last of a motion

class Scene {
  // A scene, or one that draws nothing where the browser has no WebGL: time line and plots work without it.
  static make(figures) {
    try { return new Scene(figures); } catch (error) {
      report(error, false);
      return new BlindScene(figures);
    }
  }
  constructor(figures) {
    this.figures = figures; this.trails = []; this.riding = -1; this.late = 0; this.moving = this.coarse = this.rough = false;
    const { follow = -1, view = "oblique" } = data.look || {};
    this.follow = follow;
    this.canvas = byId("view");
    this.renderer = new THREE.WebGLRenderer({ canvas: this.canvas, antialias: true, preserveDrawingBuffer: true, logarithmicDepthBuffer: farthest() > 0 });
    this.renderer.setPixelRatio(sharp());
    this.renderer.shadowMap.enabled = true;
    this.world = new THREE.Scene();
    this.stage = new THREE.Group();
    this.world.add(this.stage);
    this.camera = new THREE.PerspectiveCamera(38, 1, 0.01, 1000);
    this.up = new THREE.Vector3(...data.up);
    this.camera.up.copy(this.up);
    this.controls = new THREE.OrbitControls(this.camera, this.canvas);
    this.controls.enableDamping = true; this.controls.dampingFactor = 0.12; this.controls.screenSpacePanning = true;
    this.stage.add(new THREE.HemisphereLight(0xffffff, 0x8d99a6, 1.6));
    this.sun = new THREE.DirectionalLight(0xffffff, 2.1);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.radius = 3; this.sun.shadow.bias = -5e-4;
    this.stage.add(this.sun, this.sun.target);
    for (const figure of figures) this.stage.add(figure.root);
    this.measure();
    this.addFloor();
    this.restyle();
    this.look(view);
  }
  get groups() { return this.figures[0].groups; }
  // The box in which all figures stay, widened by the size of a body.
  measure() {
    this.box = this.figures.reduce((box, figure) => box.union(figure.reach()), new THREE.Box3());
    if (this.box.isEmpty()) this.box.set(new THREE.Vector3(-1, -1, -1), new THREE.Vector3(1, 1, 1));
    this.centre = this.box.getCenter(new THREE.Vector3());
    this.radius = Math.max(0.5 * this.box.getSize(new THREE.Vector3()).length(), data.size * 0.6);
    this.wide = this.radius > 150 * data.size; // a motion so long that the bodies would be dots
    if (this.wide) { this.follow = Math.max(this.follow, 0); this.radius = 6 * data.size; }
  }
  addFloor() {
    const up = this.up, size = 10 ** Math.ceil(Math.log10(this.radius * 4)), { min, max } = this.box;
    const grid = new THREE.GridHelper(size, 40, 0x9aa7b2, 0x9aa7b2);
    grid.material.transparent = true;
    this.grid = grid;
    const plane = new THREE.Mesh(new THREE.PlaneGeometry(size, size), new THREE.ShadowMaterial({ opacity: 0.17, depthWrite: false }));
    plane.rotateX(-Math.PI / 2); plane.receiveShadow = true;
    this.floor = new THREE.Group();
    this.floor.add(grid, plane);
    this.floor.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), up);
    const corners = [min, max].flatMap((a) => [min, max].flatMap((b) => [min, max].map((c) => new THREE.Vector3(a.x, b.y, c.z).dot(up))));
    const lowest = Math.min(...corners) - 0.02 * this.radius;
    this.floor.position.copy(this.centre).addScaledVector(up, lowest - this.centre.dot(up));
    this.floor.visible = !this.wide && !hasGround();
    this.stage.add(this.floor);
  }
  // The sky is part of the picture, so that files of it have it too.
  restyle() {
    const [top, bottom] = SKY[document.documentElement.dataset.theme] || SKY.light, canvas = element("canvas", { width: 2, height: 256 }), g = canvas.getContext("2d");
    const fade = g.createLinearGradient(0, 0, 0, 256);
    fade.addColorStop(0, top); fade.addColorStop(1, bottom);
    g.fillStyle = fade; g.fillRect(0, 0, 2, 256);
    this.grid.material.opacity = document.documentElement.dataset.theme === "dark" ? 0.13 : 0.26;
    if (this.world.background) this.world.background.dispose();
    this.world.background = new THREE.CanvasTexture(canvas);
    this.world.background.colorSpace = THREE.SRGBColorSpace;
    this.changed = true;
  }
  // Directions to the right, to the front and upwards.
  axes() {
    const up = this.up, side = Math.abs(up.y) < 0.9 ? new THREE.Vector3(0, 1, 0) : new THREE.Vector3(0, 0, 1);
    const front = side.clone().addScaledVector(up, -side.dot(up)).normalize();
    return { up, front, right: new THREE.Vector3().crossVectors(front, up).normalize() };
  }
  look(name) {
    const { up, front, right } = this.axes();
    const ways = {
      oblique: new THREE.Vector3().addScaledVector(front, -1).addScaledVector(right, 0.75).addScaledVector(up, 0.5),
      front: front.clone().negate(), side: right.clone(), top: up.clone().addScaledVector(front, -1e-3),
      x: new THREE.Vector3(1, 0, 0), y: new THREE.Vector3(0, 1, 0), z: new THREE.Vector3(0, 0, 1),
    };
    this.ride(-1);
    const followed = this.follow >= 0, target = followed ? this.groups[this.follow].position.clone() : this.centre.clone(), way = ways[name].normalize();
    const distance = followed ? (this.radius / this.tangent()) * 1.12 : this.distance(way, target);
    this.controls.target.copy(target);
    this.camera.up.copy(up);
    this.camera.position.copy(target).addScaledVector(way, distance);
    this.camera.near = distance / 200; this.camera.far = Math.max(distance * 60, farthest());
    this.camera.updateProjectionMatrix();
    this.sun.position.copy(target).addScaledVector(up, 2.2 * this.radius).addScaledVector(right, 1.1 * this.radius).addScaledVector(front, -0.8 * this.radius);
    this.sun.target.position.copy(target);
    const s = this.sun.shadow.camera, r = 1.6 * this.radius;
    Object.assign(s, { left: -r, right: r, top: r, bottom: -r, near: 0.05 * this.radius, far: 6 * this.radius });
    s.updateProjectionMatrix();
    this.changed = true;
  }
  tangent() { return Math.tan((this.camera.fov * Math.PI) / 360); }
  // How far the camera stands so that the whole box is in the picture.
  distance(way, target) {
    const { min, max } = this.box, up = this.up.clone().addScaledVector(way, -this.up.dot(way));
    if (up.length() < 1e-3) up.copy(this.axes().front);
    up.normalize();
    const right = new THREE.Vector3().crossVectors(up, way), tall = 0.8 * this.tangent(), wide = tall * Math.max(0.4, (innerWidth - this.covered()) / innerHeight);
    let most = 0.5 * data.size;
    for (const x of [min.x, max.x]) for (const y of [min.y, max.y]) for (const z of [min.z, max.z]) {
      const p = new THREE.Vector3(x, y, z).sub(target);
      most = Math.max(most, Math.abs(p.dot(right)) / wide + p.dot(way), Math.abs(p.dot(up)) / tall + p.dot(way));
    }
    return most;
  }
  // Pixels at the right that the plots cover.
  covered() { const box = byId("plots"); return box.hidden || !box.children.length || innerWidth < 640 ? 0 : box.offsetWidth; }
  // The motion as seen from a body: the stage moves against it, the camera stays (-1: from the ground).
  ride(b) {
    this.riding = b;
    this.stage.position.set(0, 0, 0); this.stage.quaternion.identity();
    if (b < 0) { this.changed = true; return; }
    this.against();
    const size = data.size, com = new THREE.Vector3(...this.figures[0].bodies[b].com);
    const up = this.up.clone().applyQuaternion(this.stage.quaternion), ahead = new THREE.Vector3(1, 0, 0);
    if (Math.abs(up.x) > 0.9) ahead.set(0, 1, 0);
    ahead.addScaledVector(up, -ahead.dot(up)).normalize();
    this.camera.up.copy(up);
    this.camera.position.copy(com).addScaledVector(ahead, -3.2 * size).addScaledVector(up, 1.3 * size);
    this.controls.target.copy(com).addScaledVector(ahead, 1.5 * size);
    this.changed = true;
  }
  against() {
    const { position, quaternion } = this.groups[this.riding];
    this.stage.quaternion.copy(quaternion).invert();
    this.stage.position.copy(position).applyQuaternion(this.stage.quaternion).negate();
  }
  show(t) {
    const before = this.follow >= 0 && this.riding < 0 ? this.groups[this.follow].position.clone() : null;
    for (const figure of this.figures) if (figure.root.visible) figure.show(t);
    if (this.riding >= 0) this.against();
    if (before) {
      const moved = this.groups[this.follow].position.clone().sub(before);
      for (const place of [this.camera.position, this.controls.target, this.sun.position, this.sun.target.position]) place.add(moved);
    }
    this.changed = true;
  }
  showFrames(on) {
    for (const figure of this.figures) for (const group of figure.groups) group.getObjectByName("frame").visible = on;
    this.changed = true;
  }
  // Paths of the points that were chosen, else of the mass centres.
  showTrails(on) {
    this.trails.forEach((line) => line.removeFromParent());
    this.trails = [];
    if (on) for (const figure of this.figures) {
      const chosen = figure.content.paths || [];
      const points = chosen.length ? chosen.map((p) => ({ b: figure.index(p.body), at: p.at })) : figure.bodies.map((body, b) => ({ b, at: body.com }));
      for (const { b, at } of points) {
        const geometry = new THREE.BufferGeometry().setFromPoints(figure.motion.path(b, at));
        const line = new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: new THREE.Color(figure.content.tint || figure.bodies[b].colour) }));
        figure.root.add(line);
        this.trails.push(line);
      }
    }
    this.changed = true;
  }
  // A place in the axes of the ground on the screen, in pixels from its upper left corner; null behind the camera.
  project(place) {
    this.stage.updateMatrixWorld();
    const p = place.clone().applyMatrix4(this.stage.matrixWorld).project(this.camera);
    return p.z < 1 ? { x: (p.x * 0.5 + 0.5) * innerWidth, y: (0.5 - p.y * 0.5) * innerHeight } : null;
  }
  // The ray of sight through a place of the screen.
  ray(x, y) {
    const ray = new THREE.Raycaster();
    ray.setFromCamera(new THREE.Vector2((x / innerWidth) * 2 - 1, 1 - (y / innerHeight) * 2), this.camera);
    return ray;
  }
  // The body under a place of the screen: { figure, body, point, at }, `point` in the ground's axes, `at` in the body's.
  pick(x, y) {
    const ray = this.ray(x, y);
    for (const hit of ray.intersectObjects(this.figures.filter((f) => f.root.visible).flatMap((f) => f.groups), true)) {
      let group = hit.object;
      if (!group.isMesh) continue;
      while (group && !group.userData.figure) group = group.parent;
      if (group) return { ...group.userData, point: this.stage.worldToLocal(hit.point.clone()), at: group.worldToLocal(hit.point.clone()) };
    }
    return null;
  }
  // The picture's middle is that of what the plots leave free.
  resize() {
    this.renderer.setSize(innerWidth, innerHeight, false);
    this.camera.aspect = innerWidth / innerHeight;
    const left = innerWidth < 1000 ? byId("side").offsetWidth : 0, shift = 0.5 * Math.max(0, this.covered() - left); // narrow: between both panels
    if (shift) this.camera.setViewOffset(innerWidth, innerHeight, shift, 0, innerWidth, innerHeight); else this.camera.clearViewOffset();
    this.camera.updateProjectionMatrix();
    this.changed = true;
  }
  // One frame: whether anything was drawn.
  refresh() {
    if (this.controls.update()) this.changed = true;
    const now = performance.now(), moving = this.changed;
    if (this.moving && now - this.drawn > SLOW.picture) this.late++; else this.late = 0;
    this.moving = moving;
    if (!moving && !(this.rough && now - this.drawn > SLOW.still)) return false;
    if (this.late >= SLOW.count && !this.coarse) this.coarsen();
    this.changed = false;
    this.drawn = now;
    this.draw(moving && this.coarse);
    return true;
  }
  // Where pictures take long, as without a graphics processor, those of a motion have half of the pixels each way.
  coarsen() {
    this.coarse = true;
    this.sun.shadow.mapSize.set(512, 512);
    if (this.sun.shadow.map) { this.sun.shadow.map.dispose(); this.sun.shadow.map = null; }
  }
  draw(rough = false) {
    if (rough !== this.rough) { this.rough = rough; this.renderer.setPixelRatio(sharp() * (rough ? 0.5 : 1)); }
    this.renderer.render(this.world, this.camera);
  }
}

class BlindScene {
  constructor(figures) { Object.assign(this, { figures, follow: -1, radius: 1, canvas: byId("view"), blind: true }); }
  show(t) { for (const figure of this.figures) figure.show(t); }
  look() {} ride() {} restyle() {} resize() {} draw() {} showFrames() {} showTrails() {}
  project() { return null; }
  pick() { return null; }
  refresh() { return false; }
}
