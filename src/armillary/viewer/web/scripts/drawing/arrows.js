// Arrows of forces, moments, velocities, weights and reactions at their places, with a scale for each quantity.

const ARROWS = {
  forces: { kinds: ["force"], colour: "#d1495b", text: "forces of loads", key: "f" },
  moments: { kinds: ["moment"], colour: "#8d5a97", text: "moments of loads", key: "m" },
  velocities: { kinds: ["velocity"], colour: "#2a9d8f", text: "velocities of mass centres", key: "v" },
  weights: { kinds: ["weight"], colour: "#3d6fb6", text: "weights at mass centres", key: "w" },
  reactions: { kinds: ["reaction", "reaction moment"], colour: "#e08e1b", text: "reactions of joints", key: "r" },
};
const LONGEST = 0.28; // of the radius of the scene: the arrow of the largest value

class Arrows {
  static async read(scene, figures) {
    const vectors = await Promise.all(figures.map((f) => (f.content.arrows && f.content.arrows.length && !f.content.cloud ? unpack(f.content.vectors) : [])));
    return new Arrows(scene, figures, vectors);
  }
  constructor(scene, figures, vectors) {
    this.scene = scene; this.on = new Set(); this.arrows = []; this.box = byId("scales"); this.t = 0;
    figures.forEach((figure, f) => (figure.content.arrows || []).forEach((entry, k) => {
      if (!vectors[f].length) return;
      const group = Object.keys(ARROWS).find((name) => ARROWS[name].kinds.includes(entry.kind));
      const values = vectors[f].slice(3 * k, 3 * k + 3), body = entry.body === "ground" ? -1 : figure.index(entry.body);
      this.arrows.push({ ...entry, group, values, figure, body, at: new THREE.Vector3(...entry.at), shape: null });
    }));
    this.largest = {};
    for (const { kind, values } of this.arrows) {
      let most = this.largest[kind] || 0;
      for (let i = 0; i < values[0].length; i++) most = Math.max(most, Math.hypot(values[0][i], values[1][i], values[2][i]));
      this.largest[kind] = most;
    }
    this.groups = Object.keys(ARROWS).filter((name) => this.arrows.some((a) => a.group === name && this.largest[a.kind] > 0));
  }
  // Lengths of all arrows of one kind have one scale, a round number per unit of length.
  factor(kind) { return (LONGEST * this.scene.radius) / (this.largest[kind] || 1); }
  show(group, on) {
    if (on) this.on.add(group); else this.on.delete(group);
    for (const arrow of this.arrows) if (arrow.group === group) {
      if (on && !arrow.shape) arrow.shape = this.shape(arrow);
      if (arrow.shape) arrow.shape.visible = on;
    }
    this.scales();
    this.update(this.t);
    this.scene.changed = true;
  }
  shape({ group, kind, figure }) {
    const r = 0.0055 * this.scene.radius, made = new THREE.Group();
    const material = new Paint({ colour: new THREE.Color(ARROWS[group].colour).multiplyScalar(1.2), gloss: 0.03 });
    const shaft = new THREE.Mesh(new THREE.CylinderGeometry(r, r, 1, 12), material), head = new THREE.Mesh(new THREE.ConeGeometry(3.2 * r, 9 * r, 16), material);
    made.add(shaft, head);
    if (/moment/.test(kind)) made.add(new THREE.Mesh(new THREE.ConeGeometry(3.2 * r, 9 * r, 16), material)); // two heads: a moment
    made.userData.radius = r;
    figure.root.add(made);
    return made;
  }
  // The vector of an arrow at a time.
  value({ values, figure }, t) {
    const [i, j, s] = rowAt(figure.motion.time, t);
    return new THREE.Vector3(...values.map((v) => v[i] * (1 - s) + v[j] * s));
  }
  update(t) {
    this.t = t;
    for (const arrow of this.arrows) {
      if (!arrow.shape || !arrow.shape.visible) continue;
      const along = this.value(arrow, t).multiplyScalar(this.factor(arrow.kind)), length = along.length();
      const [shaft, head, second] = arrow.shape.children, r = arrow.shape.userData.radius, tip = 9 * r;
      arrow.shape.children.forEach((part) => { part.visible = length > 0.5 * tip; });
      if (!shaft.visible) continue;
      arrow.shape.position.copy(arrow.figure.place(arrow.body, arrow.at));
      arrow.shape.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), along.divideScalar(length));
      const straight = Math.max(length - tip, 0.01 * tip);
      shaft.scale.y = straight; shaft.position.y = 0.5 * straight; head.position.y = straight + 0.5 * tip;
      if (second) second.position.y = straight - 0.3 * tip;
    }
  }
  // Bars of a round value, one for each quantity that is shown.
  scales() {
    const shown = [...new Set(this.arrows.filter((a) => this.on.has(a.group) && this.largest[a.kind] > 0).map((a) => a.kind))];
    this.box.replaceChildren(...shown.map((kind) => {
      const { units, group } = this.arrows.find((a) => a.kind === kind), most = this.largest[kind];
      const power = 10 ** Math.floor(Math.log10(most)), round = [1, 2, 5].map((k) => k * power).filter((v) => v <= most).pop();
      const bar = element("i");
      bar.style.background = ARROWS[group].colour; bar.style.width = `${Math.round((64 * round) / most)}px`;
      return element("span", { title: `${kind}: largest ${+most.toPrecision(3)} ${units}` }, bar, `${+round.toPrecision(2)} ${units}`);
    }));
  }
  // What arrows that are shown say about a body.
  words(figure, body) {
    return this.arrows.filter((a) => a.figure === figure && a.body === body && this.on.has(a.group))
      .map((a) => [`${a.kind === "velocity" ? "speed" : `${a.kind} ${a.name}`}`, `${+this.value(a, this.t).length().toPrecision(3)} ${a.units}`]);
  }
}
