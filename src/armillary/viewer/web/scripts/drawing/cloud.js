// A cloud: many runs of one system at once. One run is a figure as any other; all are also drawn faintly, each part
// of a body as one instanced mesh.

const FAINT = 0.13;

class Cloud extends Figure {
  constructor(content, motions) {
    super(content, motions[0]);
    this.motions = motions; this.chosen = 0;
    this.colours = content.cloud.colours.map((c) => new THREE.Color(c));
    this.parts = [];
    const opacity = Math.max(0.04, Math.min(FAINT, 12 / motions.length));
    this.groups.forEach((group, b) => {
      group.updateMatrixWorld(true);
      const back = group.matrixWorld.clone().invert();
      group.traverse((mesh) => {
        if (!mesh.isMesh) return;
        const material = new Paint({ opacity, depthWrite: false, many: true });
        const many = new THREE.InstancedMesh(mesh.geometry, material, motions.length);
        many.frustumCulled = false;
        this.colours.forEach((colour, k) => many.setColorAt(k, colour));
        this.parts.push({ many, body: b, local: back.clone().multiply(mesh.matrixWorld) });
      });
    });
    this.parts.forEach(({ many }) => this.root.add(many));
  }
  choose(k) { this.chosen = k; this.motion = this.motions[k]; }
  // The number of the run under a ray, or -1.
  under(ray) {
    this.parts.forEach(({ many }) => { many.boundingSphere = null; }); // kept from the first picture otherwise
    const [hit] = ray.intersectObjects(this.parts.map((p) => p.many), false);
    return hit ? hit.instanceId : -1;
  }
  show(t) {
    super.show(t);
    const place = new THREE.Vector3(), turn = new THREE.Quaternion(), one = new THREE.Vector3(1, 1, 1), pose = new THREE.Matrix4(), all = new THREE.Matrix4();
    if (!this.parts) return;
    this.motions.forEach((motion, k) => {
      const now = motion.at(t);
      this.parts.forEach(({ many, body, local }) => {
        const i = 7 * body;
        pose.compose(place.set(now[i], now[i + 1], now[i + 2]), turn.set(now[i + 3], now[i + 4], now[i + 5], now[i + 6]).normalize(), one);
        many.setMatrixAt(k, all.multiplyMatrices(pose, local));
      });
    });
    this.parts.forEach(({ many }) => { many.instanceMatrix.needsUpdate = true; });
  }
  reach(points = []) {
    const box = super.reach(points);
    for (const motion of this.motions) this.bodies.forEach((body, b) => motion.path(b, body.com, 40).forEach((p) => { box.expandByPoint(p); points.push(p); }));
    return box;
  }
  static async read(content) {
    const { runs, columns, poses } = content.cloud, time = times(content.time);
    const [channels, values] = await Promise.all([unpack(poses), unpack(columns, Float64Array)]);
    const each = 7 * content.bodies.length, outputs = content.outputs.length;
    const motions = Array.from({ length: runs }, (_, k) => new RecordedMotion(time, channels.slice(k * each, (k + 1) * each), []));
    const series = motions.map((_, k) => ({ time, outputs: content.outputs, columns: values.slice(k * outputs, (k + 1) * outputs), colour: content.cloud.colours[k] }));
    return { figure: new Cloud(content, motions), series };
  }
}
