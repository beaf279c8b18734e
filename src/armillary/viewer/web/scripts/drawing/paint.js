// Paint: the material of all that is drawn. Browsers without a graphics processor compile the materials of three.js for
// seconds; these programs are a few lines each.

const LIT = "LIT", PLAIN = "PLAIN", SHADE = "SHADE"; // surfaces, lines and other flat colours, a floor that only shows shadows
const VERTEX = `
in vec3 position;
uniform mat4 projectionMatrix, modelViewMatrix;
#ifndef PLAIN
in vec3 normal;
uniform mat4 modelMatrix, toSun; uniform mat3 normalMatrix;
out vec3 across, seen, shadowed;
#endif
#ifdef MANY
in mat4 instanceMatrix; in vec3 instanceColor;
out vec3 tint;
#endif
#ifdef LOGDEPTH
out float depth;
#endif
#ifdef MAPPED
in vec2 uv;
out vec2 spot;
#endif
void main() {
#ifdef MAPPED
  spot = uv;
#endif
  vec4 place = vec4(position, 1.0);
#ifdef MANY
  mat3 turn = mat3(instanceMatrix);
  place = instanceMatrix * place;
  vec3 outward = turn * (normal / vec3(dot(turn[0], turn[0]), dot(turn[1], turn[1]), dot(turn[2], turn[2])));
  tint = instanceColor;
#elif !defined(PLAIN)
  vec3 outward = normal;
#endif
  vec4 eye = modelViewMatrix * place;
  gl_Position = projectionMatrix * eye;
#ifndef PLAIN
  across = normalMatrix * outward;
  seen = eye.xyz;
  shadowed = (toSun * (modelMatrix * place)).xyz;
#endif
#ifdef LOGDEPTH
  depth = 1.0 + gl_Position.w;
#endif
}`;
// Light of the sky and of the ground on a surface, mixed by its slope, and of the sun (Lambert, Blinn and Phong).
const FRAGMENT = `
precision highp float;
precision highp sampler2DShadow;
uniform vec3 paint; uniform float alpha;
out vec4 colour;
#ifdef MANY
in vec3 tint;
#endif
#ifdef LOGDEPTH
in float depth; uniform float logDepthBufFC;
#endif
#ifdef MAPPED
in vec2 spot; uniform sampler2D map; // in place of the paint, which is its mean
#endif
#ifndef PLAIN
in vec3 across, seen, shadowed;
uniform vec3 sun, up; uniform float gloss, shadows, texel;
uniform sampler2DShadow shadow;
float light() {
  if (shadows < 0.5 || any(greaterThan(abs(shadowed - 0.5), vec3(0.5)))) return 1.0;
  float sum = 0.0;
  for (int i = 0; i < 9; i++) sum += texture(shadow, shadowed + vec3(vec2(i % 3 - 1, i / 3 - 1) * texel, -0.0012));
  return sum / 9.0;
}
#endif
void main() {
  vec3 c = paint;
  float a = alpha;
#ifdef MANY
  c *= tint;
#endif
#ifdef MAPPED
  c = texture(map, spot).rgb;
#endif
#ifdef LIT
  vec3 n = normalize(gl_FrontFacing ? across : -across), h = normalize(sun - normalize(seen));
  float lit = light() * max(dot(n, sun), 0.0);
  vec3 sky = 0.51 * mix(vec3(0.266, 0.319, 0.381), vec3(1.0), 0.5 + 0.5 * dot(n, up));
  c = c * (sky + 0.67 * lit) + gloss * lit * pow(max(dot(n, h), 0.0), 26.0);
#endif
#ifdef SHADE
  a *= 1.0 - light();
#endif
  c = clamp(c, 0.0, 1.0);
  colour = vec4(mix(12.92 * c, 1.055 * pow(c, vec3(1.0 / 2.4)) - 0.055, step(0.0031308, c)), a);
#ifdef LOGDEPTH
  gl_FragDepth = log2(depth) * logDepthBufFC * 0.5;
#endif
}`;
// Numbers of the light, which all paints share.
const LIGHT = { sun: { value: null }, up: { value: null }, toSun: { value: null }, texel: { value: 0 }, shadow: { value: null }, shadows: { value: 0 } };
let Paint; // made when three.js is there

function makePaint() {
  Object.assign(LIGHT, { sun: { value: new THREE.Vector3(0, 1, 0) }, up: { value: new THREE.Vector3(0, 1, 0) }, toSun: { value: new THREE.Matrix4() } });
  Paint = class extends THREE.RawShaderMaterial {
    // `colour`: text or a colour; `kind`: LIT, PLAIN or SHADE; `many`: of an instanced mesh; else properties of a material.
    // A picture in place of the colour is given by `show`.
    constructor({ colour = "#ffffff", opacity = 1, gloss = 0.05, kind = LIT, many = false, ...more } = {}) {
      const own = { paint: { value: new THREE.Color(colour) }, alpha: { value: opacity }, gloss: { value: gloss } };
      super({ glslVersion: THREE.GLSL3, vertexShader: VERTEX, fragmentShader: FRAGMENT, uniforms: { ...own, ...LIGHT }, transparent: opacity < 1, ...more });
      this.kind = kind;
      this.defines[kind] = 1;
      if (many) this.defines.MANY = 1;
      if (farthest() > 0) this.defines.LOGDEPTH = 1;
    }
    show(texture) { this.uniforms.map = { value: texture }; this.defines.MAPPED = 1; return this; }
    get color() { return this.uniforms.paint.value; }
    get opacity() { return this.uniforms && this.uniforms.alpha ? this.uniforms.alpha.value : 1; } // three.js sets it before there are uniforms
    set opacity(value) { if (this.uniforms && this.uniforms.alpha) { this.uniforms.alpha.value = value; this.uniformsNeedUpdate = true; } }
    copy(source) {
      const map = LIGHT.shadow.value;
      LIGHT.shadow.value = null; // uniforms are cloned, which a map cannot be
      super.copy(source);
      LIGHT.shadow.value = map;
      Object.assign(this.uniforms, LIGHT);
      if (source.uniforms.map) this.uniforms.map = source.uniforms.map; // a clone would have to be sent to the card again
      this.kind = source.kind;
      return this;
    }
  };
}
