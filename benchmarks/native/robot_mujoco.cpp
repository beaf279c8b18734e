// A robot of an MJCF file by those stages of MuJoCo that smooth dynamics needs: no contact, limits, drives or sensors.
#include <mujoco/mujoco.h>
#include <algorithm>
#include <string>
#include <vector>

struct Robot {
  mjModel* model = nullptr;
  mjData* data = nullptr;
  long states = 0;
  std::vector<double> q, v;
  const double* evaluate(long k) {
    std::copy_n(&q[k * model->nq], model->nq, data->qpos);
    std::copy_n(&v[k * model->nv], model->nv, data->qvel);
    mj_kinematics(model, data);
    mj_comPos(model, data);
    mj_crb(model, data);
    mj_factorM(model, data);
    mj_comVel(model, data);
    mj_passive(model, data);
    mj_rne(model, data, 0, data->qfrc_bias);
    mj_fwdAcceleration(model, data);
    return data->qacc_smooth;
  }
};

static std::string failure_text;

extern "C" {
const char* failure() { return failure_text.c_str(); }

void* create(const char* file, long states, const double* q, const double* v, const double*) {
  char error[1000] = "";
  mjModel* model = mj_loadXML(file, nullptr, error, sizeof error);
  if (!model) {
    failure_text = error;
    return nullptr;
  }
  Robot* robot = new Robot;
  robot->model = model;
  model->opt.density = model->opt.viscosity = 0.0;
  model->ntendon = 0;  // springs of tendons are left out, so their time is too
  robot->data = mj_makeData(model);
  robot->states = states;
  robot->q.assign(q, q + states * model->nq);
  robot->v.assign(v, v + states * model->nv);
  return robot;
}

double loop(void* self, long evaluations) {
  Robot& robot = *static_cast<Robot*>(self);
  double checksum = 0.0;
  long k = 0;
  for (long n = 0; n < evaluations; n++) {
    checksum += robot.evaluate(k)[robot.model->nv - 1];
    if (++k == robot.states) k = 0;
  }
  return checksum;
}

void accelerations(void* self, long k, double* a) {
  Robot& robot = *static_cast<Robot*>(self);
  std::copy_n(robot.evaluate(k), robot.model->nv, a);
}
}
