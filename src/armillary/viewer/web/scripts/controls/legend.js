// The runs of a page by their labels: shown or hidden, or one at a time.

class Legend {
  // `choose(k)` is called where one of several figures is to be shown alone.
  constructor(scene, choose) {
    this.box = byId("legend");
    const { figures } = scene;
    if (figures.length < 2) return;
    this.buttons = figures.map((figure, k) => {
      const chip = element("i"), name = element("span", { textContent: figure.content.label || figure.content.name });
      if (figure.content.colour) chip.style.background = figure.content.colour; else chip.style.display = "none";
      const button = element("button", { title: data.layout === "choose" ? "show this motion" : "show or hide this run" }, chip, name);
      button.setAttribute("aria-pressed", true);
      button.onclick = () => {
        if (data.layout === "choose") { this.only(k, figures); choose(k); } else this.press(button, figure, !figure.root.visible);
        scene.changed = true;
      };
      this.box.append(button);
      return button;
    });
    if (data.layout === "choose") this.only(0, figures);
  }
  press(button, figure, on) { figure.root.visible = on; button.setAttribute("aria-pressed", on); }
  only(k, figures) { figures.forEach((figure, i) => this.press(this.buttons[i], figure, i === k)); }
}
