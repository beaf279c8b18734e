// Names of the bodies, beside them.

class Labels {
  constructor(scene) { this.scene = scene; this.on = false; this.box = byId("labels"); }
  show(on) { this.on = on; this.update(); }
  update() {
    const { figures } = this.scene, bodies = figures[0].bodies;
    if (!this.on) { this.box.replaceChildren(); return; }
    if (this.box.children.length !== bodies.length) this.box.replaceChildren(...bodies.map((b) => element("span", { textContent: b.name })));
    bodies.forEach((body, b) => {
      const p = this.scene.project(figures[0].place(b, body.com).add(figures[0].root.position)), s = this.box.children[b].style;
      s.display = p ? "" : "none";
      if (p) { s.left = `${p.x}px`; s.top = `${p.y}px`; }
    });
  }
}
