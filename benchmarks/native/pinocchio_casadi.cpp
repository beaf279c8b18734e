// pinocchio_casadi model.txt folder aba|crba
// Pinocchio's algorithms on casadi::SX, written as C to folder/forward_dynamics.c; prints times and counts as JSON.
//   aba    articulated bodies
//   crba   composite rigid bodies and nonlinear effects, then a branch-sparse L^T D L from the leaves
#include <pinocchio/autodiff/casadi.hpp>
#include "pinocchio_model.hpp"
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <cstdio>
#include <ctime>
#include <map>

using casadi::SX;
using SXModel = pinocchio::ModelTpl<SX>;
using SXData = pinocchio::DataTpl<SX>;
using SXVector = Eigen::Matrix<SX, Eigen::Dynamic, 1>;

static double cpu_seconds() { return double(std::clock()) / CLOCKS_PER_SEC; }

static SX articulated_bodies(const SXModel& model, SXData& data, const SXVector& q, const SXVector& v,
                             const SXVector& tau) {
  pinocchio::aba(model, data, q, v, tau, pinocchio::Convention::LOCAL);
  SX a(model.nv, 1);
  for (int i = 0; i < model.nv; i++) a(i) = data.ddq[i];
  return a;
}

static SX composite_bodies(const SXModel& model, SXData& data, const SXVector& q, const SXVector& v,
                           const SXVector& tau) {
  const int n = model.nv;
  pinocchio::nonLinearEffects(model, data, q, v);
  std::vector<SX> x(n), inverse(n);
  for (int i = 0; i < n; i++) x[i] = tau[i] - data.nle[i];
  data.M.setZero();
  pinocchio::crba(model, data, q);
  std::vector<std::vector<SX>> L(n, std::vector<SX>(n, SX(0)));
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) L[i][j] = data.M(j, i);
  auto filled = [&](int i, int j) { return !L[i][j].is_zero(); };
  for (int k = n - 1; k >= 0; k--) {
    inverse[k] = 1 / L[k][k];
    for (int i = k - 1; i >= 0; i--) {
      if (!filled(k, i)) continue;
      const SX factor = L[k][i] * inverse[k];
      for (int j = 0; j <= i; j++)
        if (filled(k, j)) L[i][j] = L[i][j] - factor * L[k][j];
      L[k][i] = factor;
    }
  }
  for (int i = n - 1; i >= 0; i--)
    for (int j = 0; j < i; j++)
      if (filled(i, j)) x[j] = x[j] - L[i][j] * x[i];
  SX a(n, 1);
  for (int i = 0; i < n; i++) {
    x[i] = x[i] * inverse[i];
    for (int j = 0; j < i; j++)
      if (filled(i, j)) x[i] = x[i] - L[i][j] * x[j];
    a(i) = x[i];
  }
  return a;
}

static std::map<std::string, long> count_operations(const casadi::Function& function) {
  using namespace ::casadi;
  std::map<std::string, long> count{{"additions", 0}, {"multiplications", 0}, {"divisions", 0}, {"functions", 0}};
  for (casadi_int k = 0; k < function.n_instructions(); k++) {
    switch (function.instruction_id(k)) {
      case OP_ADD: case OP_SUB: case OP_TWICE: count["additions"]++; break;
      case OP_MUL: case OP_SQ: count["multiplications"]++; break;
      case OP_DIV: case OP_INV: count["divisions"]++; break;
      case OP_NEG: case OP_INPUT: case OP_OUTPUT: case OP_CONST: break;  // free, as in Armillary's own count
      default: count["functions"]++;
    }
  }
  return count;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const double start = cpu_seconds();
  const BenchModel bench(argv[1]);
  const SXModel model = pinocchio_model(bench).cast<SX>();
  SXData data(model);
  const SX q = SX::sym("q", bench.nq), v = SX::sym("v", bench.nv), tau = SX::sym("tau", bench.nv);
  SXVector Q(bench.nq), V(bench.nv), T(bench.nv);
  for (int i = 0; i < bench.nq; i++) Q[i] = q(i);
  if (bench.floating) { Q[3] = q(4); Q[4] = q(5); Q[5] = q(6); Q[6] = q(3); }  // Pinocchio: scalar last
  for (int i = 0; i < bench.nv; i++) { V[i] = v(i); T[i] = tau(i); }
  for (int i = bench.first_joint(); i < int(bench.links.size()); i++) {
    const Link& link = bench.links[i];
    if (link.stiffness != 0) T[bench.iv(i)] = T[bench.iv(i)] - link.stiffness * q(bench.iq(i));
    if (link.damping != 0) T[bench.iv(i)] = T[bench.iv(i)] - link.damping * v(bench.iv(i));
  }
  const auto algorithm = std::string(argv[3]) == "aba" ? articulated_bodies : composite_bodies;
  const SX a = SX::cse({algorithm(model, data, Q, V, T)})[0];
  const casadi::Function function("forward_dynamics", {q, v, tau}, {SX::densify(a)});
  casadi::CodeGenerator generator("forward_dynamics", casadi::Dict{{"with_header", false}});
  generator.add(function);
  generator.generate(std::string(argv[2]) + "/");
  const double seconds = cpu_seconds() - start;
  auto count = count_operations(function);
  std::printf("{\"derive_seconds\": %.4f, \"additions\": %ld, \"multiplications\": %ld, \"divisions\": %ld, "
              "\"functions\": %ld}\n", seconds, count["additions"], count["multiplications"], count["divisions"],
              count["functions"]);
}
