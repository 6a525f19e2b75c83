// Your own NumPy arrays: an array of samples, (n, features), (n, h, w), (n, c, h, w) or
// (n, h, w, c), and one of their classes, (n,). Two files,
//
//   numpy.save("x.npy", x); numpy.save("y.npy", y)           npy:file=x.npy,labels=y.npy
//
// or an archive of arrays with names,
//
//   numpy.savez_compressed("all.npz", x=x, y=y)              npz:file=all.npz,x=x,y=y
#pragma once

#include "base/spec.h"
#include "data/decoded.h"

namespace tessera {

DataSource npy_source(Options& options);
DataSource npz_source(Options& options);

}  // namespace tessera
