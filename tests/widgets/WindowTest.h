// SPDX-License-Identifier: GPL-3.0-or-later
// The whole window in a test, and what is in it by object name.
#pragma once

#include "MainWindow.h"

#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace driftscope::test {

class WindowTest : public testing::Test {
protected:
    template <class Object>
    Object& find(const char* name) {
        Object* object = m_window.findChild<Object*>(QLatin1String(name));
        if (!object)
            throw std::runtime_error(std::string("the window has no ") + name);
        return *object;
    }

    TemporaryFolder m_folder;
    MainWindow m_window;
};

} // namespace driftscope::test
