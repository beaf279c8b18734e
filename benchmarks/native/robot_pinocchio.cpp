// A robot by Pinocchio's articulated-body algorithm, with -DRNEA by its recursive Newton-Euler algorithm, or with
// -DABA_DERIVATIVES by the analytical derivatives of the first (which then follow the accelerations, by rows), compiled for
// this processor; `create` then takes rates of the speeds in place of efforts. The file has one line per joint:
// kind, parent, axis, place (rotation by rows, translation), mass, mass centre, inertia by rows; and the gravity first.
#include <pinocchio/fwd.hpp>
#include <pinocchio/multibody.hpp>
#include <pinocchio/multibody/joint.hpp>
#if defined(RNEA)
#include <pinocchio/algorithm/rnea.hpp>
#elif defined(ABA_DERIVATIVES)
#include <pinocchio/algorithm/aba-derivatives.hpp>
#else
#include <pinocchio/algorithm/aba.hpp>
#endif
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

using namespace pinocchio;
using Vec = Eigen::VectorXd;
using Three = Eigen::Vector3d;

static Three three(std::istream& file) {
  Three v;
  file >> v[0] >> v[1] >> v[2];
  return v;
}

static Eigen::Matrix3d nine(std::istream& file) {
  Eigen::Matrix3d m;
  for (int i = 0; i < 9; i++) file >> m(i / 3, i % 3);
  return m;
}

static JointModel joint_of(const std::string& kind, const Three& axis) {
  if (kind == "JointModelRX") return JointModelRX();
  if (kind == "JointModelRY") return JointModelRY();
  if (kind == "JointModelRZ") return JointModelRZ();
  if (kind == "JointModelRUBX") return JointModelRUBX();
  if (kind == "JointModelRUBY") return JointModelRUBY();
  if (kind == "JointModelRUBZ") return JointModelRUBZ();
  if (kind == "JointModelPX") return JointModelPX();
  if (kind == "JointModelPY") return JointModelPY();
  if (kind == "JointModelPZ") return JointModelPZ();
  if (kind == "JointModelRevoluteUnaligned") return JointModelRevoluteUnaligned(axis);
  if (kind == "JointModelRevoluteUnboundedUnaligned") return JointModelRevoluteUnboundedUnaligned(axis);
  if (kind == "JointModelPrismaticUnaligned") return JointModelPrismaticUnaligned(axis);
  if (kind == "JointModelPlanar") return JointModelPlanar();
  if (kind == "JointModelFreeFlyer") return JointModelFreeFlyer();
  throw std::runtime_error("no joint " + kind);
}

struct Robot {
  Model model;
  Data data;
  std::vector<Vec> q, v, given;
#if defined(RNEA)
  const Vec& evaluate(int k) { return rnea(model, data, q[k], v[k], given[k]); }
#elif defined(ABA_DERIVATIVES)
  const Vec& evaluate(int k) {
    computeABADerivatives(model, data, q[k], v[k], given[k]);
    return data.ddq;
  }
#else
  const Vec& evaluate(int k) { return aba(model, data, q[k], v[k], given[k], Convention::LOCAL); }
#endif
};

static std::string failure_text;

extern "C" {
const char* failure() { return failure_text.c_str(); }

void* create(const char* path, long states, const double* q, const double* v, const double* given) {
  try {
    Robot* robot = new Robot;
    std::ifstream file(path);
    robot->model.gravity.linear() = three(file);
    std::string kind;
    for (int n = 1; file >> kind; n++) {
      int parent;
      double mass;
      file >> parent;
      const Three axis = three(file);
      const Eigen::Matrix3d R = nine(file);
      const SE3 place(R, three(file));
      file >> mass;
      const Three com = three(file);
      const Eigen::Matrix3d inertia = nine(file);
      const JointIndex joint = robot->model.addJoint(parent, joint_of(kind, axis), place, "joint" + std::to_string(n));
      robot->model.appendBodyToJoint(joint, Inertia(mass, com, inertia), SE3::Identity());
    }
    robot->data = Data(robot->model);
    for (long k = 0; k < states; k++) {
      robot->q.push_back(Eigen::Map<const Vec>(q + k * robot->model.nq, robot->model.nq));
      robot->v.push_back(Eigen::Map<const Vec>(v + k * robot->model.nv, robot->model.nv));
      robot->given.push_back(Eigen::Map<const Vec>(given + k * robot->model.nv, robot->model.nv));
    }
    return robot;
  } catch (const std::exception& error) {
    failure_text = error.what();
    return nullptr;
  }
}

double loop(void* self, long evaluations) {
  Robot& robot = *static_cast<Robot*>(self);
  double checksum = 0.0;
  size_t k = 0;
  for (long n = 0; n < evaluations; n++) {
    checksum += robot.evaluate(int(k))[robot.model.nv - 1];
    if (++k == robot.q.size()) k = 0;
  }
  return checksum;
}

void accelerations(void* self, long k, double* a) {
  Robot& robot = *static_cast<Robot*>(self);
  const int n = robot.model.nv;
  Eigen::Map<Vec>(a, n) = robot.evaluate(int(k));
#ifdef ABA_DERIVATIVES
  using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<Rows>(a + n, n, n) = robot.data.ddq_dq;
  Eigen::Map<Rows>(a + n + n * n, n, n) = robot.data.ddq_dv;
  Eigen::Map<Rows>(a + n + 2 * n * n, n, n) = Eigen::MatrixXd(robot.data.Minv.selfadjointView<Eigen::Upper>());
#endif
}
}
