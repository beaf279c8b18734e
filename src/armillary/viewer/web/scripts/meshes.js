// Meshes: unpacked once, as viewer/meshes.py packs them; normals are computed here.

const MESHES = new Map();
const CREASE = Math.cos((35 * Math.PI) / 180); // faces that meet at more are seen as an edge

async function readMeshes() {
  for (const [key, packed] of Object.entries(data.meshes || {})) {
    const [corners, faces] = await Promise.all([inflate(packed.corners), inflate(packed.faces)]);
    const count = corners.length / 6, half = 3 * count, places = new Float32Array(half);
    for (let axis = 0; axis < 3; axis++) {
      let level = 0;
      for (let i = 0; i < count; i++) {
        const k = axis * count + i;
        level = (level + corners[k] + 256 * corners[half + k]) & 0xffff;
        places[3 * i + axis] = packed.low[axis] + packed.step * level;
      }
    }
    const uses = faces.length / 3, order = new Uint32Array(uses);
    for (let i = 0, highest = 0; i < uses; i++) {
      const code = faces[i] + 256 * faces[uses + i] + 65536 * faces[2 * uses + i];
      order[i] = highest - code;
      if (code === 0) highest++;
    }
    MESHES.set(key, { geometry: creased(places, order, packed.colours), colours: packed.colours });
  }
}

// Triangles with a normal at each corner: the sum of those faces around it that make no edge with its own.
function creased(places, order, colours) {
  const n = order.length, faces = n / 3, normals = new Float32Array(n), units = new Float32Array(n);
  const at = (i, k) => places[3 * order[i] + k];
  for (let f = 0; f < n; f += 3) {
    const u = [0, 1, 2].map((k) => at(f + 1, k) - at(f, k)), v = [0, 1, 2].map((k) => at(f + 2, k) - at(f, k));
    const w = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]], length = Math.hypot(...w) || 1;
    for (let k = 0; k < 3; k++) { normals[f + k] = w[k]; units[f + k] = w[k] / length; }
  }
  const start = new Uint32Array(places.length / 3 + 1), around = new Uint32Array(n);
  for (let i = 0; i < n; i++) start[order[i] + 1]++;
  for (let i = 1; i < start.length; i++) start[i] += start[i - 1];
  const next = start.slice();
  for (let i = 0; i < n; i++) around[next[order[i]]++] = Math.floor(i / 3);
  const position = new Float32Array(3 * n), normal = new Float32Array(3 * n);
  for (let i = 0; i < n; i++) {
    const own = 3 * Math.floor(i / 3), corner = order[i];
    let x = 0, y = 0, z = 0;
    for (let k = start[corner]; k < start[corner + 1]; k++) {
      const f = 3 * around[k];
      if (units[f] * units[own] + units[f + 1] * units[own + 1] + units[f + 2] * units[own + 2] > CREASE) { x += normals[f]; y += normals[f + 1]; z += normals[f + 2]; }
    }
    const length = Math.hypot(x, y, z) || 1;
    for (let k = 0; k < 3; k++) position[3 * i + k] = places[3 * corner + k];
    normal[3 * i] = x / length; normal[3 * i + 1] = y / length; normal[3 * i + 2] = z / length;
  }
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(position, 3));
  geometry.setAttribute("normal", new THREE.BufferAttribute(normal, 3));
  colours.forEach(([first], i) => geometry.addGroup(3 * first, 3 * ((i + 1 < colours.length ? colours[i + 1][0] : faces) - first), i));
  return geometry;
}

// A mesh with the colours of its file where the part has none; `skin` is the material of what neither has.
MAKERS.mesh = (p, skin) => {
  const { geometry, colours } = MESHES.get(p.mesh);
  const material = (colour) => {
    const made = skin.clone();
    if (colour) made.color.set(colour);
    if (p.opacity !== undefined) { made.opacity = p.opacity; made.transparent = p.opacity < 1; }
    made.side = THREE.DoubleSide;
    return made;
  };
  const mesh = placed(new THREE.Mesh(geometry, colours.map(([, own]) => material(p.colour || own))), p);
  mesh.scale.set(...p.scale);
  mesh.userData.painted = true;
  return mesh;
};
