// SPDX-License-Identifier: GPL-3.0-or-later
#include "Views.h"

#include "Actions.h"
#include "CurvesPage.h"
#include "HeatmapPage.h"

namespace driftscope {

std::vector<ViewPage*> makeViews(Selection& selection, Actions& actions, QWidget* parent) {
    return {
        new CurvesPage(selection, actions, parent),
        new HeatmapPage(selection, actions, parent),
    };
}

} // namespace driftscope
