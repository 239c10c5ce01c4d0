# SPDX-License-Identifier: GPL-3.0-or-later
add_test(NAME e2e.window COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/window.sh ${CMAKE_BINARY_DIR}/artifacts)
set_tests_properties(e2e.window PROPERTIES
    ENVIRONMENT "DRIFTSCOPE=$<TARGET_FILE:driftscope>;DRIFTSCOPE_WORKER=$<TARGET_FILE:driftscope-worker>"
    PROCESSORS 2 SKIP_RETURN_CODE 77 TIMEOUT 120 LABELS e2e)
