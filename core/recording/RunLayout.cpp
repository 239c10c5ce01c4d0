// SPDX-License-Identifier: GPL-3.0-or-later
#include "recording/RunLayout.h"

#include "recording/Hdf5.h"
#include "recording/Version.h"

#include <boost/uuid/uuid.hpp>
#include <boost/uuid/uuid_generators.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <deque>

namespace driftscope {
namespace {

using hdf5::Handle;

class LayoutBuilder {
public:
    LayoutBuilder(const std::filesystem::path& path, std::size_t rows) : m_path(path), m_rows(rows) {
        const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
        // Readers map the values: rows of tensors start where a vector may.
        H5Pset_alignment(access.id(), 512, 64);
        m_file = hdf5::checked(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access.id()), H5Fclose,
                               fmt::format("{}: cannot be created", path.string()));
        m_create = Handle(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
        H5Pset_layout(m_create.id(), H5D_CONTIGUOUS);
        H5Pset_alloc_time(m_create.id(), H5D_ALLOC_TIME_EARLY);
        H5Pset_fill_time(m_create.id(), H5D_FILL_TIME_NEVER);
        m_link = Handle(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
        H5Pset_create_intermediate_group(m_link.id(), 1);
    }

    [[nodiscard]] hid_t file() const { return m_file.id(); }

    /// A dataset of `shape` with one row per recorded step in front.
    Handle rows(const std::string& path, hid_t type, const std::vector<hsize_t>& shape, DatasetPlace& place) {
        return rows(path, type, shape, place, m_rows);
    }
    /// The same with a number of rows of its own.
    Handle rows(const std::string& path, hid_t type, std::vector<hsize_t> shape, DatasetPlace& place,
                std::size_t count) {
        shape.insert(shape.begin(), count);
        Handle dataset = whole(path, type, shape, place);
        place.rowBytes /= std::max<std::size_t>(count, 1);
        return dataset;
    }

    Handle whole(const std::string& path, hid_t type, const std::vector<hsize_t>& shape,
                 DatasetPlace& place) {
        const Handle space(shape.empty() ? H5Screate(H5S_SCALAR)
                                         : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr),
                           H5Sclose);
        Handle dataset = hdf5::checked(
            H5Dcreate2(m_file.id(), path.c_str(), type, space.id(), m_link.id(), m_create.id(), H5P_DEFAULT),
            H5Dclose, path);
        place.rowBytes = H5Tget_size(type);
        for (const hsize_t extent : shape)
            place.rowBytes *= extent;
        m_places.emplace_back(path, &place);
        return dataset;
    }

    /// Offsets are final only once everything exists.
    void resolve() {
        hdf5::checked(H5Fflush(m_file.id(), H5F_SCOPE_GLOBAL), fmt::format("{}: cannot be written", m_path.string()));
        for (const auto& [path, place] : m_places) {
            const Handle dataset(H5Dopen2(m_file.id(), path.c_str(), H5P_DEFAULT), H5Dclose);
            const haddr_t offset = H5Dget_offset(dataset.id());
            if (offset == HADDR_UNDEF && place->rowBytes > 0)
                throw RecordingError(fmt::format("{}: HDF5 gave it no place in the file", path));
            place->offset = offset;
        }
    }

private:
    std::filesystem::path m_path;
    std::size_t m_rows;
    Handle m_file, m_create, m_link;
    std::vector<std::pair<std::string, DatasetPlace*>> m_places;
};

void writeHeader(hid_t file, const RunSchema& schema) {
    static boost::uuids::random_generator makeUuid;
    hdf5::writeAttribute(file, "format", runFormat);
    hdf5::writeAttribute(file, "format_version", runFormatVersion);
    hdf5::writeAttribute(file, "run_id", boost::uuids::to_string(makeUuid()));
    hdf5::writeAttribute(file, "created", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))));
    hdf5::writeAttribute(file, "generator", generatorName());
    hdf5::writeText(file, "/config", toJson(schema.config));
    hdf5::writeText(file, "/environment", schema.environment);
}

} // namespace

RunLayout createRunFile(const std::filesystem::path& path, const RunSchema& schema) {
    const auto held = hdf5::lock();
    RunLayout layout;
    LayoutBuilder builder(path, schema.steps.size());
    const hid_t file = builder.file();
    writeHeader(file, schema);

    {
        const std::int64_t none[2] = {0, static_cast<std::int64_t>(RunState::Running)};
        const Handle progress = builder.whole("/progress", H5T_STD_I64LE, {2}, layout.progress);
        hdf5::checked(H5Dwrite(progress.id(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, none), "/progress");

        const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
        H5Tset_size(type.id(), messageBytes);
        H5Tset_cset(type.id(), H5T_CSET_UTF8);
        H5Tset_strpad(type.id(), H5T_STR_NULLPAD);
        const Handle message = builder.whole("/message", type.id(), {}, layout.message);
        const std::string empty(messageBytes, '\0');
        hdf5::checked(H5Dwrite(message.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, empty.data()), "/message");

        std::deque<DatasetPlace> unused; ///< of what is written here and now
        const Handle step = builder.rows("/step", H5T_STD_I64LE, {}, unused.emplace_back());
        if (!schema.steps.empty())
            hdf5::checked(H5Dwrite(step.id(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                                   schema.steps.data()),
                          "/step");
        layout.scalars.resize(ScalarCount);
        for (std::size_t i = 0; i < ScalarCount; ++i)
            builder.rows(fmt::format("/scalars/{}", scalarNames[i]), H5T_IEEE_F64LE, {}, layout.scalars[i]);
        const auto batch = static_cast<hsize_t>(schema.config.train.batch);
        builder.rows("/batch/sample_ids", H5T_STD_I64LE, {batch}, layout.sampleIds);
        builder.rows("/batch/digest", H5T_STD_U64LE, {2}, layout.batchDigest);

        const std::size_t count = schema.parameters.size();
        const bool withGradients = schema.config.record.gradients != "none";
        const bool areGradientsSampled = schema.config.record.gradients == "sample";
        for (auto* places : {&layout.weights, &layout.weightDigests, &layout.gradientDigests})
            places->resize(count);
        layout.gradients.resize(withGradients ? count : 0);
        const std::string& level = schema.config.record.weights;
        const bool isSample = level == "sample";
        layout.weights.resize(level == "full" || isSample ? count : 0);
        for (const char* group : {"/digest/gradient", "/digest/weights"})
            hdf5::createGroup(file, group);
        if (!layout.weights.empty())
            hdf5::createGroup(file, isSample ? "/sample" : "/weights");
        if (isSample)
            hdf5::createGroup(file, "/sample_index");
        if (withGradients)
            hdf5::createGroup(file, areGradientsSampled ? "/gradient_sample" : "/gradients");
        if (areGradientsSampled)
            hdf5::createGroup(file, "/gradient_sample_index");

        for (std::size_t i = 0; i < count; ++i) {
            const TensorInfo& tensor = schema.parameters[i];
            const std::vector<hsize_t> shape(tensor.shape.begin(), tensor.shape.end());
            const auto describe = [&](hid_t dataset) {
                hdf5::writeAttribute(dataset, "layer", layerOf(tensor.name));
                hdf5::writeAttribute(dataset, "kind", kindOf(tensor.name));
                hdf5::writeAttribute(dataset, "dtype", nameOf(tensor.dtype));
            };
            const auto values = [&](const std::string& group, const std::vector<hsize_t>& extents, DatasetPlace& place) {
                describe(builder.rows(fmt::format("/{}/{}", group, tensor.name), hdf5::fileType(tensor.dtype).id(),
                                      extents, place)
                             .id());
            };
            const auto sampledValues = [&](const std::string& group, std::int64_t size, DatasetPlace& place) {
                const std::vector<std::uint64_t> index = sampledElements(tensor, size);
                const std::string indexPath = fmt::format("/{}_index/{}", group, tensor.name);
                const Handle dataset = builder.whole(indexPath, H5T_STD_U64LE, {index.size()}, unused.emplace_back());
                if (!index.empty())
                    hdf5::checked(H5Dwrite(dataset.id(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, index.data()),
                                  indexPath);
                values(group, {index.size()}, place);
            };
            if (isSample)
                sampledValues("sample", schema.config.record.sampleSize, layout.weights[i]);
            else if (!layout.weights.empty())
                values("weights", shape, layout.weights[i]);
            if (areGradientsSampled)
                sampledValues("gradient_sample", gradientSampleSize, layout.gradients[i]);
            else if (withGradients)
                values("gradients", shape, layout.gradients[i]);
            const Handle digest =
                builder.rows("/digest/weights/" + tensor.name, H5T_STD_U64LE, {2}, layout.weightDigests[i]);
            describe(digest.id());
            hdf5::writeAttribute(digest.id(), "shape", tensor.shape);
            builder.rows("/digest/gradient/" + tensor.name, H5T_STD_U64LE, {2}, layout.gradientDigests[i]);
        }
        layout.extras.resize(schema.extras.size());
        for (std::size_t i = 0; i < schema.extras.size(); ++i) {
            const ExtraDataset& extra = schema.extras[i];
            std::vector<hsize_t> shape(extra.shape.begin(), extra.shape.end());
            const Handle dataset = builder.rows(extra.path, hdf5::fileType(extra.dtype).id(), shape, layout.extras[i],
                                                extra.steps.empty() ? schema.steps.size() : extra.steps.size());
            if (extra.units > 0)
                hdf5::writeAttribute(dataset.id(), "units", std::vector<std::uint64_t>{extra.units});
            if (!extra.steps.empty()) {
                const std::vector<std::uint64_t> steps(extra.steps.begin(), extra.steps.end());
                hdf5::writeAttribute(dataset.id(), "steps", steps);
            }
        }
        if (!schema.comparedWith.empty()) {
            const Handle group(H5Gopen2(file, "/comparison", H5P_DEFAULT), H5Gclose);
            hdf5::writeAttribute(group.id(), "reference", schema.comparedWith);
        }
        builder.resolve();
    }
    return layout;
}

RunLayout findOutcome(const std::filesystem::path& path) {
    const auto held = hdf5::lock();
    const Handle file = hdf5::openReadOnly(path);
    RunLayout layout;
    for (const auto& [name, bytes, place] :
         {std::tuple("/progress", std::uint64_t{16}, &layout.progress),
          std::tuple("/message", std::uint64_t{messageBytes}, &layout.message)}) {
        const Handle dataset = hdf5::checked(H5Dopen2(file.id(), name, H5P_DEFAULT), H5Dclose,
                                             fmt::format("{}: {}", path.string(), name));
        if (H5Dget_storage_size(dataset.id()) != bytes || H5Dget_offset(dataset.id()) == HADDR_UNDEF)
            throw RecordingError(fmt::format("{}: {} is not as Driftscope writes it", path.string(), name));
        *place = {H5Dget_offset(dataset.id()), bytes};
    }
    return layout;
}

} // namespace driftscope
