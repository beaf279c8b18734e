// What a library peer exports. `Type` is built from (model, option, pool) and offers
//   int pool_size()
//   double last(int k)                     evaluate state k, return the last acceleration
//   void accelerations(int k, double* a)   evaluate state k, in the canonical layout
#pragma once
#include <exception>
#include <string>
#include "model.hpp"

struct Pool {
  int size;
  const double *q, *v, *tau;
};

static std::string failure_text;

template <class Type>
void* create_candidate(const char* file, const char* option, const Pool& pool) {
  try {
    return new Type(BenchModel(file), option, pool);
  } catch (const std::exception& error) {
    failure_text = error.what();
    return nullptr;
  }
}

template <class Type>
double candidate_loop(Type& candidate, long evaluations) {
  const int size = candidate.pool_size();
  double checksum = 0.0;
  int k = 0;
  for (long n = 0; n < evaluations; n++) {
    checksum += candidate.last(k);
    if (++k == size) k = 0;
  }
  return checksum;
}

#define EXPORT_CANDIDATE(Type)                                                                               \
  extern "C" {                                                                                               \
  const char* failure() { return failure_text.c_str(); }                                                     \
  void* create(const char* file, const char* option, int size, const double* q, const double* v,             \
               const double* tau) {                                                                          \
    return create_candidate<Type>(file, option, Pool{size, q, v, tau});                                      \
  }                                                                                                          \
  void accelerations(void* self, long k, double* a) { static_cast<Type*>(self)->accelerations(int(k), a); }  \
  double loop(void* self, long evaluations) { return candidate_loop(*static_cast<Type*>(self), evaluations); } \
  }
