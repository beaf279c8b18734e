// Motions. A motion has `start`, `end`, `time` (its rows, if it has any) and `at(t)`: an array of numbers, seven for
// each body of its figure (x, y, z, and the quaternion x, y, z, w), then the amplitudes of all modes. Whatever has
// these can be shown: rows that are stored in the page, or a function that computes the poses when they are drawn.

class RecordedMotion {
  constructor(time, poses, amplitudes) {
    this.time = time; this.channels = poses; this.amplitudes = amplitudes; this.bodies = poses.length / 7;
    this.start = time[0]; this.end = time[time.length - 1];
    this.now = new Float64Array(poses.length + amplitudes.length);
  }
  static async read(figure) {
    const [poses, amplitudes] = await Promise.all([unpack(figure.poses), unpack(figure.amplitudes)]);
    // Places from another body, which comes before: the sum needs more than single precision.
    (figure.bases || []).forEach((base, b) => {
      if (base >= 0) for (let n = 0; n < 3; n++) poses[7 * b + n] = Float64Array.from(poses[7 * b + n], (x, i) => x + poses[7 * base + n][i]);
    });
    return new RecordedMotion(times(figure.time), poses, amplitudes);
  }
  row(t) { return rowAt(this.time, t); }
  // Positions and amplitudes by straight lines, attitudes by the shorter arc between two rows.
  at(t) {
    const [i, j, s] = this.row(t), c = this.channels, now = this.now, many = c.length;
    for (let k = 0; k < many; k += 7) {
      let cosine = 0;
      for (let n = k + 3; n < k + 7; n++) cosine += c[n][i] * c[n][j];
      const [a, b] = arc(cosine, s);
      for (let n = k; n < k + 3; n++) now[n] = c[n][i] * (1 - s) + c[n][j] * s;
      for (let n = k + 3; n < k + 7; n++) now[n] = c[n][i] * a + c[n][j] * b;
    }
    this.amplitudes.forEach((y, n) => { now[many + n] = y[i] * (1 - s) + y[j] * s; });
    return now;
  }
  // Places of a point of a body in at most `most` rows.
  path(b, point, most = 5000) {
    const c = this.channels, k = 7 * b, rows = this.time.length, every = Math.max(1, Math.floor(rows / most)), found = [];
    const q = new THREE.Quaternion();
    for (let i = 0; i < rows; i += every) {
      q.set(c[k + 3][i], c[k + 4][i], c[k + 5][i], c[k + 6][i]).normalize();
      found.push(new THREE.Vector3(...point).applyQuaternion(q).add(new THREE.Vector3(c[k][i], c[k + 1][i], c[k + 2][i])));
    }
    return found;
  }
}

// Poses from a function: `poses(t)` returns the numbers, or fills `out` where it is given and returns nothing.
class FunctionMotion {
  constructor(poses, { bodies, amplitudes = 0, start = 0, end = Infinity } = {}) {
    this.poses = poses; this.start = start; this.end = end; this.time = []; this.bodies = bodies;
    this.now = new Float64Array(7 * bodies + amplitudes);
  }
  at(t) { return this.poses(t, this.now) || this.now; }
  path() { return []; }
}

const times = (time) => time.values || Float64Array.from({ length: time.rows }, (_, i) => time.start + i * time.step);

// The rows around a time, and how far it is from the first to the second.
function rowAt(time, t) {
  let low = 0, high = time.length - 1;
  while (high - low > 1) { const mid = (low + high) >> 1; if (time[mid] <= t) low = mid; else high = mid; }
  const span = time[high] - time[low];
  return [low, high, span > 0 ? Math.min(1, Math.max(0, (t - time[low]) / span)) : 0];
}

// Weights of two unit quaternions on the arc between them.
function arc(cosine, s) {
  const sign = cosine < 0 ? -1 : 1, c = Math.min(1, Math.abs(cosine));
  if (s === 0) return [1, 0];
  if (c > 0.9995) return [1 - s, sign * s];
  const angle = Math.acos(c), sine = Math.sin(angle);
  return [Math.sin((1 - s) * angle) / sine, sign * Math.sin(s * angle) / sine];
}
