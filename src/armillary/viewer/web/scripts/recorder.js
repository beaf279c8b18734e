// A video of what is seen, from now until it is stopped: a picture at each tick, also where nothing moves.

class Recorder {
  constructor(scene, done) { this.scene = scene; this.done = done; this.active = null; }
  static kind() {
    const kinds = ["video/mp4;codecs=avc1", "video/webm;codecs=vp9", "video/webm"];
    return window.MediaRecorder ? kinds.find((k) => MediaRecorder.isTypeSupported(k)) : undefined;
  }
  toggle() {
    if (this.active) { this.active.stop(); return false; }
    const { scene } = this, { width, height } = scene.shown, type = Recorder.kind(), parts = [];
    const canvas = element("canvas", { width: width - (width % 2), height: height - (height % 2) }), g = canvas.getContext("2d"); // codecs need even numbers
    const tick = () => {
      if (!this.active) return;
      scene.draw();
      g.drawImage(scene.shown, 0, 0, canvas.width, canvas.height);
      requestAnimationFrame(tick);
    };
    this.active = new MediaRecorder(canvas.captureStream(30), { mimeType: type, videoBitsPerSecond: 8e6 });
    this.active.ondataavailable = (e) => parts.push(e.data);
    this.active.onstop = () => { this.active = null; this.done(new Blob(parts, { type }), type.includes("mp4") ? "mp4" : "webm"); };
    this.active.start();
    tick();
    return true;
  }
}
