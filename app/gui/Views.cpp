// SPDX-License-Identifier: GPL-3.0-or-later
#include "Views.h"

#include "Actions.h"
#include "AttributionPage.h"
#include "CurvesPage.h"
#include "DistributionPage.h"
#include "HeatmapPage.h"
#include "LossPage.h"
#include "UlpPage.h"

namespace driftscope {

std::vector<ViewPage*> makeViews(Selection& selection, Actions& actions, QWidget* parent) {
    return {
        new CurvesPage(selection, actions, parent),
        new HeatmapPage(selection, actions, parent),
        new UlpPage(selection, parent),
        new DistributionPage(selection, parent),
        new LossPage(selection, parent),
        new AttributionPage(selection, parent),
    };
}

} // namespace driftscope
