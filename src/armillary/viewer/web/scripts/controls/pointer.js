// Values under the pointer: the body there, its place, and its coordinates, speeds and arrows at the time shown.

class Pointer {
  constructor(scene, describe) {
    this.scene = scene; this.describe = describe; this.box = byId("tip"); this.last = null;
    const { canvas } = scene;
    canvas.addEventListener("pointermove", (e) => { if (e.buttons) this.hide(); else if (e.pointerType !== "touch") this.at(e.clientX, e.clientY); });
    canvas.addEventListener("pointerdown", (e) => { this.down = [e.clientX, e.clientY]; });
    canvas.addEventListener("pointerup", (e) => { // a tap: touch screens have no pointer that hovers
      if (!this.down || Math.hypot(e.clientX - this.down[0], e.clientY - this.down[1]) > 5) return;
      this.at(e.clientX, e.clientY);
      if (this.tapped) this.tapped(e.clientX, e.clientY);
    });
    canvas.addEventListener("pointerleave", (e) => { if (e.pointerType !== "touch") this.hide(); }); // a finger leaves at every tap
  }
  hide() { this.last = null; this.box.hidden = true; }
  at(x, y) {
    const hit = this.scene.pick(x, y);
    if (!hit || hit.body < 0) { this.hide(); return; }
    this.last = { ...hit, x, y };
    this.update();
  }
  update() {
    if (!this.last) return;
    const { figure, body, x, y, at } = this.last, { name, colour } = figure.bodies[body];
    const place = figure.place(body, at), rows = [["place", `${place.toArray().map((v) => +v.toPrecision(4)).join(", ")} ${figure.content.lengths}`], ...this.describe(figure, body)];
    const head = element("b", { textContent: figure.content.label ? `${name}, ${figure.content.label}` : name });
    head.style.color = colour;
    this.box.replaceChildren(head, element("table", {}, ...rows.map(([a, b]) => element("tr", {}, element("td", { textContent: a }), element("td", { textContent: b })))));
    this.box.hidden = false;
    const { width, height } = this.box.getBoundingClientRect();
    this.box.style.left = `${Math.min(x + 14, innerWidth - width - 8)}px`;
    this.box.style.top = `${Math.max(8, Math.min(y + 14, innerHeight - height - 80))}px`;
  }
}
