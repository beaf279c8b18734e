// The scene: light, floor, camera, and the figures in it. All but the camera stands on a stage, which is turned
// against a body from which the motion is seen.

const SKY = { light: ["#fbfcfd", "#e9eef2"], dark: ["#1b232b", "#0e1317"] };
const FINE = 2, QUICK = 40; // pixels per unit of a plain picture that rests; ms of one that needs no WebGL
const NARROW = 640; // pixels of the widest narrow page, as in page.css
const FILLED = 0.86; // of the picture, at first
const STRIPS = 24; // of the sky
const CASTER = 1; // the layer of what casts shadows
const SLOW = { picture: 120, count: 4, still: 250 }; // ms of a picture, so many one after another; ms after the last of a motion

class Scene {
  constructor(figures) {
    this.figures = figures; this.trails = []; this.riding = -1; this.late = 0; this.detail = 1; this.moving = this.coarse = this.begun = false;
    const { follow = -1, view = "oblique" } = data.look || {};
    this.follow = follow;
    this.canvas = byId("view");
    this.plain = new Plain(byId("quick"));
    this.renderer = null; // until WebGL is ready
    this.world = new THREE.Scene();
    this.stage = new THREE.Group();
    this.world.add(this.stage);
    this.camera = new THREE.PerspectiveCamera(38, 1, 0.01, 1000);
    this.up = new THREE.Vector3(...data.up);
    this.camera.up.copy(this.up);
    this.controls = new THREE.OrbitControls(this.camera, this.canvas);
    this.controls.enableDamping = true; this.controls.dampingFactor = 0.12; this.controls.screenSpacePanning = true;
    this.sun = new THREE.OrthographicCamera(); // what it sees is lit
    this.sun.layers.set(CASTER);
    this.target = new THREE.Vector3(); // at which the sun looks
    this.depthPaint = new Paint({ kind: PLAIN, side: THREE.DoubleSide });
    this.stage.add(this.sun);
    for (const figure of figures) this.stage.add(figure.root);
    this.measure();
    this.addFloor();
    this.restyle();
    this.look(view);
  }
  get groups() { return this.figures[0].groups; }
  // The box in which all figures stay, widened by the size of a body.
  measure() {
    this.points = [];
    this.box = this.figures.reduce((box, figure) => box.union(figure.reach(this.points)), new THREE.Box3());
    if (this.box.isEmpty()) this.box.set(new THREE.Vector3(-1, -1, -1), new THREE.Vector3(1, 1, 1));
    this.points = this.points.filter((p) => this.box.containsPoint(p)); // numbers, all of them
    if (!this.points.length) this.points = cornersOf(this.box);
    this.centre = this.box.getCenter(new THREE.Vector3());
    this.radius = Math.max(0.5 * this.box.getSize(new THREE.Vector3()).length(), data.size * 0.6);
    this.wide = this.radius > 150 * data.size; // a motion so long that the bodies would be dots
    if (this.wide) { this.follow = Math.max(this.follow, 0); this.radius = 6 * data.size; }
  }
  addFloor() {
    const up = this.up, size = 10 ** Math.ceil(Math.log10(this.radius * 4)), { min, max } = this.box;
    // In pieces: where WebGL is done in software, whole lines vanish that go behind the camera.
    const at = Array.from({ length: 41 }, (_, i) => size * (i / 40 - 0.5)), ends = at.flatMap((x) => at.slice(1).flatMap((z, j) => [x, 0, at[j], x, 0, z, at[j], 0, x, z, 0, x]));
    const lines = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(new Float32Array(ends), 3));
    this.grid = new THREE.LineSegments(lines, new Paint({ colour: "#9aa7b2", kind: PLAIN, opacity: 0.26 }));
    const plane = new THREE.Mesh(new THREE.PlaneGeometry(size, size), new Paint({ colour: "#000000", opacity: 0.17, depthWrite: false, kind: SHADE }));
    plane.rotateX(-Math.PI / 2);
    this.floor = new THREE.Group();
    this.floor.add(this.grid, plane);
    this.floor.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), up);
    const corners = [min, max].flatMap((a) => [min, max].flatMap((b) => [min, max].map((c) => new THREE.Vector3(a.x, b.y, c.z).dot(up))));
    const lowest = Math.min(...corners) - 0.02 * this.radius;
    this.floor.position.copy(this.centre).addScaledVector(up, lowest - this.centre.dot(up));
    this.floor.visible = !this.wide && !hasGround();
    this.stage.add(this.floor);
  }
  restyle() {
    const dark = document.documentElement.dataset.theme === "dark", [top, bottom] = (dark ? SKY.dark : SKY.light).map((c) => new THREE.Color(c));
    this.grid.material.opacity = dark ? 0.13 : 0.26;
    this.sky = Array.from({ length: STRIPS }, (_, i) => bottom.clone().lerp(top, i / (STRIPS - 1)));
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
    const followed = this.follow >= 0, way = ways[name].normalize();
    const { target, distance } = followed ? { target: this.groups[this.follow].position.clone(), distance: (this.radius / this.tangent()) * 1.12 } : this.fit(way);
    const middle = followed ? target : this.centre;
    this.controls.target.copy(target);
    this.camera.up.copy(up);
    this.camera.position.copy(target).addScaledVector(way, distance);
    this.camera.near = distance / 200; this.camera.far = Math.max(distance * 60, farthest());
    this.camera.updateProjectionMatrix();
    this.sun.position.copy(middle).addScaledVector(up, 2.2 * this.radius).addScaledVector(right, 1.1 * this.radius).addScaledVector(front, -0.8 * this.radius);
    this.target.copy(middle);
    const r = 1.6 * this.radius;
    Object.assign(this.sun, { left: -r, right: r, top: r, bottom: -r, near: 0.05 * this.radius, far: 6 * this.radius });
    this.sun.updateProjectionMatrix();
    this.changed = true;
  }
  tangent() { return Math.tan((this.camera.fov * Math.PI) / 360); }
  // The target and distance of a camera that has the whole motion in its picture, and its middle in the middle, as
  // viewer/film/camera.py places it.
  fit(way) {
    const up = this.up.clone().addScaledVector(way, -this.up.dot(way));
    if (up.length() < 1e-3) up.copy(this.axes().front);
    up.normalize();
    const right = new THREE.Vector3().crossVectors(up, way), target = this.centre.clone(), p = new THREE.Vector3();
    const tall = FILLED * this.tangent() * (1 - this.coveredBelow() / innerHeight), wide = FILLED * this.tangent() * Math.max(0.4, this.freeWidth() / innerHeight);
    let distance = 0;
    for (let round = 0; round < 5; round++) { // the middle of what is seen moves with the distance
      distance = 0.5 * data.size;
      for (const place of this.points) {
        p.subVectors(place, target);
        distance = Math.max(distance, Math.max(Math.abs(p.dot(right)) / wide, Math.abs(p.dot(up)) / tall) + p.dot(way));
      }
      if (round === 4) break;
      let [west, east, south, north] = [Infinity, -Infinity, Infinity, -Infinity];
      for (const place of this.points) {
        const z = distance - p.subVectors(place, target).dot(way), x = p.dot(right) / z, y = p.dot(up) / z;
        west = Math.min(west, x); east = Math.max(east, x); south = Math.min(south, y); north = Math.max(north, y);
      }
      target.addScaledVector(right, 0.5 * distance * (west + east)).addScaledVector(up, 0.5 * distance * (south + north));
    }
    return { target, distance };
  }
  // Pixels across that panels leave to a picture in the middle between them.
  freeWidth() { const right = this.covered(); return innerWidth - right - Math.min(right, this.coveredLeft()); }
  // Pixels at the right that panels cover, and below: the foot of the page, and panels where a screen is narrow.
  covered() { const box = byId("plots"); return box.hidden || !box.children.length || innerWidth <= NARROW ? 0 : innerWidth - box.getBoundingClientRect().left; }
  coveredLeft() { const { left, width } = byId("side").getBoundingClientRect(); return innerWidth <= NARROW ? 0 : left + width; }
  coveredBelow() {
    const box = innerWidth <= NARROW && (byId("right") || byId("plots")).offsetHeight ? byId("right") || byId("plots") : document.querySelector("footer");
    return box.offsetHeight ? Math.min(0.6 * innerHeight, innerHeight - box.getBoundingClientRect().top) : 0;
  }
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
      for (const place of [this.camera.position, this.controls.target, this.sun.position, this.target]) place.add(moved);
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
        const line = new THREE.Line(geometry, new Paint({ colour: figure.content.tint || figure.bodies[b].colour, kind: PLAIN }));
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
  // The picture's middle is that of what panels leave free.
  resize() {
    if (!hasSize()) return;
    if (this.renderer) this.renderer.setSize(innerWidth, innerHeight, false);
    this.camera.aspect = innerWidth / innerHeight;
    const shift = 0.5 * Math.max(0, this.covered() - this.coveredLeft()), raised = 0.5 * this.coveredBelow(); // between both panels
    if (shift || raised) this.camera.setViewOffset(innerWidth, innerHeight, shift, raised, innerWidth, innerHeight); else this.camera.clearViewOffset();
    this.camera.updateProjectionMatrix();
    this.changed = true;
  }
  // One frame: whether anything was drawn. A motion has fewer pixels where pictures take long, one that rests the most.
  refresh() {
    if (!hasSize()) return false; // hidden since: the picture stays due
    if (this.controls.update()) this.changed = true;
    const now = performance.now(), moving = this.changed, most = this.renderer ? 1 : Math.max(1, FINE / sharp());
    if (this.moving && now - this.drawn > SLOW.picture) this.late++; else this.late = 0;
    this.moving = moving;
    if (!moving && !(this.detail < most && now - this.drawn > SLOW.still)) return false;
    if (this.late >= SLOW.count && !this.coarse) this.coarsen();
    this.changed = false;
    this.drawn = now;
    this.draw(!moving ? most : this.coarse ? 0.5 : 1);
    if (!this.begun) {
      performance.mark("picture");
      requestAnimationFrame(() => requestAnimationFrame(() => this.begin())); // when the first picture is seen
    }
    this.begun = true;
    return true;
  }
  // WebGL in place of plain pictures, once its programs are compiled and its first picture is there. One that works
  // without a graphics processor is used only where plain pictures take longer.
  async begin() {
    try {
      const renderer = new THREE.WebGLRenderer({ canvas: this.canvas, antialias: true, logarithmicDepthBuffer: farthest() > 0 }), gl = renderer.getContext();
      const maker = gl.getExtension("WEBGL_debug_renderer_info"), name = maker ? gl.getParameter(maker.UNMASKED_RENDERER_WEBGL) : "";
      if (/swiftshader|llvmpipe|softpipe|software|basic render/i.test(name) && !/webgl/.test(location.search)) {
        for (let k = 0; k < 3 && this.plain.quickest > QUICK; k++) this.draw();
        if (this.plain.quickest < QUICK) return gl.getExtension("WEBGL_lose_context").loseContext();
      }
      renderer.autoClear = false;
      renderer.setSize(innerWidth, innerHeight, false);
      this.shadow = farthest() > 0 ? null : this.makeShadow(2048);
      await renderer.compileAsync(this.world, this.camera);
      this.draw(1, renderer);
      const done = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
      gl.flush();
      while (gl.getSyncParameter(done, gl.SYNC_STATUS) !== gl.SIGNALED && !gl.isContextLost()) await new Promise((go) => setTimeout(go, 10));
      const use = (on) => { this.renderer = on ? renderer : null; this.plain.canvas.hidden = on; document.documentElement.dataset.drawn = on ? "webgl" : "plain"; this.resize(); };
      use(true);
      this.canvas.addEventListener("webglcontextlost", () => use(false));
      this.canvas.addEventListener("webglcontextrestored", () => use(true));
    } catch (error) {
      if (!/WebGL/i.test(String(error))) throw error;
      hint("This browser shows no WebGL, so the picture is a plain one.", 4000);
    }
  }
  // Pictures of a motion with half of the pixels each way.
  coarsen() {
    this.coarse = true;
    if (this.shadow) this.shadow = this.makeShadow(512);
  }
  makeShadow(size) {
    if (this.shadow) this.shadow.dispose();
    const depth = Object.assign(new THREE.DepthTexture(size, size), { compareFunction: THREE.LessEqualCompare, minFilter: THREE.LinearFilter, magFilter: THREE.LinearFilter });
    LIGHT.texel.value = 1.2 / size;
    return new THREE.WebGLRenderTarget(size, size, { depthTexture: depth });
  }
  // What the sun sees, as a map of depths.
  castShadows(renderer) {
    const { sun, world } = this;
    LIGHT.shadows.value = 0; LIGHT.shadow.value = null;
    renderer.setRenderTarget(this.shadow);
    renderer.clear();
    world.overrideMaterial = this.depthPaint;
    renderer.render(world, sun);
    world.overrideMaterial = null;
    renderer.setRenderTarget(null);
    LIGHT.toSun.value.set(0.5, 0, 0, 0.5, 0, 0.5, 0, 0.5, 0, 0, 0.5, 0.5, 0, 0, 0, 1).multiply(sun.projectionMatrix).multiply(sun.matrixWorldInverse);
    LIGHT.shadow.value = this.shadow.depthTexture; LIGHT.shadows.value = 1;
  }
  // A sky of strips, one for each of its few shades: clearing needs no program.
  clearSky(renderer) {
    renderer.setScissorTest(true);
    this.sky.forEach((colour, i) => {
      renderer.setScissor(0, (i * innerHeight) / STRIPS, innerWidth, innerHeight);
      renderer.setClearColor(colour);
      renderer.clear(true, i === 0, false);
    });
    renderer.setScissorTest(false);
  }
  // `detail`: pixels beside those of the screen, each way.
  draw(detail = 1, renderer = this.renderer) {
    if (!hasSize()) return;
    const { camera, world, sun, stage } = this, ratio = sharp() * detail;
    this.detail = detail;
    world.updateMatrixWorld();
    camera.updateMatrixWorld();
    sun.lookAt(stage.localToWorld(this.target.clone()));
    sun.updateMatrixWorld();
    LIGHT.up.value.copy(this.up).transformDirection(stage.matrixWorld).transformDirection(camera.matrixWorldInverse);
    LIGHT.sun.value.setFromMatrixColumn(sun.matrixWorld, 2).transformDirection(camera.matrixWorldInverse);
    if (!renderer) {
      this.plain.setSize(Math.round(innerWidth * ratio), Math.round(innerHeight * ratio));
      this.plain.draw(world, camera, this.sky, this.floor);
      return;
    }
    if (renderer.getPixelRatio() !== ratio) renderer.setPixelRatio(ratio);
    if (this.shadow) this.castShadows(renderer);
    this.clearSky(renderer);
    renderer.render(world, camera);
  }
  // Which canvas is seen.
  get shown() { return this.plain.canvas.hidden ? this.canvas : this.plain.canvas; }
}
