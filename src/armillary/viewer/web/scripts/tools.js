// The buttons of the view, with their keys; the theme; the picture of what is seen.

class Tools {
  constructor(scene, labels) {
    this.scene = scene; this.labels = labels; this.nav = byId("tools"); this.keys = {}; this.restyled = [];
    this.choice("standard views", [["view", ""], ...["oblique", "front", "side", "top"].map((name) => [name, name])],
      (value, select) => { if (value) scene.look(value); select.value = ""; });
    const follow = this.choice("keep a body in sight", [["follow nothing", -1], ...scene.figures[0].bodies.map((b, i) => [`follow ${b.name}`, i])],
      (value) => { scene.follow = +value; scene.look("oblique"); });
    follow.value = scene.follow;
    this.toggle("names", "names of the bodies", "n", false, (on) => labels.show(on));
    this.toggle("axes", "axes of the bodies", "a", false, (on) => scene.showFrames(on));
    const paths = this.toggle("paths", "paths of mass centres or chosen points", "p", false, (on) => scene.showTrails(on));
    if ((data.look || {}).paths) paths.click();
    this.button("theme", "light or dark", "d", () => this.theme());
    this.button("picture", "save what is seen as a PNG file", "", () => this.picture());
    ["oblique", "front", "side", "top"].forEach((name, i) => { this.keys[i + 1] = () => scene.look(name); });
    addEventListener("keydown", (e) => this.key(e));
    this.theme(this.given().get("theme") || (data.look || {}).theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  }
  given() { return new URLSearchParams(location.hash.slice(1)); }
  button(text, title, key, act) {
    const made = element("button", { textContent: text, title: key ? `${title} (${key})` : title });
    made.onclick = () => act(made);
    if (key) this.keys[key] = () => made.click();
    this.nav.append(made);
    return made;
  }
  toggle(text, title, key, on, act) {
    const made = this.button(text, title, key, () => { on = !on; made.setAttribute("aria-pressed", on); act(on); });
    made.setAttribute("aria-pressed", on);
    return made;
  }
  choice(title, options, act) {
    const select = element("select", { title }, ...options.map(([text, value]) => new Option(text, value)));
    select.setAttribute("aria-label", title);
    select.onchange = () => act(select.value, select);
    this.nav.append(select);
    return select;
  }
  key(e) {
    if (/SELECT|TEXTAREA/.test(e.target.tagName) || (e.target.tagName === "INPUT" && e.target.type !== "range")) return;
    if (e.ctrlKey || e.metaKey || e.altKey || !this.keys[e.key]) return;
    e.preventDefault();
    this.keys[e.key]();
  }
  theme(name) {
    const root = document.documentElement;
    root.dataset.theme = name === "dark" || name === "light" ? name : root.dataset.theme === "dark" ? "light" : "dark";
    this.restyled.forEach((act) => act());
    this.scene.changed = true;
  }
  picture() {
    this.scene.draw();
    save(this.scene.canvas.toDataURL("image/png"), "png");
  }
}

function save(address, suffix) {
  element("a", { href: address, download: `${data.system.replace(/[^\w-]+/g, "_")}.${suffix}` }).click();
}
