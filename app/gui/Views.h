// SPDX-License-Identifier: GPL-3.0-or-later
// The window's views, in the order of their tabs.
#pragma once

#include "ViewPage.h"

namespace driftscope {

struct Actions;

/// The pages belong to `parent`; selection and actions outlive them.
std::vector<ViewPage*> makeViews(Selection& selection, Actions& actions, QWidget* parent);

} // namespace driftscope
