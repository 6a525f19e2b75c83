#include "data/datasets.h"

#include "data/cache.h"
#include "data/sets/cifar10.h"
#include "data/sets/csv.h"
#include "data/sets/idx_sets.h"
#include "data/sets/image_folder.h"
#include "data/sets/leaf_own.h"
#include "data/sets/leaf_sets.h"
#include "data/sets/movielens.h"
#include "data/sets/npy.h"
#include "data/sets/synthetic.h"
#include "data/sets/text.h"
#include "data/views.h"

namespace tessera {
namespace {

constexpr DatasetKind kDatasets[] = {
    {"synthetic", "synthetic:samples=4000,test=1000,classes=10,shape=1/16/16,noise=1,users=0",
     "bumps under noise, made up on the spot; needs no file", synthetic_source},
    {"cifar10", "cifar10:dir=data/cifar-10-batches-bin,scale=signed,mean=0.5,deviation=0.5",
     "60,000 colour images of 10 things, 32 x 32 (binary version)", cifar10_source},
    {"mnist", "mnist:dir=data/mnist,scale=unit,mean=0,deviation=1",
     "70,000 handwritten digits, 28 x 28", mnist_source},
    {"fashion-mnist",
     "fashion-mnist:dir=/usr/share/datasets/fashion-mnist,scale=unit,mean=0,deviation=1",
     "70,000 garments of 10 kinds, 28 x 28 (Debian package dataset-fashion-mnist)",
     fashion_mnist_source},
    {"emnist", "emnist:dir=data/emnist,split=balanced,scale=unit,mean=0,deviation=1",
     "handwritten digits and letters, 28 x 28, in six splits", emnist_source},
    {"idx", "idx:dir=FOLDER,prefix=,classes=0,transposed=no,scale=unit,mean=0,deviation=1",
     "any four IDX files of images and labels, gzipped or plain", idx_source},
    {"images",
     "images:dir=FOLDER,size=32,resize=yes,channels=3,classes=cat/dog,test=0.2,seed=1,"
     "scale=signed,mean=0.5,deviation=0.5",
     "your own JPEG or PNG images, a sub-folder per class", image_folder_source},
    {"csv", "csv:file=FILE,label=COLUMN,classes=no/yes,shape=1/1/4,test=0.2,seed=1",
     "your own table, a sample per line under a line of names", csv_source},
    {"npy",
     "npy:file=FILE,labels=FILE,classes=10,shape=1/1/4,channels=auto,test=0.2,seed=1,scale=raw",
     "your own NumPy arrays, one of samples and one of classes", npy_source},
    {"npz", "npz:file=FILE,x=x,y=y,classes=10,shape=1/1/4,channels=auto,test=0.2,seed=1,scale=raw",
     "your own NumPy arrays, named, in one file", npz_source},
    {"text", "text:file=FILE,alphabet=bytes,length=80,step=1,test=0.2,unknown=refuse",
     "your own text, a file or dir= of .txt files: characters and the one that follows",
     text_source},
    {"movielens", "movielens:dir=data/ml-latest-small,seed=1",
     "ratings of films by users, 70% of each user's to train on", movielens_source},
    {"leaf", "leaf:dir=FOLDER,classes=10,shape=1/1/4,channels=auto,test=0.2,seed=1,scale=raw",
     "your own LEAF folder: numbers of any shape, by user", leaf_source},
    {"femnist", "femnist:dir=data/femnist,scale=unit,mean=0,deviation=1",
     "handwritten characters of 62 classes by writer (LEAF)", femnist_source},
    {"shakespeare", "shakespeare:dir=data/shakespeare",
     "80 characters of a role and the one that follows (LEAF)", shakespeare_source},
    {"celeba", "celeba:dir=data/celeba,images=FOLDER,resize=no,scale=raw",
     "faces, 84 x 84, smiling or not, by person (LEAF)", celeba_source},
};

constexpr std::int64_t kAll = 0;

std::size_t limit_option(Options& options, std::string_view key) {
  return static_cast<std::size_t>(options.integer(key, kAll, at_least(0)));
}

void thin(std::size_t limit, std::shared_ptr<const Dataset>& half,
          std::vector<std::uint32_t>& users) {
  if (limit == kAll || limit >= half->size()) return;
  Indices places = spread(half->size(), limit);
  if (!users.empty()) {
    for (std::size_t i = 0; i < places.size(); ++i) users[i] = users[places[i]];
    users.resize(places.size());
  }
  half = std::make_shared<Subset>(std::move(half), std::move(places));
}

}  // namespace

std::span<const DatasetKind> datasets() {
  return kDatasets;
}

Result<LoadedData> load_dataset(const Chosen<DatasetKind>& chosen) {
  Options options(chosen.spec);
  const std::size_t limit = limit_option(options, "limit");
  const std::size_t test_limit = limit_option(options, "test_limit");
  const DataSource source = chosen.kind->source(options);
  Result<DecodedData> decoded = decode_once(users_cache(), chosen.spec, source);
  if (!decoded) return decoded.error();
  LoadedData data = as_datasets(std::move(*decoded));
  thin(limit, data.train, data.train_users);
  thin(test_limit, data.test, data.test_users);
  return data;
}

Result<LoadedData> load_dataset(std::string_view line) {
  return load_dataset(choose(datasets(), "dataset", line));
}

}  // namespace tessera
