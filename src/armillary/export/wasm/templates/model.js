// A model in a WebAssembly module: parameters, inputs, steps through time, outputs and poses.
//
// All arrays lie at fixed addresses of the module's memory, which the description names (`about.places`); the
// loop keeps its numbers in two of them, `control` and `workspace`, so a run can be left after any step and taken
// up again. A row is [outputs, state, pose of each body in its parent]. Where joints lock or dependent speeds are
// exchanged, the loop goes on with the functions of another configuration (`configurations` of the description).

const FULL = 7, PAUSED = 6, EVENT = 2; // why a loop came back: room for rows is used up, its budget of steps is
const ENDS = { 1: "finished", 2: "event", 3: "diverged", 4: "step too small", 5: "events accumulate" };
const POSE = 12; // numbers of a pose: displacement, then the rotation row by row

class ArmillaryModel {
  // The model of a description and the bytes of its module (or a Response, or a promise of either).
  static async load(about, code) {
    const given = await code, bytes = given.arrayBuffer ? await given.arrayBuffer() : given;
    const { sin, cos, tan } = Math, fmod = (a, b) => a % b;
    const { instance } = await WebAssembly.instantiate(bytes, { Math: { sin, cos, tan, fmod } });
    return new ArmillaryModel(about, instance.exports);
  }

  constructor(about, exported) {
    this.about = about; this.exported = exported;
    const buffer = exported.memory.buffer;
    this.reals = new Float64Array(buffer); this.wholes = new BigInt64Array(buffer);
    this.names = (kind) => about[kind].map((x) => x.name);
    this.parameters = Object.fromEntries(about.parameters.map((p) => [p.name, p.value]));
    this.precompute();
    this.reset();
  }

  // An array of the module by its name, a view that the module writes to.
  array(name, length, offset = 0) {
    const start = this.about.places[name] / 8 + offset;
    return this.reals.subarray(start, start + length);
  }
  get(field) { const i = this.place(field); return this.about.reals.includes(field) ? this.reals[i] : Number(this.wholes[i]); }
  set(field, value) {
    if (this.about.reals.includes(field)) this.reals[this.place(field)] = value;
    else this.wholes[this.place(field)] = BigInt(value);
  }
  place(field) { return this.about.places.control / 8 + this.about.fields[field]; }
  find(kind, name) {
    const i = this.about[kind].findIndex((x) => x.name === name);
    if (i < 0) throw new Error(`'${this.about.name}' has no '${name}' among its ${kind}: ${this.names(kind).join(", ")}`);
    return i;
  }

  // The present configuration: the end of the names of its functions, numbers of its states and constants, its locked speeds.
  get configuration() {
    const { configurations: all, states, constants } = this.about, only = { suffix: "", locked: [], dependent: [], states: states.length, constants };
    return all ? all.each[this.method ? this.get("configuration") : 0] : only;
  }
  precompute() {
    const { places, parameters, configurations: all } = this.about;
    this.array("parameters", parameters.length).set(parameters.map((p) => this.parameters[p.name] * p.factor));
    this.checkPhysical();
    for (const { suffix, constants } of all ? all.each : [this.configuration]) {
      const own = places[`constants${suffix}`];
      this.exported[`precompute${suffix}`](places.parameters, own);
      this.exported.pose_precompute(places.parameters, own + 8 * constants);
    }
  }

  // An error for parameters with which no body can be.
  checkPhysical() {
    const { physical, places } = this.about;
    if (!physical.length) return;
    this.exported.physical(0, places.state, places.parameters, places.memory_in, places.out);
    this.array("out", physical.length).forEach((value, i) => {
      if (value < 0) throw new Error(`${physical[i]} is ${+value.toPrecision(6)} with these parameters; it must be 0 or more`);
    });
  }

  // Values of parameters by name, in their units; a run goes on with them from where it is.
  setParameters(values) {
    const before = { ...this.parameters };
    for (const name in values) this.find("parameters", name);
    try { for (const name in values) this.parameters[name] = Number(values[name]); this.precompute(); } catch (error) {
      this.parameters = before;
      this.precompute();
      throw error;
    }
    if (this.method) { this.set("restart", 1); this.normalise(); }
  }

  // Values of inputs (or of other memory) by name, in their units.
  setInputs(values) {
    for (const name in values) {
      const i = this.find("memory", name);
      this.workspace("memory")[i] = values[name] * this.about.memory[i].factor;
      this.set("restart", 1);
    }
  }

  // The state as the loop holds it now, in the model's own units.
  get state() { return this.workspace("state"); }
  workspace(name) {
    const { memory, room, row } = this.about, n = { memory: memory.length, shown: row, state: this.configuration.states, atol: room.states };
    return this.array("workspace", name in n ? n[name] : room.events, this.method.offsets[name]);
  }
  normalise() {
    const { places } = this.about, at = places.workspace, { state, memory } = this.method.offsets, { suffix } = this.configuration;
    const own = this.exported[`normalise${suffix}`];
    if (own) own(this.t, at + 8 * state, places[`constants${suffix}`], at + 8 * memory);
  }

  // The start of a run: initial values, inputs and other memory by name; loops are closed.
  reset({ t0 = @default_start@, initial = {}, inputs = {}, method, step, rtol = @default_rtol@, atol = @default_atol@, maxStep = @default_max_step@ } = {}) {
    const { about } = this, { places, events } = about, known = Object.keys(about.methods);
    method = method || known.find((m) => about.methods[m].adaptive === (step === undefined)) || known[0];
    if (!about.methods[method]) throw new Error(`there is no method '${method}'; there are ${known.join(", ")}`);
    this.method = about.methods[method];
    if (!this.method.adaptive && step === undefined) step = about.step;
    if (step !== undefined && !(step > 0)) throw new Error(`step is ${step}; it must be a positive number of seconds`);
    this.drive = this.exported[`drive_${method}`]; this.drive_start = `choose_start_${method}`;
    this.array("control", Object.keys(about.fields).length).fill(0);
    this.array("workspace", this.method.length).fill(0);
    this.workspace("memory").set(about.memory.map((m) => (m.period === null ? m.initial : t0 + m.period)));
    this.workspace("direction").set(events.map((e) => e.direction));
    this.workspace("terminal").set(events.map((e) => e.terminal));
    this.workspace("last").fill(-Infinity);
    this.workspace("gap").fill(Infinity);
    if (this.method.adaptive) this.workspace("atol").fill(atol);
    const fields = {
      t: t0, t0, t_end: 1e300, step: step || 0, h: Math.min(step || 0, maxStep), max_step: maxStep, rtol, t_old: t0, error_old: 1e-4,
      shortest: Infinity, phase: about.arrived, failed: -1, at_grid: 1, restart: 1, choose_step: step ? 0 : 1,
      constants: places.constants, times: places.times, samples: places.rows, log: places.log, stops: places.stops, log_capacity: about.log,
      structure: places.structure,
    };
    new Int32Array(this.reals.buffer, places.structure, about.structure.length).set(about.structure);
    for (const name in fields) this.set(name, fields[name]);
    this.setStops(t0, Infinity);
    this.events = []; this.changes = []; this.lastEvent = null; this.status = "running"; this.t = t0;
    this.setInputs(inputs);
    this.begin(t0, initial);
    if (about.configurations) this.chooseStart(method);
    this.row = this.rowAt(t0, this.state, this.workspace("memory"));
    return this;
  }

  // Times up to the end of a run at which data of inputs jump, or bend where the method chooses its steps: steps end there.
  setStops(t0, tEnd) {
    const near = 64 * Number.EPSILON * Math.max(Math.abs(t0), tEnd < Infinity ? Math.abs(tEnd) : 0), stops = [];
    for (const [t, jumps] of this.about.stops) {
      const apart = !stops.length || t - stops[stops.length - 1] > near;
      if ((jumps || this.method.adaptive) && apart && t > t0 + near && t <= tEnd + near) stops.push(Math.min(t, tEnd));
    }
    this.array("stops", stops.length + 1).set([...stops, Infinity]);
  }

  // The configuration in which a run starts, with the tables that the loop reads of all of them.
  chooseStart(method) {
    const { places, configurations: all } = this.about, { sections, figures, each } = all, first = places.sections / 8;
    sections.forEach((address, i) => { this.wholes[first + i] = BigInt(address); });
    const numbers = this.array("figures", figures.length).fill(0);
    figures.places.forEach((place, i) => { numbers[place] = figures.values[i]; });
    this.workspace("g").fill(1);
    const fields = { sections: places.sections, figures: places.figures, configurations: each.length, used: each[0].states, look: -Infinity, share: 1, refused: -1, short_begin: -Infinity, short_end: -Infinity };
    for (const name in fields) this.set(name, fields[name]);
    this.exported[`choose_start_${method}`](places.control, places.workspace);
    if (this.get("status")) this.ended(this.get("status"));
  }

  // State and memory of a start: from the closed place, momenta and what else follows from it.
  begin(t, initial) {
    const { about, exported } = this, { places } = about, memory = this.workspace("memory"), given = this.startPlace(t, initial);
    if (!exported.start) { this.state.set(given); return; }
    this.array("state", given.length).set(given);
    this.array("memory_in", memory.length).set(memory);
    exported.start(t, places.state, places.parameters, places.memory_in, places.out);
    memory.set(this.array("out", memory.length));
    this.state.set(this.array("out", given.length, memory.length));
  }

  // Initial values by name, in their units, over those described, with unit Euler parameters and closed loops.
  startPlace(t, initial) {
    const { about } = this, state = about.starts.map((s) => s.initial);
    for (const name in initial) { const i = this.find("starts", name); state[i] = initial[name] * about.starts[i].factor; }
    unitParameters(about.quaternions, state);
    if (!about.assembly) return state;
    const count = about.assembly.coordinates.length, given = about.assembly.coordinates.map((name) => name in initial);
    const changed = about.parameters.some((p) => this.parameters[p.name] !== p.value);
    if (changed || given.some((g) => g)) about.assembly.first.forEach((x, i) => { if (!given[i]) state[i] = x; });
    return [...this.closed(t, state.slice(0, count), given), ...state.slice(count)];
  }

  // Coordinates with closed loops; given coordinates stay. An error if loops cannot be closed.
  closed(t, start, given, configuration = 0) {
    const { assembly: loops, places } = this.about, { offsets, record, coordinates, gaps } = loops, memory = this.workspace("memory");
    const work = this.array("loop_workspace", loops.room).fill(0), first = places.loop_record / 8;
    this.array("loop_tables", loops.tables.length).set(loops.tables);
    if ("present" in record) this.wholes[first + record.present] = BigInt(configuration);
    this.array("memory_in", memory.length).set(memory);
    work.set(start, offsets.start);
    work.set(given.map(Number), offsets.given);
    this.reals[first + record.t] = t;
    const addresses = { loop_tables: places.loop_tables, constants: places.constants, memory: places.memory_in };
    for (const name in addresses) this.wholes[first + record[name]] = BigInt(addresses[name]);
    this.exported.close_loops(places.loop_record, places.loop_workspace);
    const status = Number(this.wholes[first + record.status]);
    if (status === 2) throw new Error(loops.redundant);
    if (!status) return work.slice(offsets.place, offsets.place + start.length);
    const named = coordinates.filter((_, i) => given[i]), held = named.length ? ` with ${named.join(", ")} as given` : "";
    const left = gaps.map(([before, after], i) => [before, work[offsets.numbers + i], after]).filter(([, value]) => value !== 0);
    throw new Error(`the loops cannot be closed${held}; the smallest gaps found are${left.map(([a, x, b]) => `\n  ${a}${sixDigits(x)}${b}`).join("")}
change the parameters that set them, or give other initial coordinates to start from`);
  }

  evaluated(name, length, t, state, memory) {
    const { places, room } = this.about, { suffix } = name === "geometry" ? { suffix: "" } : this.configuration;
    this.array("state", room.states).fill(0).set(state);
    this.array("memory_in", memory.length).set(memory);
    this.exported[name + suffix](t, places.state, places[`constants${suffix}`], places.memory_in, places.out);
    return this.array("out", length).slice();
  }
  derivatives(t, state) { return this.evaluated("derivatives", state.length, t, state, this.workspace("memory")); }
  rowAt(t, state, memory) { return this.evaluated("outputs", this.about.row, t, state, memory); }

  // The motion up to a time, whose row is kept; false where it ended before, for the reason in `status`.
  advance(t) {
    if (this.status !== "running" || t < this.t) return this.status === "running";
    this.t = this.steps([t], (time, row) => { this.row = row; }) ? t : this.get("t");
    return this.status === "running";
  }

  // Rows at some times; `take` gets each of them. Whether the run is still going on.
  steps(times, take, budget = 1e9) {
    const { about } = this, room = about.rows;
    for (let done = 0; done < times.length;) {
      const count = Math.min(room, times.length - done);
      this.array("times", count).set(times.slice(done, done + count));
      this.set("filled", 0); this.set("capacity", count); this.set("budget", budget);
      const why = Number(this.drive(about.places.control, about.places.workspace)), filled = this.get("filled");
      for (let i = 0; i < filled; i++) take(times[done + i], this.array("rows", about.row, i * about.row).slice());
      done += filled;
      this.note();
      if (why === EVENT && this.closeAgain()) continue;
      if (why !== FULL && why !== PAUSED) { this.ended(why); return false; }
      if (why === PAUSED) return true;
    }
    return true;
  }

  // The loops closed anew where events of this instant have set coordinates, which stay; the run goes on then.
  closeAgain() {
    const { about } = this, { assembly: loops, configurations: all } = about, t = this.get("t"), now = this.happened.filter((e) => e.time === t);
    const given = loops && loops.coordinates.map((name) => now.some((e) => e.event.sets.includes(name)));
    const present = all ? all.each[this.get("configuration")] : { locked: [], dependent: [] };
    const elsewhere = ({ stop, locks, sets }) => stop || locks || sets.some((u) => present.locked.includes(u) || present.dependent.includes(u));
    if (!given || !given.some((g) => g) || now.some((e) => elsewhere(e.event))) return false;
    const state = this.state, start = Array.from(state.subarray(0, given.length));
    unitParameters(about.quaternions, start);
    state.set(this.closed(t, start, given, all ? this.get("configuration") : 0));
    for (const [name, value] of Object.entries({ status: 0, failed: -1, phase: about.arrived, restart: 1 })) this.set(name, value);
    if (all) this.exported[this.drive_start](about.places.control, about.places.workspace);
    return !this.get("status");
  }

  note() {
    const { about } = this, { events, configurations: all } = about, count = this.get("firings"), log = this.array("log", 2 * count);
    this.happened = [];
    for (let i = 0; i < count; i++) {
      const time = log[2 * i], k = log[2 * i + 1];
      if (k === about.passed) continue; // a step across a singular configuration
      if (k < 0) { this.changes.push({ time, configuration: -1 - k }); continue; }
      const event = (this.lastEvent = all && k >= all.own_events ? { name: "", hidden: true, guard: true } : events[k]);
      if (event.sets) this.happened.push({ time, event });
      if (!event.hidden) this.events.push({ time, name: event.name });
    }
    this.set("firings", 0);
  }

  ended(why) {
    this.status = ENDS[why] || "ended";
    const t = (this.t = this.get("t")), between = this.get("between") === 1; // near a singular configuration
    this.row = between ? this.workspace("shown").slice() : this.rowAt(t, this.state, this.workspace("memory"));
  }

  // The row computed anew where it is, after parameters or inputs changed.
  refresh() {
    const first = this.about.outputs.length, state = this.row.slice(first, first + this.configuration.states);
    this.row = this.rowAt(this.t, state, this.workspace("memory"));
  }

  // A whole run from the values of `reset`: { time, values by output, events, status }.
  simulate(tEnd, { sample, ...start } = {}) {
    this.reset(start);
    const { t0 = @default_start@, step } = start, every = sample || step || (tEnd - t0) / @samples@, time = [], rows = [];
    const count = Math.floor((tEnd - t0) / every + 1e-9), last = t0 + count * every;
    const times = Array.from({ length: count + 1 }, (_, k) => k === count && Math.abs(last - tEnd) <= 1e-9 * every ? tEnd : t0 + k * every);
    if (times[count] < tEnd) times.push(Infinity); // the run goes on to its end after the last row
    this.set("t_end", tEnd);
    this.setStops(t0, tEnd);
    this.steps(times, (t, row) => { time.push(t); rows.push(row); });
    if (this.status === "event" && !(time[time.length - 1] >= this.t)) { time.push(this.t); rows.push(this.row); } // between rows
    const values = Object.fromEntries(this.about.outputs.map((o, j) => [o.name, Float64Array.from(rows, (row) => row[j])]));
    return { time: Float64Array.from(time), values, events: this.events, status: this.status === "running" ? "finished" : this.status };
  }

  // An output by name in the row last computed.
  output(name) { return this.row[this.find("outputs", name)]; }

  // Poses of all bodies in the ground: [{ name, position, rotation }], v_ground = R v_body, R row by row.
  poses(row = this.row) {
    const { bodies, outputs, room } = this.about, first = outputs.length + room.states, found = [];
    bodies.forEach(({ name, parent }, b) => {
      const d = row.subarray(first + POSE * b, first + POSE * b + 3), R = row.subarray(first + POSE * b + 3, first + POSE * (b + 1));
      if (parent < 0) { found.push({ name, position: Array.from(d), rotation: Array.from(R) }); return; }
      const { position: p, rotation: P } = found[parent];
      const position = [0, 1, 2].map((i) => p[i] + P[3 * i] * d[0] + P[3 * i + 1] * d[1] + P[3 * i + 2] * d[2]);
      const rotation = Array.from({ length: 9 }, (_, k) => {
        const i = 3 * Math.floor(k / 3), j = k % 3;
        return P[i] * R[j] + P[i + 1] * R[3 + j] + P[i + 2] * R[6 + j];
      });
      found.push({ name, position, rotation });
    });
    return found;
  }
}

function unitParameters(starts, q) {
  for (const start of starts) {
    const size = Math.hypot(q[start], q[start + 1], q[start + 2], q[start + 3]);
    for (let i = start; i < start + 4; i++) q[i] /= size;
  }
  return q;
}

// A number as C prints it with "%.6g".
function sixDigits(x) {
  const [mantissa, exponent] = x.toExponential(5).split("e"), power = Number(exponent);
  if (power >= -4 && power < 6) return String(Number(x.toPrecision(6)));
  return `${Number(mantissa)}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}
