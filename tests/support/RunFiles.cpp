// SPDX-License-Identifier: GPL-3.0-or-later
#include "support/RunFiles.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace driftscope::test {
namespace {

TensorValues store(const TensorInfo& tensor, const std::vector<double>& values) {
    if (values.size() != tensor.elements())
        throw std::logic_error(tensor.name + ": the test gives it the wrong number of values");
    auto owner = std::make_shared<std::vector<std::byte>>(tensor.bytes());
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto narrow = static_cast<float>(values[i]);
        if (tensor.dtype == DType::Float32)
            std::memcpy(owner->data() + i * sizeof narrow, &narrow, sizeof narrow);
        else
            std::memcpy(owner->data() + i * sizeof values[i], &values[i], sizeof values[i]);
    }
    return {*owner, owner};
}

} // namespace

RunConfig tinyConfig(const std::string& id, std::int64_t steps) {
    RunConfig config;
    config.id = id;
    config.study = "tiny-study";
    config.data.kind = "synthetic";
    config.data.shape = {1, 2, 2};
    config.train.steps = steps;
    config.train.batch = 2;
    return config;
}

RunRow filled(const TestRun& run, const TestRow& values) {
    RunRow row;
    for (std::size_t i = 0; i < run.parameters.size(); ++i) {
        row.weights.push_back(store(run.parameters[i], values.weights.at(i)));
        if (!values.gradients.empty())
            row.gradients.push_back(store(run.parameters[i], values.gradients.at(i)));
    }
    row.scalars[Loss] = values.loss;
    row.sampleIds = values.sampleIds;
    row.batchDigest = values.batchDigest;
    return row;
}

RunSchema schemaOf(const TestRun& run) {
    RunSchema schema{run.config, R"({"cpu":"by hand"})", {}, run.parameters};
    for (const TestRow& row : run.rows)
        schema.steps.push_back(row.step);
    return schema;
}

void writeRun(const std::filesystem::path& file, const TestRun& run) {
    RunWriter writer(file, schemaOf(run));
    for (std::size_t i = 0; i < std::min(run.rows.size(), run.written); ++i)
        writer.append(filled(run, run.rows[i]));
    writer.finish(run.state, run.message);
}

} // namespace driftscope::test
