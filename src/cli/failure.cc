#include "cli/failure.h"

#include <new>
#include <stdexcept>

namespace tessera {

Failure failure_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::invalid_argument& wrong) {
    return {2, wrong.what()};
  } catch (const std::bad_alloc&) {
    return {1, "out of memory: fewer nodes, a smaller model, less data or fewer threads take less"};
  } catch (const std::exception& failed) {
    return {1, failed.what()};
  }
}

}  // namespace tessera
