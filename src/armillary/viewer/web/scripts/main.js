// The page of recorded runs.

async function main() {
  byId("about").textContent = data.about;
  await loadThree();
  const motions = await Promise.all(data.figures.map((f) => RecordedMotion.read(f)));
  const columns = await Promise.all(data.figures.map((f) => unpack(f.columns)));
  const figures = data.figures.map((f, i) => new Figure(f, motions[i]));
  const scene = new Scene(figures), labels = new Labels(scene), tools = new Tools(scene, labels);
  let plots = null;
  const player = new Player(motions[0].time, tools, (t) => { scene.show(t); plots && plots.draw(t); labels.update(); });
  plots = new Plots(data.figures.map((f, i) => ({ time: motions[i].time, outputs: f.outputs, columns: columns[i], colour: f.colour })), (t) => player.seek(t));
  if (plots.outputs.length) tools.toggle("plots", "outputs over time", "o", true, (on) => { plots.box.hidden = !on; if (on) plots.draw(player.t); });
  tools.restyled.push(() => plots.draw(player.t));
  addEventListener("resize", () => { scene.resize(); player.marks(); plots.draw(player.t); });
  scene.resize();
  player.marks();
  player.update();
  if (!player.asked && motions[0].time.length > 1 && !matchMedia("(prefers-reduced-motion: reduce)").matches) player.toggle();
  const frame = (now) => { player.advance(now); if (scene.refresh()) labels.update(); requestAnimationFrame(frame); };
  requestAnimationFrame((now) => { player.last = now; frame(now); });
  window.armillary = {
    data, player, scene, plots, tools,
    pose(name, t, k = 0) {
      const now = motions[k].at(t), b = 7 * figures[k].index(name);
      return { position: Array.from(now.slice(b, b + 3)), quaternion: Array.from(now.slice(b + 3, b + 7)) };
    },
    bent(name, t, k = 0) { scene.show(t); return figures[k].bent.find((p) => figures[k].bodies[p.body].name === name).now.map((p) => p.toArray()); },
    value(name, t, k = 0) {
      const [i, j, s] = rowAt(motions[k].time, t), y = columns[k][data.figures[k].outputs.findIndex((o) => o.name === name)];
      return y[i] * (1 - s) + y[j] * s;
    },
  };
  document.documentElement.dataset.ready = "yes";
}

main().catch(report);
