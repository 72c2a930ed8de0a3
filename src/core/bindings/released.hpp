// Native code runs without the interpreter's lock, and can be stopped.
#pragma once

#include <nanobind/nanobind.h>

#include "base/stop.hpp"

// A signal's handler runs on the main thread only; elsewhere nothing happens here.
inline void check_signals() {
  nanobind::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

struct Released {
  volt::Call call{check_signals};
  nanobind::gil_scoped_release release;
};
