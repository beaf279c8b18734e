// Lines, surfaces around a mechanism, and figures between points that move.

function lineOf(points, colour, opacity = 1) {
  return new THREE.Line(new THREE.BufferGeometry().setFromPoints(points.map((p) => new THREE.Vector3(...p))), new Paint({ colour, opacity, kind: PLAIN }));
}
// A figure in the plane of x and y, its normal turned to the axis of the part.
function across(object, p) {
  const turned = new THREE.Group();
  object.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), new THREE.Vector3(...(p.axis || [0, 0, 1])).normalize());
  turned.add(object);
  turned.userData.around = true;
  return placed(turned, p);
}
// Rods with a ball at each place between them: corners stay sharp.
MAKERS.polyline = (p) => {
  const group = new THREE.Group(), points = p.points.map((place) => new THREE.Vector3(...place));
  const rod = new THREE.CylinderGeometry(p.radius, p.radius, 1, 10), ball = new THREE.SphereGeometry(p.radius, 10, 8);
  points.forEach((place, i) => {
    const end = new THREE.Mesh(ball);
    end.position.copy(place);
    group.add(end);
    if (i) { const piece = new THREE.Mesh(rod); between(piece, points[i - 1], place); group.add(piece); }
  });
  return placed(group, p);
};
MAKERS.plane = (p) => {
  const mesh = new THREE.Mesh(new THREE.PlaneGeometry(p.x, p.y), new Paint({ colour: p.colour || "#cfd6dc", gloss: 0, side: THREE.DoubleSide, opacity: p.opacity }));
  mesh.userData = { painted: true, flat: true };
  return across(mesh, p);
};
MAKERS.grid = (p) => {
  const points = [], half = [p.x / 2, p.y / 2], step = Math.max(p.spacing, Math.max(p.x, p.y) / 1000);
  for (let x = -half[0]; x <= half[0] * (1 + 1e-9); x += step) points.push(x, -half[1], 0, x, half[1], 0);
  for (let y = -half[1]; y <= half[1] * (1 + 1e-9); y += step) points.push(-half[0], y, 0, half[0], y, 0);
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(points), 3));
  const lines = new THREE.LineSegments(geometry, new Paint({ colour: p.colour || "#8a949d", kind: PLAIN, opacity: 0.7 * (p.opacity ?? 1) }));
  return across(lines, p);
};
// Triangles between nx × ny places in rows.
function sheet(places, nx, ny) {
  const faces = [], geometry = new THREE.BufferGeometry();
  for (let i = 0; i + 1 < nx; i++) for (let j = 0; j + 1 < ny; j++) {
    const a = i * ny + j, b = a + ny;
    faces.push(a, b, a + 1, b, b + 1, a + 1);
  }
  geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(places.flat()), 3));
  geometry.setIndex(faces);
  geometry.computeVertexNormals();
  return geometry;
}
function bendSheet(geometry, places) {
  const at = geometry.attributes.position;
  places.forEach((p, k) => at.setXYZ(k, p.x, p.y, p.z));
  at.needsUpdate = true;
  geometry.computeVertexNormals();
  geometry.computeBoundingSphere();
}
MAKERS.heights = (p) => {
  const nx = p.z.length, ny = p.z[0].length, along = (range, i, n) => range[0] + ((range[1] - range[0]) * i) / (n - 1);
  const places = p.z.flatMap((row, i) => row.map((z, j) => [along(p.x, i, nx), along(p.y, j, ny), z]));
  const mesh = new THREE.Mesh(sheet(places, nx, ny), new Paint({ colour: p.colour || "#a9b4a2", gloss: 0, side: THREE.DoubleSide, opacity: p.opacity }));
  mesh.userData = { painted: true, flat: true, around: true };
  return placed(mesh, p);
};
// A ball with its parallels and meridians every 15 degrees, and an orbit around it.
MAKERS.earth = (p) => {
  const group = new THREE.Group(), circle = (r, z) => Array.from({ length: 97 }, (_, i) => [r * Math.cos((i * Math.PI) / 48), r * Math.sin((i * Math.PI) / 48), z]);
  const ball = new THREE.Mesh(new THREE.SphereGeometry(p.radius, 96, 48), new Paint({ colour: p.colour || "#2b6ca3", gloss: 0.02 }));
  ball.userData = { painted: true, flat: true };
  group.add(ball);
  for (let k = -5; k <= 5; k++) group.add(lineOf(circle(1.002 * p.radius * Math.cos((k * Math.PI) / 12), 1.002 * p.radius * Math.sin((k * Math.PI) / 12)), k ? "#9cc4e4" : "#ffffff", 0.6));
  for (let k = 0; k < 12; k++) {
    const a = (k * Math.PI) / 12;
    group.add(lineOf(circle(1.002 * p.radius, 0).map(([x, y]) => [x * Math.cos(a), x * Math.sin(a), y]), "#9cc4e4", 0.6));
  }
  if (p.orbit) group.add(lineOf(p.orbit, "#e69f00"));
  group.userData.around = true;
  return placed(group, p);
};

// Whether a model has a ground of its own, so that the floor of the page would be a second one.
const hasGround = () => data.figures.some((f) => f.ground.parts.some((p) => ["plane", "heights", "earth"].includes(p.kind)));
// How far away the farthest thing is that the size of the figures does not include: a planet; else 0.
const farthest = () => Math.max(0, ...data.figures.flatMap((f) => f.ground.parts).map((p) => p.kind === "earth" ? 6 * Math.max(p.radius, ...(p.orbit || []).map((q) => Math.hypot(...q))) : 0));

// Figures between points: each has `show(places)`, which moves it to where its points are.
const LINKS = {
  spring: (p, paint) => stretched([[helix(p.radius, p.coils || 9), paint]]),
  rod: (p, paint) => chained(p, paint),
  // A cylinder on the first end, a thinner rod on the second; they slide in each other.
  damper: (p, paint) => {
    const root = new THREE.Group(), size = p.radius;
    const can = new THREE.Mesh(new THREE.CylinderGeometry(size, size, 1, 20), paint), rod = new THREE.Mesh(new THREE.CylinderGeometry(0.4 * size, 0.4 * size, 1, 14), paint);
    let length = 0;
    root.add(can, rod);
    return { root, show([one, other]) {
      const along = new THREE.Vector3().subVectors(other, one), now = along.length() || 1e-12;
      length = length || 0.55 * now;
      along.divideScalar(now);
      between(can, one, new THREE.Vector3().copy(one).addScaledVector(along, length));
      between(rod, new THREE.Vector3().copy(other).addScaledVector(along, -Math.min(now, 0.6 * length + Math.max(0, now - length))), other);
    } };
  },
  cable: (p, paint) => p.length ? hanging(p, paint) : chained(p, paint),
};
function stretched(parts) {
  const root = new THREE.Group(), meshes = parts.map(([geometry, paint]) => new THREE.Mesh(geometry, paint));
  root.add(...meshes);
  return { root, show: ([one, other]) => meshes.forEach((mesh) => between(mesh, one, other)) };
}
function chained(p, paint, count = p.ends.length) {
  const root = new THREE.Group(), rod = new THREE.CylinderGeometry(p.radius, p.radius, 1, 12), ball = new THREE.SphereGeometry(p.radius, 12, 8);
  const rods = Array.from({ length: count - 1 }, () => new THREE.Mesh(rod, paint)), balls = Array.from({ length: count }, () => new THREE.Mesh(ball, paint));
  root.add(...rods, ...balls);
  return { root, show(places) {
    rods.forEach((mesh, i) => between(mesh, places[i], places[i + 1]));
    balls.forEach((mesh, i) => mesh.position.copy(places[i]));
  } };
}
// A parabola of this length between two ends: L = D + 8 s²/(3 D) for a sag s.
function hanging(p, paint) {
  const count = 17, chain = chained(p, paint, count), up = new THREE.Vector3(...data.up);
  return { root: chain.root, show(places) {
    const one = places[0], other = places[places.length - 1], span = one.distanceTo(other) || 1e-12;
    const sag = Math.sqrt(Math.max(0, (3 * span * (p.length - span)) / 8));
    chain.show(Array.from({ length: count }, (_, i) => { const s = i / (count - 1); return one.clone().lerp(other, s).addScaledVector(up, -4 * sag * s * (1 - s)); }));
  } };
}
