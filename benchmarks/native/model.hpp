// A benchmark model, read from the text that benchmarks/exchange.py writes.
#pragma once
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

enum JointType { REVOLUTE = 0, PRISMATIC = 1, FREE = 2 };

struct Link {
  int parent, joint;
  double axis[3], at[3], mass, com[3], inertia[3], stiffness, damping;

  int axis_index() const {
    for (int i = 0; i < 3; i++)
      if (axis[i] == 1.0) return i;
    throw std::runtime_error("joint axis is not a coordinate axis");
  }
};

struct BenchModel {
  std::string key;
  double gravity[3];
  std::vector<Link> links;
  bool floating;
  int nq, nv;

  explicit BenchModel(const char* path) {
    std::ifstream in(path);
    size_t count = 0;
    in >> key >> count;
    for (double& x : gravity) in >> x;
    links.resize(count);
    for (Link& l : links) {
      in >> l.parent >> l.joint;
      for (double& x : l.axis) in >> x;
      for (double& x : l.at) in >> x;
      in >> l.mass;
      for (double& x : l.com) in >> x;
      for (double& x : l.inertia) in >> x;
      in >> l.stiffness >> l.damping;
    }
    if (!in || links.empty()) throw std::runtime_error(std::string("cannot read model ") + path);
    floating = links[0].joint == FREE;
    nq = int(count) + (floating ? 6 : 0);
    nv = int(count) + (floating ? 5 : 0);
  }

  // Indices in q and v of the joint of link i > 0, or of link 0 if the base is fixed.
  int iq(int i) const { return floating ? i + 6 : i; }
  int iv(int i) const { return floating ? i + 5 : i; }
  int first_joint() const { return floating ? 1 : 0; }
};
