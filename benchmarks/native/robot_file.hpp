// Robots from files with one line per joint: kind, parent, axis, place (rotation by rows, translation), mass, mass centre,
// inertia by rows; and the gravity first.
#pragma once
#include <pinocchio/multibody.hpp>
#include <pinocchio/multibody/joint.hpp>
#include <fstream>
#include <stdexcept>
#include <string>

using namespace pinocchio;
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

static Model read_robot(const char* path) {
  Model model;
  std::ifstream file(path);
  model.gravity.linear() = three(file);
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
    const JointIndex joint = model.addJoint(parent, joint_of(kind, axis), place, "joint" + std::to_string(n));
    model.appendBodyToJoint(joint, Inertia(mass, com, inertia), SE3::Identity());
  }
  return model;
}
