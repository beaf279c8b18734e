// The buttons of the view, with their keys; the theme; pictures and videos of what is seen.

class Tools {
  constructor(scene, labels) {
    this.scene = scene; this.labels = labels; this.nav = byId("tools"); this.keys = {}; this.restyled = [() => scene.restyle()];
    const bodies = scene.figures[0].bodies;
    this.row = this.group("view");
    [["3D", "oblique"], ["front", "front"], ["side", "side"], ["top", "top"]].forEach(([text, view], i) => this.button(text, `view: ${view}`, String(i + 1), () => { follow.value = this.followed(); scene.look(view); }));
    const follow = this.choice("keep a body in sight, or look from it", [
      ["fixed camera", ""], ...bodies.map((b, i) => [`follow ${b.name}`, `follow ${i}`]), ...bodies.map((b, i) => [`look from ${b.name}`, `ride ${i}`]),
    ], (value) => {
      const [how, b] = value.split(" ");
      scene.follow = how === "follow" ? +b : -1;
      if (how === "ride") scene.ride(+b); else scene.look("oblique");
    });
    follow.value = this.followed();
    this.row = this.group("show");
    this.toggle("names", "names of the bodies", "n", false, (on) => labels.show(on));
    this.toggle("axes", "axes of the bodies", "a", false, (on) => scene.showFrames(on));
    const paths = this.toggle("paths", "paths of mass centres or chosen points", "p", false, (on) => scene.showTrails(on));
    if ((data.look || {}).paths) paths.click();
    this.showing = this.row;
    this.row = this.group("save");
    this.button("picture", "save what is seen as a PNG file", "", () => this.picture());
    if (Recorder.kind()) {
      const recorder = new Recorder(scene, (blob, suffix) => { video.setAttribute("aria-pressed", false); video.textContent = "video"; save(URL.createObjectURL(blob), suffix); });
      const video = this.button("video", "record what is seen; press again to save it", "", () => { if (recorder.toggle()) { video.setAttribute("aria-pressed", true); video.textContent = "■ stop"; } });
    }
    this.button("◐", "light or dark", "d", () => this.theme());
    this.button("?", "keys", "?", () => this.help());
    addEventListener("keydown", (e) => this.key(e));
    byId("menu").onclick = () => byId("side").classList.toggle("open");
    this.theme(this.given().get("theme") || (data.look || {}).theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  }
  // The state of the view in the address: time, theme, camera, and what is shown.
  write(more = {}) {
    const { scene } = this, given = Object.fromEntries(this.given()), short = (v) => v.toArray().map((x) => +x.toPrecision(4));
    const state = { ...given, ...more, theme: document.documentElement.dataset.theme || "light" };
    state.camera = [...short(scene.camera.position), ...short(scene.controls.target)].join();
    state.shown = [...this.showing.querySelectorAll('[aria-pressed="true"]')].map((b) => b.textContent).join();
    try { history.replaceState(null, "", `#${new URLSearchParams(state)}`); } catch { /* pages inside others have no address */ }
  }
  // The view of the address, where it has one; called when all buttons are there.
  read() {
    const given = this.given(), camera = (given.get("camera") || "").split(",").map(Number);
    if (given.has("shown")) {
      const shown = given.get("shown").split(",");
      for (const b of this.showing.querySelectorAll("[aria-pressed]")) if ((b.getAttribute("aria-pressed") === "true") !== shown.includes(b.textContent)) b.click();
    }
    if (camera.length === 6 && camera.every(Number.isFinite)) { this.scene.camera.position.set(...camera.slice(0, 3)); this.scene.controls.target.set(...camera.slice(3)); }
    this.scene.controls.addEventListener("end", () => this.write());
  }
  followed() { return this.scene.follow >= 0 ? `follow ${this.scene.follow}` : ""; }
  given() { return new URLSearchParams(location.hash.slice(1)); }
  group(name) { const made = element("div", { className: "group" }); made.setAttribute("aria-label", name); this.nav.append(made); return made; }
  button(text, title, key, act, row = this.row) {
    const made = element("button", { textContent: text, title: key ? `${title} (${key})` : title });
    made.onclick = () => act(made);
    if (key) this.keys[key] = () => made.click();
    row.append(made);
    return made;
  }
  toggle(text, title, key, on, act, row = this.row) {
    const made = this.button(text, title, key, () => { on = !on; made.setAttribute("aria-pressed", on); act(on); }, row);
    made.setAttribute("aria-pressed", on);
    return made;
  }
  choice(title, options, act) {
    const select = element("select", { title }, ...options.map(([text, value]) => new Option(text, value)));
    select.setAttribute("aria-label", title);
    select.onchange = () => act(select.value, select);
    this.row.append(select);
    return select;
  }
  key(e) {
    if (/SELECT|TEXTAREA/.test(e.target.tagName) || (e.target.tagName === "INPUT" && e.target.type !== "range")) return;
    if (e.ctrlKey || e.metaKey || e.altKey || !this.keys[e.key]) return;
    e.preventDefault();
    this.keys[e.key]();
  }
  help() {
    const titles = [...document.querySelectorAll("[title]")].map((e) => e.title.match(/^(.*) \((.)\)$|^(.*) \((space)\)$/)).filter(Boolean).map((m) => `${m[2] || m[4]}  ${m[1] || m[3]}`);
    hint([...titles, "drag: turn; right drag or two fingers: move; wheel: nearer"].join("\n"), 6000);
  }
  theme(name) {
    const root = document.documentElement;
    root.dataset.theme = name === "dark" || name === "light" ? name : root.dataset.theme === "dark" ? "light" : "dark";
    this.restyled.forEach((act) => act());
    this.scene.changed = true;
  }
  picture() {
    this.scene.draw();
    save(this.scene.shown.toDataURL("image/png"), "png");
  }
}

function save(address, suffix) {
  element("a", { href: address, download: `${data.system.replace(/[^\w-]+/g, "_")}.${suffix}` }).click();
}

// A few words over the picture, for some time.
function hint(words, milliseconds = 2500) {
  const box = byId("hint");
  box.textContent = words; box.className = "on";
  clearTimeout(hint.timer);
  hint.timer = setTimeout(() => { box.className = ""; }, milliseconds);
}
