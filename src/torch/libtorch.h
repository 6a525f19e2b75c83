// <torch/torch.h>, with our CHECK kept: LibTorch brings in glog, which has a macro of that name.
// Every file of this folder that needs LibTorch includes this instead.
#pragma once

#pragma push_macro("CHECK")
#undef CHECK
#include <torch/torch.h>
#undef CHECK
#pragma pop_macro("CHECK")
