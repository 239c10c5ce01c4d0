// SPDX-License-Identifier: GPL-3.0-or-later
#include "execution/Remedies.h"
#include "study/Study.h"
#include "support/Files.h"
#include "support/Python.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace driftscope {
namespace {

using test::messageOf;

/// A study of images with these lines in its sections.
std::vector<RunConfig> runs(const std::string& axes, const std::string& studyKeys = "", const std::string& data = "",
                            const std::string& train = "", const std::string& model = "kind = \"mlp\"") {
    return expand(parseStudy("[study]\n" + studyKeys + "\n[model]\n" + model +
                                 "\n[data]\nkind = \"synthetic\"\nshape = [1, 4, 4]\n" + data +
                                 "\n[train]\nsteps = 3\n" + train + "\n[axes]\n" + axes,
                             "/s.toml"));
}

std::vector<std::string> keys(const std::vector<Remedy>& remedies) {
    std::vector<std::string> found;
    for (const Remedy& remedy : remedies)
        found.push_back(remedy.key);
    return found;
}

using Keys = std::vector<std::string>;

const Remedy& named(const std::vector<Remedy>& remedies, const std::string& key) {
    const auto found = std::ranges::find(remedies, key, &Remedy::key);
    if (found == remedies.end())
        throw std::logic_error("no remedy " + key);
    return *found;
}

TEST(Remedies, OnlyThoseThatChangeSomeRunTheCheapestFirst) {
    EXPECT_EQ(keys(remediesFor(runs("threads = [1, 2]"))), (Keys{"threads", "accumulator"}));
    EXPECT_EQ(keys(remediesFor(runs("seed = [1, 2]"))), Keys{"accumulator"});
    EXPECT_EQ(keys(remediesFor(runs("seed = [1, 2]", "", "", "accumulator = \"canonical\""))), Keys{});
    EXPECT_EQ(keys(remediesFor(runs(
                  "init_threads = [1, 2]\ncpu_isa = [\"native\", \"default\"]\ninterop_threads = [1, 2]\n"
                  "tf32 = [\"off\", \"emulated\"]\nblas = [\"system\", \"/x.so\"]\ncudnn_benchmark = [false, true]"))),
              (Keys{"interop_threads", "init_threads", "cpu_isa", "blas", "tf32", "cudnn_benchmark", "accumulator"}));
}

TEST(Remedies, WhatTheUserVariesHasNone) {
    for (const char* axis :
         {"accumulation = [1, 2]", "dtype = [\"float32\", \"float64\"]", "optimizer = [\"sgd\", \"adam\"]",
          "loss_normalization = [\"batch\", \"none\"]", "tail = [\"scaled\", \"unscaled\"]",
          "learning_rate = [0.1, 0.2]", "\"model.dropout\" = [0.0, 0.5]", "batch = [8, 16]"})
        EXPECT_EQ(keys(remediesFor(runs(axis))), Keys{"accumulator"}) << axis;
}

TEST(Remedies, FixedMeansTheReferencesValue) {
    const auto remedies = remediesFor(runs("threads = [1, 2, 3]", "reference = { threads = 2 }"));
    const Remedy& threads = named(remedies, "threads");
    EXPECT_EQ(threads.name, "fixed threads");
    EXPECT_EQ(threads.settings, (std::vector<Assignment>{{"threads", std::int64_t{2}}}));
    using Variables = std::vector<std::pair<std::string, std::string>>;
    EXPECT_EQ(threads.environment, (Variables{{"OMP_NUM_THREADS", "2"},
                                              {"MKL_NUM_THREADS", "2"},
                                              {"OPENBLAS_NUM_THREADS", "2"},
                                              {"OMP_DYNAMIC", "false"}}));
    EXPECT_EQ(threads.python, "torch.set_num_threads(2)\n");
    // each group has the value that it is to have
    EXPECT_EQ(keys(remediesFor(runs("threads = [1, 2]\nseed = [1, 2]", "groups = [\"threads\"]"))),
              Keys{"accumulator"});
}

TEST(Remedies, InstructionSets) {
    const auto remedies = remediesFor(runs("cpu_isa = [\"default\", \"native\"]"));
    const auto& environment = named(remedies, "cpu_isa").environment;
    const auto has = [&](const char* name, const char* value) {
        return std::ranges::find(environment, std::pair<std::string, std::string>(name, value)) != environment.end();
    };
    EXPECT_TRUE(has("ATEN_CPU_CAPABILITY", "default"));
    EXPECT_TRUE(has("ONEDNN_MAX_CPU_ISA", "SSE41"));
    EXPECT_TRUE(has("OPENBLAS_CORETYPE", "Nehalem"));
    const auto native = remediesFor(runs("cpu_isa = [\"native\", \"default\"]"));
    EXPECT_TRUE(named(native, "cpu_isa").environment.empty());
    EXPECT_HAS(named(native, "cpu_isa").python, "unset");
}

TEST(Remedies, AGeneratorForEachSampleWhereSomethingIsDrawn) {
    EXPECT_EQ(keys(remediesFor(runs("loader_workers = [0, 2]", "", "random_crop = 1"))),
              (Keys{"worker_rng", "accumulator"}));
    EXPECT_EQ(keys(remediesFor(runs("loader_workers = [0, 2]"))), Keys{"accumulator"});
}

TEST(Remedies, Order) {
    const auto remedies = remediesFor(runs("order = [\"shuffled\", \"sequential\"]", "", "", "order_seed = 7"));
    EXPECT_EQ(named(remedies, "order").settings,
              (std::vector<Assignment>{{"order", std::string("shuffled")}, {"order_seed", std::int64_t{7}}}));
    EXPECT_HAS(named(remedies, "order").python, "manual_seed(7)");
}

TEST(Remedies, SettingsOfGpus) {
    const auto onCpu = remediesFor(runs("deterministic = [false, true]"));
    EXPECT_EQ(named(onCpu, "deterministic").settings, (std::vector<Assignment>{{"deterministic", true}}));
    EXPECT_TRUE(named(onCpu, "deterministic").environment.empty());

    const auto mixed = runs("device = [\"cpu\", \"cuda:0\"]");
    const auto onGpu = remediesFor(mixed);
    EXPECT_EQ(keys(onGpu), (Keys{"cublas_workspace", "deterministic", "accumulator"}));
    const Remedy& deterministic = named(onGpu, "deterministic");
    EXPECT_EQ(deterministic.environment,
              (std::vector<std::pair<std::string, std::string>>{{"CUBLAS_WORKSPACE_CONFIG", ":4096:8"}}));
    // which a run on the CPU refuses
    EXPECT_EQ(withRemedy(mixed[0], deterministic).train.cublasWorkspace, "");
    EXPECT_TRUE(withRemedy(mixed[0], deterministic).train.deterministic);
    EXPECT_EQ(withRemedy(mixed[1], deterministic).train.cublasWorkspace, ":4096:8");
}

TEST(Remedies, BatchStatisticsRefuseTheCanonicalAccumulator) {
    const auto normalized = runs("accumulation = [1, 2]", "", "", "", "kind = \"mlp\"\nbatch_norm = true");
    const auto remedies = remediesFor(normalized);
    EXPECT_HAS(messageOf<StudyError>([&] { withRemedy(normalized[0], named(remedies, "accumulator")); }),
               "batch statistics");
    const auto plain = runs("accumulation = [1, 2]");
    EXPECT_EQ(withRemedy(plain[1], named(remedies, "accumulator")).train.accumulator, "canonical");
    EXPECT_EQ(withRemedy(plain[1], named(remedies, "accumulator")).train.accumulation, 2);
}

TEST(Remedies, ContentIsWhatIsTrained) {
    auto both = runs("threads = [1, 2]");
    EXPECT_NE(contentOf(both[0]), contentOf(both[1]));
    const auto remedies = remediesFor(both);
    EXPECT_EQ(contentOf(withRemedy(both[0], named(remedies, "threads"))),
              contentOf(withRemedy(both[1], named(remedies, "threads"))));
    const auto repeated = runs("repeat = 2"); // to be trained each for itself
    EXPECT_NE(contentOf(repeated[0]), contentOf(repeated[1]));
}

TEST(Prescription, WhatToPasteIsUnderstood) {
    const std::string axes = "threads = [2, 1]\nloader_workers = [0, 2]\ntf32 = [\"off\", \"emulated\"]";
    const auto remedies = remediesFor(runs(axes, "", "random_crop = 1"));
    const std::vector<std::string> names{"threads", "loader_workers", "tf32"};
    const Prescription all = prescribe(remedies, names);
    const Study study =
        parseStudy("[data]\nkind = \"synthetic\"\nshape = [1, 4, 4]\n" + all.toml + "steps = 1\n", "/s.toml");
    Study overridden = parseStudy(
        "[data]\nkind = \"synthetic\"\nshape = [1, 4, 4]\nrandom_crop = 1\n[train]\nsteps = 1\n[axes]\n" + axes,
        "/s.toml");
    for (const std::string& text : all.overrides)
        applyOverride(overridden, text);
    for (const Study* pasted : {&study, &static_cast<const Study&>(overridden)}) {
        EXPECT_EQ(pasted->base.train.threads, 2);
        EXPECT_EQ(pasted->base.train.workerRng, "per-sample");
        EXPECT_EQ(pasted->base.train.tf32, "off");
        EXPECT_EQ(pasted->base.train.accumulator, "canonical");
    }
    EXPECT_EQ(expand(overridden).size(), 2U); // loader_workers alone is left
    EXPECT_HAS(all.toml, "threads = 2  # and no longer in [axes]");
    EXPECT_HAS(all.toml, "worker_rng = \"per-sample\"\n");
    EXPECT_EQ(all.environment.front(), "OMP_NUM_THREADS=2");
    EXPECT_TRUE(all.python.starts_with("import os\nos.environ[\"OMP_NUM_THREADS\"] = \"2\"\n")) << all.python;
    EXPECT_LT(all.python.find("import torch"), all.python.find("torch.set_num_threads(2)"));
}

TEST(Prescription, NothingForNothing) {
    const Prescription none = prescribe({}, {});
    EXPECT_EQ(none.toml + none.python, "");
    EXPECT_TRUE(none.overrides.empty() && none.environment.empty());
}

TEST(Prescription, PythonCompiles) {
    for (const char* order : {"sequential", "shuffled", "shuffled-within-batch"}) {
        auto study =
            runs("threads = [1, 2]\ninit_threads = [1, 2]\ninterop_threads = [1, 2]\ncpu_isa = [\"avx2\", \"native\"]\n"
                 "blas = [\"/a b.so\", \"system\"]\nseed = [1, 2]\ndevice = [\"cuda:0\", \"cpu\"]\ntf32 = [\"on\", "
                 "\"off\"]\n"
                 "cudnn_benchmark = [true, false]\ndeterministic = [false, true]\norder = [\"" +
                     std::string(order) + "\", \"" + (order[1] == 'e' ? "shuffled" : "sequential") + "\"]",
                 "", "random_crop = 1");
        const auto remedies = remediesFor(study);
        EXPECT_EQ(remedies.size(), 12U);
        PYTHON_OUTPUT(output, "compile(sys.argv[1], 'pasted.py', 'exec')\nprint('compiled')",
                      {prescribe(remedies, {}).python});
        EXPECT_EQ(output, "compiled\n");
    }
}

} // namespace
} // namespace driftscope
