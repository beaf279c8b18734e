// The page of recorded runs.

// Figures of a page, with the outputs of their runs over time.
async function readFigures() {
  const figures = [], series = [];
  for (const content of data.figures) {
    if (content.cloud) {
      const cloud = await Cloud.read(content);
      figures.push(cloud.figure); series.push(...cloud.series);
    } else {
      const motion = await RecordedMotion.read(content);
      figures.push(new Figure(content, motion));
      series.push({ time: motion.time, outputs: content.outputs, columns: await unpack(content.columns, Float64Array), colour: content.colour });
    }
  }
  return { figures, series };
}

async function main() {
  byId("about").textContent = data.about;
  await Promise.all([loadThree(), waitForSize()]);
  const { figures, series } = await readFigures(), choosing = data.layout === "choose";
  const scene = new Scene(figures), labels = new Labels(scene), tools = new Tools(scene, labels);
  const longest = figures.map((f) => f.motion).reduce((a, b) => (b.end - b.start > a.end - a.start ? b : a));
  const arrows = await Arrows.read(scene, figures);
  for (const name of arrows.groups) {
    const { text, key } = ARROWS[name], button = tools.toggle(name, text, key, false, (on) => arrows.show(name, on), tools.showing);
    if (((data.look || {}).arrows || []).includes(name)) button.click();
  }
  let plots = null;
  const pointer = new Pointer(scene, (figure, body) => [...valuesOf(figure, body), ...arrows.words(figure, body)]);
  const player = new Player((choosing ? figures[0].motion : longest).time, tools, (t) => { scene.show(t); arrows.update(t); plots && plots.draw(t); labels.update(); pointer.update(); });
  // Coordinates and speeds of a body, and outputs that are named after it.
  const valuesOf = (figure, body) => {
    const run = series[figures.indexOf(figure)], start = `${figure.bodies[body].name}.`;
    if (!run || figure.content.cloud) return [];
    const [i, j, s] = rowAt(run.time, player.t);
    return run.outputs.map((o, k) => [o, run.columns[k]]).filter(([o]) => o.name.startsWith(start)).slice(0, 8)
      .map(([o, y]) => [o.name.slice(start.length), `${+(y[i] * (1 - s) + y[j] * s).toPrecision(4)} ${o.units}`]);
  };
  plots = new Plots(choosing ? series.slice(0, 1) : series, (t) => player.seek(t));
  // One motion at a time, each shown in two seconds.
  const choose = (k) => { const { motion } = figures[k]; player.use(motion.time); player.rate = (motion.end - motion.start) / 2; plots.use([series[k]]); player.update(); byId("about").textContent = figures[k].content.label || data.about; };
  new Legend(scene, choose);
  for (const cloud of figures.filter((f) => f.content.cloud)) pointer.tapped = (x, y) => { // a run of the cloud is drawn solid
    const k = cloud.under(scene.ray(x, y));
    if (k < 0) return;
    cloud.choose(k);
    hint(cloud.content.cloud.labels[k]);
    player.update();
  };
  if (plots.outputs.length) tools.toggle("plots", "outputs over time", "o", true, (on) => { plots.box.hidden = !on; scene.resize(); if (on) plots.draw(player.t); }, tools.showing);
  tools.restyled.push(() => plots.draw(player.t));
  addEventListener("resize", () => { scene.resize(); player.marks(); plots.draw(player.t); });
  scene.resize();
  scene.look((data.look || {}).view || "oblique");
  tools.read();
  player.marks();
  if (choosing) choose(0); else player.update();
  if (!player.asked && player.time.length > 1 && !matchMedia("(prefers-reduced-motion: reduce)").matches) player.toggle();
  const frame = (now) => { player.advance(now); if (scene.refresh()) labels.update(); requestAnimationFrame(frame); };
  requestAnimationFrame((now) => { player.last = now; frame(now); });
  window.armillary = {
    data, player, scene, plots, tools, arrows, pointer,
    pose(name, t, k = 0) {
      const now = (figures[k] || { motion: figures[0].motions[k] }).motion.at(t), b = 7 * figures[0].index(name);
      return { position: Array.from(now.slice(b, b + 3)), quaternion: Array.from(now.slice(b + 3, b + 7)) };
    },
    bent(name, t, k = 0) { scene.show(t); return figures[k].bent.find((p) => figures[k].bodies[p.body].name === name).now.map((p) => p.toArray()); },
    value(name, t, k = 0) {
      const [i, j, s] = rowAt(series[k].time, t), y = series[k].columns[series[k].outputs.findIndex((o) => o.name === name)];
      return y[i] * (1 - s) + y[j] * s;
    },
  };
  document.documentElement.dataset.ready = "yes";
}

main().catch((error) => report(error));
