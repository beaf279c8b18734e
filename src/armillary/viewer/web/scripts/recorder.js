// A video of what is seen, from now until it is stopped.

class Recorder {
  constructor(canvas, done) { this.canvas = canvas; this.done = done; this.active = null; }
  static kind() {
    const kinds = ["video/mp4;codecs=avc1", "video/webm;codecs=vp9", "video/webm"];
    return window.MediaRecorder ? kinds.find((k) => MediaRecorder.isTypeSupported(k)) : undefined;
  }
  toggle() {
    if (this.active) { this.active.stop(); return false; }
    const type = Recorder.kind(), parts = [];
    this.active = new MediaRecorder(this.canvas.captureStream(30), { mimeType: type, videoBitsPerSecond: 8e6 });
    this.active.ondataavailable = (e) => parts.push(e.data);
    this.active.onstop = () => { this.active = null; this.done(new Blob(parts, { type }), type.includes("mp4") ? "mp4" : "webm"); };
    this.active.start();
    return true;
  }
}
