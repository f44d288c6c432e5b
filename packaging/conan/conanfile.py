"""Fovea for Conan 2: conan create . --version=@VERSION@"""

import os

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get, rm, rmdir

required_conan_version = ">=2.4"


class Fovea(ConanFile):
    name = "fovea"
    description = "Attention kernels for CPUs, with one answer"
    license = "MIT"
    homepage = "@HOME@"
    topics = ("attention", "transformer", "inference", "simd")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "nn": [True, False], "openmp": [True, False]}
    default_options = {"shared": False, "fPIC": True, "nn": True, "openmp": True}
    implements = ["auto_shared_fpic"]
    languages = "C"

    def layout(self):
        cmake_layout(self, src_folder="src")

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["FOVEA_NN"] = bool(self.options.nn)
        toolchain.cache_variables["FOVEA_OPENMP"] = bool(self.options.openmp)
        for left_out in ("TOOLS", "TESTS", "BENCH", "EXAMPLES"):
            toolchain.cache_variables[f"FOVEA_BUILD_{left_out}"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        for folder in ("share", "lib/cmake", "lib/pkgconfig"):  # Conan writes its own files for CMake and pkg-config
            rmdir(self, os.path.join(self.package_folder, folder))
        # A build makes both kinds of libraries.
        lib = os.path.join(self.package_folder, "lib")
        if self.options.shared:
            rm(self, "libfovea.a", lib)
            rm(self, "libfovea_nn.a", lib)
        else:
            for pattern in ("*.so*", "*.dylib", "*.dll.a"):
                rm(self, pattern, lib)
            rmdir(self, os.path.join(self.package_folder, "bin"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "fovea")
        self.describe("fovea", [])
        if self.options.nn:
            self.describe("fovea_nn", ["fovea"])

    def describe(self, library, requires):
        component = self.cpp_info.components[library]
        component.libs = [library]
        component.requires = requires
        component.set_property("cmake_target_name", f"fovea::{library}")
        component.set_property("pkg_config_name", library)
        if not self.options.shared:
            component.set_property("cmake_target_aliases", [f"fovea::{library}_static"])
            if self.settings.os in ("Linux", "FreeBSD"):
                component.system_libs = ["m"]
            if self.options.openmp and self.settings.compiler == "gcc":
                component.system_libs.append("gomp")
            elif self.options.openmp and self.settings.compiler == "clang":
                component.system_libs.append("omp")
        elif self.settings.os == "Windows":
            component.defines = [f"{library.upper()}_SHARED"]
