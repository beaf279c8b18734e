// Meshes: unpacked once, as viewer/page_data.py packs them; normals are computed here.

const MESHES = new Map();
const CREASE = Math.cos((35 * Math.PI) / 180); // faces that meet at more are seen as an edge

async function readMeshes() {
  for (const [key, packed] of Object.entries(data.meshes || {})) {
    const [corners, faces] = await Promise.all([inflate(packed.corners), inflate(packed.faces)]);
    const places = levelled(corners, packed.low, [packed.step, packed.step, packed.step]);
    const uses = faces.length / 3, order = new Uint32Array(uses);
    for (let i = 0, highest = 0; i < uses; i++) {
      const code = faces[i] + 256 * faces[uses + i] + 65536 * faces[2 * uses + i];
      order[i] = highest - code;
      if (code === 0) highest++;
    }
    const geometry = creased(places, order, packed.colours), { mapped, images = [] } = packed;
    if (mapped) geometry.setAttribute("uv", new THREE.BufferAttribute(levelled(await inflate(mapped.data), mapped.low, mapped.step), 2));
    MESHES.set(key, { geometry, colours: packed.colours, textures: await Promise.all(images.map(pictured)) });
  }
}

// Rows of numbers from levels of 16 bits: differences along each column, low bytes of all first.
function levelled(bytes, low, step) {
  const width = low.length, half = bytes.length / 2, count = half / width, values = new Float32Array(half);
  for (let axis = 0; axis < width; axis++) {
    let level = 0;
    for (let i = 0; i < count; i++) {
      const k = axis * count + i;
      level = (level + bytes[k] + 256 * bytes[half + k]) & 0xffff;
      values[width * i + axis] = low[axis] + step[axis] * level;
    }
  }
  return values;
}

// A picture as a texture that goes on beyond its sides; none where the browser cannot read it.
async function pictured(text) {
  if (!text) return null;
  try {
    const image = await createImageBitmap(new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], { type: "image/jpeg" }));
    const texture = new THREE.Texture(image);
    return Object.assign(texture, { flipY: false, colorSpace: THREE.SRGBColorSpace, wrapS: THREE.RepeatWrapping, wrapT: THREE.RepeatWrapping, anisotropy: 4, needsUpdate: true });
  } catch { return null; }
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

// A mesh with the colours and pictures of its file where the part has none; `skin` is the material of what neither has.
MAKERS.mesh = (p, skin) => {
  const { geometry, colours, textures } = MESHES.get(p.mesh);
  const material = (colour, texture) => {
    const made = skin.clone();
    if (colour) made.color.set(colour);
    if (texture) made.show(texture);
    if (p.opacity !== undefined) { made.opacity = p.opacity; made.transparent = p.opacity < 1; }
    made.side = THREE.DoubleSide;
    return made;
  };
  const mesh = placed(new THREE.Mesh(geometry, colours.map(([, own], i) => material(p.colour || own, p.colour ? null : textures[i]))), p);
  mesh.scale.set(...p.scale);
  mesh.userData.painted = true;
  return mesh;
};
