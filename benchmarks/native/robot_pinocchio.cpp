// A robot by Pinocchio's articulated-body algorithm, with -DRNEA by its recursive Newton-Euler algorithm, or with
// -DABA_DERIVATIVES by the analytical derivatives of the first (which then follow the accelerations, by rows), compiled for
// this processor; `create` then takes rates of the speeds in place of efforts. robot_file.hpp describes the file.
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
#include <string>
#include <vector>

#include "robot_file.hpp"

using Vec = Eigen::VectorXd;

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
    robot->model = read_robot(path);
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
