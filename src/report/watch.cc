#include "report/watch.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "base/output.h"
#include "base/spec.h"
#include "report/page.h"

#if TESSERA_WITH_WATCH
#include <httplib.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "base/hash.h"
#include "base/stopwatch.h"
#include "report/connection_guard.h"
#endif

namespace tessera {

#if TESSERA_WITH_WATCH

namespace {

constexpr const char* kLoopback = "127.0.0.1";
constexpr double kConnectionSecondsMax = 3;

}  // namespace

struct Watch::Server {
  explicit Server(WatchSource watched) : source(std::move(watched)) {}

  WatchSource source;
  int port = 0;
  httplib::Server http{};
  std::optional<ConnectionGuard> guard{};
  std::jthread thread{};

  std::mutex mutex{};
  std::condition_variable served{};
  Stopwatch since_asked{};  // The last time a page asked for figures.
  bool asked = false, ending = false, served_the_end = false;

  // Another site's script could have its own name resolve to our address; its requests then carry
  // that name.
  bool is_for_us(const httplib::Request& request) const {
    const std::string host = request.get_header_value("Host");
    return host == fmt::format("{}:{}", kLoopback, port) ||
           host == fmt::format("localhost:{}", port);
  }

  void send_page(httplib::Response& response) {
    response.set_content(source.page(), "text/html; charset=utf-8");
  }

  void send_metrics(httplib::Response& response) {
    response.set_content(source.metrics(), "text/plain; version=0.0.4; charset=utf-8");
  }

  void send_figures(const httplib::Request& request, httplib::Response& response) {
    const std::unique_lock lock(mutex);
    const std::string data = source.figures(!ending);
    const std::string tag = fmt::format("\"{:016x}\"", hash_bytes(bytes_of(data)));
    response.set_header("ETag", tag);
    response.set_header("Cache-Control", "no-store");
    if (request.get_header_value("If-None-Match") == tag)
      response.status = 304;
    else
      response.set_content(data, "application/json");
    asked = true;
    since_asked.restart();
    served_the_end = ending;
    served.notify_all();
  }
};

Watch::Watch(std::uint16_t port, WatchSource source)
    : server_(std::make_unique<Server>(std::move(source))) {
  httplib::Server& http = server_->http;
  // A handful of requests a minute need no crowd of threads, and connections that stay open would
  // have to be waited for at the end.
  http.new_task_queue = [] { return new httplib::ThreadPool(4); };
  http.set_keep_alive_max_count(1);
  http.set_read_timeout(1);
  http.set_write_timeout(1);
  // By default two programs may listen on one port, and the browser meets either.
  http.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  http.set_pre_routing_handler([this](const auto& request, auto& response) {
    if (server_->is_for_us(request)) return httplib::Server::HandlerResponse::Unhandled;
    response.status = 403;
    return httplib::Server::HandlerResponse::Handled;
  });
  http.Get("/", [this](const auto&, auto& response) { server_->send_page(response); });
  http.Get("/data.json", [this](const auto& request, auto& response) {
    server_->send_figures(request, response);
  });
  if (server_->source.metrics)
    http.Get("/metrics", [this](const auto&, auto& response) { server_->send_metrics(response); });
  server_->port = port == 0                            ? http.bind_to_any_port(kLoopback)
                  : http.bind_to_port(kLoopback, port) ? port
                                                       : -1;
  if (server_->port <= 0)
    throw std::invalid_argument(
        fmt::format("--watch={}: cannot listen on that port; is it taken? --watch alone finds a "
                    "free one",
                    port));
  server_->guard.emplace(server_->port, kConnectionSecondsMax);
  server_->thread = std::jthread([this] { server_->http.listen_after_bind(); });
}

Watch::~Watch() {
  {
    std::unique_lock lock(server_->mutex);
    server_->ending = true;
    if (server_->asked && server_->since_asked.seconds() < 4)
      server_->served.wait_for(lock, std::chrono::seconds(2),
                               [this] { return server_->served_the_end; });
  }
  // The answer may still be on its way; those who are slower than that are cut off.
  server_->http.stop();
  server_->guard->set_seconds_max(1);
  server_->thread.join();
}

std::string Watch::address() const {
  return fmt::format("http://{}:{}", kLoopback, server_->port);
}

#else

struct Watch::Server {};

Watch::Watch(std::uint16_t, WatchSource) {
  throw std::invalid_argument(
      "--watch: this build cannot serve pages; install libcpp-httplib-dev, configure again, and "
      "build");
}

Watch::~Watch() = default;

std::string Watch::address() const {
  return {};
}

#endif

WatchSource watch_run(std::filesystem::path folder) {
  const auto figures = [folder = std::move(folder)](bool live) {
    const std::vector<std::string> folders = {folder.string()};
    FoundRuns found = find_runs(folders);
    if (found.runs.empty()) found.left_out.clear();  // The run has not written anything yet.
    const PageOptions options{.title = folder.lexically_normal().filename().string(), .live = live};
    return page_data(found, read_metrics(found.runs), options);
  };
  return {.page = [figures] { return page_with(figures(true), true); },
          .figures = figures,
          .metrics = {}};
}

std::unique_ptr<Watch> make_watch(const std::string& port, WatchSource source) {
  if (port.empty()) return nullptr;
  std::int64_t number = 0;
  if (port != "any") {
    try {
      number = parse_integer(port);
    } catch (const std::invalid_argument&) {
      number = -1;
    }
    if (number < 1 || number > 65535)
      throw std::invalid_argument(
          fmt::format("--watch={}: a port is a number from 1 to 65535", port));
  }
  return std::make_unique<Watch>(static_cast<std::uint16_t>(number), std::move(source));
}

std::unique_ptr<Watch> start_watch(const std::string& port, WatchSource source) {
  std::unique_ptr<Watch> watch = make_watch(port, std::move(source));
  if (watch) print_err("watch it at {} (from this machine only)\n", watch->address());
  return watch;
}

}  // namespace tessera
