#include "trees/byte_store.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace podium {
namespace {

[[noreturn]] void fail(int error, const std::string& folder) {
  throw std::system_error(error, std::generic_category(), folder);
}

// A file without a name, so that nothing is left behind if the process is killed.
int open_nameless(const std::string& folder) {
#if defined(O_TMPFILE)
  const int descriptor = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0) return descriptor;
#endif
  std::string name = folder + "/podium-XXXXXX";
  const int named = mkstemp(name.data());
  if (named < 0) fail(errno, folder);
  unlink(name.c_str());
  return named;
}

}  // namespace

ByteStore::ByteStore(std::size_t size, const std::string& folder) : size_(size) {
  if (folder.empty() || size == 0) {
    memory_.resize(size);
    return;
  }
  const int descriptor = open_nameless(folder);
  // The space is reserved now: on a full disk, writing to a page of a file with gaps would kill the process.
  const int error = posix_fallocate(descriptor, 0, static_cast<off_t>(size));
  void* const pages = error ? MAP_FAILED : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  const int failed = error ? error : errno;
  close(descriptor);
  if (pages == MAP_FAILED) fail(failed, folder);
  mapped_ = static_cast<std::uint8_t*>(pages);
}

ByteStore::~ByteStore() {
  if (mapped_) munmap(mapped_, size_);
}

}  // namespace podium
