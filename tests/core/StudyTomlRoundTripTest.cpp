// SPDX-License-Identifier: GPL-3.0-or-later
// What toToml writes, parseStudy reads back.
#include "study/Study.h"

#include <gtest/gtest.h>

namespace driftscope {
namespace {

constexpr const char* source = "/somewhere/my-study.toml";

void expectSame(const Study& a, const Study& b) {
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.description, b.description);
    EXPECT_EQ(a.twin, b.twin);
    EXPECT_EQ(a.reference, b.reference);
    ASSERT_EQ(a.axes.size(), b.axes.size());
    for (std::size_t i = 0; i < a.axes.size(); ++i) {
        EXPECT_EQ(a.axes[i].key, b.axes[i].key);
        EXPECT_EQ(a.axes[i].values, b.axes[i].values);
    }
    const auto runs = expand(a), others = expand(b);
    ASSERT_EQ(runs.size(), others.size());
    for (std::size_t i = 0; i < runs.size(); ++i)
        EXPECT_EQ(toJson(runs[i]), toJson(others[i]));
}

/// Every setting has another value than its default, though some contradict each other.
RunConfig everythingSet() {
    RunConfig run;
    for (const SettingSpec& spec : settingSpecs())
        switch (spec.type) {
        case SettingType::Boolean:
            spec.set(run, true);
            break;
        case SettingType::Integer:
            spec.set(run, std::int64_t{7});
            break;
        case SettingType::Real:
            spec.set(run, 0.1 + 0.2);
            break;
        case SettingType::Text:
            spec.set(run, spec.choices.empty()
                              ? SettingValue(std::string("/p q\"\\"))
                              : SettingValue(std::string(spec.choices.back())));
            break;
        case SettingType::IntegerList:
            spec.set(run, std::vector<std::int64_t>{5, 6, 7});
            break;
        case SettingType::RealList:
            spec.set(run, std::vector<double>{0.1, 0.3});
            break;
        }
    run.train.device = "cuda:3";
    return run;
}

TEST(StudyToml, RoundTripOfEverySetting) {
    Study network, module; // each setting is in one of them at least
    network.name = module.name = "all";
    network.twin = module.twin = "float64";
    network.base = module.base = everythingSet();

    network.base.model.kind = "mlp";
    network.base.data.kind = "npy";
    network.base.train.epochs.reset();
    network.base.train.accumulator = "kahan"; // canonical is none for batch_norm
    network.base.train.optimizer = "sgd";
    network.base.train.loss = "cross_entropy";
    network.base.train.dtype = "float32"; // autocast is for no other
    network.base.train.tf32 = "on";
    expectSame(parseStudy(toToml(network), source), network);

    module.base.model = {};
    module.base.model.kind = "torchscript";
    module.base.model.path = "/module.pt";
    module.base.data.targets.clear();
    module.base.record.reluProbe = 0; // whose ReLUs are not known
    module.base.train.steps.reset();
    module.base.train.epochs = 3; // a whole number must stay a real
    module.base.train.momentum = 0;
    module.base.train.labelSmoothing = 0;
    module.base.train.autocast = false;
    module.base.train.tf32 = "off";
    module.base.record.isLogarithmic = true;
    module.base.record.steps.clear();
    expectSame(parseStudy(toToml(module), source), module);

    for (const SettingSpec& spec : settingSpecs()) {
        const SettingValue usual = spec.get(RunConfig{});
        EXPECT_TRUE(spec.get(network.base) != usual || spec.get(module.base) != usual) << spec.key;
    }
}

TEST(StudyToml, RoundTripOfTextsThatNeedQuoting) {
    for (const char* text : {"plain", "\"quoted\" and \\backslash\\", "line\nbreak\r\nand\ttab",
                             "unicode ü 漢字 🙂", "'single'", "\x01\x7f control",
                             "trailing space ", "# no comment", "\"\"\"", "é\u2028x"}) {
        Study study =
            parseStudy("[data]\nkind=\"synthetic\"\nshape=[1,4,4]\n[train]\nsteps=1\n", source);
        study.name = text;
        study.description = text;
        SCOPED_TRACE(toToml(study));
        expectSame(parseStudy(toToml(study), source), study);
    }
}

TEST(StudyToml, RoundTripOfAxesOfEveryKind) {
    const Study study = parseStudy(R"(
[study]
reference = { "data.seed" = 2, betas = [0.8, 0.99], learning_rate = 0.3 }
[data]
kind = "synthetic"
shape = [1, 4, 4]
[train]
steps = 2
optimizer = "adam"
[axes]
repeat = 2
data.seed = [1, 2]
betas = [[0.9, 0.999], [0.8, 0.99]]
shape = [[1, 4, 4], [3, 8, 8]]
learning_rate = [1, 0.3]
data.limit = [3]
cpu_isa = ["avx2", "native"]
)",
                                   source);
    EXPECT_EQ(expand(study).size(), 64U);
    expectSame(parseStudy(toToml(study), source), study);
}

} // namespace
} // namespace driftscope
