// Candidate: MuJoCo; the option is the model as an MJCF file. Of a tree, the stages that smooth dynamics needs and no
// others, called one by one; of a linkage, mj_forward. MuJoCo's base velocity and force are in world axes; they are
// converted outside the timed loop.
#include <mujoco/mujoco.h>
#include <algorithm>
#include "candidate.hpp"

class Mujoco {
 public:
  Mujoco(const BenchModel& bench, const std::string& xml, const Pool& pool)
      : bench_(bench), size_(pool.size), q_(pool.q, pool.q + pool.size * bench.nq),
        v_(pool.v, pool.v + pool.size * bench.nv), tau_(pool.tau, pool.tau + pool.size * bench.nv), body_v_(v_) {
    char error[1000] = "";
    model_ = mj_loadXML(xml.c_str(), nullptr, error, sizeof error);
    if (!model_) throw std::runtime_error(error);
    if (model_->nq != bench.nq || model_->nv != bench.nv) throw std::runtime_error("MuJoCo's model differs in size");
    data_ = mj_makeData(model_);
    for (int k = 0; bench.floating && k < size_; k++) {
      double R[9];
      mju_quat2Mat(R, &q_[k * bench.nq + 3]);
      mju_mulMatVec3(&v_[k * bench.nv], R, pool.v + k * bench.nv);
      mju_mulMatVec3(&tau_[k * bench.nv], R, pool.tau + k * bench.nv);
    }
  }

  int pool_size() const { return size_; }

  double last(int k) {
    std::copy_n(&q_[k * bench_.nq], bench_.nq, data_->qpos);
    std::copy_n(&v_[k * bench_.nv], bench_.nv, data_->qvel);
    std::copy_n(&tau_[k * bench_.nv], bench_.nv, data_->qfrc_applied);
    if (model_->neq)
      mj_forward(model_, data_);
    else
      smooth();
    return result()[bench_.nv - 1];
  }

  void accelerations(int k, double* a) {
    last(k);
    std::copy_n(result(), bench_.nv, a);
    if (!bench_.floating) return;
    double R[9], turned[3], carried[3];  // body components: R^T a_world - w x v
    mju_quat2Mat(R, &q_[k * bench_.nq + 3]);
    mju_mulMatTVec3(turned, R, result());
    mju_cross(carried, &body_v_[k * bench_.nv + 3], &body_v_[k * bench_.nv]);
    for (int i = 0; i < 3; i++) a[i] = turned[i] - carried[i];
  }

  void simulate(const double* tau, long steps, double step, double* q) {
    mj_resetData(model_, data_);
    model_->opt.timestep = step;
    for (int i = 0; i < model_->neq; i++) model_->eq_solref[i * mjNREF] = 2.0 * step;  // the hardest that is safe
    std::copy_n(q_.data(), bench_.nq, data_->qpos);
    std::copy_n(v_.data(), bench_.nv, data_->qvel);
    std::copy_n(tau, bench_.nv, data_->qfrc_applied);
    for (long n = 0; n < steps; n++) mj_step(model_, data_);
    std::copy_n(data_->qpos, bench_.nq, q);
  }

 private:
  void smooth() {
    mj_kinematics(model_, data_);
    mj_comPos(model_, data_);
    mj_crb(model_, data_);
    mj_factorM(model_, data_);
    mj_comVel(model_, data_);
    mj_passive(model_, data_);
    mj_rne(model_, data_, 0, data_->qfrc_bias);
    mj_fwdAcceleration(model_, data_);
  }

  const double* result() const { return model_->neq ? data_->qacc : data_->qacc_smooth; }

  BenchModel bench_;
  int size_;
  std::vector<double> q_, v_, tau_, body_v_;
  mjModel* model_ = nullptr;
  mjData* data_ = nullptr;
};

EXPORT_CANDIDATE(Mujoco)

// A run from the pool's first state under constant efforts; q receives the coordinates at its end.
extern "C" void simulate(void* self, const double* tau, long steps, double step, double* q) {
  static_cast<Mujoco*>(self)->simulate(tau, steps, step, q);
}
