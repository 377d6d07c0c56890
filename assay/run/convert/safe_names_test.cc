#include "assay/run/convert/safe_names.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(SafePath, KeepsOrdinaryNamesAndMakesFolders) {
  EXPECT_EQ(safe_path("model.layers.0.weight"), "model.layers.0.weight");
  EXPECT_EQ(safe_path("encoder/layer_0/kernel"), "encoder/layer_0/kernel");
  EXPECT_EQ(safe_path("重み"), "重み");
}

TEST(SafePath, NeverLeavesItsFolder) {
  EXPECT_EQ(safe_path("../../etc/passwd"), "_./_./etc/passwd");
  EXPECT_EQ(safe_path("/etc/passwd"), "etc/passwd");
  EXPECT_EQ(safe_path("a//b/./c/"), "a/b/c");
  EXPECT_EQ(safe_path(".."), "_.");
  EXPECT_EQ(safe_path(".hidden"), "_hidden");
  EXPECT_EQ(safe_path(""), "unnamed");
  EXPECT_EQ(safe_path("///"), "unnamed");
}

TEST(SafePath, ReplacesOddCharacters) {
  EXPECT_EQ(safe_path("a:b*c?d"), "a_b_c_d");
  EXPECT_EQ(safe_path(std::string_view("nul\0l\nine", 9)), "nul_x00l_x0aine");
  EXPECT_EQ(safe_path("bad\xff"), "bad_xff");
  EXPECT_EQ(safe_path("-rf"), "_rf");
  EXPECT_EQ(safe_path("back\\slash"), "back_slash");
}

TEST(SafePath, CutsWhatFileSystemsRefuse) {
  EXPECT_EQ(safe_path(std::string(5000, 'x')).size(), 200);
  std::string wide;
  for (int i = 0; i < 100; ++i) wide += "好";  // three bytes each: 200 would be inside a character
  EXPECT_EQ(safe_path(wide).size(), 198);
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "d/";
  EXPECT_LE(safe_path(deep).size(), 200);
}

TEST(SafeNames, NumbersCollisions) {
  SafeNames names;
  EXPECT_EQ(names.claim("x", ".npy"), "x.npy");
  EXPECT_EQ(names.claim("x", ".npy"), "x_2.npy");
  EXPECT_EQ(names.claim("x_2", ".npy"), "x_2_2.npy");
  EXPECT_EQ(names.claim("x", ".npy"), "x_3.npy");
}

TEST(SafeNames, AFileCannotLieWhereAFolderIs) {
  SafeNames names;
  EXPECT_EQ(names.claim("a.npy/b", ".npy"), "a.npy/b.npy");
  EXPECT_EQ(names.claim("a", ".npy"), "a_2.npy");
  EXPECT_EQ(names.claim("c", ".npy"), "c.npy");
  EXPECT_EQ(names.claim("c.npy/d", ".npy"), "c.npy_d.npy");
}

TEST(SafeNames, WhatLiesThereAlreadyMayBeTaken) {
  SafeNames names([](const std::string& path) { return path == "x_2.npy" || path == "y/b.npy"; });
  EXPECT_EQ(names.claim("x", ".npy"), "x.npy");
  EXPECT_EQ(names.claim("x", ".npy"), "x_3.npy");
  EXPECT_EQ(names.claim("y/b", ".npy"), "y/b_2.npy");
}

TEST(SafeNames, ManyOfOneNameStayFast) {
  SafeNames names;
  for (int i = 0; i < 20'000; ++i) names.claim("same", ".npy");
  EXPECT_EQ(names.claim("same", ".npy"), "same_20001.npy");
}

}  // namespace
}  // namespace assay
