#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>

#include "bind/bind.hpp"
#include "data/json_matrix.hpp"
#include "data/letor.hpp"
#include "data/letor_file.hpp"
#include "data/scan.hpp"
#include "parallel.hpp"

namespace podium::bind {
namespace {

LetorOptions letor_options(float absent, std::uint32_t max_index, bool comments, bool labels) {
  return {absent, max_index, comments, labels};
}

// Waits for the next block with the interpreter free, looking for Ctrl-C in between.
std::unique_ptr<LetorBlock> next_block(LetorFile& file) {
  if (file.finished()) throw nb::stop_iteration();
  for (;;) {
    std::unique_ptr<LetorBlock> block;
    {
      const nb::gil_scoped_release release;
      block = file.next(std::chrono::milliseconds(100));
    }
    if (block != nullptr) return block;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

// Text in memory, cut at line ends into a piece for each thread.
std::vector<std::unique_ptr<LetorBlock>> parse_text(nb::bytes text, float absent, std::uint32_t max_index,
                                                    bool comments, bool labels, int num_threads) {
  const LetorOptions options = letor_options(absent, max_index, comments, labels);
  const std::string_view whole(text.c_str(), text.size());
  std::vector<std::unique_ptr<LetorBlock>> blocks;
  const ReleasedGil released;
  std::vector<std::string_view> pieces;
  const std::size_t aim = whole.size() / static_cast<std::size_t>(num_threads) + 1;
  for (std::size_t begin = 0; begin < whole.size();) {
    const std::size_t feed = begin + aim < whole.size() ? whole.find('\n', begin + aim) : std::string_view::npos;
    const std::size_t end = feed == std::string_view::npos ? whole.size() : feed + 1;
    pieces.push_back(whole.substr(begin, end - begin));
    begin = end;
  }
  for (std::size_t k = 0; k < pieces.size(); ++k) blocks.push_back(std::make_unique<LetorBlock>());
  parallel_for(pieces.size(), num_threads, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      try {
        std::string copy(pieces[k]);  // the parser needs a line feed behind the last character
        blocks[k]->ends_without_feed = copy.back() != '\n';
        copy.resize(copy.size() + kLetorPadding, '\n');
        parse_letor(copy.data(), copy.data() + pieces[k].size(), options, *blocks[k]);
      } catch (const std::bad_alloc&) {
        blocks[k]->fault = LetorFault::out_of_memory;
      }
    }
  });
  return blocks;
}

// Copies blocks into consecutive rows from `row` on, and gives each block's memory back as soon as it is copied.
void fill_features(const std::vector<LetorBlock*>& blocks, MutableMatrix<float> features, std::size_t row,
                   std::uint32_t base, float absent, int num_threads) {
  const ReleasedGil released;
  std::vector<std::size_t> rows;
  for (const LetorBlock* block : blocks) {
    rows.push_back(row);
    row += block->rows();
  }
  if (row > features.shape(0)) throw nb::index_error("the blocks hold more rows than the matrix");
  parallel_for(blocks.size(), num_threads, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      fill_rows(*blocks[k], 0, blocks[k]->rows(), features.data() + rows[k] * features.shape(1), features.shape(1),
                base, absent);
      blocks[k]->release();
    }
  });
}

// Copies some rows of one block; the block keeps its memory.
void fill_part(const LetorBlock& block, std::size_t begin, MutableMatrix<float> features, std::uint32_t base,
               float absent) {
  const ReleasedGil released;
  if (begin + features.shape(0) > block.rows()) throw nb::index_error("the block holds fewer rows than the matrix");
  fill_rows(block, begin, begin + features.shape(0), features.data(), features.shape(1), base, absent);
}

// Rows as text, in pieces that are formatted in parallel.
nb::bytes format_rows(Matrix<float> features, Vector<double> labels, const std::vector<std::string>& query_ids,
                      Vector<std::int64_t> query_of_row, Vector<std::int64_t> comment_offsets,
                      Vector<std::uint8_t> comments, std::uint32_t base, bool sparse, bool edges, int num_threads) {
  const std::size_t rows = features.shape(0), pieces = static_cast<std::size_t>(num_threads) * 4;
  std::vector<std::string> text(pieces);
  {
    const ReleasedGil released;
    const LetorRows source{features.data(), features.shape(1), labels.data()};
    const auto* all = reinterpret_cast<const char*>(comments.data());
    parallel_for(pieces, num_threads, 1, [&](std::size_t piece, std::size_t) {
      for (std::size_t row = rows * piece / pieces; row < rows * (piece + 1) / pieces; ++row) {
        std::string_view comment;
        if (comment_offsets.size() > 0) {
          const std::int64_t from = comment_offsets.data()[row], to = comment_offsets.data()[row + 1];
          comment = {all + from, static_cast<std::size_t>(to - from)};
        }
        const std::string_view qid = query_ids.empty() ? std::string_view() : query_ids[query_of_row.data()[row]];
        format_letor_row(source, row, qid, comment, {base, sparse}, edges && row == 0, text[piece]);
      }
    });
    for (std::size_t piece = 1; piece < pieces; ++piece) text[0] += std::exchange(text[piece], {});
  }
  return nb::bytes(text[0].data(), text[0].size());
}

// The JSON array at an offset of the text, as (values, rows, end, fault, row, column). Bytes end in a zero that Python
// adds, which no number contains.
nb::tuple parse_json(nb::bytes text, std::size_t columns, std::size_t max_rows, std::size_t offset) {
  if (offset > text.size()) throw nb::index_error("the offset is behind the text");
  JsonMatrix matrix;
  std::size_t end = 0;
  {
    const nb::gil_scoped_release release;
    matrix = parse_json_matrix(text.c_str() + offset, text.c_str() + text.size(), columns, max_rows);
    if (matrix.end != nullptr) end = static_cast<std::size_t>(matrix.end - text.c_str());
  }
  return nb::make_tuple(to_numpy(std::move(matrix.values)), matrix.rows, end, static_cast<int>(matrix.fault),
                        matrix.row, matrix.column);
}

void bind_block(nb::module_& m) {
  nb::class_<QueryRun>(m, "QueryRun")
      .def_ro("id", &QueryRun::id)
      .def_ro("rows", &QueryRun::rows)
      .def_ro("line", &QueryRun::line);
  nb::class_<LetorBlock>(m, "LetorBlock", "The contents of a run of LETOR lines.")
      .def_prop_ro("rows", &LetorBlock::rows)
      .def_prop_ro(
          "labels", [](LetorBlock& b) { return to_numpy(std::vector<double>(b.labels)); }, nb::rv_policy::automatic)
      .def_ro("queries", &LetorBlock::queries)
      .def_ro("has_qid", &LetorBlock::has_qid)
      .def_ro("min_index", &LetorBlock::min_index)
      .def_ro("max_index", &LetorBlock::max_index)
      .def_prop_ro(
          "comment_ends", [](LetorBlock& b) { return to_numpy(std::vector<std::int64_t>(b.comment_ends)); },
          nb::rv_policy::automatic)
      .def_prop_ro("comments", [](LetorBlock& b) { return nb::bytes(b.comments.data(), b.comments.size()); })
      .def_ro("lines", &LetorBlock::lines)
      .def_ro("first_row_line", &LetorBlock::first_row_line)
      .def_ro("first_row_column", &LetorBlock::first_row_column)
      .def_prop_ro("first_row_found",
                   [](LetorBlock& b) { return nb::bytes(b.first_row_found.data(), b.first_row_found.size()); })
      .def_ro("ends_without_feed", &LetorBlock::ends_without_feed)
      .def_ro("last_row_entries", &LetorBlock::last_row_entries)
      .def_ro("fewest_entries", &LetorBlock::fewest_entries)
      .def_ro("most_entries", &LetorBlock::most_entries)
      .def_prop_ro("fault", [](LetorBlock& b) { return static_cast<int>(b.fault); })
      .def_ro("fault_line", &LetorBlock::fault_line)
      .def_ro("fault_column", &LetorBlock::fault_column)
      .def_prop_ro("found", [](LetorBlock& b) { return nb::bytes(b.found.data(), b.found.size()); });
}

}  // namespace

void bind_data(nb::module_& m) {
  m.def(
      "first_infinite",
      [](Matrix<float> values, int num_threads) {
        const ReleasedGil released;
        return first_infinite(values.data(), values.size(), num_threads);
      },
      nb::arg("values"), nb::arg("num_threads"), "Flat index of the first infinite value, or -1.");
  bind_block(m);
  nb::class_<LetorFile>(m, "LetorFile", "Blocks of an open LETOR file in order, parsed ahead by several threads.")
      .def(
          "__init__",
          [](LetorFile* self, int descriptor, std::uint64_t size, float absent, std::uint32_t max_index, bool comments,
             bool labels, int num_threads, std::size_t block_bytes) {
            new (self) LetorFile(descriptor, size, letor_options(absent, max_index, comments, labels), num_threads,
                                 block_bytes);
          },
          nb::arg("descriptor"), nb::arg("size"), nb::arg("absent"), nb::arg("max_index"), nb::arg("comments"),
          nb::arg("labels"), nb::arg("num_threads"), nb::arg("block_bytes"))
      .def(
          "__iter__", [](nb::handle self) { return self; }, nb::sig("def __iter__(self) -> LetorFile"))
      .def("__next__", &next_block)
      .def_prop_ro("bytes_done", &LetorFile::bytes_done);
  m.def("parse_letor", &parse_text, nb::arg("text"), nb::arg("absent"), nb::arg("max_index"), nb::arg("comments"),
        nb::arg("labels"), nb::arg("num_threads"), "Blocks of LETOR text that is in memory.");
  m.def("fill_features", &fill_features, nb::arg("blocks"), nb::arg("features"), nb::arg("row"), nb::arg("base"),
        nb::arg("absent"), nb::arg("num_threads"), "Copies blocks into consecutive rows and frees their values.");
  m.def("format_letor", &format_rows, nb::arg("features"), nb::arg("labels"), nb::arg("query_ids"),
        nb::arg("query_of_row"), nb::arg("comment_offsets"), nb::arg("comments"), nb::arg("base"), nb::arg("sparse"),
        nb::arg("edges"), nb::arg("num_threads"), "Rows as LETOR text.");
  m.def("parse_json_matrix", &parse_json, nb::arg("text"), nb::arg("columns"), nb::arg("max_rows"), nb::arg("offset"),
        nb::sig("def parse_json_matrix(text: bytes, columns: int, max_rows: int, offset: int) -> "
                "tuple[Annotated[NDArray[numpy.float32], dict(shape=(None,))], int, int, int, int, int]"),
        "A JSON array of arrays of numbers: values, rows, where it ends, and the fault with its row and column.");
  m.def("fill_part", &fill_part, nb::arg("block"), nb::arg("begin"), nb::arg("features"), nb::arg("base"),
        nb::arg("absent"), "Copies rows of one block, as many as the matrix has.");
}

}  // namespace podium::bind
