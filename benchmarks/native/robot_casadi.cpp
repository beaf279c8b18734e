// robot_casadi robot.txt folder
// The Jacobian of Pinocchio's articulated-body algorithm by CasADi: accelerations and their derivatives by coordinates, speeds
// and efforts, written as C to folder/jacobian.c; prints times and counts as JSON. The file of the robot is that of
// robot_pinocchio.cpp.
#include <pinocchio/autodiff/casadi.hpp>
#include <pinocchio/multibody.hpp>
#include <pinocchio/multibody/joint.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <string>
#include "robot_file.hpp"

using ::casadi::SX;

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const double start = double(std::clock()) / CLOCKS_PER_SEC;
  const Model robot = read_robot(argv[1]);
  const ModelTpl<SX> model = robot.cast<SX>();
  DataTpl<SX> data(model);
  const SX q = SX::sym("q", model.nq), v = SX::sym("v", model.nv), tau = SX::sym("tau", model.nv);
  Eigen::Matrix<SX, Eigen::Dynamic, 1> Q(model.nq), V(model.nv), T(model.nv);
  for (int i = 0; i < model.nq; i++) Q[i] = q(i);
  for (int i = 0; i < model.nv; i++) { V[i] = v(i); T[i] = tau(i); }
  aba(model, data, Q, V, T, Convention::LOCAL);
  SX a(model.nv, 1);
  for (int i = 0; i < model.nv; i++) a(i) = data.ddq[i];
  const SX all = SX::horzcat({a, SX::jacobian(a, q), SX::jacobian(a, v), SX::jacobian(a, tau)});
  const SX shared = SX::cse({SX::densify(all)})[0];
  const ::casadi::Function function("jacobian", {q, v, tau}, {shared});
  ::casadi::CodeGenerator generator("jacobian", ::casadi::Dict{{"with_header", false}});
  generator.add(function);
  generator.generate(std::string(argv[2]) + "/");
  long operations = 0;
  for (casadi_int k = 0; k < function.n_instructions(); k++) {
    const casadi_int id = function.instruction_id(k);
    if (id != ::casadi::OP_NEG && id != ::casadi::OP_INPUT && id != ::casadi::OP_OUTPUT && id != ::casadi::OP_CONST) operations++;
  }
  std::printf("{\"derive_seconds\": %.4f, \"operations\": %ld}\n", double(std::clock()) / CLOCKS_PER_SEC - start, operations);
}
