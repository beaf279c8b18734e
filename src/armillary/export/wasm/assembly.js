// Loops closed before a run, as the process does it (mechanics/constraints/assembly.py): coordinates that are
// given stay; others move: those of dependent speeds, then all that the loops depend on, then these from
// scattered starts. Only where more is given than the loops leave free, given coordinates are first guesses.

const norm = (x) => Math.sqrt(x.reduce((sum, a) => sum + a * a, 0));
const largest = (x) => x.reduce((most, a) => Math.max(most, Math.abs(a)), 0);

// Rows [a, right side] turned in pairs until all are at right angles: their lengths are then the singular values
// (Hestenes 1958, J. SIAM 6, 51-90).
function atRightAngles(rows, n) {
  for (let turn = 0, turned = true; turned && turn < 60; turn++) {
    turned = false;
    for (let i = 0; i < rows.length; i++) for (let k = i + 1; k < rows.length; k++) {
      const a = rows[i], b = rows[k];
      let dot = 0, first = 0, second = 0;
      for (let j = 0; j < n; j++) { dot += a[j] * b[j]; first += a[j] * a[j]; second += b[j] * b[j]; }
      if (!(Math.abs(dot) > 1e-15 * Math.sqrt(first) * Math.sqrt(second))) continue;
      const z = (second - first) / (2 * dot), t = (z < 0 ? -1 : 1) / (Math.abs(z) + Math.sqrt(1 + z * z)), c = 1 / Math.sqrt(1 + t * t), s = c * t;
      rows[i] = a.map((x, j) => c * x - s * b[j]);
      rows[k] = b.map((x, j) => s * a[j] + c * x);
      turned = true;
    }
  }
  return rows;
}

// The shortest of the best solutions, without singular values below `weak` of the largest.
function solved(rows, n, weak) {
  atRightAngles(rows, n);
  const sizes = rows.map((row) => norm(row.slice(0, n))), most = Math.max(...sizes), step = new Array(n).fill(0);
  rows.forEach((row, i) => {
    if (sizes[i] > weak * most) for (let j = 0; j < n; j++) step[j] += (row[j] * row[n]) / (sizes[i] * sizes[i]);
  });
  return step;
}

class LoopAssembly {
  constructor(loops, geometry, given) { this.loops = loops; this.geometry = geometry; this.given = given; this.last = 19871987; }

  // Gaps, their matrix J of speeds (J d is what a small motion d changes) and N of coordinates (N d).
  at(q) {
    const { gaps, rows, coordinates, speeds, jacobian, rates } = this.loops, numbers = this.geometry(q), filled = (n) => Array.from({ length: n }, () => new Array(speeds).fill(0));
    const J = filled(rows), N = filled(coordinates.length);
    jacobian.forEach(([i, j], k) => { J[i][j] = numbers[gaps.length + k]; });
    rates.forEach(([i, j], k) => { N[i][j] = numbers[gaps.length + jacobian.length + k]; });
    return { gap: Array.from(numbers.slice(0, gaps.length)), J: J.slice(0, gaps.length), N };
  }

  // The largest gap, of the size of its row: of what a unit of the most effective speed makes.
  off({ gap, J }) {
    const sizes = J.map(largest), most = Math.max(...sizes);
    return Math.max(...gap.map((g, i) => Math.abs(g) / (Math.max(sizes[i], 1e-4 * most) || 1)));
  }
  isClosed(q) { return this.off(this.at(q)) <= 1e-10; }

  // J d = -gap for the speeds that may move; N d = 0 for coordinates that are given.
  equations({ gap, J, N }, moving) {
    const rows = J.map((row, i) => [...row.map((x, j) => x * moving[j]), -gap[i]]), most = Math.max(...rows.map((row) => largest(row.slice(0, -1))));
    N.forEach((row, i) => { if (this.given[i]) rows.push([...row.map((x, j) => ((x * moving[j]) * most) / (largest(row) || 1)), 0]); });
    return rows;
  }
  moved(q, { N }, step) {
    const moved = unitParameters(this.loops.quaternions, q.map((x, i) => N[i].reduce((sum, a, j) => sum + a * step[j], x)));
    return q.map((x, i) => (this.given[i] ? x : moved[i]));
  }

  // The gaps made smaller by Gauss and Newton's method, as far as they can be: the place and their size.
  close(q, moving) {
    const weak = [1e-3, 1e-6, 1e-10], n = this.loops.speeds; // singular values left alone; smaller ones where these stall
    let here = this.at(q);
    for (let turn = 0; moving.some((m) => m) && turn < 100; turn++) {
      if (!(this.off(here) > 1e-13)) break;
      const step = solved(this.equations(here, moving), n, weak[0]), share = Math.min(1, 0.5 / Math.max(largest(step), 1e-300)), before = norm(here.gap);
      let smaller = false;
      for (let half = share; !smaller && half > share * 2 ** -12; half /= 2) {
        const moved = this.moved(q, here, step.map((d) => half * d)), there = this.at(moved);
        if (norm(there.gap) < before) { q = moved; here = there; smaller = true; }
      }
      if ((!smaller || norm(here.gap) > 0.9 * before) && weak.length > 1) weak.shift();
      else if (!smaller) break;
    }
    return [q, norm(here.gap)];
  }

  // A number between -reach and reach (Park and Miller 1988, CACM 31, 1192-1201).
  chance(reach) { this.last = (16807 * this.last) % 2147483647; return reach * (2 * (this.last / 2147483647) - 1); }

  fromElsewhere(q) {
    const here = this.at(q), sizes = here.N.map((row) => largest(row) || 1);
    let found = null, least = Infinity;
    for (const reach of [...new Array(10).fill(0.3), ...new Array(15).fill(1), ...new Array(15).fill(3)]) {
      const [place] = this.close(this.moved(q, here, this.loops.holding.map((m) => (m ? this.chance(reach) : 0))), this.loops.holding);
      const apart = norm(place.map((x, i) => (x - q[i]) / sizes[i]));
      if (apart < least && this.isClosed(place)) { found = place; least = apart; }
    }
    return found;
  }

  closed(q) {
    const { dependent, holding, coordinates, gaps } = this.loops, start = unitParameters(this.loops.quaternions, [...q]);
    let best = start, least = Infinity;
    for (const moving of [dependent, holding]) {
      const [place, left] = this.close(start, moving);
      if (this.isClosed(place)) return place;
      if (left < least) { best = place; least = left; }
    }
    const found = this.fromElsewhere(start);
    if (found) return found;
    const guessing = new LoopAssembly(this.loops, this.geometry, q.map(() => false)), [place] = guessing.close(start, dependent);
    if (guessing.isClosed(place)) return place;
    const named = coordinates.filter((_, i) => this.given[i]), { gap } = this.at(best);
    const left = gap.map((x, i) => `${gaps[i][0]}${+x.toPrecision(6)}${gaps[i][1]}`).filter((_, i) => Math.abs(gap[i]) > 1e-10);
    throw new Error(`the loops cannot be closed${named.length ? ` with ${named.join(", ")} as given` : ""}: ${left.join("; ")}`);
  }
}
