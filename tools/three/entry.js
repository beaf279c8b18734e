// What the page of a motion needs of three.js. To renew src/armillary/viewer/web/three.min.js, in this folder:
//   npm install three esbuild
//   npx esbuild entry.js --bundle --minify --format=iife --global-name=THREE --outfile=../../src/armillary/viewer/web/three.min.js
// and copy node_modules/three/LICENSE to three-LICENSE.txt beside it.
export {
  Box3, BoxGeometry, BufferAttribute, BufferGeometry, CapsuleGeometry, CatmullRomCurve3, Color, ConeGeometry,
  CylinderGeometry, DepthTexture, DoubleSide, FrontSide, GLSL3, Group, InstancedMesh, LessEqualCompare, Line, LinearFilter,
  LineSegments, Matrix3, Matrix4, Mesh, OrthographicCamera, PerspectiveCamera, PlaneGeometry, Quaternion, RawShaderMaterial,
  Raycaster, RepeatWrapping, Scene, SphereGeometry, SRGBColorSpace, Texture, TorusGeometry, TubeGeometry, Vector2, Vector3,
  WebGLRenderer, WebGLRenderTarget,
} from "three";
export { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
