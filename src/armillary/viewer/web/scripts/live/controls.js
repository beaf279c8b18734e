// Sliders of parameters, initial values and inputs; keys and a gamepad move inputs too.

// Keys that move the first inputs down and up, and what is shown for them; the axes of a gamepad follow the same order.
const KEYS = [["ArrowLeft", "ArrowRight", "← →"], ["ArrowDown", "ArrowUp", "↓ ↑"], ["j", "l", "J L"], ["k", "i", "K I"]];
const DEAD = 0.12; // of a gamepad's axis
const ACROSS = 0.7; // seconds in which a key moves an input from its rest to a limit

class Control {
  // `changed(control)` is called when the user moves it.
  constructor(spec, changed, keys) {
    Object.assign(this, spec);
    this.rest = this.start = this.value; this.keys = keys;
    const step = (this.high - this.low) / 1000;
    this.range = element("input", { type: "range", min: this.low, max: this.high, step: "any", title: `${readable(this.low)} to ${readable(this.high)}` });
    this.range.setAttribute("aria-label", this.name);
    this.field = element("input", { type: "number", min: this.low, max: this.high, step: +step.toPrecision(1), className: "number" });
    this.field.setAttribute("aria-label", `${this.name}, value`);
    const name = element("b", { textContent: this.name, title: this.about || this.name }), head = element("div", { className: "head" }, name);
    if (keys) head.append(element("kbd", { textContent: keys[2], title: "keys that move it" }));
    head.append(this.field, element("span", { textContent: this.units, className: "units" }));
    this.box = element("div", { className: "slider" }, head, this.range);
    const moved = (value) => { if (!Number.isFinite(value)) return; this.show(Math.min(this.high, Math.max(this.low, value))); this.rest = this.value; changed(this); };
    this.range.oninput = () => moved(+this.range.value);
    this.field.onchange = () => moved(+this.field.value);
    this.range.ondblclick = () => moved(spec.value);
    this.show(this.value);
  }
  show(value) {
    this.value = value;
    this.range.value = value;
    if (document.activeElement !== this.field) this.field.value = readable(value);
    this.range.style.setProperty("--part", `${(100 * (value - this.low)) / (this.high - this.low)}%`);
  }
}

class Controls {
  // `set(control)` brings a value into the model.
  constructor(spec, set) {
    this.all = []; this.inputs = []; this.pressed = new Set();
    this.box = element("section", { id: "controls" });
    this.group("inputs", spec.inputs.map((s, i) => [s, KEYS[i]]), set);
    const rest = spec.sliders.filter((s) => !spec.inputs.some((i) => i.name === s.name));
    for (const [title, kind] of [["inputs", "memory"], ["parameters", "parameters"], ["start", "starts"]]) this.group(title, rest.filter((s) => s.kind === kind).map((s) => [s]), set);
    const known = new Set(this.inputs.flatMap((c) => (c.keys ? c.keys.slice(0, 2) : [])));
    const typing = (e) => e.target.type === "number" || e.target.tagName === "SELECT" || e.ctrlKey || e.metaKey || e.altKey;
    addEventListener("keydown", (e) => { if (known.has(e.key) && !typing(e)) { this.pressed.add(e.key); e.preventDefault(); } });
    addEventListener("keyup", (e) => this.pressed.delete(e.key));
    addEventListener("blur", () => this.pressed.clear());
  }
  group(title, specs, set) {
    if (!specs.length) return;
    this.box.append(element("h2", { textContent: title }));
    for (const [spec, keys] of specs) {
      const control = new Control(spec, set, keys);
      this.all.push(control);
      if (keys) this.inputs.push(control);
      this.box.append(control.box);
    }
  }
  find(name) { return this.all.find((c) => c.name === name); }
  // Inputs that keys or a gamepad hold, moved by as much as a time allows; `set` is called with those that changed.
  hold(dt, set) {
    const pads = navigator.getGamepads ? [...navigator.getGamepads()].filter(Boolean) : [];
    this.inputs.forEach((control, i) => {
      const { low, high, rest, keys } = control, axis = pads.length ? pads[0].axes[i] || 0 : 0;
      const way = (keys && this.pressed.has(keys[1]) ? 1 : 0) - (keys && this.pressed.has(keys[0]) ? 1 : 0);
      let value = control.value;
      if (Math.abs(axis) > DEAD) { const a = i % 2 ? -axis : axis; value = a > 0 ? rest + a * (high - rest) : rest + a * (rest - low); control.held = true; }
      else if (way || control.held) {
        const goal = way > 0 ? high : way < 0 ? low : rest, most = ((high - low) / 2 / ACROSS) * dt;
        value += Math.max(-most, Math.min(most, goal - value));
        control.held = way !== 0 || value !== rest;
      }
      if (value !== control.value) { control.show(value); set(control); }
    });
  }
}
