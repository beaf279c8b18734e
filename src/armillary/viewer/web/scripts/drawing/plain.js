// Pictures without WebGL: triangles with a depth buffer, in the memory of a 2D canvas. They come at once, where WebGL
// compiles its programs for up to seconds first, and are all there is in a browser that has no WebGL.

const LEVELS = 256, BRIGHT = 1.2; // shades of a paint, and the light of the brightest
const HEAVY = 150000; // corners beyond which pictures are without shadows
const MANY = 20000; // corners of an instanced part that are drawn

class Plain {
  constructor(canvas) { this.canvas = canvas; this.context = canvas.getContext("2d", { alpha: false }); this.shades = new WeakMap(); this.quickest = Infinity; }
  setSize(width, height) {
    if (this.width === width && this.height === height) return;
    this.width = this.canvas.width = width; this.height = this.canvas.height = height;
    this.image = this.context.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.depths = new Float32Array(width * height);
  }
  // `sky`: colours from below, in strips; `floor`: a group whose plane takes shadows; the light as in the paints.
  draw(world, camera, sky, floor) {
    const begun = performance.now(), { pixels, depths, width, height } = this, strips = sky.map((c) => packed(c, 1));
    for (let y = 0; y < height; y++) pixels.fill(strips[Math.floor(((height - 1 - y) * strips.length) / height)], y * width, (y + 1) * width);
    depths.fill(1);
    const seen = [], through = [];
    world.traverseVisible((o) => {
      if (!(o.isMesh || o.isLine)) return;
      const materials = [o.material].flat();
      if (materials[0].kind !== SHADE) (materials.some((m) => m.transparent) ? through : seen).push(o);
    });
    const casters = [...seen, ...through].filter((o) => o.isMesh && o.layers.isEnabled(CASTER)), corners = casters.reduce((n, o) => n + o.geometry.attributes.position.count, 0);
    if (floor.visible && corners < HEAVY) this.shadows(casters, floor, camera);
    const matrix = new THREE.Matrix4(), one = new THREE.Matrix4(), normals = new THREE.Matrix3();
    for (const o of [...seen, ...through]) {
      const every = o.isInstancedMesh ? Math.ceil((o.count * o.geometry.attributes.position.count) / MANY) : 1;
      for (let k = 0; k < (o.isInstancedMesh ? o.count : 1); k += every) {
        matrix.multiplyMatrices(camera.matrixWorldInverse, o.matrixWorld);
        if (o.isInstancedMesh) { o.getMatrixAt(k, one); matrix.multiply(one); o.getColorAt(k, o.material.color); }
        normals.getNormalMatrix(matrix);
        this.object(o, matrix.elements, normals.elements, camera);
      }
      if (o.isInstancedMesh) o.material.color.set("#ffffff"); // as its instances need it elsewhere
    }
    this.context.putImageData(this.image, 0, 0);
    this.quickest = Math.min(this.quickest, performance.now() - begun); // ms
  }
  // Triangles on the floor, along the light; what is darkened once is marked by its depth.
  shadows(casters, floor, camera) {
    const plane = floor.children.find((o) => o.isMesh), normal = new THREE.Vector3(0, 0, 1).transformDirection(plane.matrixWorld), light = LIGHT.sun.value.clone().transformDirection(camera.matrixWorld);
    const slope = normal.dot(light), height = normal.dot(new THREE.Vector3().setFromMatrixPosition(plane.matrixWorld));
    if (slope < 0.05) return;
    const flat = new THREE.Matrix4(), [l, n] = [light.toArray(), normal.toArray()], entry = (i, j) => (i === j ? 1 : 0) - (l[i] * n[j]) / slope;
    flat.set(...[0, 1, 2].flatMap((i) => [entry(i, 0), entry(i, 1), entry(i, 2), (l[i] * height) / slope]), 0, 0, 0, 1).premultiply(camera.matrixWorldInverse);
    for (const o of casters) this.object(o, flat.clone().multiply(o.matrixWorld).elements, null, camera, { levels: new Uint32Array(LEVELS).fill(0xff000000), opacity: plane.material.opacity, once: true });
    this.depths.fill(1);
  }
  // Corners in the axes of the camera with their light, then on the screen, then the triangles or lines between them.
  object(o, m, n, camera, shadow = null) {
    const { position, normal } = o.geometry.attributes, { index, groups, drawRange } = o.geometry, count = position.count, materials = [o.material].flat(), light = new Float32Array(count);
    const eye = new Float32Array(3 * count), p = position.array, g = n && normal && normal.array, sun = LIGHT.sun.value, up = LIGHT.up.value;
    for (let i = 0; i < count; i++) {
      const x = p[3 * i], y = p[3 * i + 1], z = p[3 * i + 2];
      for (let k = 0; k < 3; k++) eye[3 * i + k] = m[k] * x + m[4 + k] * y + m[8 + k] * z + m[12 + k];
      if (!g) continue;
      let a = n[0] * g[3 * i] + n[3] * g[3 * i + 1] + n[6] * g[3 * i + 2], b = n[1] * g[3 * i] + n[4] * g[3 * i + 1] + n[7] * g[3 * i + 2], c = n[2] * g[3 * i] + n[5] * g[3 * i + 1] + n[8] * g[3 * i + 2];
      const away = a * eye[3 * i] + b * eye[3 * i + 1] + c * eye[3 * i + 2] > 0, size = (away && materials[0].side === THREE.DoubleSide ? -1 : 1) / (Math.hypot(a, b, c) || 1);
      a *= size; b *= size; c *= size;
      light[i] = 0.35 + 0.16 * (a * up.x + b * up.y + c * up.z) + 0.67 * Math.max(0, a * sun.x + b * sun.y + c * sun.z);
    }
    // On the screen, with the depth from -1 to 1; what is behind the camera is cut off below.
    const e = camera.projectionMatrix.elements, { width, height } = this, near = -camera.near, screen = new Float32Array(3 * count);
    const onto = (from, i, to, k) => {
      const w = -from[i + 2];
      to[k] = (0.5 + (0.5 * (e[0] * from[i] + e[8] * from[i + 2])) / w) * width;
      to[k + 1] = (0.5 - (0.5 * (e[5] * from[i + 1] + e[9] * from[i + 2])) / w) * height;
      to[k + 2] = (e[10] * from[i + 2] + e[14]) / w;
    };
    for (let i = 0; i < 3 * count; i += 3) onto(eye, i, screen, i);
    const of = index ? index.array : null, all = of ? of.length : count, corners = [0, 1, 2].map(() => new Float32Array(4));
    const pieces = groups.length && Array.isArray(o.material) ? groups : [{ start: drawRange.start, count: Math.min(all, drawRange.count), materialIndex: 0 }];
    for (const { start, count: many, materialIndex } of pieces) {
      const material = materials[materialIndex], shade = shadow || this.shadesOf(material), one = !shadow && material.side !== THREE.DoubleSide;
      const end = Math.min(start + many, all), step = o.isLineSegments ? 2 : o.isLine ? 1 : 3, size = o.isLine ? 2 : 3;
      for (let i = start; i + size <= end; i += step) {
        let seen = true;
        for (let k = 0; k < size; k++) {
          const c = of ? of[i + k] : i + k, at = corners[k];
          if (eye[3 * c + 2] >= near) { seen = false; break; }
          at[0] = screen[3 * c]; at[1] = screen[3 * c + 1]; at[2] = screen[3 * c + 2]; at[3] = material.kind === PLAIN ? 1 : light[c];
        }
        if (seen) { if (o.isLine) this.line(corners[0], corners[1], shade); else this.triangle(...corners, shade, one); continue; }
        const cut = beyond(Array.from({ length: size }, (_, k) => { const c = of ? of[i + k] : i + k; return [eye[3 * c], eye[3 * c + 1], eye[3 * c + 2], light[c]]; }), near);
        cut.forEach((c) => onto(c.slice(), 0, c, 0));
        if (o.isLine) { if (cut.length > 1) this.line(cut[0], cut[1], shade); }
        else for (let k = 2; k < cut.length; k++) this.triangle(cut[0], cut[k - 1], cut[k], shade, one);
      }
    }
  }
  shadesOf(material) {
    const { color, opacity } = material, key = `${color.getHexString()} ${opacity}`, known = this.shades.get(material);
    if (known && known.key === key) return known;
    const lit = material.kind !== PLAIN, shade = { key, opacity, levels: new Uint32Array(LEVELS) };
    for (let i = 0; i < LEVELS; i++) shade.levels[i] = packed(color, lit ? (BRIGHT * i) / (LEVELS - 1) : 1);
    this.shades.set(material, shade);
    return shade;
  }
  dot(k, z, light, { levels, opacity, once }) {
    if (z >= this.depths[k]) return;
    if (once) this.depths[k] = -2;
    const colour = levels[Math.min(LEVELS - 1, Math.max(0, (light * (LEVELS - 1)) / BRIGHT)) | 0];
    if (opacity >= 1) { this.pixels[k] = colour; this.depths[k] = z; return; }
    const under = this.pixels[k], part = (shift) => ((((colour >> shift) & 255) * opacity + ((under >> shift) & 255) * (1 - opacity)) | 0) << shift;
    this.pixels[k] = (0xff000000 | part(16) | part(8) | part(0)) >>> 0;
  }
  // Rows between the left and the right edge; depth and light change linearly.
  triangle(a, b, c, shade, one) {
    const abx = b[0] - a[0], aby = b[1] - a[1], acx = c[0] - a[0], acy = c[1] - a[1], area = abx * acy - acx * aby, { width, height, depths, pixels } = this, { levels, opacity } = shade, scale = (LEVELS - 1) / BRIGHT;
    if (!area || (one && area > 0)) return;
    const top = Math.max(0, Math.ceil(Math.min(a[1], b[1], c[1]) - 0.5)), bottom = Math.min(height - 1, Math.floor(Math.max(a[1], b[1], c[1]) - 0.5));
    if (top > bottom) return;
    const abz = b[2] - a[2], acz = c[2] - a[2], abl = b[3] - a[3], acl = c[3] - a[3];
    const zx = (abz * acy - acz * aby) / area, zy = (abx * acz - acx * abz) / area, lx = (abl * acy - acl * aby) / area, ly = (abx * acl - acx * abl) / area;
    for (let y = top; y <= bottom; y++) {
      const row = y + 0.5;
      let left = Infinity, right = -Infinity;
      for (let k = 0; k < 3; k++) {
        const p = k === 0 ? a : k === 1 ? b : c, q = k === 0 ? b : k === 1 ? c : a, s = (row - p[1]) / (q[1] - p[1]);
        if (!(s >= 0 && s <= 1)) continue;
        const x = p[0] + s * (q[0] - p[0]);
        if (x < left) left = x;
        if (x > right) right = x;
      }
      const from = Math.max(0, Math.ceil(left - 0.5)), to = Math.min(width - 1, Math.ceil(right - 0.5) - 1), dy = row - a[1];
      const dx = from + 0.5 - a[0], last = y * width + to;
      let z = a[2] + zx * dx + zy * dy, l = a[3] + lx * dx + ly * dy, k = y * width + from;
      if (opacity < 1) { for (; k <= last; k++, z += zx, l += lx) this.dot(k, z, l, shade); continue; }
      for (l *= scale; k <= last; k++, z += zx, l += lx * scale) if (z < depths[k]) { depths[k] = z; pixels[k] = levels[l < 0 ? 0 : l > LEVELS - 1 ? LEVELS - 1 : l | 0]; }
    }
  }
  line(a, b, shade) {
    const steps = Math.max(Math.abs(b[0] - a[0]), Math.abs(b[1] - a[1])), { width, height } = this;
    let from = 0, to = 1; // of the part on the screen
    for (const [k, most] of [[0, width], [1, height]]) {
      const d = b[k] - a[k], s = -a[k] / d, t = (most - a[k]) / d;
      if (d) { from = Math.max(from, Math.min(s, t)); to = Math.min(to, Math.max(s, t)); } else if (a[k] < 0 || a[k] >= most) return;
    }
    for (let i = Math.ceil(from * steps); i <= to * steps; i++) {
      const s = steps ? i / steps : 0, x = (a[0] + s * (b[0] - a[0])) | 0, y = (a[1] + s * (b[1] - a[1])) | 0;
      if (x >= 0 && y >= 0 && x < width && y < height) this.dot(y * width + x, a[2] + s * (b[2] - a[2]), 1, shade);
    }
  }
}

// The part of a triangle or line that is in front of the camera.
function beyond(corners, near) {
  if (corners.every((c) => c[2] < near)) return corners;
  const kept = [], last = corners.length - (corners.length === 2 ? 1 : 0);
  for (let i = 0; i < last; i++) {
    const a = corners[i], b = corners[(i + 1) % corners.length];
    if (a[2] < near) kept.push(a);
    if ((a[2] < near) !== (b[2] < near)) { const s = (near - a[2]) / (b[2] - a[2]); kept.push(a.map((v, k) => v + s * (b[k] - v))); }
    if (corners.length === 2 && b[2] < near) kept.push(b);
  }
  return kept;
}

// A colour under some light, as the bytes of a picture have it.
function packed(colour, light) {
  const byte = (c) => { const v = Math.min(1, c * light); return Math.round(255 * (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055)); };
  return ((255 << 24) | (byte(colour.b) << 16) | (byte(colour.g) << 8) | byte(colour.r)) >>> 0;
}
