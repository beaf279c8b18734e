// Solids of three.js for the parts of bodies, by kind.

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
function helix(radius, turns = 9) {
  const points = [];
  const count = 20 * turns;
  for (let i = 0; i <= count; i++) {
    const s = i / count, inner = Math.min(1, Math.max(0, (s - 0.08) / 0.84)), a = 2 * Math.PI * turns * inner;
    const r = s < 0.06 || s > 0.94 ? 0 : radius;
    points.push(new THREE.Vector3(r * Math.cos(a), s - 0.5, r * Math.sin(a)));
  }
  return new THREE.TubeGeometry(new THREE.CatmullRomCurve3(points), 2 * count, 0.18 * radius, 8);
}
