// A video of what is seen, from now until it is stopped: a picture at each tick, also where nothing moves.

const RECORDED = 30; // pictures per second

class Recorder {
  constructor(scene, done) { this.scene = scene; this.done = done; this.active = null; }
  static kind() {
    const kinds = ["video/mp4;codecs=avc1", "video/webm;codecs=vp9", "video/webm"];
    return window.MediaRecorder ? kinds.find((k) => MediaRecorder.isTypeSupported(k)) : undefined;
  }
  toggle() {
    if (this.active) { this.active.stop(); return false; }
    this.scene.draw(); // the last picture may have had fewer pixels, or more
    const { scene } = this, { width, height } = scene.shown, type = Recorder.kind(), parts = [];
    const canvas = element("canvas", { width: width - (width % 2), height: height - (height % 2) }), g = canvas.getContext("2d"); // codecs need even numbers
    const stream = canvas.captureStream(0), [track] = stream.getVideoTracks();
    const timer = setInterval(() => {
      scene.draw();
      g.drawImage(scene.shown, 0, 0, canvas.width, canvas.height);
      (track.requestFrame ? track : stream).requestFrame(); // Firefox has it on the stream
    }, 1000 / RECORDED);
    this.active = new MediaRecorder(stream, { mimeType: type, videoBitsPerSecond: 8e6 });
    this.active.ondataavailable = (e) => parts.push(e.data);
    this.active.onstop = () => { clearInterval(timer); this.active = null; this.done(new Blob(parts, { type }), type.includes("mp4") ? "mp4" : "webm"); };
    this.active.start();
    return true;
  }
}
