// What the page of a motion needs of three.js. To renew src/armillary/viewer/web/three.min.js, in this folder:
//   npm install three esbuild
//   npx esbuild entry.js --bundle --minify --format=iife --global-name=THREE --outfile=../../src/armillary/viewer/web/three.min.js
// and copy node_modules/three/LICENSE to three-LICENSE.txt beside it.
export {
  AmbientLight, ArrowHelper, AxesHelper, Box3, BoxGeometry, BufferAttribute, BufferGeometry, CanvasTexture,
  CapsuleGeometry, Color, ConeGeometry, CylinderGeometry, DirectionalLight, DoubleSide, Fog, GridHelper, Group,
  HemisphereLight, InstancedMesh, Line, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshStandardMaterial,
  MeshBasicMaterial, PCFSoftShadowMap, PerspectiveCamera, PlaneGeometry, Quaternion, Raycaster, Scene, ShadowMaterial,
  SphereGeometry, Sprite, SpriteMaterial, SRGBColorSpace, TorusGeometry, TubeGeometry, CatmullRomCurve3,
  Vector2, Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
