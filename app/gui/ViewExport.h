// SPDX-License-Identifier: GPL-3.0-or-later
// Views as files: PNG, SVG, PDF and CSV, always in the light theme and at an explicit size.
#pragma once

#include "CurvePlot.h"

#include "analysis/Distribution.h"
#include "analysis/ViewData.h"

#include <QByteArray>
#include <QSize>

#include <filesystem>
#include <optional>
#include <stdexcept>

namespace driftscope {

struct ExportError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class ExportFormat { Png, Svg, Pdf, Csv };

inline constexpr QSize exportSize{1280, 720};

/// By the file name's ending. Throws ExportError that lists what there is.
ExportFormat exportFormat(const std::filesystem::path& file);

/// The bytes of the file. Anything but CSV needs a QApplication and its thread.
QByteArray exported(const CurveView& view, ExportFormat format, QSize size,
                    std::optional<CurvePlot::Ranges> zoom = {});
QByteArray exported(const HeatmapView& view, ExportFormat format, QSize size);
/// `run` decides the colour.
QByteArray exported(const Distribution& distribution, std::size_t run, ExportFormat format, QSize size);

/// To a temporary name first, then renamed: there is a whole file or none. Throws ExportError.
void writeWhole(const std::filesystem::path& file, const QByteArray& bytes);

} // namespace driftscope
