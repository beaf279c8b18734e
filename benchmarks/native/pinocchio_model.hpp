// Pinocchio model of a benchmark model.
#pragma once
#include <pinocchio/fwd.hpp>
#include <pinocchio/multibody.hpp>
#include <pinocchio/multibody/joint.hpp>
#include "model.hpp"

inline pinocchio::JointModel joint_of(const Link& link) {
  using namespace pinocchio;
  if (link.joint == FREE) return JointModelFreeFlyer();
  const int axis = link.axis_index();
  if (link.joint == REVOLUTE) {
    if (axis == 0) return JointModelRX();
    if (axis == 1) return JointModelRY();
    return JointModelRZ();
  }
  if (axis == 0) return JointModelPX();
  if (axis == 1) return JointModelPY();
  return JointModelPZ();
}

inline pinocchio::Model pinocchio_model(const BenchModel& bench) {
  using namespace pinocchio;
  Model model;
  model.name = bench.key;
  model.gravity.linear() = Eigen::Map<const Eigen::Vector3d>(bench.gravity);
  std::vector<JointIndex> joints;
  for (const Link& link : bench.links) {
    const JointIndex parent = link.parent < 0 ? 0 : joints[link.parent];
    const SE3 place(Eigen::Matrix3d::Identity(), Eigen::Map<const Eigen::Vector3d>(link.at));
    joints.push_back(model.addJoint(parent, joint_of(link), place, "joint" + std::to_string(joints.size())));
    const Eigen::Matrix3d inertia = Eigen::Map<const Eigen::Vector3d>(link.inertia).asDiagonal();
    const Eigen::Vector3d com = Eigen::Map<const Eigen::Vector3d>(link.com);
    model.appendBodyToJoint(joints.back(), Inertia(link.mass, com, inertia), SE3::Identity());
  }
  return model;
}
