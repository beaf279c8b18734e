// Candidate: Pinocchio's articulated-body algorithm, header only, so that it is compiled for this very processor.
// Option "local" or "world": the frame its recursions run in.
#include "pinocchio_model.hpp"
#include <pinocchio/algorithm/aba.hpp>
#include <algorithm>
#include "candidate.hpp"

using Vec = Eigen::VectorXd;

class PinocchioAba {
 public:
  PinocchioAba(const BenchModel& bench, const std::string& option, const Pool& pool)
      : bench_(bench), model_(pinocchio_model(bench)), data_(model_), effort_(bench.nv),
        convention_(option == "world" ? pinocchio::Convention::WORLD : pinocchio::Convention::LOCAL) {
    for (const Link& link : bench.links) sprung_ = sprung_ || link.stiffness != 0 || link.damping != 0;
    for (int k = 0; k < pool.size; k++) {
      q_.push_back(Eigen::Map<const Vec>(pool.q + k * bench.nq, bench.nq));
      v_.push_back(Eigen::Map<const Vec>(pool.v + k * bench.nv, bench.nv));
      tau_.push_back(Eigen::Map<const Vec>(pool.tau + k * bench.nv, bench.nv));
      if (bench.floating) std::rotate(&q_[k][3], &q_[k][4], &q_[k][3] + 4);  // Pinocchio: scalar last
    }
  }

  int pool_size() const { return int(q_.size()); }
  double last(int k) { return evaluate(k)[bench_.nv - 1]; }
  void accelerations(int k, double* a) { Eigen::Map<Vec>(a, bench_.nv) = evaluate(k); }

 private:
  const Vec& evaluate(int k) {
    if (!sprung_) return pinocchio::aba(model_, data_, q_[k], v_[k], tau_[k], convention_);
    effort_ = tau_[k];
    for (int i = bench_.first_joint(); i < int(bench_.links.size()); i++) {
      const Link& link = bench_.links[i];
      effort_[bench_.iv(i)] -= link.stiffness * q_[k][bench_.iq(i)] + link.damping * v_[k][bench_.iv(i)];
    }
    return pinocchio::aba(model_, data_, q_[k], v_[k], effort_, convention_);
  }

  BenchModel bench_;
  pinocchio::Model model_;
  pinocchio::Data data_;
  Vec effort_;
  pinocchio::Convention convention_;
  bool sprung_ = false;
  std::vector<Vec> q_, v_, tau_;
};

EXPORT_CANDIDATE(PinocchioAba)
